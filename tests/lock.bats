#!/usr/bin/env bats
# Locks by hand and for scripts: lock, unlock, extend; a shell of its own for each
# line, or all the rest of a script; whatever is killed.

load lib/common
load lib/sentinel
load lib/cluster
load lib/masters
eval "common_$(declare -f setup)"

setup() {
	common_setup
	export REDLOCK REDLOCK_URL=$url
}
shells() { # those that are here; mostly sh is dash, which is asked once then
	local s

	for s in sh dash bash zsh; do
		s=$(type -P "$s") || continue
		[ "$s" -ef "$(type -P sh)" ] && [ "${s##*/}" != sh ] || echo "$s"
	done
}
# Every shell that reads eval "$(redlock lock ... --export)": script SHELL,
# with the script at standard input.
script() { cat >"$T/script"; timeout 30 "$@" "$T/script" 3>&-; }
lasts() { [ "$(cli a pttl job)" -gt "$1" ]; } # so many ms are left
value() { cli a get job; }
drop() { cli a del job 'job:redlock:{job}:state' >/dev/null; }
renewed() { # its lease grew
	local was=$left

	left=$(cli a pttl job)
	[ "$left" -gt "$was" ]
}
keeper_pid() { pgrep -fx "$REDLOCK lock .*--keep-for $1( .*)?"; }
keeper_ends() { # PID that it is for; waits
	local p

	for p in $(keeper_pid "$1"); do wait_until gone "$p"; done
	! keeper_pid "$1"
}
# A process that is kept for: sleeps, and notes which signals it gets. $kept
# Its standard error, to which its keeper speaks, is $T/err.
target() { # [SIGNAL that it survives]...
	local trap=

	for s; do trap="$trap trap 'echo $s >>\"$T/told\"' $s;"; done
	helper bash -c "$trap touch '$T/there'
		while :; do read -rt 0.05 <> <(:) || :; done" 2>"$T/err"
	kept=$!
	wait_until exists "$T/there"
}
told() { # [SIGNAL]: that, once or more, and no other
	local s is=

	[ ! -e "$T/told" ] || while read -r s; do
		is=$s
		[ "$s" = "$1" ] || return
	done <"$T/told"
	[ "$is" = "$1" ]
}
told_twice() { told "$1" && [ "$(wc -l <"$T/told")" = 2 ]; }

# ---- lock ----

