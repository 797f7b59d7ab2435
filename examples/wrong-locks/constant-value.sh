#!/bin/sh
# SPDX-License-Identifier: MIT
# WRONG: the value does not say whose lock it is. A client that comes back after
# its lease has ended deletes the lock of the next one, and a third gets in.
. "$(dirname "$0")/../redis.sh"
key=$1
shift
until [ "$(redis set "$key" locked nx px "$lease")" = OK ]; do busy; done
"$@"
status=$?
redis del "$key" >/dev/null
exit $status
