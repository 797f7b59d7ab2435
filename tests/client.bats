#!/usr/bin/env bats
# What may happen to redlock, its guard and its command on the client's side.

load lib/common
load lib/namespace

# A frozen command would stay for ever, and so would who writes to a disk that
# hangs.
eval "common_$(declare -f teardown)"
teardown() {
	[ -z "${frozen_group:-}" ] || thaw_group
	[ ! -d "$T/disk" ] || remove_disk
	common_teardown
}

started() { # ARGUMENTS of redlock: until the witness runs, its pid in $cmd
	start "$@"
	wait_until contains "$T/w" '^[0-9]'
	cmd=$(cat "$T/w")
}

guard() { ps -o ppid= -p "$cmd" | tr -d ' '; }
tree_is_dead() { [ ! -e "$T/witness" ] || flock -n "$T/witness" true; }
tree_dies() { [ ! -e "$T/witness" ] || flock -w 20 "$T/witness" true; } # waits
# nobody else may run before
dead_when_free() { # [KEY]
	wait_until free "${1:-job}"
	tree_is_dead
}
# a zombie counts as gone: its parent may reap it late
ended() { ! grep -qs '^State:.[^ZX]' "/proc/$1/status"; }
state_is() { grep -q "^State:.$2" "/proc/$1/status"; } # PID LETTERS
pending_kill() { # SIGKILL has been sent to this process, and waits
	local mask
	for mask in $(sed -n 's/^\(Sig\|Shd\)Pnd:.//p' "/proc/$1/status"); do
		[ $((0x$mask & 0x100)) = 0 ] || return 0
	done
	return 1
}
private_kb() { # PID...
	for p; do cat "/proc/$p/smaps_rollup"; done |
		awk '/^Private/ { n += $2 } END { print n }'
}
no_message() { [ ! -s "$T/err" ]; }

inject() { # NAME:K:ERRNO COMMAND...
	local what=$1
	shift
	LD_PRELOAD=$(shim inject.so) INJECT=$what INJECT_MARK=$T/hit "$@"
}
inject_behind() { # the same in the background; $tool is the command's own pid
	(
		export LD_PRELOAD=$(shim inject.so) INJECT=$1 INJECT_MARK=$T/hit
		shift
		exec "$@"
	) 2>"$T/err" 3>&- &
	tool=$!
}

# A disk of its own at $T/disk; disk_hangs: nothing written to it returns.
make_disk() {
	need_root
	command -v mkfs.ext4 >/dev/null || skip "no mkfs.ext4"
	mkdir "$T/disk"
	truncate -s 8M "$T/disk.image"
	mkfs.ext4 -q "$T/disk.image"
	mount -o loop "$T/disk.image" "$T/disk" 2>/dev/null || {
		rmdir "$T/disk"
		skip "no loop device"
	}
}
disk_hangs() { fsfreeze -f "$T/disk"; }
remove_disk() {
	fsfreeze -u "$T/disk" 2>/dev/null || true
	kill_helpers
	wait_until no_process_left || true
	umount "$T/disk"
}
tree_is_dead_at() { # MS after `since`
	tree_dies && below $(($(now_ms) - since)) "$1"
}

# ---- promises ----

@test "while a lock is held, nobody else runs, whoever is killed" {
	for i in {1..6}; do
		"$REDLOCK" -q -u "$url" -k job -t 500ms -w 8s -- \
			witness "$T" --hold 20 --spawn 3>&- &
		tools[i]=$!
	done
	for i in 2 4; do
		kill -KILL "${tools[i]}"
	done
	wait "${tools[1]}" "${tools[3]}" "${tools[5]}" "${tools[6]}"
	[ "$(holds)" -ge 4 ]
}

@test "no signal to redlock leaves a process of the command behind" {
	[ -z "${SANITIZED:-}" ] || skip "a sanitizer catches some"
	# those that are not caught: of a fault of its own, or not to be caught
	for sig in ABRT BUS FPE ILL KILL SEGV SYS TRAP; do
		started -k job -t 20s -- \
			witness "$T" --started w --hold 9000 --spawn --stubborn
		kill -"$sig" "$tool"
		tree_dies
		wait_until lock_is_free
		finish
		[ "$status" -gt 128 ]
		rm "$T/w"
	done
}

@test "no process of the command outlives the lease" {
	started -k job -t 3s -- \
		witness "$T" --started w --hold 9000 --spawn --stubborn
	node_freeze a
	finish
	tree_is_dead
	free job & # asked now, answered after the thaw
	asked=$!
	node_thaw a
	[ "$status" = 125 ]
	wait "$asked"
}

@test "a command that ends well after its lease was lost does not count as a success" {
	start -k job -t 600ms -- sh -c "trap 'exit 0' TERM; touch $T/w
		while :; do sleep 0.05; done"
	wait_until exists "$T/w"
	node_freeze a
	finish
	node_thaw a
	[ "$status" = 125 ]
	contains "$T/err" "not renewed for"
}

@test "the command has the state that it would have without redlock" {
	give() { # NAME COMMAND...
		local name=$1
		shift
		(cd / && umask 027 && nice -n 3 launch --default all \
			--block 12 --block 14 --ignore 1 --ignore 13 \
			--ignore 17 --ignore 18 --ignore 20 --ignore 21 \
			--limit core=4096 "$@" launch --show "$T/$name" \
			<"$T/a.log" >"$T/out" 2>"$T/err" 7<"$T/a.log")
	}
	give without
	give with "$REDLOCK" -u "$url" -k job --
	diff -u "$T/without" "$T/with"
	[ ! -s "$T/out" ]
}

# ---- SIGKILL of redlock ----

@test "SIGKILL of redlock kills the whole tree and releases the lock" {
	started -k job -t 20s -- \
		witness "$T" --started w --hold 9000 --spawn --stubborn
	kill -KILL "$tool"
	tree_dies
	wait_until lock_is_free
	finish
	contains "$T/err" "was killed"
}

@test "SIGKILL of redlock while its server is down: the guard releases it later" {
	node_start b --dbfilename b.rdb
	url=unix://$T/b.sock
	started -k job -t 60s -- witness "$T" --started w --hold 60000
	cli b save >/dev/null
	node_kill b
	kill -KILL "$tool"
	tree_dies
	sleep 1.5 # longer than a living redlock would try
	node_start b --dbfilename b.rdb
	wait_until given_back b
}
given_back() { [ "$(cli "$1" exists job)" = 0 ]; }

@test "SIGKILL of redlock's whole process group leaves nothing of the command" {
	launch --session "$REDLOCK" -u "$url" -k job -t 20s -- \
		witness "$T" --started w --hold 9000 --spawn --stubborn 3>&- &
	tool=$!
	wait_until contains "$T/w" '^[0-9]'
	kill -KILL -- -"$tool"
	tree_dies
	wait_until lock_is_free
}

@test "pkill -9 -f of redlock's command line spares the guard" {
	started -k job -t 20s -- \
		witness "$T" --started w --hold 9000 --spawn --stubborn
	pkill -KILL -f "^$REDLOCK -u $url -k job"
	tree_dies
	wait_until lock_is_free
}

@test "SIGKILL of redlock while it waits leaves the holder alone" {
	started -k job -- witness "$T" --started w --hold 500
	first=$tool
	start -k job -- witness "$T"
	wait_until contains "$T/err" "waiting.*: held by"
	kill -KILL "$tool"
	tool=$first
	finish
	[ "$status" = 0 ]
	[ "$(holds)" = 1 ]
}

@test "SIGKILL at 60 random instants of redlock's life" {
	for i in {1..60}; do
		"$REDLOCK" -q -u "$url" -k job -t 400ms -- \
			witness "$T" --hold 3 --spawn 3>&- &
		tool=$!
		# the life of one takes about 10 ms
		printf -v after 0.0%05d $((RANDOM % 17000 + 5000))
		pause "$after"
		kill -KILL "$tool" 2>/dev/null || true
		wait "$tool" 2>/dev/null || true
	done
	# the lock passes on: the last run counts, whichever was killed before
	redlock -q -k job -t 400ms -w 5s -- witness "$T" --hold 1
}

@test "redlock killed while it asks for the lock leaves none behind" {
	for i in {1..5}; do
		node_freeze a
		start -k job -t 20s -- witness "$T"
		wait_until pgrep -P "$tool"
		kill -KILL "$tool"
		finish
		node_thaw a
		wait_until lock_is_free
		wait_until no_process_left
		lock_is_free
	done
	[ "$(holds)" = 0 ]
}

