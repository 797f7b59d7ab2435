#!/usr/bin/env bats
# redlock force-release: the holder is asked to stop, and its command is dead
# before the lock is taken away.

load lib/common
load lib/masters
load lib/cluster

setup_file() { cluster_start; }

# force STATUS [OPTION...]: what it says is in $T/said
force() {
	local want=$1 got=0

	shift
	timeout 30 "$REDLOCK" force-release -u "$url" job --confirm job "$@" \
		2>"$T/said" || got=$?
	[ "$got" = "$want" ] && return
	echo "wanted $want, got $got:" >&2
	cat "$T/said" >&2
	return 1
}
says() { grep -qF -- "$1" "$T/said" || { cat "$T/said" >&2; return 1; }; }
# The holder in the background, whose result is in $T/result.
begin() { # [OPTION...] -- COMMAND...
	rm -f "$T/on"
	start --result-file "$T/result" -k job "$@"
	wait_until exists "$T/on"
}
# A command that says that it runs; "deaf": that does not hear SIGTERM.
runs=(sh -c ': >"$T/on"; exec linger')
deaf=(sh -c 'trap "" TERM; : >"$T/on"; exec linger')
forced() { # it was, as it says
	finish
	[ "$status" = 125 ] && grep -q '"outcome":"forced","exit":125' "$T/result" &&
		return
	echo "ended with $status" >&2
	cat "$T/err" "$T/result" >&2
	return 1
}
waits_in_line() { # [COMMAND...]: $waiter, with the witness
	helper "$REDLOCK" -q -u "$url" -k job -t 2s -- witness "$T" --hold 50
	waiter=$!
	wait_until in_line 1
}
ran() { [ "$(holds)" = "$1" ]; } # so many commands, to their end
entry() { # NAME in the last entry of the history, or of server $2
	stored_history "${2-a}" | tac | sed '/^=/q' | sed -n "s/^$1 //p"
}

# ---- asking ----

@test "force-release: a nested run that the server forgot is asked once it has renewed" {
	run redlock -q -k job -t 6s -- sh -c "setsid '$REDLOCK' -q -u '$url' -k job -t 6s \
		-- sh -c 'echo \$PPID >\"$T/on\"; exec linger' >'$T/out' 2>'$T/inner' 3>&- &
		while [ ! -s '$T/on' ]; do sleep 0.05; done
		redis-cli -s '$T/a.sock' del 'job:redlock:{job}:state'"
	registered() { cli a --raw hkeys 'job:redlock:{job}:state' | grep -q ^hold:; }
	wait_until registered
	force 0 --grace 8s
	[ "$(cli a exists job)" = 0 ]
	wait_until gone "$(cat "$T/on")"
	grep -q 'force-release' "$T/inner"
}

# The holder, which is stopped and hears nothing, is asked; then the server loses
# the state. It goes on once force-release has looked again.
asked_and_forgotten() { # PID
	kill -STOP "$1"
	wait_until stopped "$1"
	force 0 --grace 3s &
	forcer=$!
	wait_until asked
	cli a del 'job:redlock:{job}:state' >/dev/null
	wait_until looked_again
	kill -CONT "$1"
	wait "$forcer"
}
# It has noticed the loss, or it has ended.
looked_again() {
	[ "$(cli a exists 'job:redlock:{job}:state')" = 1 ] || gone "$forcer"
}

@test "force-release: the server forgets the holder and the request: asked again" {
	hold 600000 -t 3s -K 200ms
	waits_in_line
	asked_and_forgotten "$holder"
	says "the holder stopped after "
	lacks "$T/said" "taken away"
	ends_with 125
	contains "$T/err" "asked to stop (force-release) by"
	wait "$waiter"
	ran 1
}

