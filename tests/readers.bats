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

@test "readers: a dead writer at the head of the line delays nobody for long" {
	reader r
	running r
	lines_up writer w
	dies w
	# as if it had come a minute ago
	cli a eval "local h = redis.call('zrange', KEYS[1], 0, 0)[1]
		redis.call('zincrby', KEYS[1], -60000000, h)" 1 "$queue" >/dev/null
	redlock -s -k job -n -- true
	let_go r
	ended r
}

@test "readers: another program finds the key taken" {
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
	dies dead
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
	dies dead
	let_go live
	ended live
	local ends=$(($(now_ms) + $(pttl)))
	not_yet w
	[ "$(cli a pttl job)" -le 3000 ]
	running w
	at_least "$(now_ms)" "$ends"
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

@test "readers: all lose the lock when the key is overwritten" {
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

@test "readers: memory becomes full during a hold: renewals and releases go on" {
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

@test "readers: the last one leaves a new key, and the writer in line gets it at once" {
	local from

	cli a flushall >/dev/null
	reader r -t 30s
	running r
	lines_up writer w -t 30s
	from=$(now_ms)
	let_go r
	running w
	below $(($(now_ms) - from)) 4000 # not when it looks by itself
	let_go w
	ended r
	ended w
}
