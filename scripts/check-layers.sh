#!/bin/sh
# SPDX-License-Identifier: MIT
# check-layers.sh [TOP]: the folders under src are layers, cli -> run -> client
# -> local -> {proc, lock, net} -> base. A file may include its own folder and
# those to the right; proc, lock and net do not know each other, nor client proc.
# The rooms of a folder are ordered as well: lock/wire -> lock/core;
# cli/{hold,top} -> cli/show -> cli/{history,doctor} -> cli. No files include each other in a circle. Some things have one home only:
# the clock, standard error, hiredis, the environment. And nowhere, nor in tests
# and bench, is written what knows no end: strcpy() and the like. One line per offence,
# status 1.
set -eu
cd "${1:-.}"

# shellcheck disable=SC2016 # the dollars are awk's
find src tests bench -name '*.[ch]' | LC_ALL=C sort | xargs awk '
	function offence(text) {
		print FILENAME ":" FNR ": " text
		bad = 1
	}
	# The line without comments; `inside` survives from line to line.
	function code(s, out, at) {
		out = ""
		for (;;) {
			if (inside) {
				at = index(s, "*/")
				if (!at)
					return out
				s = substr(s, at + 2)
				inside = 0
			}
			at = index(s, "/*")
			if (!at)
				return out s
			out = out substr(s, 1, at - 1) " "
			s = substr(s, at + 2)
			inside = 1
		}
	}
	function calls(s, names) {
		return s ~ ("(^|[^A-Za-z0-9_])(" names ")[ \t]*\\(")
	}
	BEGIN {
		rank["base"] = 1
		rank["net"] = rank["proc"] = rank["lock/core"] = 2.1
		rank["lock/wire"] = 2.2
		rank["local"] = 3.1
		rank["client"] = 3.2
		rank["run"] = 3.3
		rank["cli"] = 4.1
		rank["cli/history"] = rank["cli/doctor"] = 4.2
		rank["cli/show"] = 4.3
		rank["cli/hold"] = rank["cli/top"] = 4.4
	}
	# The folder, or the room of it, in which a file under src is.
	function room(path) {
		sub(/\/[^\/]*$/, "", path)
		return path
	}
	FNR == 1 {
		inside = 0
		layered = FILENAME ~ /^src\//
		from = room(substr(FILENAME, 5))
		if (layered && !(from in rank))
			offence("folder \"" from "\" is no layer")
	}
	{
		line = code($0)
	}
	layered && line ~ /^[ \t]*#[ \t]*include[ \t]*"/ {
		split(line, quoted, "\"")
		name = quoted[2]
		to = room(name)
		if (name == "config.h")
			next
		if (name !~ /\//)
			offence("\"" name "\": name the folder")
		else if (!(to in rank))
			offence("\"" name "\": \"" to "\" is no layer")
		else if (to != from && name ~ /\/inside\.h$/)
			offence("\"" name "\" is for its own room")
		else if (to != from && (rank[to] >= rank[from] ||
		    from ~ /^lock/ && to ~ /^(net|proc)$/ ||
		    from == "client" && to == "proc"))
			offence(from " may not include " to " (" name ")")
		next
	}
	layered && line ~ /#[ \t]*include[ \t]*<.*hiredis/ &&
	    FILENAME != "src/net/resp.c" {
		offence("hiredis belongs to src/net/resp.c")
	}
	{
		gsub(/\\./, "", line)
		gsub(/"[^"]*"/, "\"\"", line)
	}
	calls(line, "strcpy|stpcpy|strcat|sprintf|vsprintf|gets|alloca") {
		offence("it knows no end: snprintf(), memcpy()")
	}
	!layered {
		next
	}
	calls(line, "ato(i|l|ll|f)|strto[a-z]+|f?scanf|sscanf") {
		offence("parse_number() reads numbers: these know no bounds")
	}
	calls(line, "clock_gettime|gettimeofday|time|timespec_get") &&
	    FILENAME != "src/base/clock.c" {
		offence("only src/base/clock.c asks for the time")
	}
	(line ~ /(^|[^A-Za-z0-9_])(stderr|STDERR_FILENO)([^A-Za-z0-9_]|$)/ ||
	    calls(line, "perror|psignal|err|errx|warn|warnx") ||
	    line ~ /(^|[^A-Za-z0-9_])(write|dprintf)[ \t]*\([ \t]*2[ \t]*,/) &&
	    FILENAME != "src/base/log.c" {
		offence("only src/base/log.c writes to standard error")
	}
	(calls(line, "getenv|secure_getenv") ||
	    line ~ /(^|[^A-Za-z0-9_])environ([^A-Za-z0-9_]|$)/) &&
	    from !~ /^cli/ {
		offence("only src/cli reads the environment")
	}
	calls(line, "sleep|usleep") {
		offence("nobody sleeps: wait for something, up to a deadline")
	}
	END { exit bad }
' || exit 1 # not the 123 of xargs

# name.c and name.h are one; tsort(1) finds the circles. The inside.h of a room
# is left out: it is what the files of that room promise each other.
# shellcheck disable=SC2016
circles=$(find src -name '*.[ch]' | LC_ALL=C sort | xargs awk '
	/^#include "/ {
		split($0, quoted, "\"")
		from = substr(FILENAME, 5)
		to = quoted[2]
		sub(/\.[a-z]*$/, "", from)
		sub(/\.[a-z]*$/, "", to)
		if (from != to && to !~ /\/inside$/)
			print from, to
	}
' | tsort 2>&1 >/dev/null) || true
if [ -n "$circles" ]; then
	echo "$circles" | sed 's/^tsort: -:/src: /; s/^tsort: /src:   /'
	exit 1
fi
