#!/usr/bin/env bats
# Signals and the terminal: the command lives as if redlock were not there.

load lib/common

# start(), under a witness of its end: $T/how says "exit N" or "signal N".
start_told() {
	rm -f "$T/how"
	launch --default all --tell "$T/how" "$REDLOCK" -u "$url" "$@" \
		2>"$T/err" 3>&- &
	helpers="$helpers $!"
	wait_until contains "$T/how" '^[0-9]'
	read -r tool <"$T/how"
}

how() { # waits for the end, and says it
	wait_until contains "$T/how" '[el]'
	sed -n 2p "$T/how"
}

stopped() { grep -q '^State:.*T' "/proc/$1/status"; }
lines() { wc -l <"$1"; }

# An interactive shell on a terminal, and in it $RL as redlock.
shell_on_tty() { # STEP...
	RL="$(unblanked "$REDLOCK") -u $url" PS1='%' TERM=dumb \
		pty "send:stty -echo; set -b\n" "wait:%" "$@" "send:\nexit\n" \
		-- bash --norc --noprofile --noediting -i
}

with_injection() { # NAME:K:ERRNO, for the redlocks started from here on
	preloading inject.so
	export LD_PRELOAD=$(shim inject.so) INJECT=$1 INJECT_MARK=$T/hit
}
no_injection() { unset LD_PRELOAD INJECT INJECT_MARK; }

# ---- signals sent to redlock ----

@test "TERM, HUP, INT and QUIT reach the command, and redlock dies of the same one" {
	ulimit -c 0
	for sig in 15 1 2 3; do
		start_told -k job -- witness "$T" --started w --hold 9000
		wait_until exists "$T/w"
		kill -"$sig" "$tool"
		[ "$(how)" = "signal $sig" ]
		free job
		rm "$T/w"
	done
}

@test "a signal that the command handles leaves the exit status to the command" {
	start_told -k job -- sh -c "trap 'exit 7' TERM; touch $T/w
		while :; do sleep 0.05; done"
	wait_until exists "$T/w"
	kill -TERM "$tool"
	[ "$(how)" = "exit 7" ]
	free job
}

@test "TERM reaches a shell's child though the shell dies of it first" {
	for ((i = 0; i < 12; i++)); do
		start_told -k job -- \
			sh -c "sh -c 'touch $T/w; exec sleep 61.5'; true"
		wait_until exists "$T/w"
		kill -TERM "$tool"
		[ "$(how)" = "signal 15" ]
		rm "$T/w"
		wait_until no_process_left
	done
}

@test "TERM while waiting ends the waiting and leaves nothing behind" {
	cli a set job other px 60000
	start_told -k job -- witness "$T"
	wait_until contains "$T/err" "waiting.*: held by"
	kill -TERM "$tool"
	[ "$(how)" = "signal 15" ]
	contains "$T/err" "gave up waiting"
	[ "$(cli a get job)" = other ]
	[ "$(holds)" = 0 ]
	cli a del job
}

@test "TERM while the server is silent leaves no lock when it answers again" {
	node_freeze a
	start_told -k job -- witness "$T"
	wait_until has_guard "$tool"
	kill -TERM "$tool"
	[ "$(how)" = "signal 15" ]
	node_thaw a
	wait_until lock_is_free
	[ "$(holds)" = 0 ]
}

@test "TERM during the release changes neither the status nor the release" {
	start_told -k job -- kill -STOP "$(node_pid a)"
	wait_until stopped "$(node_pid a)"
	# the command is not to meet it
	wait_until eval '[ -z "$(guard_of "$(guard_of "$tool")")" ]'
	kill -TERM "$tool"
	ended_by=$(how)
	node_thaw a
	[ "$ended_by" = "exit 0" ]
	wait_until lock_is_free
}

@test "signals ignored at the start stay ignored, in redlock and in the command" {
	launch --default all --ignore 1 "$REDLOCK" -u "$url" -k job -- \
		sh -c "touch $T/w
		linger until $T/go; echo on >$T/end" \
		3>&- &
	tool=$!
	wait_until exists "$T/w"
	kill -HUP "$tool"
	kill -HUP -- "$(pgrep -P "$(guard_of "$tool")")"
	touch "$T/go"
	finish
	[ "$status" = 0 ]
	contains "$T/end" on
}

@test "TERM to a redlock whose command is stopped is acted on when it continues" {
	start_told -k job -- witness "$T" --started w --hold 9000
	wait_until exists "$T/w"
	kill -STOP "$(cat "$T/w")"
	wait_until stopped "$(cat "$T/w")"
	kill -TERM "$tool"
	held job
	kill -CONT "$tool"
	[ "$(how)" = "signal 15" ]
}

@test "TERM between the go and the command's birth is not lost" {
	with_injection vfork:1:0
	start_told -k job -- sh -c "sleep 1; touch $T/survived"
	no_injection
	wait_until exists "$T/hit"
	kill -TERM "$tool"
	sleep 0.05 # redlock is to deal with it before the command is born
	rm "$T/hit"
	[ "$(how)" = "signal 15" ]
	[ ! -e "$T/survived" ]
}

@test "TERM between the command's fork and its exec ends the command" {
	with_injection execvpe:1:0
	start_told -k job -- sh -c "sleep 1; touch $T/survived"
	no_injection
	wait_until exists "$T/hit"
	kill -TERM "$tool"
	rm "$T/hit"
	[ "$(how)" = "signal 15" ]
	[ ! -e "$T/survived" ]
}