# It is asked once it has renewed. Others may have been forgotten with it: their
# part of the lock ends with its lease.
forgets_reader() {
	begin -s -t 3s -K 200ms -- "${runs[@]}"
	asked_and_forgotten "$tool"
	gone "$tool"
	forced
	contains "$T/err" "asked to stop (force-release) by"
	wait_until free job
	# the word, should it come when it has stopped
	cli a eval "return redis.call('del', 'none',
		unpack(redis.call('keys', '*:grant:*')))" 0 >/dev/null
}

@test "force-release: the server forgets a reader that was asked: asked again, it stops" {
	forgets_reader
}

@test "force-release: the holder is told who and why, ends its command and releases" {
	begin -t 30s -K 5s -- "${runs[@]}"
	force 0 --reason "the disk is stuck"
	says "held by "
	says "asked the holder to stop; waiting up to 10s"
	says "the holder stopped after "
	lacks "$T/said" "taken away"
	forced
	contains "$T/err" "asked to stop (force-release) by .*: the disk is stuck"
	free job
	[ "$(entry outcome)" = forced ]
	[ "$(entry signal)" = 15 ]
	[[ $(entry by) == *"the disk is stuck)" ]]
}

@test "force-release: a waiter is next, as soon as the old command is dead" {
	hold 600000 -t 1s -K 200ms
	waits_in_line
	force 0
	ends_with 125
	wait "$waiter"
	ran 1
}

@test "force-release: a command that does not end is killed in time, with its children" {
	start_hold 600000 -t 30s -K 15s
	wait_until exists "$T/started"
	waits_in_line
	# it hears within 5 s, and has 0.8 of the rest
	force 0 --grace 7s
	says "the holder stopped after "
	ends_with 125
	wait "$waiter"
	ran 1
}

@test "force-release: a holder with a lease of an hour hears of it within 5 s" {
	local from

	begin -t 1h -K 1s -- "${deaf[@]}"
	from=$(now_ms)
	force 0
	below $(($(now_ms) - from)) 8000
	forced
}

@test "force-release: a redlock that is stopped after it was asked is woken in time" {
	start_hold 600000 -t 10s -K 5s
	wait_until exists "$T/started"
	waits_in_line
	helper "$REDLOCK" force-release -q -u "$url" job --confirm job --grace 2s
	wait_until contains "$T/err" "asked to stop"
	kill -STOP "$holder"
	wait "$!"
	ends_with 125
	wait "$waiter"
	ran 1
}

@test "force-release: the guard knows the new deadline even if redlock is stuck" {
	preloading inject.so
	within=(env LD_PRELOAD="$(shim inject.so)" INJECT=timer_settime:1+:22)
	start_hold 600000 -t 10s -K 5s
	within=()
	wait_until exists "$T/started"
	waits_in_line
	helper "$REDLOCK" force-release -q -u "$url" job --confirm job --grace 2s
	wait_until contains "$T/err" "asked to stop"
	kill -STOP "$holder"
	wait "$waiter"
	ran 1
	stopped "$holder"
	kill -CONT "$holder"
	ends_with 125
}

@test "force-release: two at once do no harm" {
	local i

	hold 600000 -t 1s -K 200ms
	waits_in_line
	for i in 1 2; do
		helper "$REDLOCK" force-release -q -u "$url" job --confirm job
	done
	wait "$!"
	ends_with 125
	wait "$waiter"
	ran 1
}

# ---- taking ----

@test "force-release --now: taken at once; the holder hears it with its next renewal" {
	begin -t 3s -- "${runs[@]}"
	force 0 --now
	says "it notices within 5s if it reaches the server, and is killed within "
	says "the lock was taken away"
	forced
	contains "$T/err" "the lock was taken away (force-release) by"
	[ "$(entry outcome)" = forced ]
	[ -n "$(entry by)" ]
	history_has 1
	free job
}

@test "force-release: a frozen holder loses the lock after the grace; a waiter gets it" {
	begin -t 30s -- "${runs[@]}"
	kill -STOP "$tool"
	helper "$REDLOCK" -q -u "$url" -k job -- sh -c ': >"$T/next"'
	wait_until in_line 1
	force 0 --grace 300ms
	says "the holder has not stopped in time"
	says "handed to the first in line"
	wait_until exists "$T/next"
	kill -CONT "$tool"
	forced
}

