#!/bin/sh
# SPDX-License-Identifier: MIT
# mutants.sh TABLE: changes lines of the source, one at a time, and runs a test that
# must then fail. Runs in a configured copy of the source: see the target `mutants`.
# A mutant is five lines of the table, and a blank one:
#	what is broken
#	FILE
#	the line as it is
#	the line with the fault
#	TEST [NAME]	a program; or a bats file, with a regular expression for the
#			beginning of a test's name
# Prints TAP. The status is 0 only if every mutant is caught.
set -uf

REDLOCK=$PWD/redlock TEST_BIN=$PWD/tests/lib
export REDLOCK TEST_BIN
n=0 bad=0

# Builds what the test needs and runs it; its output is in `out`.
try() { # TEST [NAME]
	test=$1
	shift
	case $test in
	*.bats) make -s redlock && timeout 120 bats --tap -f "^$*" "$test" ;;
	*) make -s "$test" && timeout 120 "./$test" ;;
	esac </dev/null >out 2>&1
}
# It runs and fails. A script that does not compile does not count.
fails() { # TEST [NAME]
	! try "$@" && grep -q '^not ok' out && ! grep -q 'Error compiling' out
}
# Replaces the line `from` by `to`; fails unless there is exactly one.
change() {
	from=$from to=$to awk '
		$0 == ENVIRON["from"] { $0 = ENVIRON["to"]; found++ }
		{ print }
		END { exit found != 1 }' "$file.orig" >"$file"
}

make -s TESTS= check </dev/null >out 2>&1 || {
	cat out
	echo 'Bail out! it does not build'
	exit 1
}
while read -r what <&9; do # 3 and 4 may be the jobserver of make
	case $what in '' | '#'*) continue ;; esac
	{
		read -r file
		IFS= read -r from
		IFS= read -r to
		read -r by
	} <&9
	n=$((n + 1)) verdict='not ok'
	cp "$file" "$file.orig" || exit 1
	# shellcheck disable=SC2086 # two words: a test's file and its name
	if ! try $by || ! grep -q '^ok' out; then
		echo "$by does not pass as it is" >>out
	elif ! change; then
		echo "$file has no such line, or several" >out
	elif fails $by; then
		verdict=ok
	fi
	mv "$file.orig" "$file"
	touch "$file"
	echo "$verdict $n - $what"
	[ "$verdict" = ok ] || {
		sed 's/^/# /' out
		bad=1
	}
done 9<"$1"
echo "1..$n"
[ $n -gt 0 ] && exit $bad