@test "redlock killed before the command is born leaves none running" {
	preloading inject.so
	for gap in vfork:1:0 execvpe:1:0; do
		inject_behind "$gap" "$REDLOCK" -u "$url" -k job -t 20s -- \
			witness "$T" --hold 9000 --spawn
		wait_until exists "$T/hit"
		kill -KILL "$tool"
		rm "$T/hit"
		wait_until lock_is_free
		wait_until no_process_left
	done
	[ "$(holds)" = 0 ]
}

@test "timeout's TERM and CONT before the command is born: it gets both" {
	preloading inject.so
	inject_behind vfork:1:0 "$REDLOCK" -v -u "$url" -k job -t 20s -- \
		witness "$T" --hold 9000
	wait_until exists "$T/hit"
	kill -TERM "$tool"
	kill -CONT "$tool"
	wait_until contains "$T/err" 'signal 18'
	rm "$T/hit"
	finish
	[ "$status" = 143 ]
}

@test "exec hangs and redlock is killed: the command dies at once" {
	preloading inject.so
	inject_behind execvpe:1:0 "$REDLOCK" -u "$url" -k job -t 60s -- \
		witness "$T" --hold 9000
	wait_until exists "$T/hit"
	kill -KILL "$tool"
	# the guard is in vfork() and cannot see the end of file
	wait_until no_process_left
	[ ! -e "$T/hit.over" ] # it still hung
	wait_until lock_is_free
	[ "$(holds)" = 0 ]
}

@test "an inner run's exec hangs, and its redlock cannot exit: the command dies at once" {
	local inner command fd mode kept began

	preloading inject.so
	start -k outer -t 60s -- env LD_PRELOAD="$(shim inject.so)" INJECT=execvpe:1:0 \
		INJECT_MARK="$T/hit" "$REDLOCK" -u "$url" -k job -t 2s -- \
		touch "$T/ran"
	wait_until exists "$T/hit"
	inner=$(pgrep -x redlock -P "$(guard_of "$tool")")
	command=$(guard_of "$(guard_of "$inner")")
	# its guard does not hear of its end while somebody else has its pipes open
	for fd in "/proc/$inner/fd/"*; do
		[[ $(readlink "$fd") = pipe:* ]] || continue
		mode=$(awk '/^flags/ { print $2 % 10 }' "${fd/fd/fdinfo}")
		[ "$mode" != 1 ] || exec {kept}>"$fd"
	done
	began=$(now_ms)
	kill -KILL "$tool"
	wait_until gone "$command"
	below "$(($(now_ms) - began))" 750 # a guard has 800 ms
	wait_until no_process_left
	[ ! -e "$T/ran" ]
	wait_until lock_is_free # its guard was killed, too
}

@test "a guard killed between the command's birth and its exec: the command dies" {
	preloading inject.so
	# the command's process asks for its parent once it has its death signal
	for gap in getppid:2:0 execvpe:1:0; do
		inject_behind "$gap" "$REDLOCK" -u "$url" -k job -t 20s -- \
			witness "$T" --hold 9000
		wait_until exists "$T/hit"
		kill -KILL "$(guard_of "$tool")"
		rm "$T/hit"
		finish
		[ "$status" = 70 ]
		lock_is_free
		[ "$(holds)" = 0 ]
	done
}

@test "exec hangs and the lease is lost: the command dies at once" {
	preloading inject.so
	inject_behind execvpe:1:0 "$REDLOCK" -u "$url" -k job -t 2s -- \
		witness "$T" --hold 9000
	wait_until exists "$T/hit"
	cli a set job other px 60000
	finish
	[ ! -e "$T/hit.over" ] # it still hung
	[ "$status" = 125 ]
	tree_is_dead
	[ "$(holds)" = 0 ]
	cli a del job
}

@test "the pipe that has the kernel kill the command carries nothing but a kill" {
	local armed

	preloading inject.so
	# F_SETSIG works on O_ASYNC: 020000 in the flags of what the guard has open
	cat >"$T/armed.sh" <<-'END'
	for i in /proc/$PPID/fdinfo/*; do
		read -r _ flags <<-FLAGS
		$(grep ^flags $i)
		FLAGS
		[ $((flags & 020000)) = 0 ] || readlink /proc/$PPID/fd/${i##*/}
	done
	END
	armed=$(LD_PRELOAD=$(shim inject.so) INJECT_PIPES=$T/pipes \
		"$REDLOCK" -u "$url" -k job -- sh "$T/armed.sh")
	[[ $armed == "pipe:["*"]" ]]
	contains "$T/pipes" 'pipe:'
	not grep -Fx "$armed" "$T/pipes"
}

# The guard holds up in setsid(), when its command runs: neither the death of
# redlock nor the deadline moves it.
stuck_guard() { # OPTIONS of the witness
	preloading inject.so
	inject_behind setsid:1:0 launch --default all "$REDLOCK" -u "$url" \
		-k job -t 1s -- witness "$T" --started "$T/w" --hold 60000 "$@"
	helpers="$helpers $tool"
	wait_until contains "$T/w" '^[0-9]'
	wait_until exists "$T/hit"
}
still_stuck() { [ ! -e "$T/hit.over" ]; }

@test "a guard that cannot kill: redlock kills it, and all other processes" {
	stuck_guard --spawn --stubborn
	cli a set job other px 60000
	finish
	still_stuck
	[ "$status" = 125 ]
	tree_is_dead
	[ "$(holds)" = 0 ]
	cli a del job
}

@test "the guard cannot kill and redlock is killed: the kernel kills the command" {
	stuck_guard
	kill -KILL "$tool"
	tree_dies
	still_stuck
	rm "$T/hit"
	wait_until lock_is_free
	[ "$(holds)" = 0 ]
}

@test "the guard cannot kill, redlock is stopped repeatedly: all dead in time" {
	stuck_guard
	# without a pause, in which it could renew, or end
	local from

	from=$(now_ms)
	until tree_is_dead; do
		for ((n = 0; n < 1000; n++)); do kill -STOP "$tool" 2>/dev/null || break; done
		below "$(($(now_ms) - from))" 20000
	done
	kill -CONT "$tool" 2>/dev/null || true
	finish
	still_stuck
	rm "$T/hit"
	[ "$(holds)" = 0 ]
}

# Nobody else could do it: redlock is stopped while its guard dies, and does not
# get over that.
kill_both() {
	local guard

	guard=$(guard_of "$tool")
	kill -STOP "$tool"
	wait_until stopped "$tool"
	kill -KILL "$guard"
	wait_until gone "$guard"
}

@test "redlock and guard are both killed: the kernel kills the command" {
	started -k job -t 6s -- witness "$T" --started "$T/w" --hold 60000
	kill_both
	kill -KILL "$tool"
	tree_dies
	[ "$(holds)" = 0 ]
	wait_until no_process_left
	held job # for the rest of its lease
	cli a flushall >/dev/null
}

@test "a command whose guard died before the death signal was set is never executed" {
	preloading inject.so
	inject_behind pdeathsig:1:0 "$REDLOCK" -u "$url" -k job -t 1s -- \
		witness "$T" --started w --hold 60000
	wait_until exists "$T/hit"
	cmd=$(pgrep -P "$(guard_of "$tool")")
	kill_both
	kill -KILL "$tool"
	finish
	rm "$T/hit"
	wait_until gone "$cmd"
	[ ! -e "$T/w" ]
}

@test "a guard that dies kills the command, though redlock is stopped" {
	started -k job -t 1s -- witness "$T" --started w --hold 60000
	kill_both
	wait_until gone "$cmd"
	kill -KILL "$tool"
	finish
}

# ---- stopped ----

@test "a redlock that stays stopped wakes to kill the tree in time, and says so" {
	started -k job -t 2s -- \
		witness "$T" --started w --hold 9000 --spawn --stubborn
	kill -STOP "$tool"
	dead_when_free
	finish
	[ "$status" = 125 ]
	contains "$T/err" "lease lost: not renewed for"
}

@test "a redlock that is stopped again and again is killed, and the tree with it" {
	started -k job -t 1s -- \
		witness "$T" --started w --hold 9000 --spawn --stubborn
	helper linger stop 5000 30000 "$tool"
	dead_when_free
	kill "$!"
	wait "$!" || true
	kill -CONT "$tool" 2>/dev/null || true # nothing is left to be guarded
	finish
	[ "$status" = 137 ] || [ "$status" = 125 ]
}