@test "force-release: the lock of a dead machine is taken after the grace" {
	local guard

	begin -t 30s -- "${runs[@]}"
	guard=$(guard_of "$tool")
	kill -STOP "$tool" "$guard"
	wait_until stopped "$guard"
	pkill -KILL -P "$guard"
	kill -KILL "$guard" "$tool"
	force 0 --grace 300ms
	says "the holder has not stopped in time"
	[ "$(entry outcome)" = forced ]
	free job
}

@test "force-release: a renewal after the lock was taken does not heal it" {
	begin -t 30s -- "${runs[@]}"
	kill -STOP "$tool" # its questions lie in the socket
	force 0 --now
	free job
	kill -CONT "$tool"
	forced
	free job
}

@test "force-release: a lock that only --min-hold keeps is taken at once" {
	redlock -q -k job --min-hold 60s -- true
	held job
	force 0
	lacks "$T/said" "asked the holder to stop;"
	says "kept (--min-hold) for"
	free job
}

@test "force-release: works on a server whose memory is full" {
	node_start m --maxmemory 3mb --maxmemory-policy noeviction
	url=unix://$T/m.sock
	begin -t 30s -- "${runs[@]}"
	cli m set big "$(head -c 2000000 /dev/zero | tr '\0' x)" >/dev/null ||
		true
	cli m config set maxmemory 1 >/dev/null
	force 0 --grace 8s
	says "the holder stopped after "
	forced
	[ "$(cli m exists job)" = 0 ]
	cli m config set maxmemory 0 >/dev/null
	cli m flushall >/dev/null
}

# ---- locks of other programs ----

# As soon as somebody is asked: COMMAND...
when_asked() {
	helper bash -c 'until redis-cli -s "$1" hkeys "job:redlock:{job}:state" | grep -q ^stop:; do
		sleep 0.05; done; shift; exec "$@"' when_asked "$T/a.sock" "$@"
}

@test "force-release: a key deleted meanwhile does not mean that the holder stopped" {
	begin -t 6s -K 1s -- "${deaf[@]}"
	when_asked redis-cli -s "$T/a.sock" del job
	force 0 --grace 20s
	# it is dead by now, and got the message
	wait_until gone "$tool"
	forced
	free job
}

@test "force-release: a server that lost its data does not mean that the holder stopped" {
	begin -t 6s -K 1s -- "${deaf[@]}"
	when_asked redis-cli -s "$T/a.sock" flushall
	force 0 --grace 20s
	wait_until gone "$tool"
	forced
	free job
}

@test "force-release --foreign: a string longer than what is shown" {
	head -c 5000 /dev/zero | tr '\0' x >"$T/long"
	cli a -x set job <"$T/long" >/dev/null
	cli a pexpire job 100000 >/dev/null
	force 0 --foreign
	free job
	cli a -x set job <"$T/long" >/dev/null
	force 0 --foreign
	free job
}

@test "force-release: a lock that only --min-hold keeps has one entry in the history" {
	redlock -k job --min-hold 61s -- true
	force 0
	free job
	history_has 1
}

@test "force-release --foreign: a string, no expiry, another type; not without it" {
	local from

	cli a set job theirs px 60000 >/dev/null
	force 64
	says "not a redlock lock"
	held job
	force 0 --foreign
	says "the lock was taken away"
	free job
	cli a set job "$(head -c 5000 /dev/zero | tr '\0' y)" >/dev/null
	force 0 --foreign
	free job
	cli a rpush job 1 2 >/dev/null
	force 64
	says "(a list)"
	[ "$(cli a llen job)" = 2 ]
	cli a pexpire job 60000 >/dev/null
	helper "$REDLOCK" -q -u "$url" -k job -- sh -c ': >"$T/next"'
	wait_until in_line 1
	from=$(now_ms)
	force 0 --foreign
	below $(($(now_ms) - from)) 5000 # nobody is there to be asked
	wait_until exists "$T/next"
}

