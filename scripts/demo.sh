#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh [REDLOCK]: shows in ten seconds what redlock does: a holder; a second one
# that waits and says for whom; a holder killed with -9, whose command dies with it;
# then the next one starts. Uses local:, a private server of this machine.
set -eu
redlock=${1:-./redlock}
case $redlock in */*) ;; *) redlock=$(command -v "$redlock") ;; esac
redlock=$(cd "$(dirname "$redlock")" && pwd)/$(basename "$redlock")
dir=$(mktemp -d)
export REDLOCK_URL="local:?dir=$dir/server&idle=1s"
# in dash, $(jobs -p) is empty
trap 'jobs -p >"$dir/jobs"; xargs kill <"$dir/jobs" 2>/dev/null || :; wait
	rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || step() { printf '\n%s\n' "$*"; }
lock() { "$redlock" -k demo -t 3s "$@"; }
# shellcheck disable=SC2016 # the dollars belong to the inner shells
tick='i=0; while [ $i -lt 12 ]; do
	i=$((i + 1)); echo "  [$0, fence $REDLOCK_FENCE] working"; sleep 0.5
done'

step '1. Alice takes the lock: redlock -k demo -t 3s -- ./work'
# not through a function: $! must be the pid of redlock
"$redlock" -k demo -t 3s --reason 'the nightly job' -- sh -c "$tick" Alice &
alice=$!
sleep 1.2
step '2. Bob wants it too. He waits, and is told for whom.'
# shellcheck disable=SC2016
lock -- sh -c 'echo "  [Bob, fence $REDLOCK_FENCE] my turn"' &
bob=$!
sleep 2
step "3. Alice's redlock is killed with -9. Her command dies with it, and Bob starts."
kill -KILL "$alice"
wait "$bob"
step '4. Carol does not want to wait while Dave has it: redlock -n'
lock -- sleep 1.5 &
dave=$!
sleep 0.5
status=0
lock -n -- echo 'this must not run' || status=$?
echo "  [Carol] exit status $status: not acquired"
wait "$dave"
step 'Done: the lock is free, and the private server goes when it is idle.'