@test "redlock neither wakes nor dies: the guard kills in time, then status 125" {
	preloading inject.so
	inject_behind timer_settime:1+:22 launch --default all \
		"$REDLOCK" -u "$url" -k job -t 2s -- \
		witness "$T" --started "$T/w" --hold 9000 --spawn --stubborn
	helpers="$helpers $tool"
	wait_until contains "$T/w" '^[0-9]'
	kill -STOP "$tool"
	dead_when_free
	stopped "$tool"
	kill -CONT "$tool"
	finish
	[ "$status" = 125 ]
	contains "$T/err" "lease lost: not renewed for"
}

goes_on() { rm -f "$T/hit"; gone "$tool"; }
@test "a redlock that is late with the kill still says so: status 125" {
	may_need_another_try "it is killed if it is later still"
	preloading inject.so
	# its second write tells the guard to kill
	inject_behind write:2:0 "$REDLOCK" -q -u "$url" -k job -t 8s -K 0 -- \
		witness "$T" --started "$T/w" --hold 60000 --spawn --stubborn
	helpers="$helpers $tool"
	wait_until contains "$T/w" '^[0-9]'
	node_freeze a
	wait_until exists "$T/hit"
	tree_dies # the guard has killed
	rm "$T/hit"
	wait_until contains "$T/err" "lease lost: not renewed for"
	node_thaw a
	wait_until goes_on # (the guard has a second write, too)
	finish
	[ "$status" = 125 ]
}

@test "redlock, guard and command stopped at once are dead in time" {
	started -k job -t 500ms -- witness "$T" --started w --hold 9000 --spawn
	kill -STOP "$tool" "$(guard)" "$cmd"
	dead_when_free
	finish
}

@test "a stopped command keeps its lock" {
	launch --default all --session "$REDLOCK" -u "$url" -k job -t 300ms -- \
		witness "$T" --started w --hold 100 2>"$T/err" 3>&- &
	tool=$!
	helpers="$helpers $tool"
	wait_until contains "$T/w" '^[0-9]'
	cmd=$(cat "$T/w")
	kill -STOP "$cmd"
	run -75 redlock -k job -w 700ms -- witness "$T"
	kill -CONT "$cmd"
	finish
	[ "$status" = 0 ]
	[ "$(holds)" = 1 ]
}

@test "a redlock stopped by a debugger is killed in time" {
	started -k job -t 600ms -- witness "$T" --started w --hold 9000 --spawn
	helper launch --trace "$tool" >"$T/trace" 2>"$T/trace.err"
	wait_until test -s "$T/trace" -o -s "$T/trace.err"
	[ -s "$T/trace" ] || { kill "$tool"; skip "no ptrace here"; }
	# (once there is a second thread, that is not stopped, and renews)
	while held job && ! tree_is_dead; do pause 0.05; done
	tree_is_dead
}

# ---- clocks ----

clocks() { # BOOT REAL, in ms
	echo "$1 $2" >"$T/clock.new"
	mv "$T/clock.new" "$T/clock"
}

@test "after a suspension longer than the lease the tree is dead at once" {
	preloading clockshim.so
	clocks 0 0
	CLOCKSHIM=$T/clock LD_PRELOAD=$(shim clockshim.so) \
		start -k job -t 60s -- \
		witness "$T" --started w --hold 9000 --spawn --stubborn
	wait_until contains "$T/w" '^[0-9]'
	before=$(now_ms)
	clocks 61000 61000
	tree_dies
	[ $(($(now_ms) - before)) -lt 1000 ]
	finish
	[ "$status" = 137 ] || [ "$status" = 125 ]
	wait_until lock_is_free
}

@test "a suspension shorter than half the lease has no effect" {
	preloading clockshim.so
	clocks 0 0
	CLOCKSHIM=$T/clock LD_PRELOAD=$(shim clockshim.so) \
		start -k job -t 2s -- witness "$T" --started w --hold 600
	wait_until contains "$T/w" '^[0-9]'
	clocks 500 500
	finish
	[ "$status" = 0 ]
	no_message
	[ "$(holds)" = 1 ]
}

@test "setting the date forward or back by days has no effect" {
	preloading clockshim.so
	clocks 0 0
	CLOCKSHIM=$T/clock LD_PRELOAD=$(shim clockshim.so) \
		start -k job -t 5s -- witness "$T" --started w --hold 600
	wait_until contains "$T/w" '^[0-9]'
	clocks 0 90000000
	cli a set other x px 300
	wait_until test "$(cli a exists other)" = 1
	clocks 0 -90000000
	finish
	[ "$status" = 0 ]
	no_message
	[ "$(holds)" = 1 ]
	cli a del other
}

# ---- a virtual machine that is paused, and knows nothing of it ----

# redlock as $tool, its guard as $guard, and a tree of two that run "sh $T/old";
# their fence is in $T/first.
start_old() { # OPTION...
	cat >"$T/old" <<-END
	[ -n "\$1" ] || setsid sh $T/old below &
	echo "\$REDLOCK_FENCE" >$T/first
	echo \$\$ >$T/w\$1
	linger until $T/end
	END
	start -k job "$@" -- sh "$T/old"
	wait_until test -s "$T/w" -a -s "$T/wbelow"
	guard=$(guard_of "$tool")
}
old_tree() { pgrep -f "^sh $T/old"; }
old_is_dead() { ! old_tree; }
pause_old() {
	kill -STOP "$tool" "$guard" $(old_tree)
	wait_until stopped "$tool"
}
resume_old() { kill -CONT "$tool" "$guard" $(old_tree); }
another_fence() { redlock -q -k job "$@" -- sh -c 'echo $REDLOCK_FENCE'; }

# The machine's clock, and what it would set off, stands as well: for those who
# were started with own_clock.
own_clock() {
	clocks 0 0
	CLOCKSHIM=$T/clock LD_PRELOAD=$(shim clockshim.so) "$@"
}
alarm_stands() { grep -qhs '^it_value: (0, 0)' "/proc/$tool"/fdinfo/*; }
pause_with_clock() {
	clocks stand
	wait_until alarm_stands
	pause_old
}
resume_with_clock() {
	clocks 0 0
	resume_old
}

@test "paused for longer than T by the clock: dead before another has the lock" {
	start_old -t 3s
	pause_old
	another_fence >"$T/second"
	old_is_dead
	finish
	[ "$status" = 125 ]
	contains "$T/err" "not renewed for"
	below "$(cat "$T/first")" "$(cat "$T/second")"
	lock_is_free
}

@test "paused, clock included, while another took the lock: killed, status 125" {
	local began

	preloading clockshim.so
	own_clock start_old -t 2s
	pause_with_clock
	helper "$REDLOCK" -q -u "$url" -k job -- sh -c \
		"echo \$REDLOCK_FENCE >$T/second; linger until $T/end"
	second=$!
	wait_until test -s "$T/second"
	old_tree # only the fence tells them apart now
	below "$(cat "$T/first")" "$(cat "$T/second")"
	resume_with_clock
	wait_until ended "$tool"
	old_is_dead
	finish
	[ "$status" = 125 ]
	contains "$T/err" "no longer ours"
	held job # by the other run, which is left alone
	touch "$T/end"
	wait "$second"
	lock_is_free
}

@test "paused, clock included, while another had and released the lock: killed, too" {
	preloading clockshim.so
	own_clock start_old -t 1s
	pause_with_clock
	another_fence >"$T/second"
	below "$(cat "$T/first")" "$(cat "$T/second")"
	resume_with_clock
	wait_until ended "$tool"
	old_is_dead
	finish
	[ "$status" = 125 ]
	contains "$T/err" "no longer ours"
	lock_is_free
}

@test "paused, clock included, and nobody took the lock: set again, all goes on" {
	preloading clockshim.so
	own_clock start_old -t 1s
	pause_with_clock
	wait_until lock_is_free
	resume_with_clock
	wait_until held job
	wait_until contains "$T/err" "was missing"
	touch "$T/end"
	finish
	[ "$status" = 0 ]
	lock_is_free
}

# ---- short of memory or time ----

@test "a command that the kernel kills for memory gives 137" {
	need_root
	group=/sys/fs/cgroup/memory/redlock.$$
	mkdir "$group" 2>/dev/null || skip "no memory cgroup of version 1"
	echo 20M >"$group/memory.limit_in_bytes"
	run -137 redlock -k job -- sh -c "echo \$\$ >$group/cgroup.procs
		exec tail /dev/zero"
	wait_until rmdir "$group"
	lock_is_free
}

@test "starved of processor time, redlock renews or ends the command" {
	for i in {1..8}; do
		helper sh -c 'ulimit -t 3; while :; do :; done'
	done
	run nice -n 10 "$REDLOCK" -q -u "$url" -k job -t 500ms -- \
		witness "$T" --hold 700 --spawn
	# done, or lost and all dead: see the asserts at the end
	[ "$status" = 0 ] || [ "$status" = 125 ] || [ "$status" = 137 ]
	tree_is_dead
}

has_threads() { [ "$(ls "/proc/$1/task" | wc -l)" -ge "$2" ]; }

@test "redlock and guard together have less than 1 MB of private memory" {
	[ -z "${SANITIZED:-}" ] || skip "a sanitizer needs more"
	started -k job -t 2s -- witness "$T" --started w --hold 60000
	wait_until has_threads "$tool" 2
	[ "$(private_kb "$tool" "$(guard)")" -lt 1024 ]
	kill -TERM "$tool"
	finish
}

# ---- the system says no ----

@test "a fork that fails is reported, and nothing stays locked" {
	preloading inject.so
	run -70 inject fork:1:11 "$REDLOCK" -u "$url" -k job -- witness "$T"
	[[ $output == *"cannot fork"* ]]
	lock_is_free
	run -70 inject vfork:1:11 "$REDLOCK" -u "$url" -k job -- witness "$T"
	[[ $output == *"cannot start the command: Resource temporarily"* ]]
	lock_is_free
	[ "$(holds)" = 0 ]
}

@test "if no thread can be created, redlock renews without one" {
	preloading inject.so
	run -0 inject pthread_create:1+:11 "$REDLOCK" -u "$url" -k job -t 300ms \
		-- witness "$T" --hold 700
	[ "$(holds)" = 1 ]
	[ -e "$T/hit" ]
}

@test "too long an environment gives 126" {
	preloading inject.so
	run -126 inject execvpe:1:7 "$REDLOCK" -u "$url" -k job -- true
	[[ $output == *"too long"* ]]
	lock_is_free
}

@test "with few descriptors redlock holds, reconnects and releases" {
	launch --limit nofile=16 "$REDLOCK" -q -u "$url" -k job -t 600ms -- \
		witness "$T" --started w --hold 900 3>&- &
	tool=$!
	wait_until contains "$T/w" '^[0-9]'
	cli a client kill type normal skipme yes
	finish
	[ "$status" = 0 ]
	[ "$(holds)" = 1 ]
}

calls() { # of scripts, since the server started
	cli a info commandstats |
		sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\),.*/\1/p'
}
calls_are() { [ "$(calls)" -ge "$1" ]; }