@test "lock prints the token, and nothing else; the lease stands, and is not renewed" {
	run -0 --separate-stderr "$REDLOCK" lock -t 700ms job
	[ "$output" = "$(value)" ]
	[ ${#output} = 36 ]
	nothing_said - <<<"$stderr"
	lasts 200
	run -75 "$REDLOCK" -n -k job -- true
	wait_until free job
}

@test "lock -n of a held lock: 75, nothing printed but who has it" {
	"$REDLOCK" lock -t 30s job >"$T/token"
	run -75 --separate-stderr "$REDLOCK" lock -n job
	[ -z "$output" ]
	[[ $stderr = *"not acquired: held by"* ]]
	run -3 "$REDLOCK" lock -E 3 -w 50ms job
	drop
}

@test "lock waits in line, and gets the lock as soon as the holder ends" {
	hold 300
	run -0 --separate-stderr "$REDLOCK" lock job
	[ "$output" = "$(value)" ]
	ends_with 0
	[[ $stderr = *"waiting"*": held by"* ]]
	drop
}

@test "a token that cannot be printed is released, status 70" {
	for how in '' --hold "--keep-for $$" --export "--export --keep-for $$"; do
		status=0
		# shellcheck disable=SC2086 # words
		"$REDLOCK" lock $how job >/dev/full 2>"$T/err" || status=$?
		[ "$status" = 70 ]
		contains "$T/err" 'standard output: cannot write'
		wait_until free job
	done
	# whose reader has gone before
	{
		wait_until exists "$T/reader"
		wait_until gone "$(cat "$T/reader")"
		"$REDLOCK" lock --hold job 2>"$T/err" || true
	} | sh -c 'echo $$ >"$1.new"; mv "$1.new" "$1"' sh "$T/reader"
	wait_until free job
}

@test "options that exclude each other are refused with 64, which ends a script" {
	run -64 "$REDLOCK" lock --hold --keep-for $$ job
	run -64 "$REDLOCK" lock --on-lost HUP job
	run -64 "$REDLOCK" lock --keep-for $$ --on-lost STOP job
	run -64 "$REDLOCK" lock --keep-for 0 job
	run -64 "$REDLOCK" lock
	run -64 script bash <<-'SH'
		eval "$("$REDLOCK" lock job --export --wiat 5s)"
		touch "$T/ran"
	SH
	[ ! -e "$T/ran" ]
}

# ---- --hold ----

@test "--hold renews until TERM or INT, releases, and dies of it" {
	for sig in TERM INT; do
		start_hold_by_hand
		left=1000000
		wait_until renewed
		kill -"$sig" "$tool"
		finish
		[ "$status" = $((128 + $(kill -l "$sig"))) ]
		free job
		grep -Eq '^redlock: job: released after [0-9]+(ms|[.][0-9]s)$' \
			"$T/err"
	done
	# and it says who has it now
	start_hold_by_hand
	helper "$REDLOCK" -q -k job -- sleep 61.3
	wait_until in_line 1
	kill -INT "$tool"
	finish
	grep -Eq "released after .*; next in line: [a-z0-9]+@$(hostname)$" "$T/err"
	kill_helpers || true
	wait_until free job
}
start_hold_by_hand() {
	rm -f "$T/token"
	launch --default all "$REDLOCK" lock --hold -t 3s job >"$T/token" \
		2>"$T/err" 3>&- &
	tool=$!
	helpers="$helpers $tool"
	wait_until test -s "$T/token"
	[ "$(cat "$T/token")" = "$(value)" ]
}

@test "--hold ends with 125 if somebody else has taken its lock" {
	start_hold_by_hand
	cli a set job other px 60000
	finish
	[ "$status" = 125 ]
	contains "$T/err" 'lease lost: the server says the lock is no longer ours; the hold ends'
	drop
}

@test "--hold in the background of \$(...) does not delay it" {
	token=$("$REDLOCK" lock --hold -t 1s job 3>&- &)
	[ "$token" = "$(value)" ]
	pkill -TERM -fx "$REDLOCK lock --hold -t 1s job"
	wait_until free job
}

# As a connection leaves it: its standard input and output are pipes of which we
# have the other ends, 7 and 8
hold_at_pipes() { # [COMMAND THAT STARTS IT]...
	rm -f "$T/in" "$T/out"
	mkfifo "$T/in" "$T/out"
	"$@" "$REDLOCK" lock --hold -t 3s job <"$T/in" >"$T/out" 2>"$T/err" 3>&- &
	tool=$!
	helpers="$helpers $tool"
	exec 7>"$T/in" 8<"$T/out"
	read -r -t 10 token <&8
	[ "$token" = "$(value)" ]
	left=1000000
}

@test "--hold ends when both its input and its output have hung up" {
	hold_at_pipes
	exec 7>&-
	wait_until renewed # somebody reads what it says
	wait_until renewed
	exec 8<&-
	finish
	[ "$status" = 129 ]
	[ "$(cat "$T/err")" = "redlock: job: standard input and output have hung up; the lock is released" ]
	free job
	run -0 "$REDLOCK" history job --json
	[[ ${lines[-1]} = *'"outcome":"released"'* ]]
	# pipes without a name; one socket is both, wherever the output goes
	run -0 timeout 30 python3 -c 'import socket, subprocess, sys
p = subprocess.Popen(sys.argv[2:], stdin=-1, stdout=-1)
p.stdout.readline()
p.stdin.close()
p.stdout.close()
assert p.wait(10) == 129
ours, its = socket.socketpair()
p = subprocess.Popen(sys.argv[2:], stdin=its, stdout=its)
its.close()
ours.recv(1)
ours.close()
assert p.wait(10) == 129
ours, its = socket.socketpair()
p = subprocess.Popen(sys.argv[2:], stdin=its, stdout=open(sys.argv[1], "w"))
its.close()
ours.close()
assert p.wait(10) == 129' "$T/token" "$REDLOCK" lock -q --hold job
	[ -s "$T/token" ]
	free job
}

# These do not mean that the user has gone
@test "--hold goes on with /dev/null, with nohup, and after the end of its input" {
	for how in 'exec </dev/null' 'trap "" HUP'; do
		hold_at_pipes bash -c "$how"'; exec "$@"' -
		exec 7>&- 8<&-
		wait_until renewed
		kill -TERM "$tool"
		finish
		[ "$status" = 143 ]
	done
	start_hold_by_hand < <(:)
	left=1000000
	wait_until renewed
	kill -TERM "$tool"
	finish
}

@test "inspect shows that a lock is held by hand, and from where" {
	start_hold_by_hand
	run -0 "$REDLOCK" inspect job
	[[ $output = *"command   lock --hold (ba"* ]]
	kill -TERM "$tool"
	finish
}

# The lock is held by a lease that runs out by itself, so that nobody wakes who
# waits: it looks when the lease is over, while its BLPOP is still under way.
expiring() { "$REDLOCK" lock -t 400ms job >/dev/null; }
nobody_listens() { ! cli a client list | grep -q cmd=blpop; }

@test "acquired by a look, not a message: nobody is left to take the next message" {
	local how

	expiring
	start lock -q -t 6s --hold job >"$T/token"
	wait_until eval '[ -s "$T/token" ]'
	wait_until nobody_listens
	"$REDLOCK" unlock job --token "$(cat "$T/token")"
	finish
	[ "$status" = 0 ]
	nothing_said "$T/err"
	for how in '' -s; do
		expiring
		helper sh -c 'e=$("$0" lock -q $1 -t 6s job --export --keep-for $$) ||
				exit 99
			eval "$e"; "$0" unlock -q job && touch "$T/unlocked"
			while [ ! -e "$T/over" ]; do sleep 0.05; done' \
			"$REDLOCK" "$how" 2>"$T/said"
		local script=$! keeper
		wait_until exists "$T/unlocked"
		free job
		# the keeper hears of it with its next renewal, and ends
		keeper_ends "$script"
		free job
		touch "$T/over"
		ended_as "$script" 0
		nothing_said "$T/said"
		rm "$T/over" "$T/unlocked"
		cli a flushall >/dev/null
	done
}

@test "acquired by a look, not a message: the holder hears that it is asked to stop" {
	expiring
	start -t 6s -k job -- sh -c ': >"$T/on"; exec linger'
	wait_until exists "$T/on"
	wait_until nobody_listens
	run -0 "$REDLOCK" force-release job --confirm job
	finish
	[ "$status" = 125 ]
	contains "$T/err" 'asked to stop (force-release)'
}

# ---- the rest of a script: --export --keep-for $$ ----

@test "every shell: the rest of the script is under the lock, and the end frees it" {
	for sh in $(shells); do
		run -0 --separate-stderr script "$sh" <<-'SH'
			set -e
			eval "$("$REDLOCK" lock -t 2s --keep-for $$ --export job)"
			[ "$(redis-cli -s "$T/a.sock" get job)" = "$REDLOCK_TOKEN" ]
			[ "$(redis-cli -s "$T/a.sock" hget 'job:redlock:{job}:state' fence)" = \
				"$REDLOCK_FENCE" ]
			left=$(redis-cli -s "$T/a.sock" pttl job)
			was=$left
			until [ "$left" -gt "$was" ]; do
				was=$left left=$(redis-cli -s "$T/a.sock" pttl job)
			done
			"$REDLOCK" -n -k job -- echo nested
			echo "$REDLOCK_KEY $REDLOCK_SLOT"
		SH
		echo "$sh: $output, $stderr"
		[ "$output" = $'nested\njob 0' ]
		nothing_said - <<<"$stderr"
		wait_until free job
	done
}

@test "every shell: without the lock the rest of the script does not run" {
	"$REDLOCK" lock job >/dev/null
	for sh in $(shells); do
		run -75 --separate-stderr script "$sh" <<-'SH'
			REDLOCK_TOKEN=old
			eval "$("$REDLOCK" lock -q -n --keep-for $$ --export job)"
			touch "$T/ran"
		SH
		[ ! -e "$T/ran" ]
		[ -z "$output" ]
		run -69 script "$sh" <<-'SH'
			eval "$("$REDLOCK" lock -u "unix://$T/none" -n --export job)"
			touch "$T/ran"
		SH
		[ ! -e "$T/ran" ]
		# a person's shell goes on, and knows
		run -0 --separate-stderr timeout 10 "$sh" -i <<-'SH'
			REDLOCK_TOKEN=old
			eval "$("$REDLOCK" lock -q -n --export job)"; echo "$?,$REDLOCK_TOKEN"
			exit 0
		SH
		[[ $output = *75,* ]]
		[[ $output != *old* ]]
	done
	drop
}

@test "any key, also with quotes, newlines and dollars, survives eval" {
	key=$'it\'s "a" $(touch x) `b` \\\n; echo * \t\e[31m\xff'
	for sh in $(shells); do
		export key
		run -0 script "$sh" <<-'SH'
			eval "$("$REDLOCK" lock -t 5s --keep-for $$ --export -k "$key")"
			[ "$REDLOCK_KEY" = "$key" ]
		SH
		wait_until eval '[ "$(cli a exists "$key")" = 0 ]'
	done
	cli a flushall # a counter by that name is too much for the asserts
}

@test "x=\$(redlock lock --keep-for) returns at once: the keeper holds no descriptor" {
	target
	exec 7>"$T/seven"
	token=$(timeout 10 "$REDLOCK" lock -t 5s --keep-for "$kept" job 2>"$T/err")
	both=$(timeout 10 "$REDLOCK" lock -n --keep-for "$kept" b 2>&1)
	exec 7>&-
	[ "$token" = "$(value)" ]
	[ "$both" = "$(cli a get b)" ]
	for p in $(keeper_pid "$kept"); do
		[ "$(readlink "/proc/$p/cwd")" = / ]
		[ "$(ps -o sid= -p "$p" | tr -d ' ')" = "$p" ]
		run readlink "/proc/$p/fd/"{0,1}
		[ "$output" = $'/dev/null\n/dev/null' ]
		run bash -c "readlink /proc/$p/fd/* /proc/$(pgrep -P "$p")/fd/*"
		[[ $output != *seven* ]]
	done
	kill -9 "$kept"
	wait_until free job
	wait_until free b
	[ ! -s "$T/err" ]
}

# Reads both outputs of `redlock lock --keep-for` to their end, as subprocess.run,
# execFile and ssh do; then looks for processes that have them open.
@test "who reads both outputs to the end gets it at once: pipes, sockets, own pid" {
	/usr/bin/python3 -IS - "$REDLOCK" "$url" <<-'END'
		import os, re, signal, socket, subprocess, sys

		redlock, url = sys.argv[1:]
		signal.alarm(60)

		def ends(kind):
		    if kind == 'pipe':
		        return os.pipe()
		    return [s.detach() for s in socket.socketpair()]

		def read_all(fd):
		    text = b''
		    while more := os.read(fd, 4096):
		        text += more
		    return text.decode()

		def users(names):
		    found = []
		    for pid in filter(str.isdigit, os.listdir('/proc')):
		        try:
		            for fd in os.listdir(f'/proc/{pid}/fd'):
		                if os.readlink(f'/proc/{pid}/fd/{fd}') in names:
		                    found.append((pid, fd))
		        except OSError:
		            pass
		    return found

		other = subprocess.Popen(['sleep', '60'], stdin=subprocess.DEVNULL,
		    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
		for kind in 'pipe', 'socket':
		    for pid in os.getpid(), other.pid:
		        out, err, more, stdin = [ends(kind) for _ in range(4)]
		        theirs = [out[1], err[1], more[1], stdin[0]]
		        names = {os.readlink(f'/proc/self/fd/{fd}') for fd in theirs}
		        p = subprocess.Popen([redlock, '-u', url, 'lock', 'job', '-v',
		            '--keep-for', str(pid)], stdin=stdin[0], stdout=out[1],
		            stderr=err[1], pass_fds=[more[1]])
		        for fd in theirs:
		            os.close(fd)
		        token = read_all(out[0])
		        said = read_all(err[0])
		        assert p.wait() == 0, said
		        assert re.fullmatch('[0-9a-f-]{36}\n', token), token
		        for fd in out[0], err[0], more[0], stdin[1]:
		            os.close(fd)
		        assert not users(names), (kind, pid)
		        subprocess.run([redlock, '-u', url, 'unlock', 'job', '--token',
		            token.strip()], check=True)
		other.kill()
		other.wait()
	END
	wait_until no_process_left
}

@test "a script whose standard error is a pipe hears its keeper, and may close it" {
	/usr/bin/python3 -IS - "$REDLOCK" "$url" <<-'END'
		import signal, subprocess, sys

		redlock, url = sys.argv[1:]
		signal.alarm(60)
		p = subprocess.Popen(['sh', '-c', """
		    eval "$("$0" lock job -u "$1" -t 3s --on-lost none --export \
		        --keep-for $$ || echo exit $?)"
		    redis-cli -s "${1#unix://}" set job other px 60000 >/dev/null
		    read line
		    exec 2>/dev/null
		    exec sleep 60""", redlock, url], stdin=subprocess.PIPE,
		    stderr=subprocess.PIPE)
		line = p.stderr.readline().decode()
		assert 'no longer ours' in line, line
		p.stdin.close()
		assert p.stderr.read() == b'', 'the pipe has an end'
		assert p.poll() is None
		p.kill()
		p.wait()
	END
	cli a del job >/dev/null
}

@test "--keep-for process 1 is refused with what to do: it would end its keeper" {
	run -64 "$REDLOCK" lock --keep-for 1 job
	[ "${#lines[@]}" = 1 ]
	[[ $output = *"process 1"*"run form"*"trap 'redlock unlock KEY' EXIT"* ]]
	unshare --pid --fork --mount-proc true 2>/dev/null ||
		skip "no PID namespaces here"
	run -64 unshare --pid --fork --mount-proc sh -c '
		eval "$("$REDLOCK" lock job --export --keep-for $$ || echo exit $?)"
		touch "$T/ran"'
	[ ! -e "$T/ran" ]
	free job
}

@test "a process killed with -9: its lock is free at once, for the next in line" {
	target
	"$REDLOCK" lock -t 30s --keep-for "$kept" job >/dev/null
	start -k job -- sh -c 'echo $(($(date +%s%N) / 1000000)) >"$T/began"'
	wait_until in_line 1
	from=$(now_ms)
	kill -9 "$kept"
	finish
	[ "$status" = 0 ]
	echo "took $(($(cat "$T/began") - from)) ms"
	below $(($(cat "$T/began") - from)) 2000
	keeper_ends "$kept"
}

# Of KEY: the keeper, its guard, and what the guard has in place of a command.
keepers() {
	local tool guard

	tool=$(keeper_pid "$kept $1")
	guard=$(pgrep -P "$tool")
	echo "$tool" "$guard" $(pgrep -P "$guard")
}

@test "any low ulimit, then or later: a keeper renews and releases" {
	limited
	local limit key p was
	local -A token

	command -v prlimit >/dev/null || skip "no prlimit"
	target TERM
	# all at once, each at a key of its own
	for limit in cpu=1 memlock=0 core=0 msgqueue=0 fsize=0 stack=131072 \
		rss=0 nofile=16 \
		+cpu=1 +memlock=0 +core=0 +msgqueue=0 +fsize=0 \
		+stack=4096 +nproc=0 +rss=0 +sigpending=0 +nofile=16; do
		key=${limit/+/later-}
		case $limit in
		+*) token[$key]=$("$REDLOCK" lock -t 2s --keep-for "$kept" "$key")
			set -- $(keepers "$key")
			[ $# = 3 ]
			for p; do prlimit -p "$p" "--${limit#+}:${limit#*=}"; done ;;
		*) token[$key]=$(prlimit "--$limit" "$REDLOCK" lock -t 2s \
			--keep-for "$kept" "$key") ;;
		esac
	done
	mapfile -t was < <(requests "${!token[@]}")
	wait_until thrice_more "${!token[@]}"
	for key in "${!token[@]}"; do
		"$REDLOCK" unlock --token "${token[$key]}" "$key"
	done
	keeper_ends "$kept"
	no_lock_left a
	told ""
}

@test "--keep-for: a missing, ended or foreign process is refused: 64" {
	sleep 0 &
	gone=$!
	wait "$gone"
	for p in "$gone" 2147483647; do
		run -64 "$REDLOCK" lock --keep-for "$p" job
		[ "${#lines[@]}" = 1 ]
		[[ $output = *"--keep-for: no process $p" ]]
	done
	target
	as=(env)
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --clear-groups)
	# ours, seen by somebody else
	[ "$(id -u)" = 0 ] || kept=2
	cp "$REDLOCK" "${TMPDIR:-/tmp}/redlock.$$"
	run "${as[@]}" "${TMPDIR:-/tmp}/redlock.$$" lock --keep-for "$kept" job
	rm "${TMPDIR:-/tmp}/redlock.$$"
	echo "$output"
	[ "$status" = 64 ]
	[ "${#lines[@]}" = 1 ]
	free job
}

@test "a caller of a keeper is interrupted, or its process ends: nothing waits on" {
	helper "$REDLOCK" -k job -- sleep 60
	holder=$!
	wait_until held job
	target
	launch --default all "$REDLOCK" lock --keep-for "$kept" job \
		>"$T/out" 2>"$T/err2" 3>&- &
	asker=$!
	wait_until in_line 1
	kill -INT "$asker"
	wait_until in_line 0
	ended_as "$asker" 130
	launch --default all "$REDLOCK" lock --keep-for "$kept" job \
		>"$T/out" 2>"$T/err2" 3>&- &
	asker=$!
	wait_until in_line 1
	kill -9 "$kept"
	wait_until in_line 0
	ended_as "$asker" 129
	[ ! -s "$T/out" ]
	kill "$holder"
	ends_with 143
}

# ---- keepers that die, servers that freeze ----

# The guard tells the process, and gives back only when that is gone.
killed_keeper() { # redlock|guard|child
	target TERM
	"$REDLOCK" lock -t 3s --keep-for "$kept" job >"$T/token" 2>"$T/err"
	tool=$(keeper_pid "$kept")
	guard=$(pgrep -P "$tool")
	case $1 in
	redlock) victim=$tool ;;
	guard) victim=$guard ;;
	child) victim=$(pgrep -P "$guard") ;;
	esac
	kill -9 "$victim"
	wait_until told TERM
	[ "$(value)" = "$(cat "$T/token")" ]
	run -75 "$REDLOCK" -n -k job -- true
	kill -9 "$kept"
	wait_until free job
	contains "$T/err" "sending SIGTERM to process $kept"
}
@test "the keeper killed with -9: its process is told; the lock is free when that ends" {
	killed_keeper redlock
}
@test "the keeper's guard killed with -9: its process is told; the lock is free then" {
	killed_keeper guard
}
@test "the keeper's last process killed with -9: its process is told, then it is free" {
	killed_keeper child
}

