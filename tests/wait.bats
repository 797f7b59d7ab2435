#!/usr/bin/env bats
# redlock wait: until nobody holds a lock, and takes nothing.

load lib/common
load lib/cluster
load lib/masters

setup_file() { cluster_start; }

# wait_for STATUS ARGUMENT...: `redlock wait`; what was said is in $stderr
wait_for() {
	local want=$1

	shift
	run "-$want" --separate-stderr "$REDLOCK" wait -u "$url" "$@"
}
# In the background, as $waiter, once it has seen that somebody holds it
wait_behind() {
	rm -f "$T/waiting"
	helper "$REDLOCK" wait -u "$url" "$@" >"$T/out" 2>"$T/waiting"
	waiter=$!
	wait_until contains "$T/waiting" 'waiting.*: held by'
}
waited() { # STATUS
	local got=0

	wait "$waiter" || got=$?
	[ "$got" = "$1" ] || { echo "ended with $got:" >&2; cat "$T/waiting" >&2; return 1; }
}
keep_job() { # [OPTION...]: $tool holds it, until it gets TERM
	start -q -k job "$@" -- sleep 61.3
	wait_until eval '[ -n "$(holding job 2>/dev/null)" ] || held job'
}

@test "a free lock: ends at once, silently, without taking the lock" {
	from=$(now_ms)
	wait_for 0 job
	below $(($(now_ms) - from)) 1000
	[ -z "$output$stderr" ]
	free job
	[ "$(cli a dbsize)" = 0 ]
	wait_for 0 -k job -w 0
}

@test "it returns when the holder ends, and says once who the holder is" {
	keep_job
	wait_behind job
	kill "$tool"
	waited 0
	[ "$(wc -l <"$T/waiting")" = 1 ]
	grep -Eq "^redlock: job: waiting: held by [a-z0-9]+@$(hostname) since [0-9:]+ [A-Z]+ \([0-9]+s\), sleep; see: redlock inspect job$" \
		"$T/waiting"
	[ ! -s "$T/out" ]
}

@test "it does not stand in line, and does not take the lock" {
	keep_job
	wait_behind job
	free 'job:redlock:{job}:queue'
	helper "$REDLOCK" -q -u "$url" -k job -- sleep 61.3
	wait_until held 'job:redlock:{job}:queue'
	kill "$tool"
	# handed on: it was free for nobody
	wait_until free 'job:redlock:{job}:queue'
	held job
	cli a config resetstat >/dev/null
	looked() { [ "$(scripts_run a)" -ge 3 ]; }
	wait_until looked
	not gone "$waiter"
	kill_helpers || true
	cli a del job 'job:redlock:{job}:state' >/dev/null
}

@test "a killed holder: it waits until the lease ends, and not much longer" {
	cli a set job tok px 900 >/dev/null
	from=$(now_ms)
	wait_for 0 job
	took=$(($(now_ms) - from))
	at_least "$took" 700
	below "$took" 1500
	[[ $stderr == *'held by another program, token tok, lease left '* ]]
}

@test "-w is over: 75, or what -E says, with a line on who holds it" {
	keep_job
	from=$(now_ms)
	wait_for 75 -w 400ms job
	took=$(($(now_ms) - from))
	at_least "$took" 400
	below "$took" 2000
	[[ $stderr == *"redlock: job: not free within 400ms: held by "*"@$(hostname) since "* ]]
	wait_for 3 job -w 0 -E 3
	[[ $stderr != *waiting:* ]]
	wait_for 0 job -w 0 -E 0
	wait_for 75 job -w 100ms -q
	[[ $stderr == *'not free within 100ms'* && $stderr != *waiting:* ]]
	kill "$tool"
}

@test "readers, slots, a lock without expiry and --min-hold are waited for" {
	cli a set job tok >/dev/null
	wait_for 75 -w 50ms job
	[[ $stderr == *'another program, token tok, without expiry'* ]]
	cli a del job >/dev/null
	"$REDLOCK" -q -u "$url" -k job --min-hold 700ms -- true
	wait_for 75 -w 50ms job
	wait_for 0 job
	free job
	for kind in -s '-N 3'; do
		rm -f "$T/started"
		# shellcheck disable=SC2086 # words
		start -q -k job $kind -- sh -c 'touch "$T/started"; exec sleep 61.3'
		wait_until exists "$T/started"
		wait_for 75 -w 50ms job
		kill "$tool"
		finish
		wait_for 0 job -w 5s
	done
}

@test "--json: one document, free or timeout, as the manual says" {
	schema() { as_in_manual "$output"; }
	wait_for 0 --json job
	schema
	[[ $output == *'"outcome":"free"'* ]]
	keep_job
	wait_for 75 --json job -w 100ms
	schema
	[[ $output == *'"outcome":"timeout"'*"\"pid\":$tool,"* ]]
	kill "$tool"
}

@test "--log-format json: each line is an object" {
	keep_job
	wait_for 75 --log-format json job -w 200ms
	/usr/bin/python3 -c 'import json, sys
a, b = [json.loads(l) for l in sys.argv[1].splitlines()]
assert a["event"] == "waiting" and b["event"] == "timeout" and b["key"] == "job", (a, b)' "$stderr"
	kill "$tool"
}

@test "it asks four times a second at most, also while a holder renews" {
	keep_job -t 30s
	wait_behind job
	cli a config resetstat >/dev/null
	from=$(now_ms)
	wait_until eval '[ $(($(now_ms) - '"$from"')) -gt 2000 ]'
	n=$(scripts_run a)
	at_least "$n" 5
	below "$n" 14 # 200 ms at least, and a renewal
	kill "$tool"
	waited 0
}

# ---- a server that fails ----