@test "any low ulimit at the start: the command runs, or redlock says why not" {
	local limit

	command -v prlimit >/dev/null || skip "no prlimit"
	limited # TSan keeps a file in /tmp, which fsize=0 forbids
	for limit in cpu=1 memlock=0 core=0 msgqueue=0 fsize=0 stack=131072 \
		nproc=0 rss=0 nofile=16; do
		echo "$limit"
		run prlimit "--$limit" "$REDLOCK" -q -u "$url" -k job -t 3s -- \
			sh -c ": >$T/ran" 3>&-
		case $limit:$status in
		nproc=0:70) ;; # a user's processes may be too many already
		*) [ "$status" = 0 ]; exists "$T/ran" ;;
		esac
		rm -f "$T/ran"
		lock_is_free
	done
	run -70 prlimit --sigpending=0 "$REDLOCK" -u "$url" -k job -- \
		sh -c ": >$T/ran"
	[[ $output == *deadman* ]]
	[ ! -e "$T/ran" ]
}

@test "any ulimit lowered during a hold: renewed, and killed when redlock is" {
	local limit key guard was keys=()
	local -A pid

	command -v prlimit >/dev/null || skip "no prlimit"
	limited
	# all at once, each at a key of its own
	for limit in cpu=1 as=1 data=1 memlock=0 core=0 msgqueue=0 fsize=0 \
		stack=4096 nproc=0 rss=0 sigpending=0 nofile=16; do
		key=${limit%=*}
		mkdir "$T/$key"
		start -k "$key" -t 2s -- witness "$T/$key" --started "$T/$key/w" \
			--hold 60000 --spawn --stubborn
		pid[$key]=$tool
		wait_until contains "$T/$key/w" '^[0-9]'
		guard=$(guard_of "$tool")
		prlimit -p "$tool" "--$limit:${limit#*=}"
		prlimit -p "$guard" "--$limit:${limit#*=}"
		# the thread starts, and renews, if there is memory left
		case $key in
		as | data) ;;
		*) keys+=("$key") ;;
		esac
	done
	mapfile -t was < <(requests "${keys[@]}")
	wait_until thrice_more "${keys[@]}"
	kill -KILL "${pid[@]}"
	for key in "${!pid[@]}"; do
		flock -w 20 "$T/$key/witness" true
		wait_until free "$key"
		ended_as "${pid[$key]}" 137
		[ "$(cat "$T/$key/counter" 2>/dev/null || echo 0)" = 0 ]
	done
}

@test "no descriptor for a new connection for a while is survived" {
	preloading inject.so
	inject socket:2:24 start -k job -t 600ms -- \
		witness "$T" --started w --hold 700
	wait_until contains "$T/w" '^[0-9]'
	cli a client kill type normal skipme yes
	finish
	[ "$status" = 0 ]
	[ -e "$T/hit" ]
}

sweep() { # NAME ERRNO: fail each call in turn; no crash, nothing left
	local k before
	for ((k = 1; k < 200; k++)); do
		rm -f "$T/hit"
		before=$(holds)
		run inject "$1:$k:$2" timeout 8 "$REDLOCK" -u "$url" -k job \
			-t 2s -w 200ms -- witness "$T" --hold 1
		[ -e "$T/hit" ] || break
		# the command's own status, or one of ours
		case $status in
		0) [ "$(holds)" = $((before + 1)) ] ;;
		64 | 69 | 70 | 126) [ "$(holds)" = "$before" ] ;;
		*) echo "$1 $k: status $status: $output" >&2; return 1 ;;
		esac
		wait_until lock_is_free
	done
	[ "$k" -gt 1 ]
	echo "$1: $((k - 1)) calls" >&2
}

@test "whichever allocation fails: no crash, no lock left, no false message" {
	preloading inject.so
	sweep malloc 12
}

@test "whichever pipe, timer, socket or send fails: no crash, no false message" {
	preloading inject.so
	sweep pipe2 24
	sweep timer_create 11
	sweep timerfd_create 24
	sweep socket 24
	sweep send 104
}

@test "without room for the deadman's signal redlock refuses to run" {
	run -70 launch --limit sigpending=0 "$REDLOCK" -u "$url" -k job -- \
		witness "$T"
	[[ $output == *deadman*"ulimit -i"* ]]
	[ "$(holds)" = 0 ]
	lock_is_free
}

@test "the limit of queued signals is reached: who fails says which limit it is" {
	local most

	need_root
	chmod 777 "$T" "$(readlink -f "$T/a.sock")"
	for most in 1 2; do # for redlock itself; for the guard
		run -70 launch --limit sigpending=$most setpriv --reuid $((54400 + most)) \
			--clear-groups "$REDLOCK" -u "$url" -k job -- witness "$T"
		[[ $output == *deadman*"user $((54400 + most)) has as many signals queued as its limit allows, $most (ulimit -i)"* ]]
	done
	run -0 launch --limit sigpending=6 setpriv --reuid 54403 --clear-groups \
		"$REDLOCK" -u "$url" -k job -- true
	[ "$(holds)" = 0 ]
}

@test "without getrandom(2) tokens still differ" {
	preloading inject.so
	for i in 1 2 3; do
		inject getrandom:1+:38 "$REDLOCK" -u "$url" -k job -- \
			sh -c 'echo $REDLOCK_TOKEN' >>"$T/tokens"
	done
	[ "$(sort -u "$T/tokens" | wc -l)" = 3 ]
}

# ---- the command resists ----

