#!/bin/sh
# SPDX-License-Identifier: MIT
# check-layers.sh [TOP]: checks what the C files may include and call. Prints a line
# for each offence; the status is then 1.
#
# The folders of src are layers: cli -> run -> client -> local -> {proc, lock, net}
# -> base. A file may include its own folder and those to the right of it, but proc,
# lock and net do not know each other, and client does not know proc. The folders
# within a layer are ordered, too: lock/wire -> lock/core, and
# cli/{hold,top,doctor} -> cli/show -> cli/history -> cli. Only its own folder includes an inside.h.
# Headers do not include each other in a circle, nor do files call each other in one
# (once src is built: the object files are read).
#
# The clock, standard error, hiredis and the environment are each used in one place
# only. Functions that write without a limit, such as strcpy(), are not used at all,
# not even in tests and bench.
set -eu
cd "${1:-.}"

# shellcheck disable=SC2016 # the dollars are awk's
find src tests bench -name '*.[ch]' | LC_ALL=C sort | xargs awk '
	function offence(text) {
		print FILENAME ":" FNR ": " text
		bad = 1
	}
	# The line without comments; `inside` is kept from line to line.
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
		# where the kernel reports no event (see HACKING.md)
		sleepers = "^src/(local/(localdir|lockserver)|proc/(keeper|tree)|" \
		    "run/supervise)[.]c$"
		rank["base"] = 1
		rank["net"] = rank["proc"] = rank["lock/core"] = 2.1
		rank["lock/wire"] = 2.2
		rank["local"] = 3.1
		rank["client"] = 3.2
		rank["run"] = 3.3
		rank["cli"] = 4.1
		rank["cli/history"] = 4.2
		rank["cli/show"] = 4.3
		rank["cli/hold"] = rank["cli/top"] = rank["cli/doctor"] = 4.4
	}
	function folder(path) {
		sub(/\/[^\/]*$/, "", path)
		return path
	}
	FNR == 1 {
		inside = 0
		layered = FILENAME ~ /^src\//
		from = folder(substr(FILENAME, 5))
		if (layered && !(from in rank))
			offence("folder \"" from "\" is not a layer")
	}
	{
		line = code($0)
	}
	layered && line ~ /^[ \t]*#[ \t]*include[ \t]*"/ {
		split(line, quoted, "\"")
		name = quoted[2]
		to = folder(name)
		if (name == "config.h")
			next
		if (name !~ /\//)
			offence("\"" name "\": name the folder")
		else if (!(to in rank))
			offence("\"" name "\": \"" to "\" is not a layer")
		else if (to != from && name ~ /\/inside\.h$/)
			offence("\"" name "\" is for its own folder")
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
		offence("no limit: use snprintf() or memcpy()")
	}
	!layered {
		next
	}
	calls(line, "ato(i|l|ll|f)|strto[a-z]+|f?scanf|sscanf") {
		offence("no error on overflow: use parse_number()")
	}
	calls(line, "clock_gettime|gettimeofday|time|timespec_get") &&
	    FILENAME != "src/base/clock.c" {
		offence("only src/base/clock.c reads the clock")
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
	calls(line, "sleep|usleep") ||
	    (calls(line, "nanosleep") ||
	    line ~ /(^|[^A-Za-z0-9_])poll[ \t]*\([ \t]*NULL[ \t]*,/) &&
	    FILENAME !~ sleepers && layered {
		offence("do not sleep: wait for an event, up to a deadline")
	}
	END { exit bad }
' || exit 1 # xargs would exit with 123

# refuse WHAT: fails if the pairs on standard input form a circle
refuse() {
	circles=$(tsort 2>&1 >/dev/null) || true
	[ -n "$circles" ] || return 0
	echo "$circles" | sed "s/^tsort: -:/src: $1:/; s/^tsort: /src:   /"
	exit 1
}
# shellcheck disable=SC2016
find src -name '*.h' | LC_ALL=C sort | xargs awk '
	/^#include "/ {
		split($0, quoted, "\"")
		print substr(FILENAME, 5), quoted[2]
	}
' | refuse includes
# shellcheck disable=SC2016
find src -name '*.c' | sed 's/c$/o/' | while read -r object; do
	[ ! -e "$object" ] || echo "$object"
done | xargs -r nm -A -P | awk '
	{ file = $1; sub(/\.o:$/, ".c", file) }
	$3 == "T" { home[$2] = file }
	$3 == "U" { user[++n] = file; name[n] = $2 }
	END {
		for (i = 1; i <= n; i++)
			if (name[i] in home && home[name[i]] != user[i])
				print user[i], home[name[i]]
	}
' | refuse calls
