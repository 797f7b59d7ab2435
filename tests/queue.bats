#!/usr/bin/env bats
# Waiting in line (P4, P5): order, hand-over, leaving, what may go wrong on the
# way, and what a person sees of it.

load lib/common

queue='job:redlock:{job}:queue'
node=a # where the lock under test is
in_line() { [ "$(cli $node zcount "$queue" 0 +inf)" = "$1" ]; } # not signs of life
use_b() { # [redis-server option...]: a server that may be ill-treated
	node_start b "$@"
	node=b
	url=unix://$T/b.sock
}

# Waiter number N in the background, until it stands in line: behind those who
# came before, in place $waiting. Its command notes N and is the witness.
# line N [OPTION...]; ${pid[N]} is redlock's.
declare -A pid
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
all_ran() { # N...: each with status 0, and in this order
	local n

	for n; do wait "${pid[$n]}" || { cat "$T/err.$n" >&2; return 1; }; done
	[ "$(tr '\n' ' ' <"$T/order")" = "$* " ] || { cat "$T/order" >&2; return 1; }
}
ended_with() { # N STATUS
	local got=0

	wait "${pid[$1]}" || got=$?
	[ "$got" = "$2" ] || { echo "$1 ended with $got" >&2; return 1; }
}
# redlock and its guard, as when a machine dies; what they ran, too.
crash() { # PID
	local guard
	guard=$(guard_of "$1")
	kill -STOP "$1" # neither may act on the other's death
	wait_until stopped "$1"
	kill -KILL $guard
	kill -KILL "$1"
	wait_until gone "$1"
}
# A holder, as $holder, whose command $worker runs until let_go.
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

# ---- order and hand-over ----

@test "P5 waiters run in the order in which they came" {
	keep
	for i in {1..12}; do line "$i"; done
	let_go
	all_ran {1..12}
	[ "$(holds)" = 12 ]
}

