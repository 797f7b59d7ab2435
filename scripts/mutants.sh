#!/bin/sh
# SPDX-License-Identifier: MIT
# mutants.sh TABLE: changes one line of the source after the other, as the table
# says, and runs the test that must fail then. For a copy of the source, which is
# configured: see the target `mutants`. Of each mutant, the table has five lines,
# and a blank one:
#	what is broken
#	FILE
#	the line as it is
#	the line as it becomes
#	TEST [NAME]	a program; or a file of bats, and how the name of a test in
#			it begins (a regular expression)
# TAP on standard output; status 0 only when every mutant is caught.
set -uf

REDLOCK=$PWD/redlock TEST_BIN=$PWD/tests/lib
export REDLOCK TEST_BIN
n=0 bad=0

# Builds what the test needs, and says what the test says.
try() { # TEST [NAME]
	test=$1
	shift
	case $test in
	*.bats) make -s redlock && timeout 120 bats --tap -f "^$*" "$test" ;;
	*) make -s "$test" && timeout 120 "./$test" ;;
	esac </dev/null >out 2>&1
}
# It runs and does not pass. (A script that is not compiled is no mutant.)
fails() { # TEST [NAME]
	! try "$@" && grep -q '^not ok' out && ! grep -q 'Error compiling' out
}
# Puts `to` for the one line `from`; fails if there is not one.
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
while read -r what <&3; do
	case $what in '' | '#'*) continue ;; esac
	{
		read -r file
		IFS= read -r from
		IFS= read -r to
		read -r by
	} <&3
	n=$((n + 1)) verdict='not ok'
	cp "$file" "$file.orig" || exit 1
	# shellcheck disable=SC2086 # a test's file and its name
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
done 3<"$1"
echo "1..$n"
[ $n -gt 0 ] && exit $bad