@test "the keeper killed, its process lives on: the lock is free when the lease ends" {
	target TERM
	"$REDLOCK" lock -t 2s --keep-for "$kept" job >"$T/token" 2>"$T/err"
	kill -9 "$(keeper_pid "$kept")"
	wait_until told TERM
	run -75 "$REDLOCK" -n -k job -- true
	start -k job -- witness "$T" --hold 10
	finish
	[ "$status" = 0 ]
	told TERM
	wait_until no_process_left
}

@test "a frozen server: the process is told in time, and nobody else runs meanwhile" {
	url=unix://$T/a.sock
	helper env REDLOCK_FENCE=1 witness "$T" --hold 60000 --started "$T/started" \
		2>"$T/said"
	wait_until exists "$T/started"
	kept=$(cat "$T/started")
	from=$(now_ms)
	"$REDLOCK" lock -t 2s --keep-for "$kept" job >"$T/token" 2>"$T/err"
	start -k job -- witness "$T"
	wait_until in_line 1
	node_freeze a
	wait_until gone "$kept"
	echo "after $(($(now_ms) - from)) ms"
	node_thaw a
	finish
	[ "$status" = 0 ]
	contains "$T/said" "not renewed for .*; sending SIGTERM to process $kept"
}

@test "--on-lost names the signal, once when it is near and once when it is lost" {
	target USR1
	# so long that the second does not come while the first is pending
	"$REDLOCK" lock -t 3s --on-lost USR1 --keep-for "$kept" job \
		>/dev/null 2>"$T/err"
	node_freeze a
	wait_until told_twice USR1
	keeper_ends "$kept"
	node_thaw a
	contains "$T/err" "lease lost: not renewed for .*; sending SIGUSR1 to"
	kill -9 "$kept"
	wait_until free job
	# or with SIG before it
	rm "$T/told" "$T/there"
	target HUP
	"$REDLOCK" lock -t 1s --on-lost SIGHUP --keep-for "$kept" job \
		>/dev/null 2>"$T/err"
	cli a set job other px 60000
	wait_until told HUP
	keeper_ends "$kept"
	contains "$T/err" "lease lost: .*; sending SIGHUP to"
	drop
}

