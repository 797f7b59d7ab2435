#!/bin/sh
# SPDX-License-Identifier: MIT
# WRONG: acquired and released correctly, but never renewed. A command that takes
# longer than the lease runs on without a lock.
. "$(dirname "$0")/../redis.sh"
key=$1 token=$(cat /proc/sys/kernel/random/uuid)
shift
until [ "$(redis set "$key" "$token" nx px "$lease")" = OK ]; do busy; done
"$@"
status=$?
redis eval 'return redis.call("get", KEYS[1]) == ARGV[1] and
	redis.call("del", KEYS[1])' 1 "$key" "$token" >/dev/null
exit $status
