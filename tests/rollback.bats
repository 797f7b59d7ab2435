#!/usr/bin/env bats
# The server comes back with an older state, in which a reader, a slot or a nested
# run is missing.

load lib/common
load lib/kinds

keep_old_state() {
	cli a save >/dev/null
	mv "$BATS_FILE_TMPDIR/dump.rdb" "$T/old.rdb"
}
old_state_returns() {
	node_kill a
	node_start a --dbfilename old.rdb
}
next_renewal() { # CLIENT, which logs it
	renewals=$(times_renewed "$1")
	wait_until renewed_since "$1"
}

# HOW FIRST[,SECOND] KIND...: two clients hold together, and KIND... wait. The server
# comes back with its state from before the second started, which is stopped and
# notices last. The first one knows better, and ends; by then it has renewed, or not.
comes_back_without_r2() {
	local how=$1 one=${2%,*} two=${2#*,} n=0 kind

	shift 2
	"$one" r1 -t 4s -v
	running r1
	if [ -n "${pid[r0]-}" ]; then # r1 has slot 1, and r2 will have slot 0
		let_go r0
		ended r0
	fi
	keep_old_state
	"$two" r2 -t "${of_r2:-4s}"
	running r2
	for kind; do
		n=$((n + 1))
		lines_up "$kind" w$n
	done
	for _ in 1 2; do # the first may have been sent before r2 came
		next_renewal r1
	done
	kill -STOP "${pid[r1]}" "${pid[r2]}"
	wait_until stopped "${pid[r1]}"
	wait_until stopped "${pid[r2]}"
	old_state_returns
	wait_until in_line $n # they are back
	[ "$how" = renews ] || let_go r1
	[ "$how" = renews ] || wait_until has_no_command r1
	renewals=$(times_renewed r1)
	kill -CONT "${pid[r1]}"
	[ "$how" = ends ] || wait_until renewed_since r1
	let_go r1
	ended r1
}
times_renewed() { grep -c 'job: renewed' "$T/err.$1" || true; }
renewed_since() { [ "$(times_renewed "$1")" -gt "$renewals" ]; }
has_no_command() { ! pgrep -P "$(guard_of "${pid[$1]}")" >/dev/null; }
slot_taker() { client "$1" "$in_slot" -N 2 "${@:2}"; }
in_slot='flock -n -x "$T/slot.$REDLOCK_SLOT" -c "$0" || echo "$1 is not alone" >>"$T/errors"'
slot_is_kept() { # HOW [FIRST,SECOND]
	comes_back_without_r2 "$1" "${2:-slot_taker}" slot_taker slot_taker
	kill -CONT "${pid[r2]}"
	wait_until contains "$T/err.r2" 'was missing'
	wait_until in_line 1 # one has that of the first
	not_yet w2
	let_go r2
	ended r2
	let_go w1
	let_go w2
	ended w1
	ended w2
}

@test "rollback: slots, one ends: the forgotten slot is given to nobody" {
	slot_taker r0
	running r0
	slot_is_kept ends
}

@test "rollback: slots, one renews and ends: the forgotten slot is given to nobody" {
	slot_taker r0
	running r0
	slot_is_kept renews
}

for_nobody() { # HOW
	comes_back_without_r2 "$1" reader writer
	in_line 1
	kill -CONT "${pid[r2]}"
	let_go r2
	wait "${pid[r2]}" || true # it may have been killed
	not_yet w1
	running w1
	let_go w1
	ended w1
}
one_of_one() { client "$1" "$in_slot" "${@:2}"; }
mixed() { # HOW: the first one wants the only slot
	slot_taker s0
	slot_taker s1
	running s0 s1 # somebody had slot 1 before
	let_go s0
	let_go s1
	ended s0
	ended s1
	slot_is_kept "$1" one_of_one,slot_taker
}

@test "rollback: slots and -N 1, which ends: the forgotten slot is given to nobody" {
	mixed ends
}

@test "rollback: slots and -N 1, which renews and ends: the slot is given to nobody" {
	mixed renews
}

@test "rollback: readers and slots, slot 1 renews: the forgotten reader goes on" {
	reader r1 -t 4s
	running r1
	slot_taker s1 -t 4s -v
	running s1
	keep_old_state
	reader r2 -t 4s
	running r2
	lines_up writer w1
	next_renewal s1
	kill -STOP "${pid[r1]}" "${pid[r2]}" "${pid[s1]}"
	for n in r1 r2 s1; do wait_until stopped "${pid[$n]}"; done
	old_state_returns
	wait_until in_line 1
	renewals=$(times_renewed s1)
	kill -CONT "${pid[s1]}"
	wait_until renewed_since s1
	kill -CONT "${pid[r1]}"
	let_go r1
	ended r1
	not_yet w1
	kill -CONT "${pid[r2]}"
	wait_until renewed_by_now
	let_go r2
	ended r2
	running w1
	let_go w1
	let_go s1
	ended w1
	ended s1
}

@test "rollback: readers, one ends: the lock is given to no writer" {
	for_nobody ends
}

@test "rollback: readers, one renews and ends: the lock is given to no writer" {
	for_nobody renews
}

goes_on() { # HOW KIND...
	comes_back_without_r2 "$1" reader "${@:2}"
	kill -CONT "${pid[r2]}"
	wait_until renewed_by_now
	let_go r2
	ended r2
	[ $# = 1 ] || running w1
	let_go w1
	[ $# = 1 ] || ended w1
}
renewed_by_now() {
	gone "${pid[r2]}" || contains "$T/err.r2" 'was missing'
}

@test "rollback: readers, one ends: the forgotten one goes on" {
	goes_on ends writer
}

@test "rollback: readers, one renews and ends: the forgotten one goes on" {
	goes_on renews writer
}

@test "rollback: readers, one ends and nobody waits: the other goes on" {
	goes_on ends
}

long_one_goes_on() { # HOW
	of_r2=8s comes_back_without_r2 "$1" reader writer
	at_least "$(kept_for)" 5000 # r1 knew of it
	kill -CONT "${pid[r2]}"
	let_go r2
	ended r2
	running w1
	let_go w1
	ended w1
}

@test "rollback: readers, one ends: the forgotten one with a longer lease goes on" {
	long_one_goes_on ends
}

@test "rollback: readers, one renews and ends: one with a longer lease goes on" {
	long_one_goes_on renews
}

# The server comes back with its state from before a nested run joined; the outer run
# knows of the join. The outer run ends; by then it has renewed, or not.
forgets_the_join() { # HOW T_IN LEAST
	: >"$T/stay.in"
	client out "(while [ ! -e '$T/go' ]; do sleep 0.01; done
		exec $(inner) -t $2 -- sh -c 'echo on >\"$T/on.in\"
		while [ -e \"$T/stay.in\" ]; do sleep 0.01; done') & $together" -t 4s -v
	running out
	keep_old_state
	: >"$T/go"
	running in
	for _ in 1 2; do
		next_renewal out
	done
	pid[in]=$(pgrep -f "^$REDLOCK -u $url -k job -t $2")
	frozen in
	if [ "$1" = renews ]; then
		old_state_returns
		next_renewal out
		let_go out
	else # the server is away when it ends: there is no renewal in between
		node_kill a
		let_go out
		node_start a --dbfilename old.rdb
	fi
	ended out
	at_least "$(kept_for)" "$3"
	client w "$alone"
	not_yet w
	thawed in
	let_go in
	running w
	let_go w
	ended w
}

@test "rollback: the outer run ends: the forgotten nested run goes on" {
	forgets_the_join ends 4100ms 1000
}

@test "rollback: the outer run ends: a nested run with a longer lease goes on" {
	forgets_the_join ends 8s 5000
}

@test "rollback: the outer run renews and ends: the forgotten nested run goes on" {
	forgets_the_join renews 4100ms 1000
}

@test "rollback: slots, slot 0 renews and ends: slot 1 is given to nobody" {
	slot_is_kept renews
}