@test "TERM while redlock forks its guard ends it" {
	with_injection fork:1:0
	start_told -k job -- witness "$T"
	no_injection
	wait_until exists "$T/hit"
	kill -TERM "$tool"
	rm "$T/hit"
	[ "$(how)" = "signal 15" ]
	[ "$(holds)" = 0 ]
	wait_until lock_is_free
}

# A handler for each signal, and each given up again in the command, would cost a
# short run a twentieth.
@test "signals are read, not handled: a run sets few handlers, and none per signal" {
	command -v strace >/dev/null || skip "no strace"
	[ -z "${SANITIZED:-}" ] || skip "a sanitizer and strace do not mix"
	strace -f -o "$T/trace" "$REDLOCK" -u "$url" -k job -- true
	grep -q signalfd4 "$T/trace"
	below "$(grep -c 'sigaction(.*{sa_handler' "$T/trace")" 12
}

# ---- Ctrl-C ----

@test "the third Ctrl-C within two seconds kills a command that ignores them" {
	run pty "file:$T/w" "send:^C" "run:sleep 0.1" "send:^C" \
		"run:sleep 0.1" "send:^C" -- "$REDLOCK" -u "$url" -k job -- \
		sh -c "trap '' INT; touch $T/w; while :; do sleep 0.05; done"
	[[ $output == *"interrupted three times"* ]]
	wait_until lock_is_free
}

@test "two Ctrl-C are the command's own affair" {
	run -0 pty "file:$T/w" "send:^C" "wait:one" "send:^C" -- \
		"$REDLOCK" -u "$url" -k job -- sh -c "n=0
		trap 'n=\$((n + 1)); [ \$n = 2 ] && exit 0; echo one' INT
		touch $T/w; while :; do sleep 0.05; done"
}

@test "INT from another process never kills, however often" {
	start_told -k job -- sh -c "trap 'echo x >>$T/int' INT
		trap 'exit 0' TERM; touch $T/w; while :; do sleep 0.05; done"
	wait_until exists "$T/w"
	for i in 1 2 3 4 5; do
		kill -INT "$tool"
		wait_until told "$i"
	done
	kill -TERM "$tool"
	[ "$(how)" = "exit 0" ]
}
told() { [ "$(wc -l <"$T/int")" -ge "$1" ]; } 2>/dev/null

@test "after a kill the terminal is as it was before, and ours again" {
	raw="stty raw -echo </dev/tty; touch $T/w; sleep 60"
	for how in "sh -c \"$raw\"" "sh -c \"$raw\" </dev/null" \
		"bash -c \"set -m; ($raw); true\""; do
		rm -f "$T/w"
		run -0 pty "file:$T/w" "run:redis-cli -s $T/a.sock set job stolen px 1000" \
			"wait:lost" "wait:iutf8" "send:typed\n" "wait:got typed" -- \
			sh -c "'$REDLOCK' -u '$url' -k job -t 1s -- $how
			stty -a; read line && echo got \$line"
		[[ $output == *" icanon"* && $output == *" echo "* ]]
		cli a del job >/dev/null
	done
}

@test "the terminal is restored after TERM, too, and if the guard was killed" {
	local how

	# (its parent is the guard)
	echo "stty raw -echo </dev/tty; echo \$PPID >$T/w.new; mv $T/w.new $T/w
		exec sleep 60" >"$T/raw"
	for how in "kill -STOP $(node_pid a)" "kill -9 \$(cat $T/w)" true; do
		rm -f "$T/w"
		run -0 pty "file:$T/w" "run:$how" "wait:ended as" "wait:iutf8" -- \
			sh -c "'$REDLOCK' -u '$url' -k job -t 1s --max-hold 20s \
				$([ "$how" = true ] && echo --max-hold 300ms) -- \
				sh $T/raw; echo ended as \$?
			stty -a"
		node_thaw a
		[[ $output == *" icanon"* && $output == *" echo "* ]]
		wait_until lock_is_free
	done
}

@test "one INT does not end a command that ignores it" {
	start -k job -- witness "$T" --started w --hold 300 --stubborn
	wait_until exists "$T/w"
	kill -INT "$tool"
	finish
	[ "$status" = 0 ]
	[ "$(holds)" = 1 ]
}

@test "Ctrl-C ends redlock by SIGINT, so that a shell script stops, too" {
	run -130 pty "file:$T/w" "send:^C" -- bash --norc -c "'$REDLOCK' -u $url \
		-k job -- witness $T --started w --hold 9000; touch $T/went_on"
	[ ! -e "$T/went_on" ]
	free job
}

@test "one Ctrl-C reaches the command exactly once" {
	run -0 pty "file:$T/w" "send:^C" "file:$T/int" \
		"run:kill -USR1 \$(cat $T/tool)" -- sh -c "echo \$\$ >$T/tool
		exec '$REDLOCK' -u $url -k job -- sh -c '
			trap \"echo x >>$T/int\" INT; trap \"touch $T/go\" USR1
			touch $T/w
			while [ ! -e $T/go ]; do sleep 0.05; done; exit 0'"
	[ "$(lines "$T/int")" = 1 ]
}

# ---- stdin and the terminal ----

@test "the command reads the terminal" {
	run -0 pty "file:$T/w" "send:hello\n" -- "$REDLOCK" -u "$url" -k job -- \
		sh -c "touch $T/w; read x; echo got:\$x"
	[[ $output == *got:hello* ]]
}

