#!/usr/bin/env bats
# The history of a lock: an entry for each hold, written with the release.

load lib/common
load lib/masters

log='redlock:{job}:log:job'

# The entries of NAME, the oldest first: a line each, "token=... fence=... ...".
entries() { # NAME [KEY]
	cli "$1" --raw eval "local lines = {}
		for i, entry in ipairs(redis.call('xrange', KEYS[1], '-', '+')) do
			local words = {}
			for k = 1, #entry[2], 2 do
				words[#words + 1] = entry[2][k] .. '=' .. entry[2][k + 1]
			end
			lines[i] = table.concat(words, ' ')
		end
		return lines" 1 "${2:-$log}" | sed '/^$/d'
}
written() { # N [NAME]: so many there are
	[ "$(entries "${2:-a}" | wc -l)" = "$1" ]
}
latest() { entries "${1:-a}" | tail -n 1; }
is() { # TEXT: the latest entry has it, as words of their own
	[[ " $(latest "${2:-a}") " = *" $1 "* ]] || {
		latest "${2:-a}" >&2
		return 1
	}
}
is_not() { [[ $(latest a) != *"$1"* ]]; }
value() { latest "${2:-a}" | tr ' ' '\n' | sed -n "s/^$1=//p"; }

@test "who ran, when, after how long in line, for how long, and how it ended" {
	local before=$(now_ms)

	CI_JOB_URL=https://ci/7 LOGNAME=joe redlock -k job --reason nightly -- \
		sh -c 'echo $REDLOCK_TOKEN $REDLOCK_FENCE; sleep 0.2' >"$T/given"
	read -r token fence <"$T/given"
	[[ $(latest) =~ ^"token=$token fence=$fence host=$(hostname) pid="[0-9]+\ \
user=joe\ command=sh\ reason=nightly\ ci_url=https://ci/7\ since=[0-9]+\ \
waited_ms=[0-9]+\ held_ms=[0-9]+\ outcome=ran\ exit=0$ ]]
	[ "$(value since)" -ge "$before" ]
	[ "$(value since)" -le $((before + 2000)) ]
	[ "$(value held_ms)" -ge 200 ]
	[ "$(value waited_ms)" -lt 2000 ]
	# it expires as the counter does
	[ "$(cli a pttl "$log")" -gt 2591000000 ]
	redlock -k job -n -- true
	written 2
}

@test "how long it waited" {
	start -k job -- sleep 0.5
	wait_until held job
	redlock -q -k job -- true
	finish
	is outcome=ran
	[ "$(value waited_ms)" -ge 100 ]
}

@test "a command that fails: its exit status, or the signal that ended it" {
	run -3 redlock -k job -- sh -c 'exit 3'
	is 'outcome=failed exit=3'
	run -143 redlock -k job -- sh -c 'kill -TERM $$'
	is 'outcome=failed signal=15'
	is_not exit=
	run -127 redlock -k job -- /none/such
	is 'outcome=failed exit=127'
	written 3
}

@test "who got nothing leaves no entry, nor who waited, nor who runs without a lock" {
	hold 400
	redlock -q -k job -n -- true && false
	redlock -q -k job -w 100ms -- true && false
	helper "$REDLOCK" -q -u "$url" -k job -- true
	wait_until eval '[ "$(cli a zcard "redlock:{job}:queue:job")" = 1 ]'
	kill -TERM $!
	ends_with 0
	"$REDLOCK" -q -u "unix://$T/none.sock" -w 1ms --on-unavailable run -k job -- true
	written 1
}

@test "a lease that was taken away: lost, though it is somebody else's by then" {
	hold 20000
	cli a set job other px 300 >/dev/null
	ends_with 125
	is 'outcome=lost signal=9'
	written 1
	# the fence of what was lost
	[ "$(value fence)" = "$(cat "$T/fence")" ]
	wait_until lock_is_free
}

@test "a lease that ran out, once the server answers again: lost" {
	start -k job -t 1s -- sleep 61.5
	wait_until held job
	node_freeze a
	wait_until contains "$T/err" 'not renewed'
	wait_until contains "$T/err" 'lost'
	node_thaw a
	finish
	[ "$status" = 125 ]
	is outcome=lost
	written 1
}

@test "--max-hold" {
	run -124 redlock -k job --max-hold 200ms -- sleep 61.5
	is 'outcome=max-hold signal=15'
	[ "$(value held_ms)" -ge 200 ]
}

@test "redlock killed -9: the guard tells that it was lost, after how long" {
	hold 20000
	sleep 0.2
	kill -KILL "$holder"
	ends_with 137
	wait_until written 1
	is outcome=lost
	is_not exit=
	is_not signal=
	is "fence=$(cat "$T/fence")"
	[ "$(value held_ms)" -ge 200 ]
	[ "$(value held_ms)" -lt 20000 ]
	wait_until lock_is_free
}

@test "readers and slots have an entry each; a slot says which" {
	start -k job -s -- sh -c "while [ ! -e '$T/go' ]; do sleep 0.01; done"
	wait_until held job
	redlock -k job -s -- true
	: >"$T/go"
	finish
	written 2
	[ "$(entries a | cut -d' ' -f1 | sort -u | wc -l)" = 2 ]
	rm "$T/go"
	start -k job -N 2 -- sh -c "while [ ! -e '$T/go' ]; do sleep 0.01; done"
	wait_until held job
	redlock -k job -N 2 -- true
	is slot=1
	: >"$T/go"
	finish
	is slot=0
	written 4
}

@test "who joins the hold of its parent has no entry of its own" {
	run -1 redlock -k job -- sh -c "'$REDLOCK' -u '$url' -k job -- true
		'$REDLOCK' -u '$url' -k job -- false"
	written 1
	is 'outcome=failed exit=1'
	redlock -k job -s -- "$REDLOCK" -u "$url" -k job -s -- true
	written 2
}

@test "several keys: an entry for each" {
	redlock -k job -k other -- true
	written 1
	[ "$(entries a 'redlock:{other}:log:other' | wc -l)" = 1 ]
}

@test "--min-hold and --once-per keep their entry" {
	redlock -k job --min-hold 50ms -- true
	redlock -k job --once-per 100ms -- true
	redlock -q -k job --once-per 100ms -- true
	wait_until lock_is_free
	written 2
}

@test "three servers: each has its entry, under one token and fence" {
	several 3
	redlock -k job -- true
	for n in a b c; do
		written 1 "$n"
		is 'outcome=ran exit=0' "$n"
		is_not ticket=
	done
	[ "$(for n in a b c; do latest $n; done | cut -d' ' -f1,2 |
		sort -u | wc -l)" = 1 ]
}

@test "three servers, two of which give it to another: lost, on all of them" {
	several 3
	hold 20000
	for n in a b; do cli $n set job other px 300 >/dev/null; done
	ends_with 125
	for n in a b c; do
		wait_until written 1 "$n"
		is outcome=lost "$n"
	done
	wait_until have 0
}

@test "a server that was frozen for a while has one entry of a hold" {
	several 3
	start -k job -t 2s -- sh -c "while [ ! -e '$T/go' ]; do sleep 0.01; done"
	wait_until have 3
	node_freeze c
	: >"$T/go"
	finish
	node_thaw c
	wait_until written 1 c
	written 1 a
}

@test "--no-history, and in a file: no entry" {
	redlock -k job --no-history -- true
	[ "$(cli a exists "$log")" = 0 ]
	settings 'no-history = yes'
	redlock -k job -- true
	[ "$(cli a exists "$log")" = 0 ]
	# nor by the guard
	hold 20000
	kill -KILL "$holder"
	ends_with 137
	wait_until lock_is_free
	[ "$(cli a exists "$log")" = 0 ]
}

@test "--no-describe: how it went, but not whose it was" {
	redlock -k job --no-describe -- true
	[[ $(latest) =~ ^token=[^\ ]+\ fence=[0-9]+\ since=[0-9]+\ waited_ms=[0-9]+\ \
held_ms=[0-9]+\ outcome=ran\ exit=0$ ]]
}

@test "100 entries at most, the latest" {
	cli a eval "for i = 1, 150 do
		redis.call('xadd', KEYS[1], '*', 'token', i, 'fence', i) end" \
		1 "$log" >/dev/null
	redlock -k job -- true
	[ "$(cli a xlen "$log")" = 100 ]
	is 'outcome=ran'
	[[ $(entries a | head -n 1) = token=52\ * ]]
}

@test "memory is full: the lock is released all the same" {
	start -k job -- sh -c "while [ ! -e '$T/go' ]; do sleep 0.01; done"
	wait_until held job
	cli a config set maxmemory 1 >/dev/null
	: >"$T/go"
	finish
	[ "$status" = 0 ]
	[ "$(cat "$T/err")" = '' ]
	lock_is_free
	cli a config set maxmemory 0 >/dev/null
}

@test "a key of another type in its place is left alone" {
	cli a set "$log" mine >/dev/null
	run -0 redlock -k job -- true
	[ "$output" = '' ]
	[ "$(cli a get "$log")" = mine ]
	[ "$(cli a pttl "$log")" = -1 ]
	cli a del "$log" >/dev/null
}

@test "without the right to write it there is none, and nothing else is amiss" {
	cli a acl setuser default -xadd -xrevrange >/dev/null
	run -0 redlock -k job -- true
	[ "$output" = '' ]
	cli a acl setuser default +@all >/dev/null
	[ "$(cli a exists "$log")" = 0 ]
	lock_is_free
}

@test "told twice, it is written once" {
	several 3
	start -k job -t 2s -- sh -c "while [ ! -e '$T/go' ]; do sleep 0.01; done"
	wait_until have 3
	# the answer to the release is lost, and it is asked for again
	for n in a b c; do node_freeze $n; done
	: >"$T/go"
	wait_until gone "$tool"
	finish
	for n in a b c; do node_thaw $n; done
	for n in a b c; do wait_until written 1 "$n"; done
	# whatever lies in its socket still has been read
	for n in a b c; do cli $n ping >/dev/null; written 1 $n; done
	wait_until have 0
}

@test "it costs no question, and no answer" {
	warm a
	redlock -k job -- true
	[ "$(scripts_run a)" = 2 ]
}