# ---- kinds ----

@test "force-release: all readers are asked, and stop" {
	local i

	for i in 1 2 3; do
		helper "$REDLOCK" -q -u "$url" -k job -s -t 2s -K 200ms \
			--result-file "$T/result.$i" -- sh -c \
			": >'$T/on.$i'; linger"
	done
	for i in 1 2 3; do wait_until exists "$T/on.$i"; done
	waits_in_line
	force 0
	wait "$waiter"
	ran 1
	for i in 1 2 3; do
		wait_until contains "$T/result.$i" '"outcome":"forced","exit":125'
	done
}

@test "force-release --now: works on readers; each has its entry" {
	local i

	for i in 1 2 3; do
		helper "$REDLOCK" -q -u "$url" -k job -s -t 2s \
			--result-file "$T/result.$i" -- sh -c \
			": >'$T/on.$i'; linger"
	done
	for i in 1 2 3; do wait_until exists "$T/on.$i"; done
	force 0 --now
	free job
	for i in 1 2 3; do
		wait_until contains "$T/result.$i" '"outcome":"forced","exit":125'
	done
	history_has 3
	free job
}

@test "force-release: frees every slot that is held" {
	local i

	for i in 1 2; do
		helper "$REDLOCK" -q -u "$url" -k job -N 2 -t 2s -K 200ms \
			--result-file "$T/result.$i" -- sh -c \
			": >'$T/on.$i'; linger"
		wait_until exists "$T/on.$i"
	done
	helper "$REDLOCK" -q -u "$url" -k job -N 2 -t 2s -- sh -c ': >"$T/next"'
	wait_until in_line 1
	force 0
	for i in 1 2; do
		wait_until contains "$T/result.$i" '"outcome":"forced","exit":125'
	done
	wait_until exists "$T/next"
}

@test "force-release --now: a slot is taken, and its holder does not heal it" {
	may_need_another_try "redlock has 50 ms to end by itself"
	begin -N 3 -t 2s -- "${runs[@]}"
	helper "$REDLOCK" -q -u "$url" -k job -N 3 -t 2s -- \
		sh -c ': >"$T/two"; linger'
	wait_until exists "$T/two"
	force 0 --now
	forced
	wait_until free job
	[ -z "$(cli a --raw hkeys 'job:redlock:{job}:state' | grep ^hold:)" ]
}

@test "force-release: runs inside runs are asked as well, and stop" {
	hold_nested="\"\$0\" -q -u \"$url\" -k job -t 2s -K 200ms -- sh -c '
		: >\"\$T/on\"; linger'"
	rm -f "$T/on"
	start --result-file "$T/result" -k job -t 2s -K 200ms -- \
		sh -c "$hold_nested" "$REDLOCK"
	wait_until exists "$T/on"
	force 0
	says "within it: "
	forced
	free job
}

# Its first renewal may come after the time that the outer run has.
@test "force-release: a run started inside one that was asked knows before it runs" {
	begin -t 60s -- sh -c ': >"$T/on"; until [ -e "$T/go" ]; do sleep 0.01; done
		"$0" -u "$1" -k job -t 60s -- touch "$T/ran" 2>"$T/inner"
		echo $? >"$T/inner.status"; linger' "$REDLOCK" "$url"
	kill -STOP "$tool" # it hears nothing
	force 0 --grace 20s &
	local forcer=$!
	wait_until asked
	: >"$T/go"
	wait_until exists "$T/inner.status"
	[ ! -e "$T/ran" ]
	[ "$(cat "$T/inner.status")" = 125 ]
	contains "$T/inner" 'force-release'
	kill -CONT "$tool"
	wait "$forcer"
	forced
	free job
}
asked() { cli a --raw hkeys 'job:redlock:{job}:state' | grep -q '^stop:'; }