@test "the command is in the terminal's foreground group, and redlock with it" {
	run -0 pty -- "$REDLOCK" -u "$url" -k job -- \
		sh -c 'ps -o tpgid=,pgid= -p $$'
	read -r foreground group <<<"${output//$'\r'/}"
	[ "$foreground" = "$group" ]
}

@test "a new window size reaches the command" {
	run -0 pty "file:$T/w" "size:33x99" "wait:33 99" -- "$REDLOCK" -u "$url" \
		-k job -- sh -c "trap 'stty size; exit 0' WINCH; touch $T/w
			while :; do sleep 0.05; done"
}

@test "in a pipeline the other programs have the terminal" {
	run -0 shell_on_tty \
		"send:\$RL -k job -- printf '%s\n' pi''ped | sh -c 'cat; read y </dev/tty; echo got:\$y'\n" \
		"wait:piped" "send:hello\n" "wait:got:hello"
}

@test "the reader of a pipeline sees the end when the command closes it" {
	set -o pipefail
	# not the function: its subshell would keep the pipe open
	"$REDLOCK" -u "$url" -k job -- sh -c "echo text; exec >&-; i=0
		while [ ! -e $T/go ]; do
			sleep 0.05; i=\$((i + 1)); [ \$i -lt 300 ] || exit 9
		done" | { cat >"$T/out"; touch "$T/go"; }
	contains "$T/out" text
}

@test "a background job that reads the terminal stops, and fg continues it" {
	run -0 shell_on_tty \
		"send:\$RL -k job -t 20s -- sh -c 'read x; echo got:\$x' &\n" \
		"wait:Stopped" "send:fg\nhello\n" "wait:got:hello"
}

@test "an interactive shell as the command has job control" {
	run -0 pty "wait:%" "send:sh -c ': >$T/runs; exec sleep 100'\n" \
		"file:$T/runs" "send:^Z" \
		"wait:Stopped" "send:kill -9 %1\nexit 0\nexit 0\n" -- \
		env PS1=% "$REDLOCK" -u "$url" -k job -- \
		bash --norc --noprofile --noediting -i
	[[ $output != *"no job control"* ]]
}

@test "when the terminal hangs up, the command ends and the lock is released" {
	run -129 pty "file:$T/w" hangup -- "$REDLOCK" -u "$url" -k job -- \
		witness "$T" --started w --hold 9000
	wait_until lock_is_free
}

# A child that counts what it gets, and a command that does.
counting() { # SIGNAL
	echo "trap 'echo me >>$T/got' $1; trap 'exit 0' TERM
		sh -c \"trap 'echo child >>$T/got' $1; touch $T/w2
			while :; do sleep 0.05; done\" &
		until [ -e $T/w2 ]; do sleep 0.05; done; touch $T/w
		while :; do sleep 0.05; done"
}

@test "HUP, USR1, USR2, ALRM, PWR, WINCH, URG, real-time: to the command only" {
	for sig in HUP USR1 USR2 ALRM PWR WINCH URG RTMIN+3; do
		rm -f "$T/w" "$T/w2" "$T/got"
		start_told -k job -- bash -c "$(counting $sig)"
		wait_until exists "$T/w"
		kill -"$sig" "$tool"
		wait_until exists "$T/got"
		kill -TERM "$tool"
		[ "$(how)" = "exit 0" ]
		[ "$(cat "$T/got")" = me ]
	done
}

@test "TERM reaches each of 2,500 processes" {
	local n=${SANITIZED:+200} # with a sanitizer, 2,500 are too heavy
	n=${n:-2500}
	start -k job -- linger many $n "$T/w"
	wait_until exists "$T/w"
	[ "$(pgrep -cfx "linger many $n $T/w")" = $((n + 1)) ]
	kill -TERM "$tool"
	finish
	wait_until no_process_left
	[ "$(pgrep -cfx "linger many $n $T/w")" = 0 ]
}

@test "a chain of 40 processes is killed under low ulimits, by redlock or the guard" {
	local how

	cat >"$T/chain.py" <<-'PY'
		import fcntl, os, signal, sys
		lock = open(sys.argv[1] + ".lock", "w")
		fcntl.flock(lock, fcntl.LOCK_EX) # until the last of them is dead
		for i in range(40):
		    if os.fork() != 0:
		        while True:
		            signal.pause()
		open(sys.argv[1], "w").close()
		while True:
		    signal.pause()
	PY
	for how in KILL TERM; do
		rm -f "$T/w"
		(ulimit -Ss 128; ulimit -Sn 32; exec "$REDLOCK" -u "$url" -k job -t 20s -- \
			sh -c "ulimit -Ss 8192; exec python3 $T/chain.py $T/w") 2>"$T/err" 3>&- &
		tool=$!
		helpers="$helpers $tool"
		wait_until exists "$T/w"
		kill -"$how" "$tool"
		wait_until flock -n "$T/w.lock" true
		wait_until free job
	done
}

@test "INT and then TERM: redlock dies of the same signal as the command" {
	start_told -k job -- sh -c "trap '' TERM; touch $T/w; sleep 9"
	wait_until exists "$T/w"
	kill -TERM "$tool"
	kill -INT "$tool"
	[ "$(how)" = "signal 2" ]
}