@test "where pids are used again soon, no stranger is killed" {
	need_pid_namespace
	unshare -fp --mount-proc sh -c 'echo 301 >/proc/sys/kernel/pid_max' \
		2>/dev/null || skip "pid_max is not per namespace"
	[ "$(cat /proc/sys/kernel/pid_max)" -gt 301 ] ||
		skip "pid_max is not per namespace"
	cat >"$T/churn" <<-END
	echo 400 >/proc/sys/kernel/pid_max
	for i in 1 2 3 4 5; do
		sh -c 'while :; do true & wait; done' & noise=\$!
		sleep 60 & stranger=\$!
		for k in 1 2 3 4 5 6; do
			'$REDLOCK' -q -u $url -k job -t 20s -- \\
				sh -c 'while :; do (true) & wait; done' &
			tool=\$!
			sleep 0.03
			kill -KILL \$tool
			wait \$tool
		done
		kill -KILL \$noise
		kill \$stranger || exit 1
	done 2>/dev/null
	# the guards end with this shell, process 1
	until [ "\$(redis-cli -s $T/a.sock exists job)" = 0 ] &&
		[ -z "\$(redis-cli -s $T/a.sock --raw keys '*:queue*')" ]; do
		sleep 0.05
	done
	END
	unshare -fp --mount-proc sh "$T/churn" 3>&-
	wait_until lock_is_free
}

@test "a process left running is reported and left alone, and the lock passes on" {
	run -0 redlock -k job -- sh -c "sleep 5 >/dev/null 2>&1 3>&- &
		echo \$! >$T/left"
	[[ $output == *"left processes running"* ]]
	lock_is_free
	kill "$(cat "$T/left")"
}

@test "a process that the command killed before its end does not count as left" {
	for i in {1..10}; do
		run -0 redlock -k job -- sh -c 'sleep 61.3 & kill -9 $!'
		[ -z "$output" ]
	done
}

@test "on loss, double-forked and setsid processes are killed, too" {
	start -k job -t 2s -- sh -c "
		setsid sh -c 'sleep 60 & echo \$! >$T/one; exec sleep 61' &
		(setsid sleep 62 & echo \$! >$T/two)
		trap '' TERM HUP INT; touch $T/w; while :; do sleep 0.1; done"
	wait_until exists "$T/w"
	wait_until contains "$T/one" '[0-9]'
	node_freeze a
	finish
	ended "$(cat "$T/one")"
	ended "$(cat "$T/two")"
	node_thaw a
	[ "$status" = 125 ]
}

@test "a command that ignores TERM is killed before the lease ends, without a core" {
	cd "$T"
	ulimit -c unlimited
	started -k job -t 1s -- witness "$T" --started w --hold 9000 --stubborn
	node_freeze a
	finish
	node_thaw a
	[ "$status" = 125 ]
	contains "$T/err" SIGTERM
	contains "$T/err" "killing the command"
	run ! compgen -G "$T/core*"
}

@test "-K sets the time between TERM and KILL" {
	local grace pids=()

	for grace in 0 400ms; do
		start -k "$grace" -t 3s -K "$grace" -- sh -c "
			trap ': >$T/term.$grace' TERM; touch $T/w.$grace
			while :; do sleep 0.05; done"
		pids+=($tool)
		wait_until exists "$T/w.$grace"
	done
	node_freeze a
	ended_as "${pids[0]}" 125
	ended_as "${pids[1]}" 125
	end=$(now_ms)
	node_thaw a
	at_least $((end - $(made_at "$T/term.400ms"))) 350
}

thaw_group() {
	echo THAWED >"$frozen_group/freezer.state"
	wait_until rmdir "$frozen_group" 2>/dev/null
	frozen_group=
}

freeze_command() { freeze "$cmd"; }
freeze() { # PID: no signal ends it now
	group=/sys/fs/cgroup/freezer/redlock.$$
	mkdir "$group" 2>/dev/null || {
		kill -KILL "$tool"
		skip "no freezer cgroup of version 1"
	}
	frozen_group=$group
	echo "$1" >"$group/cgroup.procs"
	echo FROZEN >"$group/freezer.state"
	wait_until contains "$group/freezer.state" FROZEN
}

@test "a command that cannot die keeps its lock while redlock lives" {
	need_root
	started -k job -t 2s --max-hold 1s -K 100ms -- \
		witness "$T" --started w --hold 9000
	freeze_command
	wait_until pending_kill "$cmd"
	run -75 redlock -k job -w 600ms -- witness "$T"
	wait_until contains "$T/err" "was killed but has not ended"
	thaw_group
	finish
	[ "$status" = 124 ]
	lock_is_free
}

@test "a lost lease, a command that cannot die: redlock waits for it, status 125" {
	need_root
	started -k job -t 2s -- witness "$T" --started w --hold 9000
	freeze_command
	node_freeze a
	wait_until pending_kill "$cmd"
	wait_until contains "$T/err" "was killed but has not ended"
	node_thaw a
	contains "$T/err" "lease lost: not renewed for"
	thaw_group
	finish
	[ "$status" = 125 ]
}

# Redlock's first strike does not reach all, and the guard never kills.
@test "a guard that can neither run nor die: redlock strikes until all are dead" {
	need_root
	start_many 2000 -k job -t 2s
	freeze "$(guard_of "$tool")"
	node_freeze a
	flock -w 20 "$T/many" true
	node_thaw a
	thaw_group
	finish
	[ "$status" = 125 ]
}
is_past() { [ "$(now_ms)" -gt "$1" ]; } # MS

@test "the guard dies, the command cannot: redlock lives on to kill the rest" {
	need_root
	started -k job -t 1s -- \
		witness "$T" --started w --hold 60000 --spawn --stubborn
	freeze_command
	server=$(node_pid a) guard=$(guard)
	kill -STOP "$server"
	kill -KILL "$guard"
	wait_until pending_kill "$cmd"
	survivor_is_told "another may get the lock before it ends" # the lease is over
	state_is "$tool" '[RS]'
	node_thaw a
	thawed_ends_with 70
	tree_is_dead
}
survivor_is_told() { # WHAT-BECOMES-OF-THE-LOCK
	wait_until contains "$T/err" \
		"was killed but has not ended (see ps -ejH, below process $tool); $1"
}
thawed_ends_with() { # STATUS
	thaw_group
	finish
	[ "$status" = "$1" ]
}
stolen_ends_with() { # STATUS: the lock is somebody else's now
	cli a set job stolen px 60000 >/dev/null
	survivor_is_told "another may get the lock before it ends"
	thawed_ends_with "$1"
	cli a del job >/dev/null
}

# Before T/6 there is no thread yet that could renew.
guard_dies_early() { # ARGUMENTS of redlock: of a command that cannot die
	need_root
	started "$@" -- witness "$T" --started w --hold 60000
	freeze_command
	kill -KILL "$(guard)"
}

@test "the guard dies early, the command cannot: its lock is renewed (slow: 4 s)" {
	guard_dies_early -k job -t 4s
	since=$(now_ms)
	survivor_is_told "the lock stays held until it ends"
	wait_until is_past $((since + 4000))
	held job
	thawed_ends_with 70
	lock_is_free
}

@test "the guard dies, the command cannot, and the lock is gone" {
	guard_dies_early -k job -t 2500ms # renewed every 417 ms
	stolen_ends_with 70
}

@test "the lock is taken from a command that cannot die" {
	need_root
	started -k job -t 3s -- witness "$T" --started w --hold 60000
	freeze_command
	stolen_ends_with 125
}

@test "the lock of a command that cannot die is taken by force, or renewed no more (slow: 8 s)" {
	need_root
	started -k job -t 20s -K 100ms -- witness "$T" --started w --hold 60000
	freeze_command
	helper "$REDLOCK" force-release -u "$url" --confirm job job
	survivor_is_told "another may get the lock before it ends"
	thawed_ends_with 125
	rm "$T/w"
	started -k job -t 6s -K 100ms --max-renewals 1 -- \
		witness "$T" --started w --hold 60000
	freeze_command
	survivor_is_told "another may get the lock before it ends"
	thawed_ends_with 124
}

@test "a command without the lock that cannot die: its guard dies, or --max-hold ends it" {
	need_root
	node_kill a
	unlocked_cannot_die
	kill -KILL "$(guard)"
	survivor_is_told "it runs without the lock"
	thawed_ends_with 70
	unlocked_cannot_die --max-hold 2s -K 100ms
	survivor_is_told "it runs without the lock"
	thawed_ends_with 124
}
unlocked_cannot_die() { # [OPTION...]
	start -k job -n --on-unavailable run "$@" -- linger until "$T/never"
	wait_until pgrep -fx "linger until $T/never"
	cmd=$(pgrep -fx "linger until $T/never")
	freeze_command
}

