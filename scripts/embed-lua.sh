#!/bin/sh
# SPDX-License-Identifier: MIT
# embed-lua.sh DIR: joins the files in DIR into scripts and prints them as C. For
# each script that is its text (LUA_ACQUIRE), its hash for EVALSHA (SHA_ACQUIRE) and
# the numbers of its arguments (ACQUIRE_TOKEN, ..., from DIR/arguments).
# embed-lua.sh DIR NAME [plain]: prints the text of one script; plain: with blanks.
#
# Comments, blank lines, indentation and the blanks around operators are removed to
# save bytes on the wire; a comment "--!" stays, because Dragonfly reads it. Lines stay
# lines, so the server compiles the same code with the same line numbers (tests/sim.bats
# compares both forms).
set -eu
dir=$1
only=${2-}
plain=${3-}

# named SCRIPT: replaces ARG.name by ARGV[n], and AT.name by n.
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
# The numbers as C enums; ..._ARGS is their count.
numbers() {
	awk '
	/^[A-Z]/ {
		printf "enum {"
		for (i = 2; i <= NF; i++)
			printf " %s_%s = %d,", $1, toupper($i), i - 1
		printf " %s_ARGS = %d };\n", $1, NF - 1
	}' "$dir/arguments"
}
lines() { sed -e 's/^[ 	]*//' -e '/^$/d' -e '/^--!/b' -e '/^--/d'; }
# Removes blanks, except between two words, two operators, or a number and its
# neighbour.
short() {
	awk -v q="'" '
	function apart(a, b) {
		return a ~ /[A-Za-z0-9_]/ && b ~ /[A-Za-z0-9_]/ ||
		    a ~ /[-.0-9]/ && b ~ /[-.]/ || a == "." && b ~ /[0-9]/
	}
	BEGIN { string = "^" q "([^" q "\\\\]|\\\\.)*" q }
	/^--!/ {
		print
		next
	}
	{
		rest = $0
		out = ""
		while (rest != "") {
			n = 1
			if (match(rest, string)) {
				n = RLENGTH
			} else if (rest ~ /^"|^\[\[|^\[=/) {
				print "embed-lua.sh: unsupported kind of string: " $0 >"/dev/stderr"
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
# A script is these files, joined in this order. A file may use what earlier files
# define.
script ACQUIRE start plain plain-acquire state line wait save history counter hold serve \
	acquire
script RENEW start plain plain-ours plain-renew state save line history counter hold renew
script RELEASE start history plain plain-ours plain-release state save line counter hold \
	serve release
script FORCE start state save line history counter hold serve force
script INSPECT start state replica inspect
script HISTORY start state history replica latest
script RIGHTS rights
script RIGHTS_WRITE no-writes rights
script IDLE idle