@test "a process that ends when its keeper asks it to: the line names that signal" {
	helper bash -c 'trap "exit 5" USR1; touch "$T/there"
		while :; do read -rt 0.05 <> <(:) || :; done' 2>"$T/err"
	kept=$!
	wait_until exists "$T/there"
	"$REDLOCK" lock -t 1s --keep-for "$kept" --on-lost USR1 job >/dev/null
	node_freeze a
	wait_until contains "$T/err" "lease lost: process $kept ended after SIGUSR1"
	node_thaw a
	lacks "$T/err" SIGTERM
	wait_until free job
}

@test "--on-lost none: nothing is sent, one line says it" {
	target TERM
	"$REDLOCK" lock -t 1s --on-lost none --keep-for "$kept" job \
		>/dev/null 2>"$T/err"
	cli a set job other px 60000
	wait_until contains "$T/err" "no longer ours; process $kept keeps running"
	keeper_ends "$kept"
	[ ! -e "$T/told" ]
	drop
}

@test "a lock that somebody else has taken: the process is told at once" {
	target TERM
	"$REDLOCK" lock -t 3s --keep-for "$kept" job >/dev/null 2>"$T/err"
	cli a set job other px 60000
	wait_until told TERM
	keeper_ends "$kept" # it kills first and speaks afterwards
	contains "$T/err" "lease lost: the server says .*; sending SIGTERM to process $kept"
	[ "$(wc -l <"$T/err")" = 1 ]
	drop
}