@test "a command killed by somebody else leaves nothing running" {
	run -137 redlock -k job -- sh -c "sleep 63.5 & kill -KILL \$\$"
	[ "$(pgrep -cfx 'sleep 63.5')" = 0 ]
	lock_is_free
}

@test "messages from systemd to redlock reach the command" {
	run -0 sh -c 'export LISTEN_PID=$$ LISTEN_FDS=1 WATCHDOG_PID=$$ LISTEN_PIDFDID=7
		export SYSTEMD_EXEC_PID=$$
		exec "$@"' - "$REDLOCK" -u "$url" -k job -- sh -c 'echo \
		"$LISTEN_PID $WATCHDOG_PID $SYSTEMD_EXEC_PID $$ ${LISTEN_PIDFDID-none}"'
	read -r listen watchdog exec self id <<<"$output"
	[ "$listen $watchdog $exec $id" = "$self $self $self none" ]
	# the shell is meant, not what it runs
	run -0 env LISTEN_PID=1 LISTEN_PIDFDID=7 WATCHDOG_PID=1 SYSTEMD_EXEC_PID= \
		"$REDLOCK" -u "$url" -k job -- sh -c 'echo \
		"$LISTEN_PID $LISTEN_PIDFDID $WATCHDOG_PID ($SYSTEMD_EXEC_PID)"'
	[ "$output" = "1 7 1 ()" ]
}

@test "a storm of real-time signals does not hide that the command has ended" {
	# (musl uses signal 34 itself)
	# the limit counts for all that this user runs: not to be used up
	launch --default all --limit sigpending=5000 "$REDLOCK" -u "$url" -k job -t 2s \
		-- sh -c "trap '' 40; touch $T/in; linger until $T/storm; exit 5" 3>&- &
	tool=$!
	helpers="$helpers $tool"
	wait_until exists "$T/in"
	helper linger storm "$tool" 40 "$T/storm"
	first=$!
	helper linger storm "$tool" 40 "$T/storm"
	second=$!
	finish
	[ "$status" = 5 ]
	# LeakSanitizer complains if they are killed while it looks through them
	wait "$first" "$second"
}

@test "a file at the limit of ulimit -f loses a message, and not the run" {
	limited
	local limited='ulimit -f 0; exec "$@"'

	run -3 bash -c "$limited" - "$REDLOCK" -q -u "$url" -k job \
		--result-file "$T/result" -- sh -c 'exit 3'
	: >"$T/full"
	run -127 bash -c "$limited 2>'$T/full'" - "$REDLOCK" -u "$url" -k job -- "$T/missing"
	# it waits, and says so
	start -k job -t 2s -- sh -c "touch $T/in; linger until $T/go"
	wait_until exists "$T/in"
	helper bash -c "$limited 2>'$T/full'" - "$REDLOCK" -u "$url" -k job -- true
	waiter=$!
	wait_until in_line 1
	touch "$T/go"
	finish
	wait "$waiter"
	# the command has the old disposition
	run -153 bash -c "$limited" - "$REDLOCK" -u "$url" -k job -- sh -c "echo x >'$T/full'"
}

# ---- stopping the job ----

@test "a stopped process in the group: the group is orphaned as without redlock" {
	run -0 setsid -w sh -c "sleep 2 & kill -STOP \$!
		'$REDLOCK' -u '$url' -k job -- sh -c 'sleep 0.3'
		'$REDLOCK' -u '$url' -k job -- '$T/missing'; echo goes on
		kill -CONT \$! 2>/dev/null; kill \$! 2>/dev/null; true"
	[[ $output == *"goes on"* ]]
}

@test "Ctrl-Z where no shell could make us go on stops nothing" {
	run -0 pty "file:$T/w" "send:^Z" "run:sleep 1.3" "run:touch $T/go" -- \
		"$REDLOCK" -u "$url" -k job -t 1s -- \
		sh -c "touch $T/w; linger until $T/go"
}

@test "as PID 1 of a container, Ctrl-Z stops nothing" {
	need_pid_namespace
	run -0 pty "file:$T/w" "send:^Z" "run:sleep 1.3" "run:touch $T/go" -- \
		unshare -fp --mount-proc "$REDLOCK" -u "$url" -k job -t 1s -- \
		sh -c "touch $T/w; linger until $T/go"
}

@test "as PID 1 of a container, the command hears that its terminal has gone" {
	need_pid_namespace
	helper pty "file:$T/w" hangup "file:$T/hup" -- \
		unshare -fp --mount-proc setsid -c "$REDLOCK" -u "$url" -k job -- \
		sh -c "trap 'touch $T/hup; exit 5' HUP; touch $T/w; linger until $T/go & wait"
	wait_until exists "$T/hup"
	: >"$T/go"
	wait_until lock_is_free
}

@test "as PID 1 of a container, redlock keeps no pipe that the command has closed" {
	need_pid_namespace
	mkfifo "$T/pipe"
	helper sh -c 'cat <"$1/pipe"; : >"$1/eof"' sh "$T"
	helper unshare -fp --mount-proc sh -c 'pipe=$1; shift; exec "$@" >"$pipe"' sh \
		"$T/pipe" "$REDLOCK" -u "$url" -k job -- sh -c "exec >&-; linger until $T/go"
	wait_until exists "$T/eof"
	[ ! -e "$T/go" ]
	: >"$T/go"
	wait_until lock_is_free
}

