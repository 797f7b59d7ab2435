#!/bin/sh
# SPDX-License-Identifier: MIT
# How long a command lives on once it must die: from the decision to the death
# of its whole tree (processes in sessions of their own, deaf to signals).
#
#   bench/kill.sh [PATH-OF-REDLOCK] [ROUNDS]
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${2:-20}

start_redis
compile tree
machine
for n in 10 2000 4000; do
	[ $n = 10 ] || [ -n "${2-}" ] || rounds=5
	echo "milliseconds until the last of $n processes is dead"
	for how in "" --contain; do
		[ -z "$how" ] || "$redlock" -q -u "unix://$sock" -k probe $how \
			-- true 2>/dev/null || {
			echo "(this machine, or this redlock, has no $how)"
			continue
		}
		# shellcheck disable=SC2086 # none is none
		printf 'kill -9 of redlock %-11s ' "$how"
		"$W/tree" "$rounds" $n kill "$sock" "$redlock" $how | summary
		printf 'the server says no %-11s ' "$how"
		"$W/tree" "$rounds" $n lose "$sock" "$redlock" $how | summary
	done
done