@test "no thread can be started, the guard dies, the command cannot" {
	need_root
	started_without_thread -k job -t 20s
	freeze_command
	kill -KILL "$(guard)"
	survivor_is_told "another may get the lock before it ends"
	thawed_ends_with 70
	exists "$T/hit"
	lock_is_free
}
started_without_thread() { # OPTION...
	preloading inject.so
	INJECT_WHEN=$T/full inject_behind pipe2:1+:23 launch --default all \
		"$REDLOCK" -u "$url" "$@" -- witness "$T" --started "$T/w" \
		--hold 60000
	helpers="$helpers $tool"
	wait_until contains "$T/w" '^[0-9]'
	cmd=$(cat "$T/w")
	: >"$T/full"
}

@test "no thread can be started, the command cannot die, and the lock is gone" {
	need_root
	started_without_thread -k job -t 3s --max-hold 2s -K 100ms
	freeze_command
	wait_until pending_kill "$cmd"
	stolen_ends_with 124
}

@test "lock --hold is released by its token, and its process cannot die" {
	local token

	need_root
	REDLOCK_URL=$url launch --default all "$REDLOCK" lock --hold -t 2s job \
		>"$T/token" 2>"$T/err" 3>&- &
	tool=$!
	helpers="$helpers $tool"
	wait_until contains "$T/token" '^[0-9a-f]'
	token=$(cat "$T/token")
	freeze "$(pgrep -P "$(guard_of "$tool")")"
	"$REDLOCK" -u "$url" unlock --token "$token" job
	survivor_is_told "another may get the lock before it ends"
	thawed_ends_with 0
}

@test "redlock killed: its lock is not released before the command is dead" {
	need_root
	started -k job -t 20s -- witness "$T" --started w --hold 9000
	freeze_command
	kill -KILL "$tool"
	wait_until pending_kill "$cmd"
	held job
	thaw_group
	wait_until lock_is_free
	finish
}

# A command of root under a redlock of nobody, as with sudo in the wrong place.
as_nobody() { # OPTION...
	need_root
	id nobody >/dev/null 2>&1 || skip "no user nobody"
	chmod 711 "$T"
	chmod 777 "$T/a.sock"
	cp "$(command -v setpriv)" "$T/become"
	chmod 4755 "$T/become"
	setpriv --reuid nobody --clear-groups "$T/become" --reuid root true \
		2>/dev/null || skip "cannot become nobody, and root again, here"
	cp "$(command -v sleep)" "$T/sleep"
	cp "$REDLOCK" "$T/redlock"
	setpriv --reuid nobody --clear-groups "$T/redlock" -u "$url" -k job \
		"$@" -- "$T/become" --reuid root "$T/sleep" 60 2>"$T/err" 3>&- &
	tool=$!
	wait_until pgrep -f "^$T/sleep"
}

@test "a lease that is lost under a command of another user: 125, and whose it is" {
	as_nobody -t 2s
	other=$(pgrep -f "^$T/sleep")
	cli a set job stolen px 60000 >/dev/null
	finish
	[ "$status" = 125 ]
	contains "$T/err" "lease lost"
	contains "$T/err" "process $other of user 0 is still running: user $(id -u nobody) may not kill it"
	contains "$T/err" "sudo redlock"
	kill -KILL "$other"
	cli a del job >/dev/null
}

@test "a signal for a command of another user is sent once" {
	as_nobody -t 20s
	other=$(pgrep -f "^$T/sleep")
	kill -TERM "$tool"
	wait_until contains "$T/err" "cannot send signal 15 to process $other of user 0"
	before=$(switches "$tool")
	sleep 0.5
	below $(($(switches "$tool") - before)) 20
	kill -KILL "$other"
	finish
	[ "$status" = 137 ]
}
switches() { awk '/^voluntary_ctxt/ { print $2 }' "/proc/$1/status"; }

@test "without /proc nothing runs" {
	need_root
	[ "${SANITIZED-}" != asan ] || skip "ASan itself needs /proc"
	run -70 --separate-stderr unshare -m sh -c '
		mount -t tmpfs none /proc && exec "$@"' sh \
		"$REDLOCK" -u "$url" -k job -- touch "$T/ran"
	[[ $stderr == *"/proc does not show the children"* ]]
	[ ! -e "$T/ran" ]
	lock_is_free
}

@test "after the first renewals the guard's memory is locked; others die before it" {
	need_root
	[ -z "${SANITIZED:-}" ] || skip "a sanitizer makes nothing of mlockall()"
	started -k job -t 1s -- witness "$T" --started w --hold 60000
	g=$(guard)
	wait_until grep -q '^VmLck:.*[1-9]' "/proc/$g/status"
	# the kernel may not let even root do this
	if (echo -900 >/proc/self/oom_score_adj) 2>/dev/null; then
		wait_until grep -qx -- -900 "/proc/$g/oom_score_adj"
	fi
	grep -q '^VmLck:.*[1-9]' "/proc/$tool/status"
	[ "$(cat "/proc/$cmd/oom_score_adj")" = "$(cat /proc/self/oom_score_adj)" ]
	kill -TERM "$tool"
	finish
}

@test "redlock is killed over a command of another user: the guard says whose it is" {
	as_nobody -t 20s
	other=$(pgrep -f "^$T/sleep")
	kill -KILL "$tool"
	wait_until ended "$tool"
	wait_until contains "$T/err" "redlock (pid $tool) was killed; process $other of user 0 is still running: user $(id -u nobody) may not kill it"
	for i in {1..20}; do held job; done
	kill -0 "$other"
	kill -KILL "$other"
	wait_until lock_is_free
}

@test "a command that forks without end is killed to the last process" {
	ulimit -u 4000 2>/dev/null || true
	cat >"$T/bomb" <<-'END'
	# each makes two more and ends; a counter keeps the machine alive
	[ "$1" -gt 0 ] || exec sleep 60
	sh "$0" $(($1 - 1)) & sh "$0" $(($1 - 1)) &
	while :; do (sleep 0.2) & wait $!; done
	END
	start -k job -t 20s -- sh "$T/bomb" 4
	wait_until pgrep -f "sleep 60"
	kill -KILL "$tool"
	finish
	wait_until no_process_left
	wait_until lock_is_free
}

# Runs N processes that ignore TERM. They hold a lock on $T/many until the last of them
# is dead.
start_many() { # N, OPTIONS of redlock
	local n=$1
	shift
	[ -z "${SANITIZED-}" ] || skip "thousands of processes with a sanitizer are too heavy"
	rm -f "$T/up"
	start "$@" -- sh -c "trap '' TERM; exec 9>'$T/many'; flock 9
		exec linger many $n '$T/up'"
	wait_until or_over exists "$T/up"
	exists "$T/up"
}
or_over() { "$@" || gone "$tool"; }

@test "a tree that takes long to die is killed earlier" {
	may_need_another_try "the deadman may come first"
	start_many 4000 -k job -t 2s
	# two renewals later its size is known
	wait_until calls_are $(($(calls) + 3))
	node_freeze a
	finish
	node_thaw a
	contains "$T/err" 'lease lost: not renewed for 1\.[2-5]s'
	lacks "$T/err" 'not renewed for [0-9]*ms; sent'
	[ "$status" = 125 ]
}

@test "what has ended does not make a tree large: nothing said, nothing killed" {
	may_need_another_try "so short a lease may be lost"
	: >"$T/on"
	start -q -k job -t 2s -- linger ended 6000 "$T/on"
	wait_until calls_are $(($(calls) + 4)) # their number is known
	node_freeze a
	sleep 0.8 # an outage of 0.4 T
	node_thaw a
	wait_until calls_are $(($(calls) + 2))
	rm "$T/on"
	finish
	[ "$status" = 0 ]
	no_message
}

@test "a tree too large for its lease is reported once" {
	local i

	# on a busy machine so short a lease may be lost before that: then again
	for i in {1..5}; do
		start_many 4000 -k job -t 300ms && reported &&
			wait_until calls_are $(($(calls) + 4)) && break
		gone "$tool"
		finish
		wait_until lock_is_free
	done
	[ "$(grep -c 'may take' "$T/err")" = 1 ]
	kill -KILL "$tool"
	finish
	wait_until lock_is_free
}
reported() {
	wait_until or_over contains "$T/err" 'may take'
	contains "$T/err" '[0-9]* processes may take .* too long for a lease of 300ms; -t [0-9]*\.0s would be enough'
}

@test "the process that kills when memory runs out needs none" {
	preloading inject.so
	# what opens a directory in the C library allocates
	inject_behind opendir:1+:12 "$REDLOCK" -u "$url" -k job -t 20s -- \
		witness "$T" --started w --hold 60000 --spawn --stubborn
	helpers="$helpers $tool"
	wait_until contains "$T/w" '^[0-9]'
	kill -KILL "$tool"
	finish
	tree_dies
	wait_until lock_is_free
}

