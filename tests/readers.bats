#!/usr/bin/env bats
# Readers and writers.

load lib/common
load lib/kinds

@test "readers hold together, a writer waits for all of them, and they for it" {
	reader r1
	reader r2
	running r1 r2
	busy
	redlock -s -k job -n -- true
	lines_up writer w
	not_yet w
	busy -s
	lines_up reader r3
	lines_up reader r4
	let_go r1
	ended r1
	not_yet w
	let_go r2
	running w
	not_yet r3
	let_go w
	running r3 r4
	let_go r3
	let_go r4
	for n in r2 w r3 r4; do ended $n; done
	[ "$(for n in r1 r2 w r3 r4; do fence_of $n; done | sort -un | wc -l)" = 5 ]
	[ "$(fence_of w)" -gt "$(fence_of r1)" ]
	[ "$(fence_of w)" -gt "$(fence_of r2)" ]
	[ "$(fence_of r3)" -gt "$(fence_of w)" ]
}

@test "readers and writers: first come, first served; leading readers start together" {
	writer w0
	running w0
	: >"$T/order"
	lines_up reader r1
	lines_up reader r2
	lines_up writer w1
	lines_up reader r3
	let_go w0
	running r1 r2
	not_yet w1
	not_yet r3
	let_go r1
	let_go r2
	running w1
	not_yet r3
	let_go w1
	running r3
	let_go r3
	for n in w0 r1 r2 w1 r3; do ended $n; done
	[ "$(sed 's/r[12]/r/' "$T/order" | tr '\n' ' ')" = 'r r w1 r3 ' ]
}

@test "readers and writers: a stream of either does not keep the other out" {
	local i p=
	: >"$T/stay.more"
	for i in 1 2 3; do
		helper sh -c "while [ -e '$T/stay.more' ]; do '$REDLOCK' -q -u \
			'$url' -s -k job -- flock -n -s '$T/rw' sleep 0.02 ||
			echo not together >>'$T/errors'; done"
		p="$p $!"
	done
	for i in 1 2 3 4 5; do
		redlock -q -k job -w 20s -- flock -n -x "$T/rw" true
	done
	for i in 1 2 3; do
		helper sh -c "while [ -e '$T/stay.more' ]; do '$REDLOCK' -q -u \
			'$url' -k job -- flock -n -x '$T/rw' sleep 0.01 ||
			echo not alone >>'$T/errors'; done"
		p="$p $!"
	done
	for i in 1 2 3 4 5; do
		redlock -q -s -k job -w 20s -- flock -n -s "$T/rw" true
	done
	let_go more
	for i in $p; do wait "$i"; done
}

@test "readers: a dead writer at the head of the line keeps nobody out for long" {
	reader r
	running r
	lines_up writer w
	crash w
	# as if it had come a minute ago
	cli a eval "local h = redis.call('zrange', KEYS[1], 0, 0)[1]
		redis.call('zincrby', KEYS[1], -60000000, h)" 1 "$queue" >/dev/null
	redlock -s -k job -n -- true
	let_go r
	ended r
}

@test "readers: another program finds the key taken while they hold" {
	reader r1
	reader r2
	running r1 r2
	[ "$(cli a set job other nx px 60000)" = '' ]
	let_go r1
	ended r1
	[ "$(cli a set job other nx px 60000)" = '' ]
	let_go r2
	ended r2
	[ "$(cli a set job other nx px 60000)" = OK ]
	busy -s
	cli a del job >/dev/null
}

@test "readers: a live one does not keep a dead one's lease alive" {
	reader dead
	running dead
	reader live
	running live
	lines_up writer w
	crash dead
	# for longer than the dead one's lease
	for i in {1..25}; do held job; sleep 0.1; done
	"$REDLOCK" inspect -u "$url" --json job | grep -q '"holders":1,'
	let_go live
	local t0=$(now_ms)
	running w
	[ $(($(now_ms) - t0)) -lt 1500 ]
	let_go w
	ended live
	ended w
}

@test "readers: the writer waits for a dead one's lease after the live ones have left" {
	reader dead -t 3s
	running dead
	reader live
	running live
	lines_up writer w
	crash dead
	let_go live
	ended live
	held job
	[ "$(cli a pttl job)" -le 3000 ]
	running w
	let_go w
	ended w
}

@test "readers: FLUSHALL under three: all heal, a writer stays out, nobody is killed" {
	local n
	for n in r1 r2 r3; do reader $n; done
	running r1 r2 r3
	lines_up writer w
	cli a flushall >/dev/null
	wait_until held job
	for n in r1 r2; do let_go $n; ended $n; done
	not_yet w
	let_go r3
	ended r3
	running w
	let_go w
	ended w
}

