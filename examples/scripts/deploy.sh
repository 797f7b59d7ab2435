#!/bin/sh
# SPDX-License-Identifier: MIT
# deploy.sh PLACE: one at a time for each place. All that follows the eval is
# under the lock, until the script ends, however it ends: kill -9 included.
set -eu
. "$(dirname "$0")/../redis.sh"
need_redlock

# The lock is lost: the server is gone, or somebody took it. What we run goes
# with us; a shell that does not "wait" for it would look at us only then.
work=
trap 'kill ${work:+"$work"}; echo "$1: stopped" >&2; exit 1' TERM

# Without the lock, the code that is printed ends the script: 75 after a minute.
eval "$("$REDLOCK" lock -w 1m --keep-for $$ --export "deploy:$1")"

echo "$1: begins, fence $REDLOCK_FENCE"
${WORK:-sleep 0.2} &
work=$!
wait "$work"
work=
# a command that takes the same lock itself joins in, and does not wait for us
"$REDLOCK" -k "deploy:$1" -- echo "$1: checked"
echo "$1: ends"