@test "force-release: a script that holds by hand, with a keeper, gets its signal" {
	rm -f "$T/on"
	helper env REDLOCK_URL="$url" sh -c 'eval "$("$0" lock job -t 2s \
			--export --keep-for $$)"
		trap "echo told >\"\$T/told\"; exit 3" TERM
		: >"$T/on"; while :; do sleep 0.05; done' "$REDLOCK" 2>"$T/err"
	wait_until exists "$T/on"
	force 0
	says "the holder stopped after "
	wait_until exists "$T/told"
	contains "$T/err" "asked to stop (force-release) by .*; sending SIGTERM"
	[ "$(entry outcome)" = forced ]
}

@test "force-release: a manual lock that nobody renews is taken when its time is over" {
	"$REDLOCK" lock -u "$url" job -t 20s >"$T/token"
	force 0 --grace 200ms
	says "the holder has not stopped in time"
	free job
	run -75 "$REDLOCK" extend -u "$url" job --token "$(cat "$T/token")"
}

# ---- several servers, and a Cluster ----

@test "force-release on three masters: any of them tells the holder; one may be down" {
	several 3
	keep -K 200ms
	node_kill c
	force 0
	says "the holder stopped after "
	ends_with 125
	have 0
	[ "$(entry outcome b)" = forced ]
}

@test "force-release --now on three masters: a quorum is free of it; without one: 69" {
	several 3
	keep
	force 0 --now
	says "the lock was taken away"
	ends_with 125
	have 0
	keep
	node_kill b
	node_kill c
	force 69 --now
	says "1 of 3 servers answered"
	kill -KILL "$worker"
	wait "$holder" || true
	cli a del job >/dev/null
}

@test "force-release: what a minority of three masters holds is taken, too" {
	several 3
	forge_holder a job
	force 0 --grace 300ms
	have 0
}

@test "force-release: works on a Cluster" {
	cluster_mend
	url=$(cluster_url)
	begin -t 2s -K 200ms -- "${runs[@]}"
	force 0
	says "the holder stopped after "
	forced
	begin -t 2s -- "${runs[@]}"
	force 0 --now
	forced
	[ "$(cluster_cli "$(cluster_owner job)" exists job)" = 0 ]
}

# ---- rights ----

@test "force-release: the rights in the manual are enough, for both users" {
	local rights

	rights=$(rights_in_manual)
	cli a acl setuser joe on '>pw' '~job*' $rights >/dev/null
	url=unix://joe:pw@$T/a.sock
	begin -t 2s -K 200ms -- "${runs[@]}"
	force 0
	says "the holder stopped after "
	forced
	begin -t 2s -- "${runs[@]}"
	force 0 --now
	forced
	[ "$(entry outcome)" = forced ]
}

@test "force-release: a free key: a line, status 1" {
	force 1
	says "nobody holds it"
}

@test "force-release: wrong key confirmed, or no key and no terminal: 64, no change" {
	begin -t 30s -- "${runs[@]}"
	run -64 --separate-stderr "$REDLOCK" force-release -u "$url" job --confirm jub
	[[ $stderr == *"that is not the key; nothing was changed" ]]
	run -64 --separate-stderr "$REDLOCK" force-release -u "$url" job </dev/null
	[[ $stderr == *"to confirm, repeat the key: --confirm 'job'; nothing was changed" ]]
	[ -z "$output" ]
	run -64 "$REDLOCK" force-release -u "$url"
	run -64 "$REDLOCK" force-release -u "$url" job two --confirm job
	held job
	kill -TERM "$tool"
	finish
	[ "$status" = 143 ]
}

@test "force-release on a terminal: asks for the key; another word or Ctrl-C stops it" {
	begin -t 30s -K 1s -- "${runs[@]}"
	run -64 pty 'wait:type the key again: ' 'send:jub\n' -- \
		"$REDLOCK" force-release -u "$url" job
	[[ $output == *"that is not the key; nothing was changed"* ]]
	run -130 pty 'wait:type the key again: ' 'send:^C' -- \
		"$REDLOCK" force-release -u "$url" job
	held job
	run -0 pty 'wait:type the key again: ' 'send:job\n' -- \
		"$REDLOCK" force-release -u "$url" job
	[[ $output == *"the holder stopped after "* ]]
	forced
}

