#!/bin/sh
# SPDX-License-Identifier: MIT
# embed-lua.sh DIR: the scripts of DIR as C, each whole, with the name by which
# EVALSHA calls it: LUA_ACQUIRE and SHA_ACQUIRE, ...  Blank lines, lines that are
# all comment and indents stay behind: they are free in the source and would
# cost bytes on the wire.
set -eu
dir=$1

script() { # NAME PART...
	name=$1
	shift
	for part; do cat "$dir/$part.lua"; done |
		sed -e 's/^[ 	]*//' -e '/^$/d' -e '/^--/d' >"$tmp"
	echo "#define SHA_$name \"$(sha1sum <"$tmp" | cut -c1-40)\""
	printf '#define LUA_%s' "$name"
	awk '{
		gsub(/\\/, "&&")
		gsub(/"/, "\\\"")
		printf(" \\\n\t\"%s\\n\"", $0)
	}
	END { print "" }' "$tmp"
}

tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
script ACQUIRE prelude share queue server stop acquire
script JOIN prelude share heal stop join
script CONFIRM prelude share heal server stop confirm
script RELEASE prelude share queue server log release
script FORCE prelude share heal queue server stop log story force
script UNLOCK prelude share queue server log story look find unlock release
script EXTEND prelude share heal server stop story look find extend confirm
script INSPECT prelude share look inspect
script HISTORY prelude history
