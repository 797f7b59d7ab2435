#!/usr/bin/env bats
# Waiting in line (P4, P5): order, hand-over, leaving, what may go wrong on the way.

load lib/common
load lib/line

# ---- order and hand-over ----

@test "waiters run in the order in which they came" {
	keep
	for i in {1..12}; do line "$i"; done
	let_go
	all_ran {1..12}
	[ "$(holds)" = 12 ]
}

@test "a newcomer does not pass the line, however often it tries" {
	keep
	for i in 1 2 3; do line "$i"; done
	each=40
	kill -TERM "$worker"
	while ! ran 3; do
		redlock -q -k job -n -- sh -c "echo new >>$T/order" || true
	done
	[ "$(head -n 3 "$T/order" | tr '\n' ' ')" = '1 2 3 ' ]
}

# Counted by the server, not by a clock: the questions of WAITERS hand-overs.
listening() { cli a info clients | tr -d '\r' | grep -qx "blocked_clients:$1"; }
cost() { # WAITERS
	local i sent

	rm -f "$T/order" "$T/fence"
	waiting=0
	keep -t 30s
	for ((i = 1; i <= $1; i++)); do line "$i" -t 30s; done
	wait_until listening "$1"
	cli a config resetstat >/dev/null
	let_go
	for ((i = 1; i <= $1; i++)); do wait "${pid[$i]}"; done
	sent=$(scripts_run a)
	echo $((sent - 1)) # the last release hands over to nobody
}

@test "a hand-over costs two questions, with 2 waiters and with 12" {
	# a waiter that has waited for 1.9 s asks once more: a slow machine
	[ "$(cost 2)" -le 5 ]
	local n=$(cost 12)
	[ "$n" -ge 24 ]
	[ "$n" -le 48 ]
}

@test "nobody polls: a waiter asks once per heartbeat" {
	keep -t 30s
	line 1 -t 30s
	wait_until listening 1
	cli a config resetstat >/dev/null
	sleep 1.5 # nothing may happen meanwhile: there is no condition
	[ -z "$(cli a info commandstats | grep -i 'eval\|blpop')" ]
	let_go
	all_ran 1
}

@test "a holder's machine dies: the first in line gets it when the lease ends" {
	keep -t 600ms
	line 1
	line 2
	cli a pexpire job 600 >/dev/null
	local t0=$EPOCHREALTIME left
	crash "$holder"
	kill -KILL "$worker" 2>/dev/null || true
	all_ran 1 2
	# not before, and without waiting for a heartbeat
	left=$(awk "BEGIN { print ($EPOCHREALTIME - $t0) * 1000 }")
	awk "BEGIN { exit !($left > 500 && $left < 4000) }"
}

@test "a connection that breaks keeps its ticket" {
	keep
	for i in 1 2 3; do line "$i"; done
	for i in {1..5}; do
		cli a client kill type normal >/dev/null || true
		sleep 0.05
	done
	wait_until in_line 3
	let_go
	all_ran 1 2 3
}

@test "a server that restarts empty gets the tickets back" {
	use_b
	keep -t 3s
	for i in 1 2 3 4; do line "$i"; done
	node_restart b
	wait_until in_line 4
	let_go
	all_ran 1 2 3 4
	[ "$(holds)" = 4 ]
}

@test "a flushed line is restored in the old order" {
	keep
	for i in 1 2 3; do line "$i"; done
	cli a flushall >/dev/null
	# as if each had been cut off: nobody waits for its heartbeat
	cli a client kill type normal >/dev/null || true
	wait_until in_line 3
	let_go
	all_ran 1 2 3
}

@test "memory is full: the lock is still handed over, and waiters wait" {
	use_b
	keep
	line 1
	cli b config set maxmemory 1mb >/dev/null
	cli b config set maxmemory-policy noeviction >/dev/null
	launch --default all "$REDLOCK" -u "$url" -k job -t 2s -- \
		sh -c "echo 2 >>$T/order; exec witness $T" 2>"$T/err.2" 3>&- &
	pid[2]=$!
	wait_until contains "$T/err.2" 'waiting.*: held by'
	let_go
	wait "${pid[1]}"
	cli b config set maxmemory 0 >/dev/null
	all_ran 1 2
}

# ---- waiters that are gone ----

@test "a waiter that is killed leaves the line at once" {
	keep
	line 1
	line 2
	kill -KILL "${pid[1]}"
	wait_until in_line 1
	let_go
	wait "${pid[2]}"
	[ "$(cat "$T/order")" = 2 ]
}

@test "a waiter whose machine died is skipped after a long silence" {
	local token score
	keep
	line 1
	line 2
	token=$(head_token)
	crash "${pid[1]}"
	# as if it had come a minute ago
	cli a eval "local h = redis.call('zrange', KEYS[1], 0, 0)[1]
		redis.call('zincrby', KEYS[1], -60000000, h)" 1 "$queue"
	cli a config resetstat >/dev/null
	let_go
	wait "${pid[2]}"
	[ "$(cat "$T/order")" = 2 ]
	# nothing was ever handed to it
	[ "$(cli a exists "job:redlock:{job}:grant:$token")" = 0 ]
}

