#!/usr/bin/env bats
# Leases of different length under one key.

load lib/common
load lib/kinds

not_beside() { # CLIENT HOW [OPTION...]: it comes, and waits in vain
	"$2" "$1" -t 300ms -w 1s "${@:3}"
	ended "$1" 75
	not_yet "$1"
}

# Client out, in whose command another one joins it as soon as there is $T/go,
# and leaves it: out_and_in T_OUT T_IN
out_and_in() {
	: >"$T/stay.in"
	client out "$together & while [ ! -e '$T/go' ]; do sleep 0.01; done
		$(inner) -t $2 -- sh -c 'echo on >\"$T/on.in\"
		while [ -e \"$T/stay.in\" ]; do sleep 0.01; done'
		echo over >'$T/over.in'; wait" -t "$1"
	running out
}

# All data are lost, and waiters look at once.
lose_all() {
	cli a flushall >/dev/null
	cli a client kill type normal skipme yes >/dev/null
}
in_leaves() {
	let_go in
	wait_until exists "$T/over.in"
}

@test "a short lease does not start beside a long one, nor a long one beside a short" {
	client long "$alone" -t 6s
	running long
	not_beside short writer
	at_least "$(pttl)" 4500
	lines_up writer short -t 400ms
	let_go long
	ended long
	running short
	below "$(pttl)" 401
	client long "$alone" -t 6s -w 1s
	ended long 75
	below "$(pttl)" 401
	let_go short
	ended short
}

@test "a long lease deleted by hand is healed as long: a short one does not start" {
	client long "$alone" -t 3s
	running long
	cli a del job >/dev/null
	wait_until held job
	at_least "$(pttl)" 2500
	not_beside short writer
	let_go long
	ended long
	client short "$alone" -t 400ms
	running short
	cli a del job >/dev/null
	wait_until held job
	below "$(pttl)" 401
	client long "$alone" -t 6s -w 1s
	ended long 75
	let_go short
	ended short
}

lasts_for_the_long_one_outside() { # HOW the lock goes
	out_and_in 8s 300ms
	: >"$T/go"
	running in
	frozen out
	"$@" >/dev/null
	wait_until held job
	at_least "$(kept_for)" 7000
	in_leaves
	not_beside short writer
	thawed out
	let_go out
	ended out
}

@test "deleted by hand, healed by a short nested run: it lasts for the long lease" {
	lasts_for_the_long_one_outside cli a del job
}

@test "lost with all data, healed by a short nested run: it lasts for the long lease" {
	lasts_for_the_long_one_outside lose_all
}

@test "lost with all data: a short one joins once the long one has set it again" {
	out_and_in 8s 300ms
	frozen out
	cli a flushall >/dev/null
	: >"$T/go"
	sleep 1 # it looks 50 times a second
	not_yet in
	free job
	thawed out
	running in
	at_least "$(pttl)" 6000
	in_leaves
	let_go out
	ended out
}

lasts_for_the_long_one_inside() { # HOW the lock goes
	local was

	out_and_in 400ms 8s
	: >"$T/go"
	running in
	# two renewals later the outer one has heard of it
	was=$(renewals)
	wait_until eval '[ "$(renewals)" -ge $((was + 2)) ]'
	pid[in]=$(pgrep -f "^$REDLOCK -u $url -k job -t 8s")
	frozen in
	"$1"
	wait_until held job
	at_least "$(kept_for)" 7000
	thawed in
	in_leaves
	let_go out
	ended out
	forgotten_in 8000
}

@test "deleted by hand, healed by a short reader: it lasts for the long one inside" {
	lasts_for_the_long_one_inside delete_shared
}

@test "lost with all data, healed by a short reader: it lasts for the long one inside" {
	lasts_for_the_long_one_inside lose_all
}

forgotten_in() { # MS, at most; who lost it may be unaware of it till then
	held job || return 0
	below "$(pttl)" $(($1 + 1))
	cli a flushall >/dev/null
}
delete_shared() { # the lock, and who shares it
	cli a del job "$state"
}
heals_for_a_long_reader() { # HOW the lock goes
	reader long -t 8s
	running long
	reader short -t 300ms
	running short
	frozen long
	"$1"
	wait_until held job
	let_go short
	ended short
	at_least "$(kept_for)" 6000
	not_beside other writer
	thawed long
	let_go long
	ended long
	forgotten_in 8000
}

@test "a short reader heals for as long as a long one may read" {
	heals_for_a_long_reader delete_shared
}

@test "a short reader heals after a loss of all data, too" {
	heals_for_a_long_reader lose_all
}

# A waiter knows how long a holder may go on without knowing of a loss.
@test "after a loss of data a short lease waits as long as a long one may not know" {
	client long "$alone" -t 4s
	running long
	lines_up writer short -t 300ms
	frozen long
	lose_all
	sleep 1.2 # four of its own leases
	not_yet short
	thawed long
	wait_until held job
	let_go long
	ended long
	running short
	let_go short
	ended short
}

@test "after a loss of data it waits also if the long one joined a short one" {
	: >"$T/stay.in"
	redlock -q -k job -t 400ms -- sh -c "$(inner) -t 8s -- sh -c '
		echo on >\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do sleep 0.01
		done' & while [ ! -e '$T/on.in' ]; do sleep 0.01; done"
	lines_up writer short -t 300ms
	pid[in]=$(pgrep -f "^$REDLOCK -u $url -k job -t 8s")
	frozen in
	lose_all
	sleep 1.2
	not_yet short
	thawed in
	wait_until held job
	let_go in
	running short
	let_go short
	ended short
}

# A waiter that was handed the lock claims it when it looks; meanwhile the counter
# moves on.
@test "the state is lost between a hand-over and its claim: no fence is given twice" {
	client h "$together" -t 10s
	running h
	client first "$together" -N 2 -t 10s
	running first
	lines_up client w "$together" -t 10s
	frozen w
	let_go h
	ended h
	wait_until eval '[ "$(lock)" != "" ]'
	let_go first
	ended first
	client x "$together" -N 2 -t 10s
	running x
	cli a del 'job:redlock:{job}:state' >/dev/null
	thawed w
	running w
	[ "$(fence_of w)" != "$(fence_of x)" ]
	let_go w
	let_go x
	ended w
	ended x
}

@test "leases of different length on one key exclude each other, each by its own" {
	local i pids= pid

	for i in 1 2 3 4; do
		helper "$REDLOCK" -q -u "$url" -k job -t "$((i % 2 ? 1 : 20))s" \
			-- witness "$T" --hold 1200 --spawn
		pids="$pids $!"
	done
	for pid in $pids; do wait "$pid"; done
	[ "$(holds)" = 4 ]
}

@test "a newcomer with a short lease waits out the long one of a holder that died" {
	# without descendants: with both killed at once, those would live on
	helper "$REDLOCK" -q -u "$url" -k job -t 4s -- \
		witness "$T" --hold 60000 --started "$T/started"
	holder=$!
	wait_until exists "$T/started"
	crash "$holder"
	local ends=$(($(now_ms) + $(pttl)))
	redlock -q -k job -t 500ms -- sh -c "date +%s%3N >'$T/at.new'
		mv '$T/at.new' '$T/at'; exec witness '$T'" &
	helpers="$helpers $!"
	wait_until exists "$T/at"
	at_least "$(cat "$T/at")" "$ends"
	wait_until lock_is_free
}