@test "Ctrl-Z that is blocked at the start stops nothing" {
	run -0 shell_on_tty \
		"send:launch --block 20 \$RL -k job -t 1s -- bash -c 'touch $T/w; while [ ! -e $T/go ]; do read -t 0.05 <>/dev/null; done; echo fin''ished'\n" \
		"file:$T/w" "send:^Z" "run:sleep 1.3" "run:touch $T/go" \
		"wait:finished"
	[[ $output != *Stopped* ]]
}

wait_for_go() {
	echo "sh -c 'echo \$\$ >$T/w.new; mv $T/w.new $T/w; while [ ! -e $T/go ]; do sleep 0.05; done; echo fin''ished'"
}

# D: the shell has just forked by vfork(2), and its child is what was stopped.
until_stopped() {
	echo "until grep -q ^State:.[TD] /proc/\$(cat $T/w)/status; do sleep 0.05; done"
}

@test "after Ctrl-Z, fg within the lease continues the command" {
	run -0 shell_on_tty "send:\$RL -k job -t 20s -- $(wait_for_go)\n" \
		"file:$T/w" "send:^Z" "wait:Stopped" \
		"run:$(until_stopped)" \
		"run:redis-cli -s $T/a.sock exists job | grep -q 1" \
		"run:touch $T/go" "send:fg\n" "wait:finished"
}

@test "after Ctrl-Z and the end of the lease the job is dead, with the reason" {
	run -0 shell_on_tty "send:\$RL -k job -t 2s -- $(wait_for_go)\n" \
		"file:$T/w" "send:^Z" "wait:Stopped" \
		"wait:lease lost" "send:wait %1; echo status:\$?\n" "wait:status:"
	[[ $output != *finished* ]]
	free job
}

# timeout(1) makes a group of its own, which is not in front.
@test "a command in a group of its own gets INT and QUIT of the terminal" {
	local key

	for key in ^C:130 '^\:131'; do
		rm -f "$T/w"
		run -0 shell_on_tty "send:ulimit -c 0\n" \
			"send:\$RL -k job -t 20s -- timeout 60 $(wait_for_go)\n" \
			"file:$T/w" "send:${key%:*}" "send:echo status:\$?\n" \
			"wait:status:${key#*:}"
		free job
	done
}

@test "a command in a group of its own stops at Ctrl-Z, and fg continues it" {
	run -0 shell_on_tty \
		"send:\$RL -k job -t 20s -- timeout 60 $(wait_for_go)\n" \
		"file:$T/w" "send:^Z" "wait:Stopped" \
		"run:$(until_stopped)" \
		"run:redis-cli -s $T/a.sock exists job | grep -q 1" \
		"run:touch $T/go" "send:fg\n" "wait:finished"
}

@test "a command in a group of its own does not stop if no shell could continue us" {
	run -0 pty "file:$T/w" "send:^Z" "run:touch $T/go" "wait:finished" -- \
		"$REDLOCK" -u "$url" -k job -t 20s -- timeout 60 \
		sh -c "touch $T/w; while [ ! -e $T/go ]; do sleep 0.05; done; echo finished"
}

@test "TSTP sent to redlock alone stops the command; CONT continues both" {
	run -0 shell_on_tty "send:\$RL -k job -t 20s -- $(wait_for_go) &\n" \
		"file:$T/w" "send:kill -TSTP \$!\n" "wait:Stopped" \
		"run:$(until_stopped)" \
		"run:touch $T/go" "send:kill -CONT \$!\n" "wait:finished"
}

@test "after a stop, the command goes on only when the overdue renewal has succeeded" {
	local node is_stopped renewed

	node=$(node_pid a)
	# an answer under way at the stop would count as the renewal
	renewed="p=9999999; until q=\$(redis-cli -s $T/a.sock pttl job); [ \$q -gt \$p ]; do
		p=\$q; sleep 0.05; done; sleep 0.2"
	is_stopped="grep -q '^State:.T' /proc/\$(cat $T/w)/status"
	run -0 shell_on_tty "send:\$RL -k job -t 6s -- $(wait_for_go) &\n" \
		"file:$T/w" "run:$renewed" \
		"send:kill -TSTP \$!\n" "wait:Stopped" "run:$(until_stopped)" \
		"run:kill -STOP $node; sleep 1.2; touch $T/go" \
		"send:kill -CONT \$!\n" "run:sleep 0.4; $is_stopped" \
		"run:kill -CONT $node" "wait:finished"
	[[ $output != *lost* ]]
}

@test "TSTP sent to the whole job, and fg, continues the command" {
	run -0 shell_on_tty "send:\$RL -k job -t 20s -- $(wait_for_go) &\n" \
		"file:$T/w" "send:kill -TSTP %1\n" "wait:Stopped" \
		"run:touch $T/go" "send:fg\n" "wait:finished"
}

# The command stops, and nobody has stopped redlock.
@test "a command that stops only itself stops the job, and fg continues it" {
	local sig
	for sig in STOP TSTP TTIN; do
		run -0 shell_on_tty \
			"send:\$RL -k job -t 20s -- sh -c 'kill -$sig \$\$; echo fin''ished; exit 7'\n" \
			"wait:Stopped" "send:fg\n" \
			"wait:finished" "send:echo status:\$?\n" "wait:status:7"
	done
}

@test "a command that stopped itself is dead when the lease ends, with the reason" {
	run -0 shell_on_tty \
		"send:\$RL -k job -t 1s -- sh -c 'kill -STOP \$\$; echo fin''ished'\n" \
		"wait:Stopped" "wait:lease lost" \
		"send:wait %1; echo status:\$?\n" "wait:status:125"
	[[ $output != *finished* ]]
	free job
}

