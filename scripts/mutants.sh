#!/bin/sh
# SPDX-License-Identifier: MIT
# mutants.sh TABLE: run in a build of redlock of its own. Changes one line of the
# source after the other, as the table says, and runs the test that must fail
# then. Of each mutant, the table has a blank line and five lines:
#	what is broken
#	FILE
#	the line as it is
#	the line as it becomes
#	TEST [NAME]	a program; or a file of bats, and how a test in it begins
# TAP on standard output; status 0 only when every mutant is caught.
set -u

REDLOCK=$PWD/redlock TEST_BIN=$PWD/tests/lib
export REDLOCK TEST_BIN
n=0 bad=0

# Builds what the test needs, and says what the test says.
run() { # TEST [NAME]
	test=$1
	shift
	case $test in
	*.bats) make -s redlock && bats --tap -f "^$*" "$test" ;;
	*) make -s "$test" && "./$test" ;;
	esac >out 2>&1
}
# Puts `to` for the one line `from`; fails if there is not one.
change() {
	from=$from to=$to awk '
		$0 == ENVIRON["from"] { $0 = ENVIRON["to"]; found++ }
		{ print }
		END { exit found != 1 }' "$file.orig" >"$file"
}
verdict() { # ok|not ok
	n=$((n + 1))
	echo "$1 $n - $what"
	[ "$1" = ok ] || {
		sed 's/^/# /' out
		bad=1
	}
}

make -s TESTS= check >out 2>&1 || {
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
	cp "$file" "$file.orig"
	# shellcheck disable=SC2086 # a test's file and its name
	if ! change; then
		echo "$file has no such line, or several" >out
		verdict 'not ok'
	elif ! run $by && grep -q '^not ok' out; then
		verdict ok
	else # or it does not even run
		verdict 'not ok'
	fi
	mv "$file.orig" "$file"
	touch "$file"
done 3<"$1"
echo "1..$n"
exit $bad
