#!/bin/sh
# SPDX-License-Identifier: MIT
# WRONG: GET and DEL are two requests. If the lease ends between them, the lock
# was ours when we looked and is somebody else's when we delete it.
. "$(dirname "$0")/../redis.sh"
key=$1 token=$(cat /proc/sys/kernel/random/uuid)
shift
until [ "$(redis set "$key" "$token" nx px "$lease")" = OK ]; do busy; done
"$@"
status=$?
[ "$(redis get "$key")" != "$token" ] || redis del "$key" >/dev/null
exit $status