@test "no server at the start: 69 after 5 s, or -w; a wrong password: 77 at once" {
	from=$(now_ms)
	run -69 --separate-stderr "$REDLOCK" wait -u "unix://$T/none.sock" job -w 1500ms
	took=$(($(now_ms) - from))
	at_least "$took" 1300
	below "$took" 4000
	[[ $stderr == *'trying for up to 1.5s: '*'cannot connect'*'gave up after 1.'*'cannot connect'* ]]
	echo hush >"$T/b.auth"
	node_start b --requirepass hush
	run -77 --separate-stderr "$REDLOCK" wait -u "unix://$T/b.sock" job
	node_kill b
	rm "$T/b.auth"
	helper "$REDLOCK" wait -u "unix://$T/b.sock" job 2>"$T/waiting"
	waiter=$!
	wait_until contains "$T/waiting" 'trying for up to 5s: '
	node_start b
	waited 0
}

@test "a server that fails meanwhile is waited for with a line; -w still holds" {
	node_start b
	url=unix://$T/b.sock
	cli b set job tok px 60000 >/dev/null
	wait_behind job
	node_freeze b
	wait_until contains "$T/waiting" 'waiting.*: .*no answer within 1.0s'
	node_thaw b
	wait_until contains "$T/waiting" 'the server answers again; still waiting after .*: held by'
	node_kill b
	wait_until contains "$T/waiting" 'waiting.*: .*connect'
	node_start b # empty
	waited 0
	cli b set job tok px 60000 >/dev/null
	helper "$REDLOCK" wait -u "$url" job -w 2s 2>"$T/waiting"
	waiter=$!
	wait_until contains "$T/waiting" 'waiting.*: held by'
	node_freeze b
	waited 75
	contains "$T/waiting" 'not free within 2s: held by another program'
	node_thaw b
	cli b del job >/dev/null
}

# ---- signals and terminals ----

@test "a signal ends it as it would end any program" {
	keep_job
	for sig in INT TERM HUP QUIT; do
		rm -f "$T/waiting" # what the one before has said
		launch --default all "$REDLOCK" wait -u "$url" job 2>"$T/waiting" 3>&- &
		waiter=$!
		helpers="$helpers $waiter"
		wait_until contains "$T/waiting" 'waiting.*: held'
		kill -"$sig" "$waiter"
		waited $((128 + $(kill -l "$sig")))
	done
	kill "$tool"
}

wipe=$'\r\e[J'

@test "on a terminal it shows one live line, and removes it" {
	keep_job
	TERM=xterm NO_COLOR=1 run -0 pty size:24x200 'wait:waiting 1s: ' \
		"run:kill $tool" -- "$REDLOCK" wait -u "$url" job
	[[ $output == *"${wipe}redlock: job: waiting 0s: held "*" by "*"@$(hostname), sleep"* ]]
	[[ $output != *$'\n'* ]]
	[[ $output == *"$wipe" ]]
	keep_job
	TERM=xterm NO_COLOR=1 run -130 pty 'wait:waiting 0s' 'send:^C' -- \
		"$REDLOCK" wait -u "$url" job
	[[ ${output%$'\r'} == *"$wipe"* ]]
	[[ ${output##*"$wipe"} != *held* ]]
	TERM=xterm NO_COLOR=1 run -75 pty -- "$REDLOCK" wait -u "$url" job -w 300ms
	[[ $output == *"${wipe}redlock: job: not free within 300ms"* ]]
	kill "$tool"
}

@test "Ctrl-Z does not stop it if no shell could continue it" {
	keep_job
	TERM=xterm NO_COLOR=1 run -0 pty 'wait:waiting 0s' 'send:^Z' 'wait:waiting' \
		"run:kill $tool" -- "$REDLOCK" wait -u "$url" job
}

@test "bytes from Redis cannot control the terminal" {
	cli a set $'x\e[31m' $'t\e[32m' px 60000 >/dev/null
	wait_for 75 $'x\e[31m' -w 150ms
	[[ $stderr != *$'\e'* ]]
	[[ $stderr == *'x\x1b[31m: not free within 150ms: held by another program, token t\x1b[32m'* ]]
	cli a flushall >/dev/null
}

# ---- where ----

@test "it works in a Cluster" {
	cluster_mend
	url=$(cluster_url)
	start -q -k job -- sh -c 'touch "$T/started"; exec sleep 61.3'
	wait_until exists "$T/started"
	wait_behind job
	cluster_move job "$(cluster_other job)"
	wait_for 75 job -w 0
	kill "$tool"
	waited 0
	wait_for 0 nobody
}

@test "three servers: held means held on most; one alone counts only if one is silent" {
	several 3
	start -q -k job -- sh -c 'touch "$T/started"; exec sleep 61.3'
	wait_until exists "$T/started"
	wait_behind job
	node_freeze c
	wait_for 75 job -w 600ms
	node_thaw c
	kill "$tool"
	waited 0
	finish
	cli a set job tok px 60000 >/dev/null
	wait_for 0 job
	node_freeze b
	wait_for 75 job -w 600ms # that one may hold it, too
	node_thaw b
	wait_for 0 job
	cli a del job >/dev/null
}

@test "it works with local:" {
	url="local:?dir=$T/mine&idle=1s"
	wait_for 0 job
	helper "$REDLOCK" -q -u "$url" -k job -- sh -c 'touch "$T/started"; exec sleep 61.3'
	wait_until exists "$T/started"
	wait_for 75 job -w 0
	kill_helpers || true
	kill_servers "$T/mine"
}

@test "it takes one key, no more and no less" {
	wait_for 64
	wait_for 64 a b
	wait_for 64 a -n
}