@test "readers: the key deleted by hand is set again, though others came and went" {
	reader r1
	running r1
	reader r2
	running r2
	cli a del job >/dev/null
	wait_until held job
	let_go r2
	ended r2
	let_go r1
	ended r1
}

# A reader cannot renew while a writer comes. COMMAND...: what the server loses
forgets_readers() {
	reader r1 -t 2500ms
	running r1
	frozen r1
	"$@"
	lines_up writer w
	held job
	not_yet w
	thawed r1
	wait_until contains "$T/err.r1" 'was missing'
	not_yet w
	let_go r1
	ended r1
	running w
	let_go w
	ended w
	order r1 w
}

@test "readers: the server forgets them: no writer starts beside one not yet renewed" {
	forgets_readers eval 'cli a del "$state" >/dev/null'
}

@test "readers: the server forgets them, and the lock has no expiry: no writer starts" {
	forgets_readers eval 'cli a del "$state" >/dev/null; cli a persist job >/dev/null'
}

@test "readers: the state has another type: no writer starts beside one not yet renewed" {
	forgets_readers eval 'cli a del "$state" >/dev/null; cli a lpush "$state" x >/dev/null'
}

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

# Two hold together, and KIND... wait. The server comes back as it was before the
# second one started, which is stopped and hears of it last. The first one knows
# better, and ends; by then it has renewed, or not. HOW FIRST[,SECOND] KIND...
comes_back_without_r2() {
	local how=$1 one=${2%,*} two=${2#*,} n=0 kind

	shift 2
	"$one" r1 -t 2500ms -v
	running r1
	if [ -n "${pid[r0]-}" ]; then # r1 has slot 1, and r2 will have slot 0
		let_go r0
		ended r0
	fi
	keep_old_state
	"$two" r2 -t "${of_r2:-2500ms}"
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
	reader r1 -t 2500ms
	running r1
	slot_taker s1 -t 2500ms -v
	running s1
	keep_old_state
	reader r2 -t 2500ms
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

# The server comes back as it was before a nested run joined, of which the outer
# one has heard. That one ends; by then it has renewed, or not.
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

@test "readers: the key overwritten is every reader's loss" {
	reader r1
	reader r2
	running r1 r2
	cli a set job thief px 3000 >/dev/null
	ended r1 125
	ended r2 125
	[ "$(lock)" = thief ]
	cli a del job >/dev/null
}

@test "readers: a waiting writer says that it waits for readers, and how many" {
	reader r1
	reader r2
	running r1 r2
	run -75 redlock -k job -n -- true
	[[ $output = *"held by "*"@$(hostname) and 1 other reader since "* ]]
	let_go r1
	let_go r2
	ended r1
	ended r2
}

@test "readers: a signal while waiting leaves the line" {
	writer w
	running w
	lines_up reader r
	kill -TERM "${pid[r]}"
	ended r 143
	[ "$(cli a zcard "$queue")" = 0 ]
	let_go w
	ended w
}

@test "readers: memory full in the middle of it: renewals and releases go on" {
	node_start m --maxmemory 3mb --maxmemory-policy noeviction
	url=unix://$T/m.sock
	: >"$T/stay.r"
	helper "$REDLOCK" -u "$url" -s -k job -t 1s -- sh -c "echo on >'$T/on.r'
		while [ -e '$T/stay.r' ]; do sleep 0.05; done"
	local r=$! i=0
	wait_until begun r
	while [ "$(cli m set "fill$i" "$(printf '%20000s' x)" 2>&1)" = OK ]; do
		i=$((i + 1))
	done
	sleep 1.5 # longer than the lease: only renewals keep it
	[ "$(cli m exists job)" = 1 ]
	let_go r
	wait "$r"
	[ "$(cli m exists job)" = 0 ]
	cli m flushall >/dev/null
}

@test "slots: memory is full: the message says so" {
	: >"$T/stay.r"
	helper "$REDLOCK" -u "$url" -N 2 -k job -t 2s -- sh -c "echo on >'$T/on.r'
		while [ -e '$T/stay.r' ]; do sleep 0.05; done"
	local r=$!
	wait_until begun r
	cli a config set maxmemory 1 >/dev/null
	run -69 redlock -N 2 -w 200ms -k job -- touch "$T/ran"
	cli a config set maxmemory 0 >/dev/null
	[ ! -e "$T/ran" ]
	[[ $output == *maxmemory* ]]
	let_go r
	wait "$r"
}