@test "every shell: lock --export that is killed while it waits ends the script" {
	start -k job -- sleep 61.3
	wait_until held job
	for shell in $(shells); do
		for sig in TERM KILL; do
			for keep in '' '--keep-for $$'; do
				# how it waits is the same in each
				[ "$keep" ] || [ "$shell" = "$(type -P sh)" ] || continue
				helper "$shell" -c 'eval "$("$REDLOCK" lock job --export '"$keep"')"
					touch "$T/ran"' 2>"$T/err.script"
				local script=$!
				wait_until in_line 1
				pkill "-$sig" -P "$script" -fx "$REDLOCK lock job --export.*"
				status=0
				wait "$script" || status=$?
				[ "$status" != 0 ]
				[ ! -e "$T/ran" ]
				wait_until gone "$script"
				pkill -KILL -fx "$REDLOCK lock job --export.*" || true
				cli a del job:redlock:{job}:queue >/dev/null
			done
		done
	done
	kill "$tool"
}

@test "a closed standard output: the lock is released, status 70" {
	run -70 sh -c '"$REDLOCK" lock job >&-'
	free job
	run -70 sh -c '"$REDLOCK" inspect job >&-'
	run -0 sh -c '"$REDLOCK" -k job -- true >&-'
}

@test "extend shortens no lease: of a run, of a keeper, of a reader" {
	start -k job -t 20s -- sleep 61.3
	wait_until held job
	"$REDLOCK" extend job -t 200ms --token "$(value)"
	lasts 15000
	kill "$tool"
	wait_until free job
	local token
	token=$("$REDLOCK" lock -s -t 20s job)
	"$REDLOCK" extend job -t 200ms --token "$token"
	lasts 15000
	"$REDLOCK" extend job -t 40s --token "$token"
	lasts 35000
	"$REDLOCK" unlock job --token "$token"
	free job
	cli a flushall >/dev/null # the word for a keeper
}

@test "a keeper whose process ignores its signal stops renewing; the history has it" {
	target TERM
	"$REDLOCK" lock -t 2s --keep-for "$kept" --max-hold 300ms job >/dev/null
	wait_until told TERM
	wait_until lock_is_free
	wait_until eval '"$REDLOCK" history job 2>/dev/null | grep -q max-hold'
	kill -0 "$kept"
}