# ---- the rest of the machine ----

@test "with SIGCHLD ignored and everything blocked, redlock still works" {
	launch --ignore 17 --block all --umask 077 --subreaper --close 0 \
		"$REDLOCK" -u "$url" -k job -t 300ms -- \
		witness "$T" --hold 500
	[ "$(holds)" = 1 ]
	run -9 launch --ignore 17 --block all "$REDLOCK" -u "$url" -k job -- \
		sh -c 'exit 9'
}

@test "TERM reaches the command although it was blocked at the start" {
	launch --default all --block 15 "$REDLOCK" -u "$url" -k job -- \
		bash -c "trap 'exit 5' INT; touch $T/w # dash unblocks
		while :; do sleep 0.05; done" 3>&- &
	tool=$!
	wait_until exists "$T/w"
	kill -TERM "$tool" # for the command, which also blocks it
	kill -INT "$tool"
	finish
	[ "$status" = 5 ]
}

@test "a signal blocked at the start reaches the command and does not end the wait" {
	cli a set job other px 60000
	launch --default all --block 15 "$REDLOCK" -u "$url" -k job -t 20s -- \
		python3 -c 'import signal, sys; sys.exit(signal.sigwait([15]) - 9)' \
		2>"$T/err" 3>&- &
	tool=$!
	wait_until contains "$T/err" "waiting.*: held by"
	kill -TERM "$tool"
	cli a del job
	finish
	[ "$status" = 6 ]
	lock_is_free
}

@test "the command inherits no descriptor of redlock" {
	launch --show "$T/without" 3>&-
	"$REDLOCK" -u "$url" -k job -t 300ms -- sh -c "sleep 0.2
		launch --show $T/with" 3>&-
	diff <(grep ^fd "$T/without") <(grep ^fd "$T/with")
}

@test "a command that ends as its lease ends is either done or lost" {
	node_start b
	for ms in 225 230 235 238 240 242 245 250; do
		"$REDLOCK" -u "unix://$T/b.sock" -k "job$ms" -t 300ms -K 0 -- \
			sh -c "touch $T/w$ms; sleep 0.$ms; echo done >$T/$ms" \
			2>"$T/err$ms" 3>&- &
		tools[ms]=$!
	done
	for ms in 225 230 235 238 240 242 245 250; do
		wait_until exists "$T/w$ms"
	done
	node_freeze b
	for ms in 225 230 235 238 240 242 245 250; do
		status=0
		wait "${tools[ms]}" || status=$?
		case $status in
		0) [ -s "$T/$ms" ]; not contains "$T/err$ms" "lease lost" ;;
		125) contains "$T/err$ms" "not renewed for" ;;
		# (the guard says so after it has killed)
		137) wait_until contains "$T/err$ms" "its lease ran out" ;;
		*) false ;;
		esac
	done
	node_thaw b
}

@test "as PID 1 of a container, redlock passes TERM on and reaps" {
	need_pid_namespace
	unshare -fp --mount-proc "$REDLOCK" -u "$url" -k job -- \
		witness "$T" --started w --hold 9000 3>&- &
	outer=$!
	wait_until contains "$T/w" '^[0-9]'
	kill -TERM "$(guard_of "$outer")"
	status=0
	wait "$outer" || status=$?
	[ "$status" = 143 ]
	lock_is_free
}

@test "as PID 1, a stopped redlock does not let its command outlive the lease" {
	need_pid_namespace
	unshare -fp --kill-child --mount-proc "$REDLOCK" -u "$url" -k job \
		-t 600ms -- witness "$T" --started w --hold 60000 --spawn 3>&- &
	outer=$!
	helpers="$helpers $outer"
	wait_until contains "$T/w" '^[0-9]'
	tool=$(guard_of "$outer") # process 1, and redlock itself
	kill -STOP "$tool" "$(guard_of "$tool")"
	dead_when_free
}

@test "a killed guard: the command dies with it, and redlock says so" {
	started -k job -t 20s -- \
		witness "$T" --started w --hold 9000 --spawn --stubborn
	kill -KILL "$(guard)"
	finish
	[ "$status" = 70 ]
	contains "$T/err" "guard process was killed"
	tree_is_dead
	lock_is_free
}

@test "a guard killed while redlock waits ends the waiting" {
	cli a set job other px 60000
	start -k job -- witness "$T"
	wait_until contains "$T/err" "waiting.*: held by"
	kill -KILL "$(guard_of "$tool")"
	finish
	[ "$status" = 70 ]
	[ "$(cli a get job)" = other ]
	cli a del job
}

@test "standard error on a disk that hangs: the tree is dead in time" {
	make_disk
	launch --default all "$REDLOCK" -u "$url" -k job -t 3s -- \
		witness "$T" --hold 600000 --spawn --stubborn --started "$T/w" \
		2>"$T/disk/err" 3>&- &
	helpers="$helpers $!"
	wait_until contains "$T/w" '^[0-9]'
	disk_hangs
	node_freeze a
	since=$(now_ms)
	tree_is_dead_at 3000
	node_thaw a
	# its own deadman's signal has to wait: redlock hangs in the kernel
	redlock -k job -- witness "$T"
}

@test "messages to a disk that hangs delay no kill" {
	make_disk
	launch --default all "$REDLOCK" -v -u "$url" -k job -t 3s -- \
		witness "$T" --hold 600000 --spawn --stubborn --started "$T/w" \
		2>"$T/disk/err" 3>&- &
	helpers="$helpers $!"
	wait_until contains "$T/w" '^[0-9]'
	disk_hangs
	sleep 1.2 # a renewal or two, of each of which something is said
	cli a set job stolen px 60000 >/dev/null
	since=$(now_ms)
	tree_is_dead_at 1200 # it is heard of with the next renewal
	cli a del job >/dev/null
}

@test "the same without a thread: all messages arrive in the end" {
	preloading inject.so
	make_disk
	LD_PRELOAD=$(shim inject.so) INJECT=pthread_create:1+:11 \
		INJECT_MARK=$T/hit \
		launch --default all "$REDLOCK" -v -u "$url" -k job -t 3s -- \
		witness "$T" --hold 600000 --spawn --stubborn --started "$T/w" \
		2>"$T/disk/err" 3>&- &
	helpers="$helpers $!"
	tool=$!
	wait_until contains "$T/w" '^[0-9]'
	disk_hangs
	kill -WINCH "$tool" # something is said
	cli a set job stolen px 60000 >/dev/null
	since=$(now_ms)
	tree_is_dead_at 1200
	cli a del job >/dev/null
	fsfreeze -u "$T/disk"
	finish
	[ "$status" = 125 ]
	contains "$T/disk/err" "signal 28"
	contains "$T/disk/err" "lease lost"
}

@test "TERM ends the command and the lock is released, though the disk hangs" {
	make_disk
	launch --default all "$REDLOCK" -v -u "$url" -k job -t 60s -- \
		witness "$T" --hold 600000 --started "$T/w" \
		2>"$T/disk/err" 3>&- &
	helpers="$helpers $!"
	tool=$!
	wait_until contains "$T/w" '^[0-9]'
	disk_hangs
	kill -WINCH "$tool"
	kill -TERM "$tool"
	tree_dies
	wait_until lock_is_free
}

@test "a guard killed while redlock is stopped: nothing outlives the lease" {
	started -k job -t 2s -- \
		witness "$T" --started w --hold 60000 --spawn --stubborn
	kill -STOP "$tool"
	wait_until stopped "$tool"
	kill -KILL "$(guard)"
	since=$(now_ms)
	tree_is_dead_at 2000
	finish
}

@test "pkill -9 -f KEY hits neither guard nor keeper" {
	started -k job-of-mine -t 20s -- \
		witness "$T" --started w --hold 60000 --spawn --stubborn
	IFS= read -rd '' title <"/proc/$(guard)/cmdline"
	[ "$title" = "lockguard: $tool" ]
	pkill -9 -f job-of-mine
	tree_dies
	finish
	wait_until free job-of-mine
}

@test "a stopped guard wakes, and kills when redlock is killed" {
	started -k job -t 20s -- \
		witness "$T" --started w --hold 9000 --spawn --stubborn
	g=$(guard)
	kill -STOP "$g"
	kill -KILL "$tool"
	tree_dies
	wait_until lock_is_free
	finish
}

