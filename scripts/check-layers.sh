#!/bin/sh
# SPDX-License-Identifier: MIT
# check-layers.sh [TOP]: the folders under src are layers, cli -> run -> {lock,
# net} -> base. A file may include its own folder and those to the right; lock
# and net do not know each other. The rooms of a folder are ordered as well:
# lock/wire -> lock/core; cli/{hold,top} -> cli/show -> cli/{history,doctor} ->
# cli. No files include each other in a circle. Some things have one home only:
# the clock, standard error, hiredis, the environment. And nowhere, nor in tests
# and bench, is written what knows no end: strcpy() and the like. A header has at
# most 7 functions and 80 lines, a source 500 lines, or says why; a Lua script
# 120. One line per offence, status 1.
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
		rank["net"] = rank["lock/core"] = 2.1
		rank["lock/wire"] = 2.2
		rank["run"] = 3
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
		else if (to != from && (rank[to] >= rank[from] ||
		    from ~ /^lock/ && to == "net"))
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

# A header is small enough to be read at once, a source to be known; else it
# says why: "Larger than most: ...".
# shellcheck disable=SC2016
find src -name '*.[ch]' | LC_ALL=C sort | xargs awk '
	function report() {
		if (file == "" || why)
			return
		if (file ~ /\.c$/ && lines > 500)
			offence(lines " lines, not 500")
		if (file ~ /\.h$/ && lines > 80)
			offence(lines " lines, not 80")
		if (file ~ /\.h$/ && functions > 7)
			offence(functions " functions, not 7")
	}
	function offence(text) {
		print file ": " text ", and no word of why (Larger than most:)"
		bad = 1
	}
	# Counts the functions in a text that has no comments and no lines of
	# the preprocessor: what has parentheses outside of all braces.
	function count(s, n, depth, has, c) {
		gsub(/"[^"]*"/, "", s)
		gsub(/__attribute__\(\([^;{]*\)\)/, "", s)
		n = depth = has = 0
		while (match(s, /[(){};=]/)) {
			c = substr(s, RSTART, 1)
			s = substr(s, RSTART + 1)
			if (depth == 0 && c == "(")
				has = 1
			else if (depth == 0 && (c == ";" || c == "{")) {
				n += has
				has = 0
			}
			depth += c == "{"
			depth -= c == "}"
		}
		return n
	}
	function end_of_file() {
		gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", text)
		functions = file ~ /\.h$/ ? count(text) : 0
		report()
	}
	FNR == 1 {
		end_of_file()
		file = FILENAME
		text = ""
		why = directive = 0
	}
	/Larger than most:/ {
		why = 1
	}
	{
		lines = FNR
		if (file ~ /\.h$/ && !directive && $0 !~ /^#/)
			text = text $0 "\n"
		directive = (directive || /^#/) && /\\$/
	}
	END {
		end_of_file()
		exit bad
	}
' || exit 1

# A script fits on a page.
long=$(find src/lua -name '*.lua' -exec wc -l {} + |
	awk '$2 != "total" && $1 > 120 { print $2 ": " $1 " lines, not 120" }')
[ -z "$long" ] || {
	echo "$long"
	exit 1
}

# name.c and name.h are one; tsort(1) finds the circles
# shellcheck disable=SC2016
circles=$(find src -name '*.[ch]' | LC_ALL=C sort | xargs awk '
	/^#include "/ {
		split($0, quoted, "\"")
		from = substr(FILENAME, 5)
		to = quoted[2]
		sub(/\.[a-z]*$/, "", from)
		sub(/\.[a-z]*$/, "", to)
		if (from != to)
			print from, to
	}
' | tsort 2>&1 >/dev/null) || true
if [ -n "$circles" ]; then
	echo "$circles" | sed 's/^tsort: -:/src: /; s/^tsort: /src:   /'
	exit 1
fi
