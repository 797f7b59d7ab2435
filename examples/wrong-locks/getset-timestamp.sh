#!/bin/sh
# SPDX-License-Identifier: MIT
# WRONG: the end of the lease is a time of day by the holder's clock, and others
# compare it with their own. To a client whose clock is ahead, the lock of a live
# holder looks expired.
. "$(dirname "$0")/../redis.sh"
key=$1
shift
now() { date +%s%3N; } # in ms
take() {
	end=$(($(now) + lease))
	[ "$(redis setnx "$key" $end)" = 0 ] || return 0
	old=$(redis get "$key")
	# expired: of the clients that see this, the one that gets the old value wins
	[ "${old:-0}" -lt "$(now)" ] &&
		[ "$(redis getset "$key" $end)" = "$old" ]
}
until take; do busy; done
"$@"
status=$?
[ "$(now)" -ge $end ] || redis del "$key" >/dev/null
exit $status