@test "continuing the command alone continues the job" {
	run -0 shell_on_tty \
		"send:\$RL -k job -t 20s -- sh -c 'echo \$\$ >$T/w; kill -STOP \$\$; echo fin''ished'\n" \
		"wait:Stopped" "run:kill -CONT \$(cat $T/w)" "wait:finished" \
		"run:until redis-cli -s $T/a.sock exists job | grep -q 0; do :; done" \
		"send:true\n"
}

@test "a command that is stopped and continued all the time keeps its lease" {
	run -0 shell_on_tty "send:\$RL -k job -t 2s -- $(wait_for_go) &\n" \
		"file:$T/w" \
		"run:w=\$(cat $T/w); timeout 3 sh -c 'while :; do kill -STOP \$1; sleep .025; kill -CONT \$1; sleep .025; done' sh \$w; kill -CONT \$w" \
		"run:touch $T/go" "wait:finished"
	[[ $output != *lost* ]]
}

@test "a command that had the terminal to itself gets it back after fg" {
	cat >"$T/own.py" <<-'PY'
		import os, signal
		signal.signal(signal.SIGTTOU, signal.SIG_IGN)
		os.setpgid(0, 0)
		os.tcsetpgrp(0, os.getpgrp())
		os.kill(os.getpid(), signal.SIGSTOP)
		print("read", input())
	PY
	run -0 shell_on_tty "send:\$RL -k job -t 20s -- python3 $T/own.py\n" \
		"wait:Stopped" "send:fg\n" "wait:RL" "send:a line\n" \
		"wait:read a line"
}

@test "a command that stops where no shell could continue it keeps its lease" {
	may_need_another_try "renewals within 1 s"
	run -0 --separate-stderr setsid -w sh -c "'$REDLOCK' -u '$url' -k job -t 1s -- \
		sh -c 'echo \$\$ >$T/w.new; mv $T/w.new $T/w; kill -STOP \$\$; echo goes on' &
		until [ -e $T/w ]; do sleep 0.02; done
		until grep -q ^State:.T /proc/\$(cat $T/w)/status; do sleep 0.02; done
		sleep 1.5
		redis-cli -s $T/a.sock exists job
		kill -CONT \$(cat $T/w)
		wait \$!"
	[ "$output" = $'1\ngoes on' ]
}

@test "a redlock stopped and continued within the lease goes on renewing" {
	start -k job -t 1s -- witness "$T" --started w --hold 1500
	wait_until exists "$T/w"
	kill -STOP "$tool"
	wait_until stopped "$tool"
	kill -CONT "$tool"
	finish
	[ "$status" = 0 ]
	[ "$(holds)" = 1 ]
}

# ---- nobody reads what redlock says ----

@test "everything works without a standard error" {
	redlock -v -k job -t 300ms -- witness "$T" --hold 600 2>&-
	[ "$(holds)" = 1 ]
}

@test "a full pipe as standard error delays neither renewals nor the end" {
	mkfifo "$T/pipe"
	exec 8<>"$T/pipe"
	# fill it to the brim
	timeout 0.2 dd if=/dev/zero of="$T/pipe" bs=4096 count=100 \
		oflag=nonblock 2>/dev/null || true
	start=$(now_ms)
	"$REDLOCK" -u "$url" -v -k job -t 300ms -- \
		witness "$T" --hold 600 2>&8 8>&-
	[ $(($(now_ms) - start)) -lt 3000 ]
	exec 8>&-
	[ "$(holds)" = 1 ]
}

@test "a standard error whose reader is gone does not end redlock" {
	mkfifo "$T/pipe"
	exec 8<>"$T/pipe" 9>"$T/pipe"
	exec 8>&-
	"$REDLOCK" -u "$url" -v -k job -t 300ms -- \
		witness "$T" --hold 400 2>&9 9>&-
	exec 9>&-
	[ "$(holds)" = 1 ]
}

@test "lease loss is enforced although nobody reads standard error" {
	mkfifo "$T/pipe"
	exec 8<>"$T/pipe"
	timeout 0.2 dd if=/dev/zero of="$T/pipe" bs=4096 count=100 \
		oflag=nonblock 2>/dev/null || true
	"$REDLOCK" -u "$url" -v -k job -t 1s -- \
		witness "$T" --hold 9000 --started w --spawn --stubborn \
		2>&8 8>&- 3>&- &
	tool=$!
	wait_until exists "$T/w"
	node_freeze a
	finish
	[ "$status" = 125 ]
	node_thaw a
	exec 8>&-
	flock -n "$T/witness" true
}

# ---- signals sent to the whole group ----