@test "a keeper whose lock is taken from it writes that into the history" {
	target TERM
	"$REDLOCK" lock -t 1s --keep-for "$kept" job >/dev/null
	cli a set job somebody px 60000 >/dev/null
	wait_until eval '"$REDLOCK" history job 2>/dev/null | grep -q lost'
	kill -KILL "$kept"
	cli a del job >/dev/null
}

# ---- unlock, extend ----

line() { timeout 20 "$1" -c "$2" 3>&-; } # SHELL TEXT: each a shell of its own

@test "every shell: lock, extend and unlock work from separate shells" {
	for sh in $(shells); do
		line "$sh" '"$REDLOCK" lock -t 2s job >"$T/token"'
		line "$sh" '"$REDLOCK" extend -t 20s --token "$(cat "$T/token")" job'
		lasts 15000
		line "$sh" 'REDLOCK_TOKEN=$(cat "$T/token") "$REDLOCK" extend job'
		lasts 15000
		line "$sh" 'REDLOCK_TOKEN=$(cat "$T/token") "$REDLOCK" unlock -k job'
		no_lock_left a
	done
}

@test "unlock and extend by a token that holds nothing: 75, the holder, no change" {
	other=12345678-1234-1234-1234-123456789abc
	run -75 "$REDLOCK" unlock --token $other job
	[[ $output = *"not released: nobody holds it" ]]
	[ "$(cli a dbsize)" = 0 ]
	token=$("$REDLOCK" lock -t 5s --reason mine job)
	cli a --raw dump job >"$T/before"
	for t in $other "${token%?}" "$token rest" 'shared:1' $'\n' "$(printf %060d 1)"; do
		run -75 "$REDLOCK" unlock --token "$t" job
		[ "${#lines[@]}" = 1 ]
		[[ $output = *"not released: it is held by"*": mine" ]]
		run -75 "$REDLOCK" extend -t 1h --token "$t" job
		[[ $output = *"not extended: it is held by"* ]]
	done
	cli a --raw dump job | cmp - "$T/before"
	[ "$(cli a pttl job)" -lt 5001 ]
	run -64 "$REDLOCK" unlock job
	[[ $output = *"no token: "* ]]
	run -64 "$REDLOCK" unlock --token '' job
	run -64 "$REDLOCK" unlock --token x
	"$REDLOCK" unlock --token "$token" job
	run -75 "$REDLOCK" unlock --token "$token" job
}

@test "extend and unlock when the lease is over: 75, and nothing is taken again" {
	token=$("$REDLOCK" lock -t 200ms job)
	wait_until free job
	run -75 "$REDLOCK" extend --token "$token" job
	run -75 "$REDLOCK" unlock --token "$token" job
	free job
	"$REDLOCK" lock -t 2s job >"$T/other"
	run -75 "$REDLOCK" extend --token "$token" job
	[ "$(value)" = "$(cat "$T/other")" ]
	drop
}

@test "extend -t tells those who may wait longer that the lease is longer" {
	token=$("$REDLOCK" lock -t 2s job)
	"$REDLOCK" extend -t 40s --token "$token" job
	run -0 "$REDLOCK" inspect --json job
	[[ $output = *'"ttl_ms":40000'* ]]
	[[ $output = *'"command":"bats'* || $output = *'"command":"bash"'* ]]
	drop
}

@test "unlock of a plain client's lock: 75" {
	cli a set job value px 60000
	run -75 "$REDLOCK" unlock --token value job
	[[ $output = *"held by another program"* ]]
	held job
	cli a del job
	cli a rpush job x
	run -75 "$REDLOCK" unlock --token 12345678-1234-1234-1234-123456789abc job
	cli a del job
}

@test "a waiter gets the lock as soon as it is unlocked" {
	token=$("$REDLOCK" lock -t 30s job)
	start -k job -- true
	wait_until in_line 1
	from=$(now_ms)
	"$REDLOCK" unlock --token "$token" job
	finish
	[ "$status" = 0 ]
	below $(($(now_ms) - from)) 2000
	cli a --raw keys '*:grant:*' | xargs -r redis-cli -s "$T/a.sock" del
}

@test "readers and slots: each is extended and released by its own token" {
	a=$("$REDLOCK" lock -s -t 1s job)
	b=$("$REDLOCK" lock -s -t 1s job)
	"$REDLOCK" extend -t 10s --token "$a" job
	lasts 5000
	"$REDLOCK" unlock --token "$a" job
	run -75 "$REDLOCK" extend --token "$a" job
	held job
	"$REDLOCK" unlock --token "$b" job
	no_lock_left a
	for n in 0 1 2; do t[n]=$("$REDLOCK" lock -N 3 -t 1s job); done
	run -75 "$REDLOCK" lock -n -N 3 job
	"$REDLOCK" extend -t 10s --token "${t[1]}" job
	[ "$("$REDLOCK" inspect --json job | grep -o '"ttl_left_ms":[0-9]*' | sort -t: -k2n | tail -n 1 | cut -d: -f2)" -gt 5000 ]
	for n in 1 0 2; do
		"$REDLOCK" unlock --token "${t[n]}" job
		run -75 "$REDLOCK" unlock --token "${t[n]}" job
	done
	no_lock_left a
}

@test "a keeper that a command starts is not a process left behind" {
	for how in leave wait kill; do
		run -0 --separate-stderr timeout 20 "$REDLOCK" -k outer -t 5s \
			--orphans "$how" -- sh -c '
			eval "$("$REDLOCK" lock -t 5s --keep-for "$0" --export job)"
			echo done' $$
		[ "$output" = done ]
		[ -z "$stderr" ]
		held job
		"$REDLOCK" unlock --token "$(value)" job
		keeper_ends $$
	done
	run -0 --separate-stderr "$REDLOCK" -k outer -t 5s -- sh -c '
		eval "$("$REDLOCK" lock -t 5s --keep-for $$ --export job)"
		sleep 60 >/dev/null 2>&1 &
		echo $! >"$T/sleeper"' 3>&-
	[[ $stderr = *"left processes running"* ]]
	kill "$(cat "$T/sleeper")"
	wait_until free job
}

