#!/usr/bin/env bats
# --contain: the command in a PID namespace of its own. All as without, but that
# nothing gets away.

load lib/common

contained() { redlock -k job --contain "$@"; }

setup() {
	trace_failures
	common_begin
	[[ $BATS_TEST_DESCRIPTION = C40* ]] || need_namespaces
}
# unshare(1) says whether this kernel has namespaces, not the program under test.
need_namespaces() {
	local own=-p
	[ "$(id -u)" = 0 ] || own=-Up
	unshare $own -f true 2>/dev/null || skip "no PID namespaces here"
}
need_user_namespaces() {
	need_user
	as_user unshare -Upf true 2>/dev/null || skip "no user namespaces here"
	chmod 755 "$T"
	chmod 777 "$(readlink -f "$T/a.sock")"
}
start_contained() { # OPTION... -- COMMAND: until $T/w is there
	start -k job --contain "$@"
	wait_until exists "$T/w"
	guard=$(guard_of "$tool")
	init=$(guard_of "$guard")
	cmd=$(guard_of "$init")
}
tree_is_dead() { flock -n "$T/witness" true; }
lines() { wc -l <"$1"; }
has_lines() { [ "$(lines "$1")" = "$2" ]; }

# ---- it is as without ----

same_with_and_without() { # COMMAND by which redlock is started...
	local how
	for how in "" --contain; do
		(cd / && umask 027 && "$@" "$REDLOCK" -u "$url" -k job $how -- \
			sh -c 'launch --show "$1.shown" && id -u && id -g && pwd -P
			printf "<%s>" "$@"; env; grep -E "^(Uid|Gid|NoNew)" /proc/$$/status' \
			- "$T/saw" "a b" "" <"$T/a.log" >"$T/out" 2>/dev/null \
			7<"$T/a.log" 3>&-)
		# the group and the session are outside
		grep -v '^\(group\|session\) ' "$T/saw.shown" >"$T/saw$how"
		grep -v '^REDLOCK_\(TOKEN\|FENCES*\|HELD\)=' "$T/out" >>"$T/saw$how"
		rm "$T/saw.shown"
	done
	grep -q '^fd 7' "$T/saw"
	diff -u "$T/saw" "$T/saw--contain"
}
@test "P8 --contain: the command sees what it sees without --contain" {
	same_with_and_without launch --default all --block 12 --ignore 1 \
		--ignore 13 --limit core=4096
}
@test "P8 --contain: the same for a user without privileges" {
	need_user_namespaces
	chmod 777 "$T"
	chmod 644 "$(readlink -f "$T/a.log")"
	same_with_and_without as_user
}

@test "P7 --contain: the exit status is the command's" {
	local n
	for n in 0 1 7 125 255; do
		run -$n contained -- sh -c "exit $n"
	done
	run -137 contained -- sh -c 'kill -KILL $$'
	run -139 contained -- sh -c 'ulimit -c 0; kill -SEGV $$'
	run -127 contained -- "$T/missing"
	# TSan makes a fork of vfork, and its error does not come back
	[ "${SANITIZED:-}" = tsan ] || run -126 contained -- "$T"
	run -0 contained -- true
	[ -z "$output" ]
	free job
}

@test "--contain: it is the second process, and sees no others" {
	run -0 contained -- sh -c 'echo $$ $PPID; cat /proc/1/comm; readlink /proc/self'
	[[ $output = $'2 1\nlockinit\n'* ]]
	[ "${lines[2]}" -lt 10 ]
	# /proc is new in there alone
	[ "$(readlink /proc/self)" -gt 2 ]
	run -0 sh -c 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"' - "$REDLOCK" -u "$url" \
		-k job --contain -- sh -c 'echo $LISTEN_PID'
	[ "$output" = 2 ]
	run -0 as_user true
}

@test "--contain: the init reaps orphans" {
	run -0 contained -- sh -c 'for i in 1 2 3 4 5; do (setsid true &) ; done
		n=0
		while grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null; do
			[ $((n += 1)) -lt 1000 ] || exit 1
			sleep 0.01
		done >/dev/null'
}

@test "--contain: the reader of a pipeline sees the end when the command closes it" {
	# cat ends first, and lets the command go on
	run -0 timeout 8 sh -c "'$REDLOCK' -u '$url' -k job --contain -- \
		sh -c 'exec >&-; linger until $T/go' |
		{ cat; touch $T/go; }"
}

@test "--contain: the command may use redlock: it joins, and has local:" {
	run -0 timeout 20 "$REDLOCK" -u "$url" -k job --contain -- \
		"$REDLOCK" -u "$url" -k job -n --contain -- \
		"$REDLOCK" -u "$url" -k job -n -- sh -c 'echo inner'
	[ "$output" = inner ]
	mkdir -m 700 "$T/local"
	run -0 contained -- "$REDLOCK" -u "local:?dir=$T/local" -k other -- true
	run -0 contained -- "$REDLOCK" -u "local:?dir=$T/local" -k other -- true
}

@test "C15 --contain: what the command leaves is killed, or waited for" {
	run -3 contained -- sh -c "setsid sh -c 'touch $T/on; exec sleep 600' &
		linger until $T/on; exit 3"
	[ -z "$(list_processes)" ]
	start -k job --contain --orphans wait -- sh -c "setsid sh -c '
		linger until $T/go; echo >$T/done' & exit 4"
	wait_until held job
	wait_until left_alone
	held job
	touch "$T/go"
	finish
	[ "$status" = 4 ]
	[ -e "$T/done" ]
}
# The command has ended, and what it left is the init's.
left_alone() {
	local init
	init=$(guard_of "$(guard_of "$tool")")
	[ -n "$init" ] && ! pgrep -P "$init" | xargs -r ps -o args= -p |
		grep -q 'exit 4'
}

# ---- signals ----

@test "C2 --contain: TERM reaches the whole tree once, HUP the command alone" {
	[ "${SANITIZED:-}" != tsan ] || skip "TSan makes a fork of vfork"
	cat >"$T/child" <<-END
	trap 'echo \$0 \$1 >>$T/got; [ \$1 = HUP ] || exit 0' HUP
	trap 'echo \$0 TERM >>$T/got; exit 0' TERM
	trap 'echo \$0 HUP >>$T/got' HUP
	touch $T/\$0
	while :; do sleep 0.02; done
	END
	start_contained -- sh -c "bash -c '. $T/child' child & linger until $T/child
		exec bash -c '. $T/child' w"
	kill -HUP "$tool"
	wait_until contains "$T/got" 'w HUP'
	kill -HUP "$init" # from outside, it goes to the command
	wait_until has_lines "$T/got" 2
	kill -TERM "$tool"
	finish
	[ "$status" = 0 ]
	[ "$(sort "$T/got")" = $'child TERM\nw HUP\nw HUP\nw TERM' ]
}

@test "C2 --contain: a signal from within does not end the init" {
	run -0 contained -- sh -c 'for s in HUP INT TERM KILL USR1 RTMIN; do
		kill -$s 1 2>/dev/null; done; sleep 0.1; echo lives'
	[ "$output" = lives ]
}

@test "C6 --contain: Ctrl-Z and fg, and a command that stops itself" {
	RL="$(unblanked "$REDLOCK") -u $url" PS1='%' TERM=dumb run -0 pty \
		"send:stty -echo; set -b\n" "wait:%" \
		"send:\$RL -k job --contain -- sh -c 'touch $T/w; while [ ! -e $T/go ]; do sleep .05; done; echo fin''ished'\n" \
		"file:$T/w" "send:^Z" "wait:Stopped" "run:touch $T/go" \
		"send:fg\n" "wait:finished" \
		"send:\$RL -k job --contain -- sh -c 'kill -STOP \$\$; echo go''es on'\n" \
		"wait:Stopped" "send:fg\n" "wait:goes on" "send:\nexit\n" \
		-- bash --norc --noprofile --noediting -i
}

@test "C14 --contain: a shell inside has job control, and Ctrl-C comes once" {
	RL="$(unblanked "$REDLOCK") -u $url" TERM=dumb run -0 pty \
		"wait:#" "send:sh -c ': >$T/runs; exec sleep 100'\n" \
		"file:$T/runs" "send:^Z" \
		"wait:Stopped" "send:kill %1\nexit 0\nexit 0\n" -- \
		env PS1='#' "$REDLOCK" -u "$url" -k job --contain -- \
		bash --norc --noprofile --noediting -i
	run -0 pty "file:$T/w2" "send:^C" "file:$T/int" \
		"run:sleep .2" "run:touch $T/go" -- "$REDLOCK" -u "$url" -k job \
		--contain -- bash -c "trap 'echo >>$T/int' INT; touch $T/w2
		while [ ! -e $T/go ]; do sleep .05; done"
	[ "$(lines "$T/int")" = 1 ]
}

# ---- it ends ----

both_are_killed() { # with a -t 2s witness in $T/w
	wait_until exists "$T/w"
	guard=$(guard_of "$tool")
	run ! tree_is_dead
	# neither is to have time for anything
	kill -STOP "$tool" "$guard"
	wait_until stopped "$tool"
	wait_until stopped "$guard"
	kill -KILL "$guard" "$tool"
	wait_until tree_is_dead
	wait_until free job # by itself
}
@test "C30 P1 --contain: exec hangs, redlock is killed: all are dead, the lock is free" {
	[ -z "${SANITIZED:-}" ] || skip "no preloading into a sanitizer build"
	[ -e "$TEST_BIN/inject.so" ] || skip "no inject.so"
	LD_PRELOAD=$(shim inject.so) INJECT=execvpe:1:0 INJECT_MARK=$T/hit \
		"$REDLOCK" -u "$url" -k job --contain -t 60s -- touch "$T/ran" \
		2>"$T/err" 3>&- &
	tool=$!
	wait_until exists "$T/hit"
	kill -KILL "$tool"
	wait_until lock_is_free
	wait_until no_process_left
	[ ! -e "$T/hit.over" ] # it still hung
	[ ! -e "$T/ran" ]
}

@test "C39 redlock and guard are both killed: with --contain nothing lives on" {
	start_contained -t 2s -- witness "$T" --hold 60000 --spawn --stubborn \
		--started "$T/w"
	both_are_killed
}
@test "C39 --contain: both are killed, for a user without privileges: nothing lives on" {
	need_user_namespaces
	chmod 777 "$T"
	as_user "$REDLOCK" -u "$url" -k job --contain -t 2s -- witness "$T" \
		--hold 60000 --spawn --stubborn --started "$T/w" 2>"$T/err" 3>&- &
	helpers="$helpers $!"
	tool=$!
	wait_until exists "$T/w"
	# there may be a shell in between
	[ "$(cat "/proc/$tool/comm")" = redlock ] || tool=$(guard_of "$tool")
	[ "$(cat "/proc/$tool/comm")" = redlock ]
	both_are_killed
}

@test "C39 --contain: the guard is killed while redlock is stopped: nothing lives on" {
	start_contained -t 20s -- witness "$T" --hold 60000 --spawn --stubborn \
		--started "$T/w"
	kill -STOP "$tool"
	wait_until stopped "$tool"
	kill -KILL "$guard"
	wait_until tree_is_dead
	kill -CONT "$tool"
	finish
	[ "$status" = 70 ]
	free job
}

@test "C34 --contain: 100 processes that fork without end are dead at once" {
	local how
	cat >"$T/storm.py" <<-'PY'
		import fcntl, os, signal, sys, time
		os.setsid()
		lock = open(sys.argv[1] + ".lock", "w")
		fcntl.flock(lock, fcntl.LOCK_EX) # until the last of them is dead
		waits, goes = os.pipe()
		for i in range(100):
		    if os.fork() == 0:
		        os.close(goes)
		        os.read(waits, 1)
		        while True:
		            try:
		                if os.fork() != 0:
		                    os._exit(0)
		            except OSError:
		                pass
		open(sys.argv[1], "w").close()
		while not os.path.exists(sys.argv[2]):
		    time.sleep(0.02)
		os.close(goes)
		while True:
		    signal.pause()
	PY
	for how in "KILL \$tool \$guard" "KILL \$tool" "TERM \$tool"; do
		rm -f "$T/w" "$T/go"
		start_contained -t 2s -K 0 -- nice -n 19 python3 \
			"$T/storm.py" "$T/w" "$T/go"
		run ! no_storm
		touch "$T/go"
		sleep 0.2
		eval "kill -$how"
		wait_until no_storm
		finish
		wait_until free job
	done
}
no_storm() { flock -n "$T/w.lock" true; }

@test "C9 --contain: a killed init ends all, with status 137" {
	[ "${SANITIZED:-}" != tsan ] || skip "TSan makes a fork of vfork"
	start_contained -- witness "$T" --hold 60000 --spawn --stubborn --started "$T/w"
	kill -KILL "$init"
	finish
	[ "$status" = 137 ]
	tree_is_dead
	free job
}

@test "P3 --contain: a lost lease ends the tree in time" {
	may_need_another_try "the last fiftieth of a lease"
	start_contained -t 2s -- witness "$T" --hold 60000 --spawn --stubborn \
		--started "$T/w"
	node_freeze a
	finish
	tree_is_dead
	node_thaw a
	[ "$status" = 125 ]
}

# ---- it cannot be ----

refuses() { # what was run has said so, in one line
	echo "$stderr"
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *'--contain: user '*" $1 "*user_namespaces* ]]
	[ ! -e "$T/ran" ]
	free job
}
@test "C40 no namespaces: --contain is refused, and nothing runs" {
	unshare -Ur true 2>/dev/null || skip "no user namespaces to try it in"
	# with all rights, but no PID namespace left
	run -70 --separate-stderr unshare -Ur sh -c '
		echo 0 >/proc/sys/user/max_pid_namespaces; exec "$@"' - \
		"$REDLOCK" -u "$url" -k job --contain -- touch "$T/ran"
	refuses 'may not create a PID namespace here'
	# without rights, and no user namespace left
	run -70 --separate-stderr unshare -Ur sh -c '
		echo 0 >/proc/sys/user/max_user_namespaces
		exec setpriv --bounding-set -all --inh-caps -all "$@"' - \
		"$REDLOCK" -u "$url" -k job --contain -- touch "$T/ran"
	refuses 'may not create a PID namespace here'
	# the same, without the option
	unshare -Ur "$REDLOCK" -u "$url" -k job -- touch "$T/ran"
	[ -e "$T/ran" ]
}

@test "C40 --contain: if /proc cannot be mounted anew, the old one stays, with a line" {
	local as=()
	[ "$(id -u)" = 0 ] || as=(-Ur)
	unshare "${as[@]}" -m true 2>/dev/null || skip "no mount namespaces here"
	need_user_namespaces
	# as containers do it
	run -0 --separate-stderr unshare "${as[@]}" -m sh -c '
		mount --bind /dev/null /proc/version && exec "$@"' - \
		unshare -U --map-user=54321 --map-group=54321 \
		"$REDLOCK" -u "$url" -v -k job --contain -- \
		sh -c 'readlink /proc/self; echo $$; "$@"; echo $?' - \
		"$REDLOCK" -u "$url" -k other -- touch "$T/ran"
	[[ $stderr = *"sees this machine's /proc"* ]]
	[ "${lines[0]}" -gt 2 ]
	[ "${lines[1]}" = 2 ]
	# a redlock could not find its processes there, and knows
	[ "${lines[2]}" = 70 ]
	[ ! -e "$T/ran" ]
}
