#!/bin/sh
# SPDX-License-Identifier: MIT
# WRONG: the end of the lease is a time of day by the holder's clock, and others
# read it by theirs. To one that is ahead, a living holder's lock looks like one
# that is over.
. "$(dirname "$0")/../redis.sh"
key=$1
shift
now() { date +%s%3N; } # in ms
take() {
	end=$(($(now) + lease))
	[ "$(redis setnx "$key" $end)" = 0 ] || return 0
	old=$(redis get "$key")
	# over: of those who see that, one gets the old value back and has it
	[ "${old:-0}" -lt "$(now)" ] &&
		[ "$(redis getset "$key" $end)" = "$old" ]
}
until take; do busy; done
"$@"
status=$?
[ "$(now)" -ge $end ] || redis del "$key" >/dev/null
exit $status