@test "force-release: neither a holder's name nor a reason can control the terminal" {
	LOGNAME=$'joe\e[2J' begin -t 2s -K 200ms --reason $'up\e[31m' -- "${runs[@]}"
	force 0 --reason $'down\e]0;x\a\nhost evil'
	lacks "$T/said" $'\e'
	forced
	lacks "$T/err" $'\e'
	contains "$T/err" 'down\\x1b'
	[[ $(entry by) != *$'\e'* ]]
}

@test "force-release --log-format json: each step is an event" {
	begin -t 2s -K 200ms -- "${runs[@]}"
	force 0 --log-format json
	says '"event":"asked"'
	says '"event":"stopped"'
	forced
}

@test "force-release: a lock lost with its data is freed for all, first in line first" {
	redlock -q -k job -t 1h -- redis-cli -s "$T/a.sock" flushall >/dev/null
	run -75 redlock -n -k job -- true
	[[ $output == *'the server lost data'*'free in '* ]]
	run -1 "$REDLOCK" inspect -u "$url" job
	[[ $output == *'closed: '*'force-release ends that'* ]]
	helper "$REDLOCK" -q -u "$url" -k job -w 1h -- witness "$T"
	waiter=$!
	wait_until in_line 1
	run -1 "$REDLOCK" inspect -u "$url" --json job
	[[ $output == *'"problems":["closed: nobody new gets it for '*'force-release ends that"]'* ]]
	run -64 "$REDLOCK" force-release -u "$url" job </dev/null
	run -0 "$REDLOCK" force-release -u "$url" job --confirm job
	[[ $output == *'it is free for all now, and was handed to the first in line'* ]]
	wait "$waiter"
	redlock -n -k job -- witness "$T"
	[ "$(holds)" = 2 ]
}

@test "force-release: two of three servers lost their data: the lock is freed for all" {
	several 3
	redlock -q -k job -t 1h -- sh -c "for n in a b; do
		redis-cli -s '$T/'\$n.sock flushall; done" >/dev/null
	[ "$(cli c exists 'job:redlock:{job}:state')" = 1 ]
	run -75 redlock -n -k job -- true
	run -0 "$REDLOCK" force-release -u "$url" job --confirm job
	redlock -n -k job -- witness "$T"
}

# ---- one of several ----

tokens() { # of all holders
	redlock inspect job --json | grep -o '"token":"[^"]*"' | sort -u | cut -d'"' -f4
}
three_hold() { # OPTION...: $one, $two and $three
	local n

	for n in one two three; do
		rm -f "$T/on"
		helper "$REDLOCK" -q -u "$url" -k job -t 4s "$@" -- "${runs[@]}"
		eval "$n=\$!"
		wait_until exists "$T/on"
	done
}

@test "force-release: of slots, --slot and --token choose one, if it is still there" {
	three_hold -N a,b,c
	run -64 --separate-stderr redlock force-release job </dev/null
	[[ $stderr == *"--confirm 'job'; nothing was changed" ]]
	force 0 --slot b
	says "asked the holder to stop; waiting"
	ended_as "$two" 125
	force 1 --slot b
	says "nobody holds it in slot b; nothing was changed"
	force 0 --slot 2 --now
	says "it notices within 5s if it reaches the server, and is killed within "
	ended_as "$three" 125
	force 1 --token 11111111-2222-3333-4444-555555555555
	says "nobody holds it with this token; nothing was changed"
	[ "$(tokens | wc -l)" = 1 ]
	force 0 --token "$(tokens)"
	ended_as "$one" 125
	[ -z "$(tokens)" ]
}