# Notes each signal that it gets; so does a child in a group of its own. Ends by
# USR2. (Real-time signals queue; the others are taken as soon as they come.)
note_signals() { # COMMAND...
	cat >"$T/note.py" <<-'PY'
		import os, signal, sys
		dir, name = sys.argv[1], "me"
		every = signal.valid_signals()
		signal.pthread_sigmask(signal.SIG_BLOCK, every)
		parent = os.getpid()
		if os.fork() == 0:
		    os.setpgid(0, 0)
		    name = "other"
		open(dir + "/" + name, "w").close()
		while name == "me" or os.getppid() == parent:
		    got = signal.sigtimedwait(every, 0.1)
		    if got is None or got.si_signo in (signal.SIGCHLD, signal.SIGCONT):
		        continue
		    with open(dir + "/got", "a") as f:
		        f.write("%s %d\n" % (name, got.si_signo))
		    if got.si_signo == signal.SIGUSR2:
		        break
	PY
	rm -f "$T"/{me,other,got}
	launch --default all --session "$@" python3 "$T/note.py" "$T" \
		2>"$T/err" 3>&- &
	tool=$!
	helpers="$helpers $tool"
	wait_until exists "$T/me"
	wait_until exists "$T/other"
}
has_recorder() { pgrep -P "$tool" -x lockgroup >/dev/null; }
count() { grep -cx "$1 $2" "$T/got" || true; }
noted() { [ -e "$T/got" ] && [ "$(count "$1" "$2")" -ge "$3" ]; }

@test "a signal to the whole group reaches the command once, as under env" {
	local how n sig
	for how in env redlock; do
		if [ $how = env ]; then
			note_signals env
		else
			note_signals "$REDLOCK" -u "$url" -k job --
			wait_until has_recorder
		fi
		for sig in 37 10 1 15 2; do
			for n in 1 2 3; do
				kill -$sig -- "-$tool"
				wait_until noted me $sig $n
				# and redlock has passed it on: of two that
				# are pending it would see one
				case $how:$sig in
				redlock:15 | redlock:2) wait_until noted other $sig $n ;;
				esac
			done
		done
		if [ $how = redlock ]; then
			# what has left the group has them from redlock
			for sig in 15 2; do
				[ "$(count other $sig)" = 3 ]
			done
			[ "$(count other 37)" = 0 ]
			# and redlock is done with all of these
			kill -ALRM "$tool"
			wait_until noted me 14 1
		fi
		for sig in 37 10 1 15 2; do
			echo "$how: signal $sig: $(count me $sig)"
			[ "$(count me $sig)" = 3 ]
		done
		kill -USR2 -- "-$tool"
		finish
		[ "$status" = 0 ]
		wait_until no_process_left
	done
}

@test "a signal to redlock alone is passed on, also right after one to the group" {
	local n
	note_signals "$REDLOCK" -u "$url" -k job --
	wait_until has_recorder
	for n in 1 3 5 7; do
		kill -37 -- "-$tool"
		kill -37 "$tool"
		wait_until noted me 37 $((n + 1))
		kill -TERM -- "-$tool"
		wait_until noted me 15 "$n"
		kill -TERM "$tool"
		wait_until noted me 15 $((n + 1))
	done
	[ "$(count me 37)" = 8 ]
	[ "$(count me 15)" = 8 ]
	kill -USR2 "$tool"
	finish
	[ "$status" = 0 ]
}

@test "without the process that distinguishes signals, every signal is passed on" {
	note_signals "$REDLOCK" -u "$url" -k job --
	wait_until has_recorder
	kill -STOP "$(pgrep -P "$tool" -x lockgroup)"
	kill -37 "$tool"
	wait_until noted me 37 1
	run ! has_recorder
	kill -37 -- "-$tool"
	wait_until noted me 37 3
	kill -USR2 "$tool"
	finish
	[ "$status" = 0 ]
	wait_until no_process_left
}

@test "the process that distinguishes signals dies with redlock, and shows no key" {
	local mate
	start -k job -- witness "$T" --started w --hold 9000
	wait_until exists "$T/w"
	wait_until has_recorder
	mate=$(pgrep -P "$tool" -x lockgroup)
	wait_until contains "/proc/$mate/cmdline" "lockgroup: $tool"
	[ "$(ls "/proc/$mate/fd" | wc -l)" = 2 ]
	[ "$(ps -o pgid= -p "$mate")" = "$(ps -o pgid= -p "$tool")" ]
	kill -KILL "$tool"
	wait_until gone "$mate"
	wait_until no_process_left
}

@test "the lock is held until all that was asked to end has ended, for -K at most" {
	tells_all_to_end
}
@test "--orphans kill allows the same time to end, and kills the rest" {
	tells_all_to_end --orphans kill
	start_told -k job -t 2s -K 100ms --orphans kill -- \
		sh -c "witness '$T' --hold 60000 --stubborn --started '$T/w'; true"
	wait_until exists "$T/w"
	kill -TERM "$tool"
	[ "$(how)" = "signal 15" ]
	flock -n "$T/witness" true
}
tells_all_to_end() { # OPTION...
	cat >"$T/worker" <<-'END'
		#!/bin/sh
		trap 'sleep 0.5; : >"$T/cleaned"; exit 0' TERM
		: >"$T/started"
		while :; do sleep 0.05; done
	END
	chmod +x "$T/worker"
	helper "$REDLOCK" -u "$url" -t 5s -k job "$@" -- sh -c '"$T/worker"; true'
	local pid=$!
	wait_until exists "$T/started"
	kill -TERM "$pid"
	"$REDLOCK" -q -u "$url" -k job -- test -e "$T/cleaned"
	ended_as "$pid" 143
}

@test "an alarm that was set before redlock started ends the command, as without it" {
	command -v perl >/dev/null || skip "needs perl"
	run -142 --separate-stderr perl -e 'alarm 1; exec @ARGV' \
		"$REDLOCK" -q -u "$url" -k job -- sleep 61.4
}

