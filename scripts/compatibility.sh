#!/bin/sh
# SPDX-License-Identifier: MIT
# compatibility.sh REDLOCK, in the top source directory: prints what
# docs/compatibility.md promises, one line for each thing, sorted. tests/compatibility
# is that list as it was last agreed to: tests/release.bats compares, and `make
# compatibility` writes it anew.
set -eu
LC_ALL=C
export LC_ALL

redlock=${1:?usage: scripts/compatibility.sh REDLOCK}
case $redlock in */*) ;; *) redlock=./$redlock ;; esac

# "option FORM -k --key VALUE (DEFAULT)"; FORM is "run" or a verb
options() { # FORM, from stdin: its --help
	awk -v form="$1" '
		/^  (-[A-Za-z],|   ) --/ {
			text = substr($0, 3)
			sub(/^   /, "", text)
			sub(/^-[A-Za-z],/, substr(text, 1, 2), text)
			rest = text
			sub(/  .*/, "", text)
			if (!match(rest, /\([^()]*\)$/))
				rest = ""
			else
				rest = " " substr(rest, RSTART)
			sub(/^ */, "", text)
			print "option", form, text rest
		}'
}
section() { # TITLE: the lines of a subsection of the manual
	awk -v title="$1" '/^\.S[sh] / { inside = substr($0, 5) == title; next } inside' man/redlock.1
}
verbs=$("$redlock" --help | sed -n '/^By hand/,/^$/s/^  \([a-z-]*\) .*/\1/p')
{
	"$redlock" --help | options run
	for verb in $verbs; do
		echo "verb $verb"
		"$redlock" "$verb" --help | options "$verb"
	done

	# "setting NAME VARIABLE": in files and as a variable
	sed -n 's/^\t{.*"\([a-z-]*\)",.*, \(SETTING\|OR_URL(\).*/\1/p' src/cli/optrows.c |
		while read -r name; do
			echo "setting $name REDLOCK_$(echo "$name" | tr 'a-z-' 'A-Z_')"
		done
	sed -n 's/.*_URL("\([a-z-]*\)".*/url \1=/p' src/cli/optrows.c
	sed -n 's/^\t{"\([a-z-]*\)", "\(:[/]*\)", .* NULL},$/url \1\2/p' src/cli/url.c

	# "status 64 USAGE"
	sed -n '/^enum exit_status/,/^}/s/^\tSTATUS_\([A-Z_]*\) = \([0-9]*\).*/status \2 \1/p' \
		src/cli/command.h

	# "schema NAME MEMBER TYPE"
	awk '
		/^\.Ss redlock\./ { schema = $2; print "schema", schema; next }
		/^\.S[sh] / { schema = "" }
		schema && /^\.Sx redlock\./ { print "schema", schema, "as", $2 }
		schema && /^\.It Li / {
			line = $0
			sub(/^\.It Li /, "", line)
			sub(/ Em /, " ", line)
			print "schema", schema, line
		}' man/redlock-json.5

	# "variable given NAME": to the command; and those that are read
	section "Given to the command" | sed -n 's/^\.It Ev \(REDLOCK_[A-Z_]*\).*/variable given \1/p'
	section "Read by redlock" | sed -n 's/^\.\(It \)\{0,1\}Ev //p' | tr -s ' ' '\n' |
		sed -n 's/^\([A-Z][A-Z_]*\)$/variable read \1/p'

	# the layout on the server: its number, the names of the keys, the fields
	sed -n 's/^local LAYOUT.* = \([0-9]*\),.*/layout v \1/p' src/lua/start.lua
	sed -n '/^-- Fields of S/,/^--$/p' src/lua/start.lua |
		sed -n 's/^--   \([a-z][a-z]*\(:[A-Z]*\)\{0,1\}\)  *\("[^"]*"\)\{0,1\}.*/layout field \1 \3/p' |
		sed 's/ $//'
	# shellcheck disable=SC2016 # backquotes of Markdown
	sed -n 's/^| `\([a-z][a-zA-Z:]*\)` | \(hash\|sorted set\|list\|stream\|string\) |.*/layout key KEY:redlock:{KEY}:\1, a \2/p' \
		docs/protocol.md
} | sort -u
