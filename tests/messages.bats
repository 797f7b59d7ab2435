#!/usr/bin/env bats
# What a waiter prints: lines in a log, JSON events, the live line on a terminal.

load lib/common
load lib/line

@test "in a log: one line when the waiting begins, one when it ends" {
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

@test "a short wait is not mentioned" {
	hold 20
	run -0 --separate-stderr redlock -k job -- true
	[ -z "$stderr" ]
	ends_with 0
}

@test "--log-format json: one object a line, with events for programs" {
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

@test "--log-format json: errors are objects, too" {
	cli a set job $'x\e"\\' px 60000 >/dev/null
	run -75 --separate-stderr redlock -k job -n --log-format json -- true
	/usr/bin/python3 -c 'import json, sys
e = json.loads(sys.argv[1])
assert e["event"] == "not-acquired" and e["level"] == "error", e
assert e["token"] == "x\\x1b\"\\" and e["ttl_left_ms"] > 0, e' "$stderr"
	cli a del job >/dev/null
}

@test "--log-format json: a key too long for a line is shortened, no event is lost" {
	/usr/bin/python3 - "$REDLOCK" "$url" "$T/a.sock" "$top" <<'END'
import base64, json, os, subprocess, sys
redlock, url, sock, top = sys.argv[1:]
long = b'/' + b'c"' * 60
for key in (b'\xff' * 4000, b'\x01' * 4000, b'"' * 1999, b'k' * 65536, b'\xff' * 700,
            'ü'.encode() * 2000):
    # held by one with the longest texts
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

@test "a live line on a terminal: time, limit, place, holder, command, age, reason" {
	LOGNAME=ann keep --reason why
	on_terminal size:24x200 "wait:in line" "wait:waiting 1s" \
		"run:kill $worker" -- -w 30m -- echo done
	[ "$status" = 0 ]
	let_go
	grep -Eq "${wipe//[/\\[}redlock: job: waiting 1s of 30m \(1st in line\): held [0-9]s by ann@$(hostname), witness: why"$'\r' <<<"$output"
	# in the end it goes away, and no line remains
	[[ $output = *"$wipe"done* ]]
	[[ $output != *$'\n'*held* ]]
}

@test "the live line while the server does not answer costs no processor" {
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

@test "a holder that does not describe itself leaves no empty brackets" {
	keep --no-describe
	on_terminal size:24x120 "wait:lease left" "run:kill $worker" -- -- echo done
	[[ $output = *'in line): held '*'s by an anonymous holder, lease left '* ]]
	[[ $output != *'()'* ]]
	let_go
}

@test "bytes from Redis cannot control the terminal" {
	cli a set job $'x\e[31m' px 60000 >/dev/null
	on_terminal size:24x120 "wait:lease left" "run:redis-cli -s $T/a.sock del job" \
		-- -- echo done
	[[ $output = *'token x\x1b[31m'* ]]
	[[ $output != *$'\e[31m'* ]]
}

@test "a background job gets lines, not a live line, and stty tostop stops nothing" {
	keep
	TERM=xterm RL="$(unblanked "$REDLOCK") -u $url" PS1=% run pty "send:stty tostop -echo; set -b\n" \
		"wait:%" "send:\$RL -k job -- sh -c 'echo ran >$T/order' &\n" \
		"run:sleep 0.5" "run:kill $worker" "file:$T/order" \
		"send:exit\n" -- bash --norc --noprofile --noediting -i
	[[ $output = *'redlock: job: waiting (place 1): held by '* ]]
	[[ $output != *Stopped* ]]
	let_go
}

@test "Ctrl-C removes the live line" {
	keep
	on_terminal "wait:in line" "send:^C" -- -- echo done
	[ "$status" = 130 ]
	[[ $output = *"$wipe"'redlock: job: gave up waiting (signal 2); nothing was run'* ]]
	in_line 0
	kill -KILL "$holder"
}

@test "the live line fits a terminal that is made narrower" {
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

@test "messages beside the live line do not mix with it" {
	keep
	on_terminal "wait:in line" "run:redis-cli -s $T/a.sock client kill \
		type normal >/dev/null || true" "wait:busy" "run:kill $worker" \
		-- -vv -- echo done
	[ "$status" = 0 ]
	let_go
	# each line of redlock begins at the start of a wiped line or after a newline
	tr '\r' '\n' <<<"$output" | sed 's/\x1b\[J//' |
		not grep -v '^$\|^redlock: \|^done$'
}

@test "color on a terminal only, and not with NO_COLOR; --color always without one" {
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

@test "TERM=dumb and -q show no live line" {
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

@test "a blocked standard error delays neither the grant nor the command" {
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

@test "a key that a terminal must not see is in no command that is suggested" {
	local key=$'e\e[31mx'

	redlock -q lock -t 1m "$key"
	run -75 redlock wait -w 0 "$key"
	[[ $output == *'held by'* && $output != *'see:'* ]]
	run -75 redlock -k "$key" -n -- true
	[[ $output == *'held by'* && $output != *'see:'* ]]
	run -75 redlock -k "$key" -w 300ms -- true
	[[ $output == *'held by'* && $output != *'see:'* ]]
	run redlock -k "$key" -w 300ms --max-waiters 0 -- true
	[[ $output != *'see:'* ]]
	cli a flushall
}