@test "redlock leaves no core, and the command has its old limit" {
	limited
	(
		ulimit -S -c 4096 || exit 0
		run -0 redlock -k job -- bash -c 'ulimit -c; grep "core file" /proc/$PPID/limits; grep "core file" "/proc/$(ps -o ppid= -p $PPID | tr -d " ")/limits"'
		[ "${lines[0]}" = 4096 ]
		[ "$(grep -cE 'core file size +1 ' <<<"$output")" = 2 ]
	)
}

# A command that hears only USR1, as three names of it, and says so.
hears_usr1='trap "echo heard >>\"\$T/heard\"; exit 0" USR1; trap "" TERM INT
	: >"$T/on"; while :; do sleep 0.02; done'
heard_by_all() { [ "$(wc -l <"$T/heard")" = "$1" ]; }

@test "--signal, by name or number: sent for --max-hold, force-release and a loss" {
	run -124 redlock -k job --signal USR1 --max-hold 200ms -K 10s -- \
		sh -c "$hears_usr1"
	[[ $output = *'sent SIGUSR1; SIGKILL in '* ]]
	heard_by_all 1
	rm "$T/on"
	start -k job --signal sigusr1 -K 10s -- sh -c "$hears_usr1"
	wait_until exists "$T/on"
	redlock force-release -q --confirm job job
	ended_as "$tool" 125
	heard_by_all 2
	rm "$T/on"
	start -k job --signal 10 -t 2s -K 1s -- sh -c "$hears_usr1"
	wait_until exists "$T/on"
	node_freeze a
	ended_as "$tool" 125
	contains "$T/err" 'sent SIGUSR1; SIGKILL in'
	contains "$T/err" 'lease lost: the command ended after SIGUSR1'
	heard_by_all 3
	node_thaw a
}

@test "--signal reaches every process, and one that is stopped; KILL follows" {
	run -124 redlock -k job --signal USR1 --max-hold 1s -K 10s -- sh -c \
		'sh -c "$0; kill -STOP \$\$; $1" & eval "$0; $1"; wait' \
		'trap "echo heard >>\"$T/heard\"; exit 0" USR1' \
		'while :; do sleep 0.02; done'
	heard_by_all 2
	run -124 redlock -k job --signal 34 --max-hold 300ms -K 100ms -- \
		sh -c 'trap "" RTMIN USR1; while :; do sleep 0.02; done' 3>&-
	[[ $output = *'sent signal 34; SIGKILL in 100ms'* ]]
	run -124 redlock -q -k job --signal URG --max-hold 300ms -K 100ms -- linger
}

@test "--signal: a word that is no signal, or cannot be caught, is refused" {
	for s in FOO SIGFOO 0 65 99 100 -1 '' 9 KILL SIGSTOP 'INT '; do
		run -64 redlock -k job --signal "$s" -- true
	done
	[[ $output = *"--signal 'INT ': not a signal"* ]]
	REDLOCK_SIGNAL=KILL run -78 redlock -k job -- true
	[[ $output = *"REDLOCK_SIGNAL: signal 'KILL': no program can catch it"* ]]
	run -64 redlock lock --signal INT job
}

# What is said to the socket $T/notify, a line each, is in $T/statuses. A queue
# that nobody reads: `full`
hears_statuses() {
	python3 -c 'import signal, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
full = len(sys.argv) > 3
c = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
c.setblocking(False)
try:
    while full:
        c.sendto(b"x", sys.argv[1])
except BlockingIOError:
    pass
out = open(sys.argv[2], "w", buffering=1)
while not full:
    out.write(s.recv(4096).decode() + "\n")
signal.pause()
' "$T/notify" "$T/statuses" "$@" 3>&- &
	helpers="$helpers $!"
	wait_until exists "$T/statuses"
}
statuses() { [ "$(cat "$T/statuses")" = "$1" ]; }

@test "NOTIFY_SOCKET: the service's status is what redlock waits for, or holds" {
	command -v python3 >/dev/null || skip "needs python3"
	hears_statuses
	"$REDLOCK" lock -u "$url" -t 60s --reason 'release 1.4' job >"$T/token"
	helper "$REDLOCK" -q -u "$url" -k job -- true
	wait_until in_line 1
	NOTIFY_SOCKET=$T/notify start -q -k job -- linger until "$T/end"
	wait_until contains "$T/statuses" "^STATUS=waiting for job, 2nd in line, held by $(hostname) (pid [0-9]*, user .*: release 1.4)$"
	redlock unlock --token "$(cat "$T/token")" job
	wait_until contains "$T/statuses" '^STATUS=holding job, fence [0-9]*$'
	# each place once
	[ "$(sort "$T/statuses" | uniq -d)" = '' ]
	: >"$T/end"
	ended_as "$tool" 0
	# the command has the socket as well; an invalid address does no harm
	for s in "$T/none" @none "$T" / '' "@$T$(printf '%0120d' 0)" vsock:2:1; do
		NOTIFY_SOCKET=$s run -0 redlock -k job -- \
			sh -c 'echo "($NOTIFY_SOCKET)"'
		[ "$output" = "($s)" ]
	done
}

@test "NOTIFY_SOCKET: a socket that nobody reads delays nothing" {
	command -v python3 >/dev/null || skip "needs python3"
	hears_statuses full
	NOTIFY_SOCKET=$T/notify run -0 timeout 20 "$REDLOCK" -u "$url" \
		-k job -- echo ran
	[ "$output" = ran ]
}