@test "lock inside a command that holds the key joins it, and unlock leaves it" {
	run -0 "$REDLOCK" -t 2s -k job -- sh -c '
		token=$("$REDLOCK" lock -t 2s job) || exit
		[ "$token" != "$REDLOCK_TOKEN" ] || exit 90
		"$REDLOCK" extend --token "$token" job || exit
		"$REDLOCK" unlock --token "$token" job || exit
		[ "$(redis-cli -s "$T/a.sock" get job)" = "$REDLOCK_TOKEN" ]'
	wait_until no_lock_left a
}

# So many renewals more: a keeper has asked since.
@test "unlock ends a keeper: it neither tells its process nor takes the lock again" {
	for how in '' -s '-N 2'; do
		rm -f "$T/there" "$T/told"
		target TERM
		# shellcheck disable=SC2086 # words
		token=$("$REDLOCK" lock $how -t 3s --keep-for "$kept" job 2>"$T/err")
		"$REDLOCK" unlock --token "$token" job
		free job
		keeper_ends "$kept"
		free job
		[ ! -e "$T/told" ]
		[ ! -s "$T/err" ]
		kill -9 "$kept"
	done
	wait_until no_lock_left_anywhere
}

@test "unlock during a nested run: the keeper ends at once, the lock with the run" {
	target TERM
	eval "$("$REDLOCK" lock -t 1s --keep-for "$kept" --export job)"
	start -k job -t 1s -- sh -c 'touch "$T/in"; linger until "$T/go"'
	wait_until exists "$T/in"
	"$REDLOCK" unlock job
	keeper_ends "$kept"
	held job
	run -75 env -u REDLOCK_HELD -u REDLOCK_TOKEN "$REDLOCK" -n -k job -- true
	touch "$T/go"
	finish
	[ "$status" = 0 ]
	no_lock_left a
	[ ! -e "$T/told" ]
}

@test "unlock ends --hold with 0, and a command with 125" {
	start_hold_by_hand
	"$REDLOCK" unlock --token "$(cat "$T/token")" job
	finish
	[ "$status" = 0 ]
	[ ! -s "$T/err" ]
	start -k job -t 1s -- sh -c 'echo "$REDLOCK_TOKEN" >"$T/token.new"
		mv "$T/token.new" "$T/token2"; sleep 60'
	wait_until exists "$T/token2"
	"$REDLOCK" unlock --token "$(cat "$T/token2")" job
	finish
	[ "$status" = 125 ]
	contains "$T/err" 'lease lost: it was released (unlock); killing'
}

@test "force-release of a kept lock: its process is told; the lock is free when it ends" {
	target TERM
	"$REDLOCK" lock -t 1s --keep-for "$kept" job >/dev/null 2>"$T/err"
	helper "$REDLOCK" force-release -q --confirm job --grace 20s job
	wait_until told TERM
	held job
	kill -9 "$kept"
	wait_until free job
	wait_until no_lock_left_anywhere
}

# ---- the history ----

@test "the history has one entry for each hold by hand" {
	token=$("$REDLOCK" lock -t 2s --reason mine job)
	"$REDLOCK" unlock --token "$token" job
	history_has 1
	run -0 stored_history a
	[[ $output = =*" $token"$'\n'*$'outcome released\n'*$'\nreason mine'* ]]
	target
	token=$("$REDLOCK" lock -t 1s --keep-for "$kept" job)
	"$REDLOCK" unlock --token "$token" job
	keeper_ends "$kept"
	history_has 2
	"$REDLOCK" lock -t 1s --keep-for "$kept" job >/dev/null
	kill -9 "$kept"
	wait_until free job
	history_has 3
	"$REDLOCK" unlock --no-history --token "$("$REDLOCK" lock -t 1s job)" job
	history_has 3
}

# ---- every kind of server ----

everything() { # by $REDLOCK_URL
	token=$("$REDLOCK" lock -t 2s job)
	"$REDLOCK" extend -t 3s --token "$token" job
	run -75 "$REDLOCK" lock -n job
	"$REDLOCK" unlock --token "$token" job
	run -75 "$REDLOCK" unlock --token "$token" job
	run -0 --separate-stderr script bash <<-'SH'
		set -e
		eval "$("$REDLOCK" lock -t 1s --keep-for $$ --export job)"
		"$REDLOCK" -n -k job -- echo nested
		"$REDLOCK" extend job
		(unset REDLOCK_HELD; ! "$REDLOCK" -q -n -k job -- true)
		"$REDLOCK" unlock job
		"$REDLOCK" lock -n -t 1s -s --keep-for $$ job >"$T/token"
		"$REDLOCK" lock -n -t 1s -s job >"$T/token2"
		"$REDLOCK" unlock --token "$(cat "$T/token")" job
		"$REDLOCK" unlock --token "$(cat "$T/token2")" job
	SH
	echo "$output, $stderr"
	[ "$output" = nested ]
	"$REDLOCK" -w 10s -k job -- true
}

@test "lock and unlock work with local:" {
	export REDLOCK_URL="local:?dir=$T/mine&idle=4s"
	everything
	[ -n "$(our_lockservers)" ]
	wait_until eval '[ -z "$(our_lockservers)" ]' # idle
}
our_lockservers() { # other tests may have some, too
	local p

	for p in $(pgrep -x lockserver); do
		! grep -qzxF "REDLOCK_TEST_ID=$T" "/proc/$p/environ" \
			2>/dev/null || echo "$p"
	done
}