@test "a waiter that died with the grant delays the next one by two seconds at most" {
	keep
	line 1 -t 30s
	line 2 -t 30s
	crash "${pid[1]}"
	local t0=$EPOCHREALTIME
	let_go
	wait "${pid[2]}"
	[ "$(cat "$T/order")" = 2 ]
	awk "BEGIN { exit !($EPOCHREALTIME - $t0 < 4) }"
}

@test "a server that forgot a claim gets it again before the grant ends" {
	each=3000
	keep -t 30s
	line 1 -t 30s
	each=5
	line 2 -t 30s
	let_go
	wait_until contains "$T/order" 1
	# a restart without the last second leaves so much of the lease
	cli a pexpire job 1500
	all_ran 1 2
	[ "$(holds)" = 2 ]
}

@test "a waiter that is stopped and continued does not start on a stale grant" {
	each=5
	keep
	line 1 -t 1s
	each=800
	line 2
	kill -STOP "${pid[1]}"
	local token
	token=$(head_token)
	let_go
	wait_until contains "$T/order" 2 # its grant has ended, the next one runs
	[ "$(cli a get job)" != "$token" ]
	kill -CONT "${pid[1]}"
	all_ran 2 1
	[ "$(holds)" = 2 ]
}

# ---- leaving ----

@test "a signal during the wait ends it at once and leaves nothing in the queue" {
	keep
	for sig in TERM INT HUP QUIT; do
		waiting=0
		line 1
		kill -$sig "${pid[1]}"
		ended_with 1 $((128 + $(kill -l $sig)))
		in_line 0
	done
	[ "$(cli a --raw keys '*redlock:*' | sort | tr '\n' ' ')" = \
		'job:redlock:{job}:state ' ]
	kill -KILL "$holder"
	[ ! -e "$T/order" ]
}

@test "-w that runs out leaves nothing in the queue" {
	keep
	line 1 -w 300ms
	ended_with 1 75
	grep -q 'not acquired within .*: held by' "$T/err.1"
	in_line 0
	kill -KILL "$holder"
}

@test "a waiter that was delayed past -w looks once more, and runs nothing" {
	keep
	for what in fail run; do
		waiting=0
		line 1 -w 400ms --on-unavailable $what
		kill -STOP "${pid[1]}"
		sleep 0.5 # its time passes
		kill -CONT "${pid[1]}"
		ended_with 1 75
	done
	[ ! -e "$T/order" ]
	let_go
}

@test "--on-unavailable run does not run past a holder when the server goes away" {
	use_b
	keep -t 20s
	line 1 -w 1s --on-unavailable run
	node_freeze b
	ended_with 1 75 # it was held when last it was seen
	node_thaw b
	[ ! -e "$T/order" ]
	let_go
}

@test "-n and -w 0 never stand in line" {
	keep
	cli a config resetstat >/dev/null
	run -75 redlock -k job -n -- true
	run -75 redlock -k job -w 0 -- true
	[ -z "$(cli a info commandstats | grep -i 'zadd\|blpop')" ]
	let_go
}

@test "-n on a free lock helps the first in line" {
	local token
	keep -t 3s
	line 1
	token=$(head_token)
	kill -STOP "${pid[1]}"
	crash "$holder"
	kill -KILL "$worker" 2>/dev/null || true
	cli a del job 'job:redlock:{job}:state' >/dev/null
	run -75 redlock -k job -n -- true
	lock_is "$token"
	kill -CONT "${pid[1]}"
	all_ran 1
}

@test "a grant that comes while giving up is passed on at once" {
	keep
	line 1 -t 20s
	line 2 -t 20s
	local token t0
	token=$(head_token)
	kill -STOP "${pid[1]}"
	let_go
	wait_until lock_is "$token"
	t0=$EPOCHREALTIME
	kill -TERM "${pid[1]}"
	kill -CONT "${pid[1]}"
	ended_with 1 143
	wait "${pid[2]}"
	# not only when the grant ends, after two seconds
	awk "BEGIN { exit !($EPOCHREALTIME - $t0 < 1.5) }"
	[ "$(cat "$T/order")" = 2 ]
}

# ---- what may go wrong ----

@test "a server without BLPOP: waiters look, say so once, and are served in order" {
	use_b --rename-command BLPOP ''
	keep
	line 1
	line 2
	cli b config resetstat >/dev/null
	wait_until contains "$T/err.1" 'the server refuses BLPOP: '
	sleep 1
	[ "$(scripts_run b)" -lt 20 ]
	let_go
	all_ran 1 2
	[ "$(grep -c BLPOP "$T/err.1")" = 1 ]
}