@test "force-release: slots with numbers for names are chosen by name" {
	three_hold -N 1,2,0
	force 0 --slot 1 --now
	ended_as "$one" 125
	[ "$(tokens | wc -l)" = 2 ]
	force 1 --slot 1
	says "nobody holds it in slot 1; nothing was changed"
	force 0 --slot 0 --now
	ended_as "$three" 125
	force 0 --slot 2 --now
	ended_as "$two" 125
}

@test "force-release: a holder that goes while we confirm: nothing is taken, and it says so" {
	hold open -t 30s
	waiter 1 1000 -t 30s
	run -0 pty 'wait:type the key again: ' "run:touch $T/end" "gone:$holder" \
		'send:job\n' -- "$REDLOCK" force-release -u "$url" --now job
	[[ $output == *"the holder had gone already; nothing was taken away"* ]]
	all_waiters_ran
	[ "$(holds)" = 2 ]
}

@test "force-release: of readers, --token chooses one, asked or not; the others stay" {
	local who

	three_hold -s
	who=$(tokens)
	[ "$(wc -l <<<"$who")" = 3 ]
	token_of() { redlock inspect job --json |
		/usr/bin/python3 -c "import json, sys; d = json.load(sys.stdin)
print(*[h['token'] for h in [d] + d['others'] if h['holder']['pid'] == $1])"; }
	force 0 --token "$(token_of "$two")"
	says "the holder stopped after "
	ended_as "$two" 125
	[ "$(tokens | wc -l)" = 2 ]
	force 0 --token "$(token_of "$one")" --now
	says "the lock was taken away"
	ended_as "$one" 125
	[ "$(tokens | wc -l)" = 1 ]
	# nothing of the request is left
	not grep -q stop: <<<"$(cli a --raw hkeys 'job:redlock:{job}:state')"
	[ "$(redlock history job --json | grep -c '"outcome":"forced"')" = 2 ]
	force 0
	ended_as "$three" 125
}

@test "force-release: the question and the request name how many and who" {
	three_hold -N a,b,c
	force 0 --slot c
	ended_as "$three" 125
	force 0
	says "asked both holders to stop: $(hostname) pid $one (a), $(hostname) pid $two (b); waiting up to 10s"
	says "both holders stopped after "
	ended_as "$one" 125
	ended_as "$two" 125
	three_hold -N a,b,c
	force 0 --now
	says "the holders were not asked to stop; they notice within 5s "
	for n in "$one" "$two" "$three"; do ended_as "$n" 125; done
}

@test "force-release: readers on three servers are all put out" {
	several 3
	three_hold -s --restart-guard off
	force 0 --now
	for n in "$one" "$two" "$three"; do ended_as "$n" 125; done
	[ -z "$(tokens)" ]
	three_hold -s --restart-guard off
	force 0 --token "$(tokens | head -n 1)"
	[ "$(tokens | wc -l)" = 2 ]
	force 0
	kill_helpers || true
}

@test "force-release --marks forgets what was done; the holder stays" {
	redlock -q -k job --revision 42 --once-per 1h -- true
	run -75 redlock -q -k job --revision 41 -- true
	hold open
	run -64 --separate-stderr redlock force-release job --marks </dev/null
	[[ $stderr == *"--confirm 'job'; nothing was changed" ]]
	force 0 --marks
	says "forgotten what --once-per, --once-for and --revision remembered"
	kill -0 "$worker"
	end_hold
	force 1 --marks
	says "nothing was remembered"
	redlock -q -k job --revision 41 --once-per 1h -- touch "$T/ran"
	[ -e "$T/ran" ]
	force 64 --marks --now
	force 64 --marks --slot 1
}

@test "force-release --marks on three servers, one of which is away: it is named" {
	several 3
	"$REDLOCK" -q -u "$url" -k job --revision 42 --restart-guard off -- true
	node_freeze c
	force 0 --marks
	says "not forgotten there: $T/c.sock: "
	node_thaw c
	force 0 --marks
	lacks "$T/said" "not forgotten"
}
