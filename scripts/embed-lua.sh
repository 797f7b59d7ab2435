#!/bin/sh
# SPDX-License-Identifier: MIT
# embed-lua.sh DIR: the scripts of DIR as C, each whole, with the name by which
# EVALSHA calls it: LUA_ACQUIRE and SHA_ACQUIRE, ...; and the numbers of their
# arguments: ACQUIRE_TOKEN, ..., see DIR/arguments.
# embed-lua.sh DIR NAME [plain]: the text of one script; plain: with its blanks.
#
# Comments, blank lines, indents and the blanks around operators are left out:
# they would cost bytes on the wire. All other lines stay lines, so the server
# compiles the same code, and the same line numbers, with the blanks or without
# them (tests/sim.bats compares both).
set -eu
dir=$1
only=${2-}
plain=${3-}

# named SCRIPT: ARG.name and AT.name become ARGV[n] and n.
named() {
	awk -v script="$1" '
	FNR == NR {
		if (/^[A-Z]/) {
			at[$1] = " "
			for (i = 2; i <= NF; i++)
				at[$1] = at[$1] $i " " i - 1 " "
		}
		next
	}
	{
		out = ""
		while (match($0, /(ARG|AT)\.[a-z]+/)) {
			name = substr($0, RSTART, RLENGTH)
			out = out substr($0, 1, RSTART - 1)
			$0 = substr($0, RSTART + RLENGTH)
			whole = name ~ /^ARG/
			sub(/.*\./, "", name)
			if (!match(at[script], " " name " [0-9]+ ")) {
				print "embed-lua.sh: " script " has no " name >"/dev/stderr"
				exit 1
			}
			n = substr(at[script], RSTART + length(name) + 2) + 0
			out = out (whole ? "ARGV[" n "]" : n)
		}
		print out $0
	}' "$dir/arguments" -
}
# The numbers, for C; ..._ARGS is how many there are.
numbers() {
	awk '
	/^[A-Z]/ {
		printf "enum {"
		for (i = 2; i <= NF; i++)
			printf " %s_%s = %d,", $1, toupper($i), i - 1
		printf " %s_ARGS = %d };\n", $1, NF - 1
	}' "$dir/arguments"
}
lines() { sed -e 's/^[ 	]*//' -e '/^$/d' -e '/^--/d'; }
# What is left of a blank: one that keeps two words, two signs or a number and
# its neighbour apart.
short() {
	awk -v q="'" '
	function apart(a, b) {
		return a ~ /[A-Za-z0-9_]/ && b ~ /[A-Za-z0-9_]/ ||
		    a ~ /[-.0-9]/ && b ~ /[-.]/ || a == "." && b ~ /[0-9]/
	}
	BEGIN { string = "^" q "([^" q "\\\\]|\\\\.)*" q }
	{
		rest = $0
		out = ""
		while (rest != "") {
			n = 1
			if (match(rest, string)) {
				n = RLENGTH
			} else if (rest ~ /^"|^\[\[|^\[=/) {
				print "embed-lua.sh: a string of another kind: " $0 >"/dev/stderr"
				exit 1
			} else if (rest ~ /^--/) {
				break
			} else if (match(rest, /^[ \t]+/)) {
				rest = substr(rest, RLENGTH + 1)
				if (rest !~ /^--/ &&
				    apart(substr(out, length(out)), substr(rest, 1, 1)))
					out = out " "
				continue
			}
			out = out substr(rest, 1, n)
			rest = substr(rest, n + 1)
		}
		print out
	}'
}
as_c() { # NAME
	echo "#define SHA_$1 \"$(sha1sum <"$tmp" | cut -c1-40)\""
	printf '#define LUA_%s' "$1"
	awk '{
		gsub(/\\/, "&&")
		gsub(/"/, "\\\"")
		printf(" \\\n\t\"%s\\n\"", $0)
	}
	END { print "" }' "$tmp"
}
script() { # NAME PART...
	name=$1
	shift
	[ -z "$only" ] || [ "$only" = "$name" ] || return 0
	for part; do cat "$dir/$part.lua"; done | lines >"$tmp.named"
	named "$name" <"$tmp.named" >"$tmp"
	if [ -z "$plain" ]; then
		short <"$tmp" >"$tmp.short"
		mv "$tmp.short" "$tmp"
	fi
	if [ -n "$only" ]; then cat "$tmp"; else as_c "$name"; fi
}

tmp=$(mktemp)
trap 'rm -f "$tmp" "$tmp.named" "$tmp.short"' EXIT
[ -n "$only" ] || numbers
# Each script, and its files in the order in which they are joined. What a file
# defines, those behind it may use.
script ACQUIRE start plain plain-acquire state line history counter hold serve acquire
script RENEW start plain plain-renew state line history counter hold renew
script RELEASE start history plain plain-release state line counter hold serve release
script FORCE start state line history counter hold serve force
script INSPECT start state inspect
script HISTORY start state history latest
script RIGHTS rights
script RIGHTS_WRITE no-writes rights
script IDLE idle
