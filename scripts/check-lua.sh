#!/bin/sh
# SPDX-License-Identifier: MIT
# check-lua.sh: the Lua of src/lua.
#   Each file is a part of scripts (see embed-lua.sh), and parses alone.
#   Each script, put together, uses what a server gives it and what it defines
# itself, and makes no global. (A server would say so only when that line runs.)
# One line per offence, status 1. Without Lua 5.1's compiler, a note, status 0.
set -eu
cd "$(dirname "$0")/.."

luac=
for name in luac5.1 luac-5.1 luac51 luac; do
	"$name" -v 2>&1 | grep -q '^Lua 5\.1' || continue
	luac=$name
	break
done
[ -n "$luac" ] || {
	echo 'check-lua.sh: no luac of Lua 5.1 (Debian: lua5.1): src/lua is not checked'
	exit 0
}
bad=0
# (the line "#!lua flags=..." is for the server, and not always the first here)
for file in src/lua/*.lua; do
	sed 's/^#!.*//' "$file" | "$luac" -p - || {
		echo "$file: is no Lua"
		bad=1
	}
done
names=$(sed -n 's/^script \([A-Z_]*\) .*/\1/p' scripts/embed-lua.sh)
for name in ${names:?no scripts in embed-lua.sh}; do
	text=$(sh scripts/embed-lua.sh src/lua "$name" | sed '1s/^#!.*//')
	code=$(printf '%s\n' "${text:?"$name" is empty}" | "$luac" -l -p -)
	foreign=$(echo "$code" | awk '
		/SETGLOBAL/ { print "sets " $NF }
		/GETGLOBAL/ && " ARGV KEYS redis ipairs math pairs select string " \
		    "tonumber tostring type unpack " !~ " " $NF " " {
			print "uses " $NF
		}' | sort -u)
	[ -z "$foreign" ] || {
		echo "$foreign" | sed "s/^/the script $name: /; s/\$/, a global/"
		bad=1
	}
done
exit $bad
