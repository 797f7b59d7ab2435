#!/usr/bin/env bats
# --max-waiters, --supersede, --priority: who may stand in line, and who passes whom.

load lib/common
load lib/line

@test "--max-waiters does not join a line of that length" {
	keep
	run -75 redlock -k job --max-waiters 0 -- true
	[[ $output = *'job: not acquired: it is held, and nobody may wait (--max-waiters 0); see: redlock inspect job' ]]
	line 1 --max-waiters 1
	run -9 redlock -k job --max-waiters 1 -E 9 -- true
	[[ $output = *'job: not acquired: 1 waits already (--max-waiters 1); see: redlock inspect job' ]]
	line 2 --max-waiters 2
	let_go
	all_ran 1 2
	redlock -k job --max-waiters 0 -- true # a free lock needs no line
}

@test "--max-waiters does not count dead waiters" {
	keep
	line 1
	crash "${pid[1]}"
	cli a eval "local h = redis.call('zrange', KEYS[1], 0, 0)[1]
		redis.call('zincrby', KEYS[1], -60000000, h)" 1 "$queue"
	waiting=0
	line 2 --max-waiters 1
	none_came_before() { # S ago
		[ "$(cli a zcount "$queue" 0 $(($(date +%s%6N) - $1 * 1000000)))" = 0 ]
	}
	wait_until none_came_before 30 # it has asked
	let_go
	wait "${pid[2]}"
}

@test "--supersede takes the place of waiters with the same option" {
	keep
	line 1
	line 2 --supersede --reason 'build 2'
	waiting=1
	line 3 --supersede --reason 'build 3'
	ended_with 2 75
	grep -q 'not acquired: superseded by .*build 3' "$T/err.2"
	waiting=1
	line 4 --supersede --result-file "$T/result" --reason 'build 4'
	ended_with 3 75
	in_line 2
	let_go
	all_ran 1 4
	grep -q '"outcome":"ran"' "$T/result"
}

@test "--supersede does not disturb the holder; -E and the outcome say so" {
	keep --supersede
	line 1 --supersede -E 0 --result-file "$T/result"
	waiting=0
	line 2 --supersede
	ended_with 1 0
	grep -q '"outcome":"superseded","exit":0' "$T/result"
	let_go
	all_ran 2
}

@test "--supersede: a run that was cut off does not come back into the line" {
	keep
	line 1 --supersede
	kill -STOP "${pid[1]}"
	waiting=0
	line 2 --supersede
	# the word for it is lost
	cli a --raw keys '*:grant:*' | while read -r k; do
		cli a del "$k" >/dev/null
	done
	cli a client kill type normal >/dev/null || true
	kill -CONT "${pid[1]}"
	ended_with 1 75
	let_go
	all_ran 2
}

@test "--supersede: a server clock set back does not let an old run supersede" {
	[ -z "${SANITIZED:-}" ] || skip "no preloading into a sanitizer build"
	node_start_clock b
	url=unix://$T/b.sock
	node=b
	node_step b 30000
	keep -t 1m
	line 1 --supersede -t 1m
	node_step b 0
	waiting=0
	line 2 --supersede -t 1m
	ended_with 1 75
	before=$(scripts_run b)
	cli b client kill type normal >/dev/null || true
	looked() { [ "$(scripts_run b)" -gt "$before" ]; }
	wait_until looked # it has asked again
	in_line 1
	let_go
	all_ran 2
}

@test "--supersede: a first question that arrives twice does not take its place back" {
	use_b
	keep -t 20s
	node_freeze b
	local n
	for n in 1 2; do
		# the older one asks again on a second connection, behind the newer
		launch --default all "$REDLOCK" -u "$url" -k job -t 2s \
			--supersede --node-timeout $([ $n = 1 ] && echo 500ms || echo 9s) \
			-- sh -c "echo $n >>$T/order" 2>"$T/err.$n" 3>&- &
		pid[$n]=$!
		helpers="$helpers $!"
		sleep 0.2
	done
	sleep 0.5
	node_thaw b
	ended_with 1 75
	grep -q 'superseded by' "$T/err.1"
	wait_until in_line 1
	let_go
	wait "${pid[2]}"
	[ "$(cat "$T/order")" = 2 ]
}

# Puts a live waiter in line whose ticket is SECONDS old. It passes on what is handed
# to it.
plant() { # TOKEN SECONDS
	cli a eval "local t = redis.call('time')
		local us = t[1] * 1000000 + t[2]
		redis.call('zadd', KEYS[1],
			string.format('%.0f', us - ARGV[2] * 1000000), ARGV[3],
			string.format('%.0f', -us - 600000000), ARGV[1])" \
		1 "$queue" "$1" "$2" "$1 20000 1 -"$'\nhost x\n' >/dev/null
	waiting=$((waiting + 1))
}

@test "--priority high passes those that wait for less than a minute, and no others" {
	keep
	line 1
	line 2
	line 3 --priority high
	plant old 120
	plant young 50
	REDLOCK_PRIORITY=high line 4
	# who never asked again has given a sign of life, too
	[ "$(cli a zcount "$queue" -inf '(0')" -ge 4 ]
	redlock inspect job | grep -q '2 .* (priority)'
	let_go
	wait_until lock_is old
	[ ! -e "$T/order" ]
	wait_until lock_is young
	[ "$(tr '\n' ' ' <"$T/order")" = '3 4 ' ]
	all_ran 3 4 1 2
}

@test "--priority high: however many come, a wait of a minute is served next" {
	local n

	keep
	plant old 55
	line 1 --priority high
	sleep 5 # until it has waited for a minute
	for n in 2 3 4; do line $n --priority high; done
	let_go
	wait_until lock_is old
	[ "$(cat "$T/order")" = 1 ]
	all_ran 1 2 3 4
}

@test "--priority high does not pass a waiter that was handed the lock" {
	local token

	keep
	line 1 -t 30s
	token=$(head_token)
	kill -STOP "${pid[1]}"
	let_go
	wait_until lock_is "$token"
	waiting=0
	line 2 --priority high
	lock_is "$token"
	kill -CONT "${pid[1]}"
	all_ran 1 2
}

@test "--priority high: a waiter of a dead machine is skipped after a long silence" {
	local token

	keep
	line 1
	line 2 --priority high
	token=$(cli a --raw zrangebyscore "$queue" 0 +inf limit 0 1 |
		head -n 1 | cut -d' ' -f1)
	crash "${pid[2]}"
	cli a zincrby "$queue" 20000000 "$token" >/dev/null
	let_go
	wait "${pid[1]}"
	[ "$(cat "$T/order")" = 1 ]
	[ "$(cli a exists "job:redlock:{job}:grant:$token")" = 0 ]
	in_line 0
}

@test "--priority high with -n does not wait; not with --supersede or --replace" {
	redlock -k job --priority high -n -- true
	keep --priority high
	run -75 redlock -k job --priority high -n -- true
	let_go
	run -64 redlock -k job --priority high --supersede -- true
	[[ $output = *'--priority high and --supersede cannot be combined'* ]]
	run -64 redlock lock --priority high --replace job
	[[ $output = *'--priority high and --replace cannot be combined'* ]]
	redlock -k job --priority normal --supersede -- true
}
