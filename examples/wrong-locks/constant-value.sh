#!/bin/sh
# SPDX-License-Identifier: MIT
# WRONG: the value does not say whose lock it is. Who comes back after the end
# of its lease deletes the lock of the next one, and a third one gets in.
. "$(dirname "$0")/../redis.sh"
key=$1
shift
until [ "$(redis set "$key" locked nx px "$lease")" = OK ]; do busy; done
"$@"
status=$?
redis del "$key" >/dev/null
exit $status