@test "P5 a newcomer does not get in between, however often it tries" {
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

@test "P5 a hand-over costs two questions, with 2 waiters and with 12" {
	# a waiter that has waited for 1.9 s asks once more: a slow machine
	[ "$(cost 2)" -le 5 ]
	local n=$(cost 12)
	[ "$n" -ge 24 ]
	[ "$n" -le 48 ]
}

@test "P4 nobody polls meanwhile: a waiter asks once per heartbeat" {
	keep -t 30s
	line 1 -t 30s
	wait_until listening 1
	cli a config resetstat >/dev/null
	sleep 1.5 # nothing may happen meanwhile: there is no condition
	[ -z "$(cli a info commandstats | grep -i 'eval\|blpop')" ]
	let_go
	all_ran 1
}

@test "P4 a holder's machine dies: the first in line has it when the lease ends" {
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

@test "I7 a connection that breaks keeps its ticket" {
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

@test "S1 a server that restarts empty gets the tickets back" {
	use_b
	keep -t 3s
	for i in 1 2 3 4; do line "$i"; done
	node_restart b
	wait_until in_line 4
	let_go
	all_ran 1 2 3 4
	[ "$(holds)" = 4 ]
}

@test "S16 a line that is flushed is made again, in the old order" {
	keep
	for i in 1 2 3; do line "$i"; done
	cli a flushall >/dev/null
	# as if each had been cut off: nobody waits for its heartbeat
	cli a client kill type normal >/dev/null || true
	wait_until in_line 3
	let_go
	all_ran 1 2 3
}

@test "S8 memory is full: the lock is still handed over, and waiters wait" {
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

# ---- who is not there any more ----

@test "P5 a waiter that is killed leaves the line at once" {
	keep
	line 1
	line 2
	kill -KILL "${pid[1]}"
	wait_until in_line 1
	let_go
	wait "${pid[2]}"
	[ "$(cat "$T/order")" = 2 ]
}

@test "P4 a waiter whose machine died is skipped when it was silent for long" {
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

@test "P4 a waiter that died with the grant delays the next one by two seconds at most" {
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
	line 2 -t 30s
	let_go
	wait_until contains "$T/order" 1
	# a restart without the last second leaves so much of the lease
	cli a pexpire job 1500
	all_ran 1 2
	[ "$(holds)" = 2 ]
}

@test "I6 a waiter that is stopped and continued does not start on a stale grant" {
	each=1500
	keep
	line 1 -t 1s
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

@test "a signal while waiting leaves at once and leaves nothing in the queue" {
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

@test "U12 -w that runs out leaves nothing in the queue" {
	keep
	line 1 -w 300ms
	ended_with 1 75
	grep -q 'not acquired within .*: held by' "$T/err.1"
	in_line 0
	kill -KILL "$holder"
}

@test "U12 a waiter that was held up past -w looks once more, and runs nothing" {
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

@test "P7 --on-unavailable run does not run past a holder when the server goes away" {
	use_b
	keep -t 20s
	line 1 -w 1s --on-unavailable run
	node_freeze b
	ended_with 1 75 # it was held when last it was seen
	node_thaw b
	[ ! -e "$T/order" ]
	let_go
}

@test "U12 -n and -w 0 never stand in line" {
	keep
	cli a config resetstat >/dev/null
	run -75 redlock -k job -n -- true
	run -75 redlock -k job -w 0 -- true
	[ -z "$(cli a info commandstats | grep -i 'zadd\|blpop')" ]
	let_go
}

@test "U12 -n on a free lock helps the one who is first in line" {
	local token
	keep -t 10s
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

@test "I5 a grant that comes while giving up is passed on at once" {
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

# ---- options ----

@test "--max-waiters does not join a line that is long enough" {
	keep
	run -75 redlock -k job --max-waiters 0 -- true
	[[ $output = *'job: not acquired: too many waiters (--max-waiters 0)' ]]
	line 1 --max-waiters 1
	run -9 redlock -k job --max-waiters 1 -E 9 -- true
	line 2 --max-waiters 2
	let_go
	all_ran 1 2
	redlock -k job --max-waiters 0 -- true # a free lock needs no line
}

@test "--max-waiters does not count who is dead" {
	keep
	line 1
	crash "${pid[1]}"
	cli a eval "local h = redis.call('zrange', KEYS[1], 0, 0)[1]
		redis.call('zincrby', KEYS[1], -60000000, h)" 1 "$queue"
	waiting=0
	line 2 --max-waiters 1
	let_go
	wait "${pid[2]}"
}

@test "--supersede takes the place of those who wait with the same option" {
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

@test "--supersede: who holds the lock is not disturbed, and -E and the outcome tell" {
	keep --supersede
	line 1 --supersede -E 0 --result-file "$T/result"
	waiting=0
	line 2 --supersede
	ended_with 1 0
	grep -q '"outcome":"superseded","exit":0' "$T/result"
	let_go
	all_ran 2
}

@test "--supersede: a run that was cut off does not come back into line" {
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
	use_b
	keep
	line 1 --supersede
	let_go
	all_ran 1
	# as if that ticket had been given out by a clock that was ahead
	cli b hset 'job:redlock:{job}:state' newest \
		$'9000000000000000\nhost past\n' >/dev/null
	keep
	waiting=0
	line 2 --supersede
	cli b client kill type normal >/dev/null || true # it asks again
	wait_until in_line 1
	let_go
	wait "${pid[2]}"
}

@test "--supersede: a first question that is asked twice does not take its place back" {
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

# Somebody whose ticket is so old, who is alive, and who leaves what is handed
# to it to the next one.
plant() { # TOKEN SECONDS
	cli a eval "local t = redis.call('time')
		local us = t[1] * 1000000 + t[2]
		redis.call('zadd', KEYS[1],
			string.format('%.0f', us - ARGV[2] * 1000000), ARGV[3],
			string.format('%.0f', -us - 600000000), ARGV[1])" \
		1 "$queue" "$1" "$2" "$1 20000 1 -"$'\nhost x\n' >/dev/null
	waiting=$((waiting + 1))
}

@test "--priority high passes those who wait for less than a minute, and no others" {
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

@test "--priority high does not pass who was handed the lock" {
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

@test "--priority high: one whose machine died is skipped when it was silent for long" {
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

@test "--priority high with -n waits for nobody, and not with --supersede or --replace" {
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

@test "a release that the server refuses is not passed over in silence" {
	(umask 077; echo pw >"$T/pw")
	cli a acl setuser joe on '>pw' '~*' +@all >/dev/null
	keep -t 1s --user joe --password-file "$T/pw"
	cli a acl setuser joe -del -eval -evalsha >/dev/null
	let_go
	grep -q 'the release was not confirmed: .*; the lock expires within ' "$T/err"
}

@test "a line that is out of order does not keep the lock" {
	keep -t 20s
	cli a set "$queue" nonsense >/dev/null
	let_go
	[ "$(cli a exists job)" = 0 ]
	cli a del "$queue" >/dev/null
}

@test "--max-waiters takes a number, --color and --log-format one of their words" {
	run -64 redlock -k job --max-waiters x -- true
	[[ $output = *"--max-waiters 'x': must be a number"* ]]
	run -64 redlock -k job --max-waiters=-1 -- true
	run -64 redlock -k job --color sometimes -- true
	[[ $output = *"--color 'sometimes': must be one of auto|always|never" ]]
	run -64 redlock -k job --log-format xml -- true
	[[ $output = *"--log-format 'xml': must be one of text|json" ]]
}

# ---- other programs ----

@test "foreign: a lock without expiry is waited for, with a warning" {
	cli a set job theirs >/dev/null
	line 1
	wait_until contains "$T/err.1" \
		'held by another program, token theirs, without expiry'
	run -75 redlock -k job -w 400ms -- true
	cli a del job >/dev/null
	all_ran 1
}

@test "foreign: who stands in line behind another program's lock is served in order" {
	cli a set job theirs px 60000 >/dev/null
	for i in 1 2 3 4; do line "$i"; done
	cli a del job >/dev/null
	all_ran 1 2 3 4
}

# ---- what a person sees ----

@test "P7 in a log: one line when the waiting begins, one when it ends" {
	keep
	line 1
	line 2
	sleep 1.1 # a wait that is worth a line
	let_go
	all_ran 1 2
	[ "$(wc -l <"$T/err.1")" = 2 ]
	grep -q '^redlock: job: waiting (place 1): held by .*; see: redlock inspect job$' "$T/err.1"
	grep -Eq '^redlock: job: acquired after [12][.0-9]*s, fence [0-9]{16}$' "$T/err.1"
	grep -q '^redlock: job: waiting (place 2): held by ' "$T/err.2"
}

@test "P7 a short wait is not mentioned" {
	hold 20
	run -0 --separate-stderr redlock -k job -- true
	[ -z "$stderr" ]
	ends_with 0
}

@test "P7 --log-format json: one object a line, with events for programs" {
	keep --reason 'a "b"'
	line 1 --log-format json
	wait_until contains "$T/err.1" waiting
	let_go
	all_ran 1
	[ "$(wc -l <"$T/err.1")" = 2 ]
	as_in_manual "$(<"$T/err.1")"
	/usr/bin/python3 - "$T/err.1" <<'END'
import json, re, sys
waiting, acquired = [json.loads(line) for line in open(sys.argv[1])]
for event in waiting, acquired:
    assert event["schema"] == "redlock.event/1" and event["key"] == "job"
    assert event["level"] == "notice"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["time"])
assert waiting["event"] == "waiting" and waiting["place"] == 1
assert waiting["holder"]["reason"] == 'a "b"' and waiting["ttl_left_ms"] > 0
assert len(waiting["token"]) == 36 and waiting["since"] <= waiting["time"]
assert acquired["event"] == "acquired" and acquired["waited_ms"] > 0
assert acquired["fence"] > 1.7e15
END
}

@test "P7 --log-format json: errors are objects, too" {
	cli a set job $'x\e"\\' px 60000 >/dev/null
	run -75 --separate-stderr redlock -k job -n --log-format json -- true
	/usr/bin/python3 -c 'import json, sys
e = json.loads(sys.argv[1])
assert e["event"] == "not-acquired" and e["level"] == "error", e
assert e["token"] == "x\\x1b\"\\" and e["ttl_left_ms"] > 0, e' "$stderr"
	cli a del job >/dev/null
}

@test "P7 --log-format json: a key too long for a line is shortened, no event is lost" {
	/usr/bin/python3 - "$REDLOCK" "$url" "$T/a.sock" "$top" <<'END'
import base64, json, os, subprocess, sys
redlock, url, sock, top = sys.argv[1:]
long = b'/' + b'c"' * 60
for key in (b'\xff' * 4000, b'\x01' * 4000, b'"' * 1999, b'k' * 65536, b'\xff' * 700,
            'ü'.encode() * 2000):
    # held by one who says as much as one can
    subprocess.run([redlock, 'lock', '-q', '-u', url, '-k', key, '-t', '60s',
                    '--reason', '"' * 127], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, 'USER': '\\' * 127, 'LOGNAME': '"' * 127,
                        'CI_JOB_URL': '"' * 127})
    r = subprocess.run([redlock, '-u', url, '-k', key, '-w', '300ms', '--log-format',
                        'json', '--', 'true'], stderr=subprocess.PIPE)
    assert r.returncode == 75
    lines = r.stderr.splitlines()
    events = [json.loads(l) for l in lines]
    assert [e['event'] for e in events] == ['waiting', 'not-acquired'], events
    assert all(len(l) < 4000 for l in lines)
    for e in events:
        told = base64.b64decode(e['key_b64']) if 'key_b64' in e else e['key'].encode()
        assert key.startswith(told) and len(told) >= 255, told
        assert e.get('key_cut', False) == (told != key), e
    subprocess.run([sys.executable, top + '/tests/lib/schema.py',
                    top + '/man/redlock-json.5'], input=r.stderr, check=True,
                   stdout=subprocess.DEVNULL)
END
	cli a flushall >/dev/null
}

# A terminal of 24x80 with redlock waiting on it; what it shows.
on_terminal() { # STEP... -- ARGUMENT...
	local steps=()

	while [ "$1" != -- ]; do steps+=("$1"); shift; done
	shift
	TERM=xterm NO_COLOR=${NO_COLOR-1} run pty "${steps[@]}" -- \
		"$REDLOCK" -u "$url" -k job "$@"
}
wipe=$'\r\e[J'

@test "P7 a live line on a terminal: time, limit, place, holder, command, age, reason" {
	LOGNAME=ann keep --reason why
	on_terminal size:24x200 "wait:in line" "wait:waiting 1s" \
		"run:kill $worker" -- -w 30m -- echo done
	[ "$status" = 0 ]
	let_go
	grep -Eq "${wipe//[/\\[}redlock: job: waiting 1s of 30m \(1st in line\): ann@$(hostname) witness, [0-9]s, why"$'\r' <<<"$output"
	# in the end it goes away, and no line remains
	[[ $output = *"$wipe"done* ]]
	[[ $output != *$'\n'*held* ]]
}

@test "P7 the live line while the server does not answer costs no processor" {
	node_start b
	url=unix://$T/b.sock
	node_freeze b
	on_terminal "wait:no answer yet" "run:ps -C redlock -o pid=,args= |
		grep ' $url ' | awk '{ print \$1 }' >$T/pids" "run:sleep 0.5" \
		"run:for p in \$(cat $T/pids); do cat /proc/\$p/stat; done |
		awk '{ n += \$14 + \$15 } END { exit n > 20 }'" "send:^C" \
		-- -- echo done
	[ "$status" = 130 ]
	[ -s "$T/pids" ]
	node_thaw b
}

@test "P7 a holder that does not describe itself leaves no empty brackets" {
	keep --no-describe
	on_terminal size:24x120 "wait:lease left" "run:kill $worker" -- -- echo done
	[[ $output = *'in line): an anonymous holder, '*'s, lease left '* ]]
	[[ $output != *'()'* ]]
	let_go
}

@test "P7 bytes from Redis cannot control the terminal" {
	cli a set job $'x\e[31m' px 60000 >/dev/null
	on_terminal size:24x120 "wait:lease left" "run:redis-cli -s $T/a.sock del job" \
		-- -- echo done
	[[ $output = *'token x\x1b[31m'* ]]
	[[ $output != *$'\e[31m'* ]]
}

@test "P7 a background job gets lines, not a live line, and stty tostop stops nothing" {
	keep
	TERM=xterm RL="$(unblanked "$REDLOCK") -u $url" PS1=% run pty "send:stty tostop -echo; set -b\n" \
		"wait:%" "send:\$RL -k job -- sh -c 'echo ran >$T/order' &\n" \
		"run:sleep 0.5" "run:kill $worker" "file:$T/order" \
		"send:exit\n" -- bash --norc --noprofile --noediting -i
	[[ $output = *'redlock: job: waiting (place 1): held by '* ]]
	[[ $output != *Stopped* ]]
	let_go
}

@test "P7 Ctrl-C takes the live line away" {
	keep
	on_terminal "wait:in line" "send:^C" -- -- echo done
	[ "$status" = 130 ]
	[[ $output = *"$wipe"'redlock: job: gave up waiting (signal 2); nothing was run'* ]]
	in_line 0
	kill -KILL "$holder"
}

@test "P7 the live line fits a terminal that is made narrower" {
	keep
	on_terminal size:24x200 "wait:in line" size:24x30 \
		"wait:${wipe}redlock: job: waiting 1s (1s…" "run:kill $worker" \
		-- -- echo done
	[ "$status" = 0 ]
	let_go
	local last=${output%"$wipe"*}
	last=${last##*"$wipe"}
	[[ $last = 'redlock: job: waiting '?'s (1s…'$'\r'* ]] # 29 columns
}

@test "P7 messages beside the live line do not mix with it" {
	keep
	on_terminal "wait:in line" "run:redis-cli -s $T/a.sock client kill \
		type normal >/dev/null || true" "wait:busy" "run:kill $worker" \
		-- -vv -- echo done
	[ "$status" = 0 ]
	let_go
	# every line of ours begins at the start of a wiped line or after a newline
	tr '\r' '\n' <<<"$output" | sed 's/\x1b\[J//' |
		not grep -v '^$\|^redlock: \|^done$'
}

@test "P7 color on a terminal only, and not with NO_COLOR; --color always without one" {
	keep
	NO_COLOR='' on_terminal "wait:in line" "run:kill $worker" \
		-- -- echo done
	[[ $output = *$'\e[2mredlock: job: waiting 0s (1st in line)'*$'\e[0m\r'* ]]
	let_go
	keep
	run -75 --separate-stderr redlock -k job -n -- true
	[[ $stderr != *$'\e'* ]]
	run -75 --separate-stderr redlock -k job -n --color always -- true
	[[ $stderr = $'\e[1;31mredlock:\e[0m job: not acquired'* ]]
	NO_COLOR=1 on_terminal -- -n -- true
	[[ $output != *$'\e[1;31m'* ]]
	on_terminal -- -n --color always -- true
	[[ $output = *$'\e[1;31m'* ]]
	let_go
}

@test "P7 TERM=dumb and -q show no live line" {
	keep
	TERM=dumb run -0 pty "wait:): held by" "run:kill $worker" -- "$REDLOCK" -u "$url" \
		-k job -- echo done
	[[ $output != *$'\e'* ]]
	let_go
	keep
	on_terminal "run:sleep 0.3" "run:kill $worker" -- -q -- echo done
	[ "$output" = $'done\r' ]
	let_go
}

@test "P8 C19 a blocked standard error delays neither the grant nor the command" {
	mkfifo "$T/pipe"
	exec 8<>"$T/pipe"
	head -c 65536 /dev/zero >&8
	keep
	"$REDLOCK" -u "$url" -k job -v -- sh -c "echo ran >$T/order" 2>&8 &
	wait_until in_line 1
	kill "$worker"
	wait $!
	[ "$(cat "$T/order")" = ran ]
	exec 8>&-
	let_go
}

# ---- companions that are not as redlock left them ----

@test "S38 members of the line that are not redlock's delay nobody, and are dropped" {
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
@test "S38 companions of another type are in nobody's way" {
	local part way

	for part in queue state; do
		for way in '' -s '-N 3' --supersede '--once-per 1ms' '--revision 1'; do
			cli a del "job:redlock:{job}:$part" >/dev/null
			cli a lpush "job:redlock:{job}:$part" x >/dev/null
			run -0 redlock -k job -w 5s $way -- true
			keep $way
			cli a del "job:redlock:{job}:$part" >/dev/null
			cli a lpush "job:redlock:{job}:$part" x >/dev/null
			start -k job -t 2s -w 10s -- true
			sleep 0.1
			let_go
			finish
			[ "$status" = 0 ] || { echo "$part $way: $output" >&2; return 1; }
		done
		cli a del "job:redlock:{job}:$part" >/dev/null
	done
}

# A client that counts the line drops members that are not redlock's.
@test "S38 members that are not redlock's do not count in the line" {
	keep
	cli a zadd "$queue" 1 garbage >/dev/null
	start -k job -w 10s --max-waiters 1 -- true
	alone() { in_line 1 && [ -z "$(cli a zscore "$queue" garbage)" ]; }
	wait_until alone
	let_go
	finish
	[ "$status" = 0 ]
}

# A server whose scripts may use only the keys that are in KEYS.
strict_server() {
	cat >"$T/strict.py" <<-'END'
		BEFORE = b'''local redis = (function()
		local real, known = redis, {}
		for _, key in ipairs(KEYS) do known[key] = true end
		local all, none = {mget = 1, del = 1, exists = 1}, {time = 1, select = 1}
		local function refused(name, ...)
		for i, key in ipairs(none[name] and {} or all[name] and {...} or {(...)}) do
		if not known[key] then
		return {err = 'ERR script tried accessing undeclared key ' .. key} end end end
		return {
		call = function(...)
		local no = refused(...) if no then error(no.err) end
		return real.call(...) end,
		pcall = function(...) return refused(...) or real.pcall(...) end}
		end)()
		'''

		def answer(words):
		    name = words[0].upper()
		    if name == b'EVALSHA' or name == b'PING':
		        return usual(words)
		    if name == b'BLPOP':
		        return None  # nobody can push
		    if name == b'EVAL':
		        words[1] = BEFORE + words[1]
		    said = forward(PATH, words)
		    with open(SAID, 'ab') as f:
		        f.write(said)
		    return said
	END
	sed -i "s|PATH|'$T/a.sock'|; s|SAID|'$T/said'|" "$T/strict.py"
	helper /usr/bin/python3 "$top/tests/lib/fake.py" "$T/strict.sock" "$T/strict.py"
	wait_until exists "$T/strict.sock"
}

@test "a server that refuses undeclared keys: acquire, renew, wait and release work" {
	strict_server
	url="unix://$T/strict.sock"
	redlock -q -k job -- true
	redlock -q -k job -t 1s -- witness "$T" --hold 1500
	start -q -k job -- witness "$T" --hold 300 --started "$T/started"
	wait_until exists "$T/started"
	redlock -q -k job -- witness "$T"
	wait "$tool"
	[ "$(holds)" = 3 ]
	not grep -q undeclared "$T/said"
	# who holds by hand, too
	token=$("$REDLOCK" lock -u "$url" -t 30s job)
	"$REDLOCK" extend -u "$url" -t 40s --token "$token" job
	"$REDLOCK" unlock -u "$url" --token "$token" job
	# readers and slots have no other keys
	redlock -q -k job -s -- true
	redlock -q -k job -N 3 -- true
}