# From before redlock dies until well after the lease has run out. A guard that
# was stopped again before its wake-up was delivered must be woken once more.
@test "redlock and its guard are stopped again and again: all dead soon after" {
	local us

	for us in 10 300 3000; do
		started -k "job$us" -t 500ms -- \
			witness "$T" --started w --hold 60000 --spawn --stubborn
		linger stop $us 1000 "$tool" "$(guard)"
		tree_dies
		kill -KILL "$tool" 2>/dev/null || true
		finish
		rm "$T/w"
		wait_until no_process_left
	done
}

@test "a guard stopped while redlock is killed: all dead when the lease ends" {
	local i

	for i in 1 2 3; do
		started -k "job$i" -t 1s -- \
			witness "$T" --started w --hold 60000 --spawn --stubborn
		helper linger stop $((i * 50)) 100 "$(guard)"
		kill -KILL "$tool"
		tree_dies
		finish
		rm "$T/w"
		wait_until no_process_left
	done
}

@test "no descriptor is to be had: redlock, or its guard, kills all the same" {
	local how

	preloading inject.so
	for how in lost redlock guard; do
		INJECT_WHEN=$T/full inject_behind openat:1+:23 launch --default all \
			"$REDLOCK" -u "$url" -k "job-$how" -t 1s -- witness "$T" \
			--started "$T/w" --hold 60000 --spawn --stubborn
		helpers="$helpers $tool"
		wait_until contains "$T/w" '^[0-9]'
		cmd=$(cat "$T/w")
		: >"$T/full"
		case $how in
		lost) node_freeze a ;;
		redlock) kill -KILL "$tool" ;;
		guard) kill -KILL "$(guard)" ;;
		esac
		tree_dies
		exists "$T/hit"
		rm "$T/full" "$T/w" "$T/hit"
		node_thaw a
		finish
		wait_until no_process_left
	done
}

# What is mounted there may show the processes of another namespace.
@test "something is mounted over /proc during a hold: redlock, or its guard, kills" {
	local how

	[ "${SANITIZED-}" != asan ] || skip "ASan itself needs /proc"
	private_mounts
	for how in lost redlock guard; do
		started_within -k "job-$how" -t 1s -- witness "$T" \
			--started "$T/w" --hold 60000 --spawn --stubborn
		g=$(guard)
		"${within[@]}" mount -t tmpfs none /proc
		case $how in
		lost) node_freeze a ;;
		redlock) kill -KILL "$tool" ;;
		guard) kill -KILL "$g" ;;
		esac
		tree_dies
		"${within[@]}" umount /proc
		rm "$T/w"
		node_thaw a
		finish
		wait_until gone "$g"
	done
}
started_within() {
	launch --default all "${within[@]}" "$REDLOCK" -u "$url" "$@" \
		2>"$T/err" 3>&- &
	tool=$!
	helpers="$helpers $tool"
	wait_until contains "$T/w" '^[0-9]'
	cmd=$(cat "$T/w")
}

@test "a guard that is stopped before the go starts the command all the same" {
	may_need_another_try "the first renewal may come first"
	cli a set job other px 60000
	start -k job -t 60s -- touch "$T/ran"
	wait_until contains "$T/err" waiting
	kill -STOP "$(guard_of "$tool")"
	wait_until stopped "$(guard_of "$tool")"
	since=$(now_ms)
	cli a del job
	finish
	[ "$status" = 0 ]
	exists "$T/ran"
	below $(($(now_ms) - since)) 700 # and not at the first renewal, after 1 s
}

@test "a guard stopped for good while the command ends does not block redlock" {
	started -k job -t 1s -- witness "$T" --started w --until "$T/end"
	kill -STOP "$(guard)"
	: >"$T/end"
	finish
	[ "$status" = 0 ]
}

@test "redlock dies of the command's QUIT without a core of its own" {
	mkdir "$T/cwd"
	ulimit -c unlimited
	cd "$T/cwd"
	launch --default all --tell "$T/how" "$REDLOCK" -u "$url" -k job -- \
		launch --limit core=0 witness "$T" --started w --hold 9000 3>&- &
	teller=$!
	wait_until contains "$T/w" '^[0-9]'
	kill -QUIT "$(head -n 1 "$T/how")"
	wait "$teller"
	[ "$(sed -n 2p "$T/how")" = "signal 3" ]
	run ! compgen -G "$T/cwd/*"
}

@test "with its binary removed, a holder renews, loses nothing and releases" {
	cp "$REDLOCK" "$T/redlock"
	"$T/redlock" -u "$url" -k job -t 300ms -- \
		witness "$T" --started w --hold 700 2>"$T/err" 3>&- &
	tool=$!
	wait_until contains "$T/w" '^[0-9]'
	rm "$T/redlock"
	cli a client kill type normal skipme yes
	finish
	[ "$status" = 0 ]
	[ "$(holds)" = 1 ]
	lock_is_free
}

# ---- the manual's PID namespace around the command ----

# Sets `recipe`, as the manual has it: unshare and its options.
take_recipe() { # [OPTION of redlock's user]
	local own=

	recipe=$(sed -n 's/^redlock .* -- \(unshare .*\) [^ ]*$/\1/p' "$top/man/redlock.1")
	[ "$1" = root ] || {
		own=$(sed -n 's/^\.Fl -user -map-current-user \.$/--user --map-current-user/p' \
			"$top/man/redlock.1")
		[ -n "$own" ]
	}
	recipe="$recipe $own"
	# shellcheck disable=SC2086 # words
	"${as[@]}" $recipe true 2>/dev/null ||
		skip "$1 may not make PID namespaces here"
}
# A session of its own, and six processes that fork without end after $2 is
# there. They hold a lock on $1.lock until the last of them is dead.
write_storm() { # FILE
	cat >"$1" <<-'PY'
		import fcntl, os, signal, sys, time
		signal.signal(signal.SIGTERM, signal.SIG_IGN)
		signal.signal(signal.SIGCHLD, signal.SIG_IGN) # or zombies fill the machine
		os.setsid() if os.getpid() != os.getsid(0) else None
		lock = open(sys.argv[1] + ".lock", "w")
		fcntl.flock(lock, fcntl.LOCK_EX)
		waits, goes = os.pipe()
		for i in range(6):
		    if os.fork() == 0:
		        os.setsid()
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
}
no_storm() { flock -n "$T/storm.lock" true; }
namespace_dies_with_both() { # root|user
	local as=()

	[ "$1" = root ] || as=(as_user)
	take_recipe "$1"
	chmod 777 "$T"
	chmod 777 "$(readlink -f "$T/a.sock")"
	write_storm "$T/storm.py"
	# shellcheck disable=SC2086 # words
	"${as[@]}" "$REDLOCK" -u "$url" -k job -t 8s -- $recipe \
		nice -n 19 python3 "$T/storm.py" "$T/storm" "$T/go" \
		2>"$T/err" 3>&- &
	tool=$!
	helpers="$helpers $tool"
	wait_until exists "$T/storm"
	# there may be a shell in between
	[ "$(cat "/proc/$tool/comm")" = redlock ] || tool=$(guard_of "$tool")
	[ "$(cat "/proc/$tool/comm")" = redlock ]
	cmd=$(guard_of "$(guard_of "$tool")")
	run ! no_storm
	touch "$T/go"
	# neither is to have time for anything
	guard=$(guard)
	kill -STOP "$tool" "$guard"
	wait_until stopped "$tool"
	wait_until stopped "$guard"
	kill -KILL "$guard" "$tool"
	flock -w 20 "$T/storm.lock" true
	# with nobody who could renew it, the lock ends with its lease
	wait_until no_process_left
	at_least 8000 "$(cli a pttl job)"
	cli a flushall >/dev/null
}
@test "in a PID namespace nothing outlives redlock and its guard" {
	need_root
	namespace_dies_with_both root
}
@test "the same in a user's PID namespace" {
	need_user
	namespace_dies_with_both user
}
@test "a run in a PID namespace: status, TERM, and nothing stays" {
	local as=()

	[ "$(id -u)" = 0 ] && take_recipe root || take_recipe user
	# shellcheck disable=SC2086 # words, here and below
	run -7 redlock -k job -- $recipe sh -c '[ $$ = 1 ] || exit 8
		setsid sh -c ": >\"\$T/left\"; exec sleep 600" &
		while [ ! -e "$T/left" ]; do sleep 0.02; done; exit 7'
	lock_is_free
	[ -z "$(list_processes)" ]
	start -k job -- $recipe sh -c "trap 'exit 9' TERM; : >$T/on
		while :; do sleep 0.02; done"
	wait_until exists "$T/on"
	kill -TERM "$tool"
	finish
	[ "$status" = 9 ]
}
