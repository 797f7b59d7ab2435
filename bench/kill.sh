#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures how long a command lives once it must die: from the decision to the death
# of its whole tree (processes in sessions of their own that ignore signals), on an
# idle machine and with four busy processes for each processor.
#
#   bench/kill.sh [PATH-OF-REDLOCK] [ROUNDS] [PROCESSES]...
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${2:-5}
[ $# -lt 2 ] || shift 2
[ $# -gt 0 ] || set -- 10 1000 4000 16000

room() { # processes that may be added
	used=$(set -- /proc/[0-9]* && echo $#)
	{
		awk '/^Max processes/ { print $3 }' /proc/self/limits
		cat /proc/sys/kernel/pid_max
	} | awk -v used="$used" '
		$1 != "unlimited" && (!most || $1 < most) { most = $1 }
		END { print most - used - 100 }'
}

measure() { # PROCESSES
	[ "$1" -lt "$(room)" ] || {
		echo "(this machine has no room for $1 processes)"
		return
	}
	echo "milliseconds until the last of $1 processes is dead"
	printf 'kill -9 of redlock '
	"$W/tree" "$rounds" "$1" kill "$sock" "$redlock" | summary
	printf 'the server says no '
	"$W/tree" "$rounds" "$1" lose "$sock" "$redlock" | summary
}

start_redis
compile tree
machine
for n; do measure "$n"; done
cpus=$(grep -c ^processor /proc/cpuinfo)
i=0
while [ $i -lt $((4 * cpus)) ]; do
	(while :; do :; done) &
	mine="$mine $!"
	i=$((i + 1))
done
echo
echo "the same beside $i busy processes"
for n; do measure "$n"; done