@test "a release that the server refuses is reported" {
	(umask 077; echo pw >"$T/pw")
	cli a acl setuser joe on '>pw' '~*' +@all >/dev/null
	keep -t 1s --user joe --password-file "$T/pw"
	cli a acl setuser joe -del -eval -evalsha >/dev/null
	let_go
	grep -q 'the release was not confirmed: .*; the lock expires within ' "$T/err"
}

@test "a damaged line does not keep the lock" {
	keep -t 20s
	cli a set "$queue" nonsense >/dev/null
	let_go
	[ "$(cli a exists job)" = 0 ]
	cli a del "$queue" >/dev/null
}

# ---- companions that are not as redlock left them ----

@test "members of the line that are not redlock's delay nobody, and are dropped" {
	keep
	cli a zadd "$queue" 0 garbage 1 '' 2 'a b c' 3 'tok 0 1 -' 4 \
		"tok 99999999999999999999 1 -"$'\n' 5 "tok 1000 5000 -"$'\n' \
		6 $'\n' 7 "tok 1000 1 "$'\n' >/dev/null
	waiting=8
	line 1
	line 2 -s
	let_go
	all_ran 1 2
	free job
	[ "$(cli a exists "$queue")" = 0 ]
}

# Whatever the lock needs beside its key, as another type; each kind of run
# works, and the next in line gets its turn.
@test "companions of another type do no harm" {
	local part way key n holders waiters

	for part in queue state; do
		n=0 holders=() waiters=()
		rm -f "$T/go"
		for way in '' -s '-N 3' --supersede '--once-per 1ms' '--revision 1'; do
			key=job$((++n))
			cli a lpush "$key:redlock:{$key}:$part" x >/dev/null
			redlock -k $key -w 5s $way -- true
			helper "$REDLOCK" -u "$url" -k $key -t 2s $way -- linger until "$T/go"
			holders+=($!)
			wait_until held $key
			cli a del "$key:redlock:{$key}:$part" >/dev/null
			cli a lpush "$key:redlock:{$key}:$part" x >/dev/null
			helper "$REDLOCK" -u "$url" -k $key -t 2s -w 10s -- true 2>"$T/err.$n"
			waiters+=($!)
		done
		for ((n = 1; n <= ${#holders[@]}; n++)); do
			wait_until contains "$T/err.$n" waiting
		done
		: >"$T/go"
		for ((n = 0; n < ${#holders[@]}; n++)); do
			ended_as "${holders[n]}" 0
			ended_as "${waiters[n]}" 0
		done
		cli a flushall >/dev/null
	done
}

# A client that counts the line drops members that are not redlock's.
@test "members that are not redlock's do not count in the line" {
	keep
	cli a zadd "$queue" 1 garbage >/dev/null
	start -k job -w 10s --max-waiters 1 -- true
	alone() { in_line 1 && [ -z "$(cli a zscore "$queue" garbage)" ]; }
	wait_until alone
	let_go
	finish
	[ "$status" = 0 ]
}

crowd() { # N SLOTS FLAGS: so many waiters, as they would have written it
	local us i

	us=$(date +%s%6N)
	for ((i = 0; i < $1; i++)); do
		printf 'zadd %s %d "00000000-0000-4000-8000-%012d 20000 %s %s\\nhost h\\npid 1\\n"\n' \
			"$queue" $((us + i)) "$i" "$2" "$3"
	done | redis-cli -s "$T/a.sock" --pipe >/dev/null
}
one_lives() { # OPTION...: starts the waiter that the others do not know of
	"$REDLOCK" -q -u "$url" -t 20s -w 30s "$@" -k job -- true 2>"$T/err.1" 3>&- &
	waiter=$!
	helpers="$helpers $!"
}

@test "one of 5000 readers, 5000 writers or 1000 waiters for slots gets the lock in time" {
	local of

	for of in readers writers slots; do
		rm -f "$T/go"
		start -k job -t 20s -- "$TEST_BIN/linger" until "$T/go"
		wait_until held job
		case $of in
		readers)
			crowd 5000 1 r
			one_lives -s
			wait_until in_line 5001
			;;
		writers)
			one_lives
			wait_until in_line 1
			crowd 5000 1 -
			;;
		slots) # slot 0 is held, and the rest is free
			crowd 998 1000 -
			one_lives -N 1000
			wait "$waiter"
			;;
		esac
		: >"$T/go"
		finish
		[ "$status" = 0 ]
		[ $of = slots ] || wait "$waiter"
		cat "$T/err" "$T/err.1"
		# on a busy machine the server needs more than 1 s to let 5001 in
		[ $of != readers ] ||
			sed -i '/the release was not confirmed/d' "$T/err" "$T/err.1"
		[ ! -s "$T/err" ]
		[ ! -s "$T/err.1" ]
		cli a flushall >/dev/null
	done
}
