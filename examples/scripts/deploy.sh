#!/bin/sh
# SPDX-License-Identifier: MIT
# deploy.sh PLACE: one deploy at a time for each place. Everything after the
# eval runs under the lock, until the script ends, even by kill -9.
set -eu
. "$(dirname "$0")/../redis.sh"
need_redlock

# TERM: the lock is lost, because the server is gone or somebody took it. End
# what we run, too. A shell handles a trap while it "wait"s for a background
# job; for a command in the foreground it would handle it only afterwards.
work=
trap 'kill ${work:+"$work"}; echo "$1: stopped" >&2; exit 1' TERM

# If no lock is free within a minute, the printed code ends the script with 75;
# if redlock cannot even start, ours does.
eval "$("$REDLOCK" lock -w 1m --keep-for $$ --export "deploy:$1" || echo exit $?)"

echo "$1: begins, fence $REDLOCK_FENCE"
${WORK:-sleep 0.2} &
work=$!
wait "$work"
work=
# a command that takes the same lock joins our hold instead of waiting for us
"$REDLOCK" -k "deploy:$1" -- echo "$1: checked"
echo "$1: ends"
