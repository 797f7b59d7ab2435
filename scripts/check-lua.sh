#!/bin/sh
# SPDX-License-Identifier: MIT
# check-lua.sh: checks the Lua in src/lua. Each file, though only a part of scripts
# (see embed-lua.sh), must compile on its own. Each joined script may use only what
# the server provides and what it defines itself, and must not set a global: a server
# would complain only once that line runs.
# Prints a line for each offence; the status is then 1. Without Lua 5.1's compiler it
# prints a note, with status 0.
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
# "#!lua flags=..." is for the server; here it is not always the first line
for file in src/lua/*.lua; do
	sed 's/^#!.*//' "$file" | "$luac" -p - || {
		echo "$file: does not compile"
		bad=1
	}
done
names=$(sed -n 's/^script \([A-Z_]*\) .*/\1/p' scripts/embed-lua.sh)
for name in ${names:?no scripts in embed-lua.sh}; do
	text=$(sh scripts/embed-lua.sh src/lua "$name" | sed '1s/^#!.*//')
	code=$(printf '%s\n' "${text:?"$name" is empty}" | "$luac" -l -p -)
	foreign=$(echo "$code" | awk '
		/SETGLOBAL/ { print "sets " $NF }
		/GETGLOBAL/ && " ARGV KEYS redis ipairs math next pairs select string " \
		    "tonumber tostring type unpack " !~ " " $NF " " {
			print "uses " $NF
		}' | sort -u)
	[ -z "$foreign" ] || {
		echo "$foreign" | sed "s/^/the script $name: /; s/\$/, a global/"
		bad=1
	}
done
exit $bad
