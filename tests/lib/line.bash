# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Waiters in line for the lock `job`, by number, behind a holder: for queue,
# priority, messages and foreign.

queue='job:redlock:{job}:queue'
node=a # has the lock under test
in_line() { [ "$(cli $node zcount "$queue" 0 +inf)" = "$1" ]; } # without the signs of life
use_b() { # [redis-server option...]: a server of the test's own
	node_b "$@"
	node=b
}

# line N [OPTION...]: starts waiter number N in the background, and waits until it
# stands in line, in place $waiting. Its command writes N to $T/order and is the
# witness. ${pid[N]} is redlock's pid.
declare -gA pid # bats reads this file in a function
waiting=0
line() {
	local n=$1

	shift
	waiting=$((waiting + 1))
	launch --default all "$REDLOCK" -u "$url" -k job -t 2s "$@" -- \
		sh -c "echo $n >>$T/order; exec witness $T --hold ${each:-5}" \
		2>"$T/err.$n" 3>&- &
	pid[$n]=$!
	helpers="$helpers $!"
	wait_until in_line $waiting
}
all_ran() { # N...: with status 0, in this order
	local n

	for n; do wait "${pid[$n]}" || { cat "$T/err.$n" >&2; return 1; }; done
	[ "$(tr '\n' ' ' <"$T/order")" = "$* " ] || { cat "$T/order" >&2; return 1; }
}
ended_with() { # N STATUS
	local got=0

	wait "${pid[$1]}" || got=$?
	[ "$got" = "$2" ] || { echo "$1 ended with $got" >&2; return 1; }
}
# Starts a holder, $holder, whose command $worker runs until let_go.
keep() { # [OPTION...]
	start_keep "$@"
	wait_until exists "$T/started"
	worker=$(cat "$T/started")
}
start_keep() {
	rm -f "$T/started"
	helper "$REDLOCK" -u "$url" -k job -t 2s "$@" -- \
		witness "$T" --hold 60000 --started "$T/started" 2>"$T/err"
	holder=$!
}
let_go() {
	kill -TERM "$worker" 2>/dev/null || true # or it is gone already
	ends_with 143
}
head_token() { cli a --raw zrange "$queue" 0 0 | head -n 1 | cut -d' ' -f1; }
lock_is() { [ "$(cli a get job)" = "$1" ]; }
ran() { [ "$(holds)" -ge "$1" ]; }