@test "lock and unlock work with a Sentinel group, also over a failover" {
	group_start g
	url=$(group_url g)
	export REDLOCK_URL=$url
	everything
	target
	token=$("$REDLOCK" lock -t 10s --wait-replicas 2 --keep-for "$kept" job)
	group_failover g
	"$REDLOCK" unlock --token "$token" job
	keeper_ends "$kept"
	cli "$(group_master_name g)" exists job | grep -x 0
	kill_servers "$group_dir"
}

@test "lock and unlock work on a Cluster" {
	cluster_start
	url=$(cluster_url)
	export REDLOCK_URL=$url
	everything
	kill_servers "$cluster_dir"
}

@test "lock and unlock work on three servers, also with one frozen, not with two" {
	several 3
	export REDLOCK_URL=$url
	everything
	node_freeze c
	token=$("$REDLOCK" lock -t 10s job)
	"$REDLOCK" extend --token "$token" job
	node_thaw c
	node_freeze b
	run -0 "$REDLOCK" unlock --token "$token" job
	node_thaw b
	"$REDLOCK" -w 20s -k job -- true
	target TERM
	"$REDLOCK" lock -t 2s --keep-for "$kept" job >/dev/null 2>"$T/err"
	node_freeze a
	node_freeze c
	run -69 "$REDLOCK" unlock --token "$token" job
	wait_until told TERM
	node_thaw a
	node_thaw c
	kill -9 "$kept"
	"$REDLOCK" -w 20s -k job -- true
}

@test "only REDLOCK_TOKEN exported: a run of the same key is refused at once: 64" {
	local o was

	REDLOCK_TOKEN=$("$REDLOCK" lock -t 20s -u "$url" job)
	export REDLOCK_TOKEN
	was=$(cli a get job)
	for o in -n '-w 1h' '-w 1h -E 0 -q'; do
		run -64 --separate-stderr timeout 15 "$REDLOCK" $o -u "$url" -k job -- true
		[[ $stderr = "redlock: job: deadlock: held by "*"@$(hostname) since "*", with our own \
REDLOCK_TOKEN; unlock it first, or take it with 'lock --export', so that this run can share it" ]]
		[ "$(wc -l <<<"$stderr")" = 1 ]
	done
	run -64 "$REDLOCK" lock -w 1h -u "$url" job
	# nothing is left behind, and the lock is unchanged
	[ "$(cli a get job)" = "$was" ]
	[ "$(cli a exists 'job:redlock:{job}:queue')" = 0 ]
	# anybody else waits, with a hint where to look
	REDLOCK_TOKEN=x run -75 "$REDLOCK" -n -u "$url" -k job -- true
	[[ $output = *'; see: redlock inspect job' ]]
	# one slot of two: the other one is free
	"$REDLOCK" unlock -u "$url" job
	REDLOCK_TOKEN=$("$REDLOCK" lock -t 20s -N 2 -u "$url" job)
	"$REDLOCK" -w 1h -N 2 -u "$url" -k job -- true
	"$REDLOCK" unlock -u "$url" job
	"$REDLOCK" -n -u "$url" -k job -- true
}

@test "fish: --export prints the form for it, which ends a script" {
	command -v fish >/dev/null || skip "no fish"
	cat >"$T/wrong" <<-'END'
		eval (redlock lock -u $url job --export --keep-for $fish_pid)
		touch $T/went-on
	END
	cat >"$T/right" <<-'END'
		set -gx REDLOCK_TOKEN (redlock lock -n -u $url job --keep-for $fish_pid); or exit
		redlock extend -u $url job; and touch $T/ran
	END
	export url T HOME="$T"
	PATH=${REDLOCK%/*}:$PATH run -64 --separate-stderr fish "$T/wrong"
	[[ $stderr = *'in fish: set -gx REDLOCK_TOKEN (redlock lock KEY --keep-for $fish_pid); or exit' ]]
	[ ! -e "$T/went-on" ]
	free job
	PATH=${REDLOCK%/*}:$PATH run -0 fish "$T/right"
	[ -e "$T/ran" ]
	wait_until free job
	hold open
	rm "$T/ran"
	PATH=${REDLOCK%/*}:$PATH run -75 fish "$T/right"
	[ ! -e "$T/ran" ]
	end_hold
}

@test "--hold on a terminal: a live line with time, how to end it and who waits" {
	TERM=xterm NO_COLOR=1 run -130 pty size:24x100 \
		'wait:redlock: job: holding 0s; Ctrl-C releases it; 0 waiting' \
		"run:'$REDLOCK' -q -u $url -w 20s -k job -- touch $T/ran & echo >$T/began" \
		'wait:Ctrl-C releases it; 1 waiting' 'send:^C' -- \
		"$REDLOCK" lock -u "$url" --hold -t 5s job
	[[ $output =~ ^[0-9a-f-]{36} || $output = *$'\e[J'[0-9a-f]* ]]
	[[ ${output##*$'\r\e[J'} != *holding* ]]
	wait_until exists "$T/ran"
	# no terminal, or quiet: no line
	start_hold_by_hand
	[ ! -s "$T/err" ]
	kill "$tool"
	finish
	grep -qE '^redlock: job: released after [0-9.]+m?s$' "$T/err"
	TERM=xterm run -130 pty "wait:-" 'run:sleep 0.3' 'send:^C' -- \
		"$REDLOCK" lock -q -u "$url" --hold -t 5s job
	[[ $output != *holding* ]]
}

@test "messages of --hold take the place of its live line" {
	TERM=xterm NO_COLOR=1 run -125 pty size:24x100 'wait:0 waiting' \
		"run:redis-cli -s $T/a.sock set job other px 60000" 'wait:lease lost' -- \
		"$REDLOCK" lock -u "$url" --hold -t 900ms job
	[[ $output = *$'\r\e[Jredlock: job: lease lost: '* ]]
	[[ ${output##*'lease lost: '} != *$'\n'*holding*$'\n'* ]]
	cli a del job >/dev/null
}
