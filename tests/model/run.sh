#!/bin/sh
# SPDX-License-Identifier: MIT
# Verifies queue.pml completely, and that each of its broken twins is caught.
# TAP on standard output; status 0 only when all is as it must be. Takes spin
# and a C compiler, 1.6 GB of memory, and about two minutes of one processor.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/redlock-model.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
# spin cannot bear a blank in a path
cp "$here/queue.pml" "$tmp/" && cd "$tmp" || exit 1

CC=${CC:-cc}
for tool in spin ${CC%% *}; do
	command -v "$tool" >/dev/null || {
		echo "Bail out! $tool is not installed"
		exit 1
	}
done

# search KIND SPIN-OPTIONS CC-OPTION: what pan says is then in the file `out`.
# Liveness is checked under weak fairness (-f); what else is wrong there, is for
# the other search to find (-A -E).
search() {
	kind=$1
	case $kind in
	safety) make='-DSAFETY -DNOCLAIM' model=$2 run='' ;;
	liveness) make='-DNFAIR=3' model="-DLIVENESS $2" run='-a -f -A -E' ;;
	esac
	rm -f pan
	# shellcheck disable=SC2086 # several options in one word
	{
		spin -a $model queue.pml &&
			$CC -w -DMEMLIM=4000 $make "$3" -o pan pan.c &&
			./pan -m10000 $run
	} >out 2>&1
}

# The search was not cut short, and found nothing.
nothing_found() {
	grep -q '^Full statespace search' out &&
		grep -q 'errors: 0$' out &&
		grep -q '^ *[1-9][0-9.e+]* states, stored' out &&
		! grep -Eq 'not completed|too small|MEMLIM|out of memory' out
}
# A fault in the promises, that is, not one in the model.
caught() {
	case $kind in
	safety) grep 'assertion violated' out | grep -qv 'invalid' ;;
	liveness) grep -q 'acceptance cycle' out ;;
	esac
}

n=0 failed=0
report() { # PREDICATE TEXT
	n=$((n + 1))
	if $1; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/#   /' out
		failed=$((failed + 1))
	fi
	sed -n -e 's/^ *\([0-9.e+]* states, stored.*\)/# \1/p' \
		-e 's/^pan: elapsed time \(.*\)/# in \1/p' out
}

holds() { # KIND WAITERS FAULTS
	search "$1" "-DN=$2 -DFAULTS=$3" -O2
	report nothing_found "$1 holds with $2 waiters and $3 faults"
}
twin() { # KIND NAME
	search "$1" "-DN=3 -DFAULTS=2 -DTWIN=$2" -O0
	report caught "the twin $2 is caught: no $1"
}

holds safety 4 4
holds safety 5 2
holds liveness 4 2
holds liveness 3 4
for name in CANCEL_KEEPS DEL_AFTER DEL_APART RELEASE_ANY STALE_START \
	START_LATE CLAIM_SHORT BARGE LEAVE_UNTOLD BEHIND_BLIND; do
	twin safety "$name"
done
for name in NO_POLL GRANT_FOREVER NO_SKIP; do
	twin liveness "$name"
done
echo "1..$n"
[ "$failed" = 0 ]
