#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [MODEL]...
# Verifies queue.pml, round.pml, fence.pml, loss.pml and lease.pml, or those named,
# completely, and that each of their broken twins is caught. Prints TAP; the status
# is 0 only if all tests pass. Needs spin, a C compiler, 2.1 GB of memory, and about
# fifteen minutes of one processor.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/redlock-model.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
# spin does not support blanks in paths
cp "$here"/*.pml "$tmp/" && cd "$tmp" || exit 1

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
	safety) make='-DSAFETY -DNOCLAIM' opts=$2 run='' ;;
	liveness) make='-DNFAIR=3' opts="-DLIVENESS $2" run='-a -f -A -E' ;;
	esac
	rm -f pan
	# shellcheck disable=SC2086 # several options in one word
	{
		spin -a $opts "$model.pml" &&
			$CC -w -DMEMLIM=6000 $pack $make "$3" -o pan pan.c &&
			./pan -m$depth $run
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

holds() { # KIND OPTIONS TEXT
	search "$1" "$2" -O2
	report nothing_found "$model: $1 holds with $3"
}
twins() { # KIND OPTIONS NAME...
	of=$2
	twins=$1
	shift 2
	for name; do
		search "$twins" "$of -DTWIN=$name" -O0
		report caught "$model: the twin $name is caught: no $twins"
	done
}

queue() {
	depth=10000 pack=''
	holds safety '-DN=4 -DFAULTS=4' '4 waiters and 4 faults'
	holds safety '-DN=5 -DFAULTS=2' '5 waiters and 2 faults'
	holds liveness '-DN=4 -DFAULTS=2' '4 waiters and 2 faults'
	holds liveness '-DN=3 -DFAULTS=4' '3 waiters and 4 faults'
	twins safety '-DN=3 -DFAULTS=2' CANCEL_KEEPS DEL_AFTER DEL_APART \
		RELEASE_ANY STALE_START START_LATE CLAIM_SHORT BARGE \
		LEAVE_UNTOLD BEHIND_BLIND
	twins liveness '-DN=3 -DFAULTS=2' NO_POLL GRANT_FOREVER NO_SKIP
}

fence() {
	depth=1000 pack=-DCOLLAPSE
	holds safety '-DFAULTS=4 -DAPART=2' '2 attempts and 4 faults'
	holds safety '-DX=3 -DFAULTS=1 -DAPART=2' '3 attempts and 1 fault'
	holds safety '-DN=5 -DFAULTS=1 -DAPART=1' '5 nodes and 1 fault'
	holds safety '-DLOSSES=2 -DFAULTS=1 -DAPART=1' '2 losses and 1 fault'
	holds safety '-DLOSSES=3 -DFAULTS=0 -DAPART=1' '3 losses'
	holds safety '-DSHARED -DFAULTS=1 -DAPART=2' 'several holders, 1 fault'
	twins safety '' ORIG_GE ORIG_NEXT ORIG_GT ORIG_EXACT KEYLESS ANY_YES
	twins safety -DN=5 HALF
	twins safety '-DFAULTS=1 -DLOSSES=1' PLAIN PLAIN_GUARDED ROLLED_BACK
	twins safety '-DSHARED -DX=3 -DFAULTS=0 -DAPART=2' NOT_STRICT
}

lease() {
	depth=2000000 pack=-DCOLLAPSE
	holds safety '' '1 node'
	holds safety '-DLATE=2 -DT=3 -DKILL=2 -DDRIFT=3' '2 late messages'
	depth=2000
	holds safety '-DN=3' '3 nodes, 1 restart, 1 mishap'
	depth=1000000
	twins safety '' AT_ARRIVAL KILL_AT_T NO_GUARD AGAIN_AT_ONCE OLD_GRANT
	depth=2000
	twins safety -DN=3 HEAL_BLIND REPAIR_BLIND MISSING_EVER
}

round() {
	depth=100000 pack=-DCOLLAPSE
	holds safety '-DLATE=1 -DMISHAPS=4' '1 late message, 4 mishaps'
	holds safety '-DMISHAPS=3' '2 late messages, 3 mishaps'
	twins safety '-DLATE=1 -DMISHAPS=2' ANY_RELEASE UNNOTED UNNOTED_ASK \
		OLD_GRANT
	twins safety -DMISHAPS=2 SET_BACK
}

loss() {
	depth=100000 pack=-DCOLLAPSE
	holds safety '' '3 clients and 2 losses'
	twins safety '' NO_SHUT NO_TRAIL UNNOTICED RETURN_BLIND
}

[ $# -gt 0 ] || set -- queue round fence loss lease
for model; do
	case $model in
	queue | round | fence | loss | lease) "$model" ;;
	*)
		echo "Bail out! there is no model $model"
		exit 1
		;;
	esac
done
echo "1..$n"
[ "$failed" = 0 ]
