#!/usr/bin/env bats
# A run inside a run that holds the lock.

load lib/common
load lib/kinds

@test "nesting: a run inside the holder joins, with its token, fence and slot" {
	redlock -k job -- sh -c "env | grep ^REDLOCK_ | sort >'$T/outer'
		$(inner) -n -- sh -c 'env | grep ^REDLOCK_ | sort >\"$T/inner\"'"
	for v in TOKEN FENCE SLOT KEY FENCES; do
		[ "$(grep "^REDLOCK_$v=" "$T/outer")" = \
			"$(grep "^REDLOCK_$v=" "$T/inner")" ]
	done
	lock_is_free
}

@test "nesting: three deep, and the lock is released once, by the outermost" {
	redlock -k job -- sh -c "redis-cli -s '$T/a.sock' get job >'$T/one'
		$(inner) -- sh -c \"$(inner) -- true; $(inner) -- true\"
		redis-cli -s '$T/a.sock' get job >'$T/two'"
	[ -s "$T/one" ]
	cmp "$T/one" "$T/two"
	lock_is_free
}

@test "nesting: the inner run outlives the outer one, protected; the last one releases" {
	: >"$T/stay.in"
	redlock -q -k job -t 600ms -- sh -c "$(inner) -t 600ms -- \
		sh -c 'echo on >\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do
		sleep 0.05; done' & while [ ! -e '$T/on.in' ]; do sleep 0.05; done"
	# longer than the outer one's lease
	for i in {1..10}; do busy; sleep 0.1; done
	let_go in
	wait_until lock_is_free
	redlock -k job -n -- true
}

@test "nesting: the server forgets who joined: the inner run is still protected" {
	for lost in "del $state" flushall; do
		: >"$T/stay.in"
		rm -f "$T/on.in"
		redlock -q -k job -t 3s -- sh -c "$(inner) -t 3s -- \
			sh -c 'echo on >\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do
			sleep 0.05; done' & while [ ! -e '$T/on.in' ]; do sleep 0.05; done
			sleep 1 # until the outer one has heard of it
			redis-cli -s '$T/a.sock' $lost >/dev/null"
		for i in {1..10}; do busy; sleep 0.1; done
		let_go in
		wait_until lock_is_free
	done
}

@test "nesting: a waiter is served after the last inner run" {
	: >"$T/stay.in"
	redlock -q -k job -t 2s -- sh -c "$(inner) -t 2s -- \
		flock -n -x '$T/rw' sh -c 'echo on >\"$T/on.in\"; while [ -e \
		\"$T/stay.in\" ]; do sleep 0.05; done' &
		while [ ! -e '$T/on.in' ]; do sleep 0.05; done"
	lines_up writer after
	let_go in
	running after
	let_go after
	ended after
}

@test "nesting: neither a short inner lease nor a short outer one shortens the other" {
	redlock -k job -t 20s -- sh -c "$(inner) -t 300ms -- sleep 0.5
		redis-cli -s '$T/a.sock' pttl job >'$T/left'"
	[ "$(cat "$T/left")" -gt 10000 ]
	: >"$T/stay.in"
	redlock -q -k job -t 300ms -- sh -c "$(inner) -t 20s -- sh -c '
		echo on >\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do sleep 0.05
		done' & sleep 0.5"
	[ "$(cli a pttl job)" -gt 10000 ]
	let_go in
	wait_until lock_is_free
}

@test "nesting: another key, and the same key on another server, are not held" {
	node_start b
	redlock -k job -- sh -c "echo \$REDLOCK_TOKEN >'$T/outer'
		'$REDLOCK' -u '$url' -k other -- sh -c 'echo \$REDLOCK_TOKEN' >'$T/other'
		'$REDLOCK' -u 'unix://$T/b.sock' -k job -- sh -c 'echo \$REDLOCK_TOKEN;
			redis-cli -s $T/b.sock get job' >'$T/b'"
	[ "$(cat "$T/outer" "$T/other" "$T/b" | sort -u | wc -l)" = 3 ]
	[ "$(sort -u "$T/b" | wc -l)" = 1 ]
}

@test "nesting: inside another key, an inner run knows both holds" {
	redlock -k job -- sh -c "'$REDLOCK' -u '$url' -k other -- \
		$(inner) -n -- '$REDLOCK' -u '$url' -k other -n -- true"
	lock_is_free
}

@test "nesting: a forged or stale REDLOCK_HELD is not believed" {
	redlock -k job -- sh -c "echo \"\$REDLOCK_HELD\" >'$T/held'"
	writer w
	running w
	local stale=$(cat "$T/held") hashes
	hashes=$(echo "$stale" | cut -d: -f 5,6)
	for held in "$stale" "${stale/??/00}" "x" ":::::" "$stale $stale" \
		"a:b:c:d:$hashes" "$(uuidgen):1:0:0:$hashes" \
		"$(uuidgen):1:0:17:$hashes" "$(uuidgen):1:999:0:$hashes" \
		"$(printf '%100000s' '' | tr ' ' x)"; do
		REDLOCK_HELD=$held busy
	done
	let_go w
	ended w
	REDLOCK_HELD=$stale redlock -k job -n -- true
}

@test "nesting: lost replies to the join and to the leave count once" {
	echo pass >"$T/px"
	helper proxy "$T/px.sock" "$T/a.sock" "$T/px" >"$T/px.log"
	wait_until exists "$T/px.sock"
	redlock -k job -- sh -c "
		echo cut 0 >'$T/px'
		'$REDLOCK' -q -u 'unix://$T/px.sock' -k job -w 5s -- sh -c '
			redis-cli -s $T/a.sock --raw hkeys job:redlock:{job}:state |
			grep -c ^hold: >$T/count; echo cut 0 >$T/px
			echo ran >>$T/ran' &
		while ! grep -q cut '$T/px.log'; do sleep 0.05; done
		echo pass >'$T/px'; while [ ! -e '$T/ran' ]; do sleep 0.05; done
		sleep 0.05; echo pass >'$T/px'; wait"
	[ "$(cat "$T/count")" = 2 ] # this one, and the outer one
	[ "$(wc -l <"$T/ran")" = 1 ]
	wait_until lock_is_free
}

@test "nesting: after a force-release of all runs the lock is free at once" {
	run redlock -k job -t 60s --max-hold 300ms -K 200ms -- sh -c "trap '' TERM
		$(inner) -t 60s -- sh -c 'trap \"\" TERM; sleep 60'"
	[ "$status" = 124 ]
	lock_is_free
	run redlock -k job -t 60s --orphans kill -- sh -c "$(inner) -t 60s -- \
		sh -c 'echo on >\"$T/on.i\"; sleep 60' &
		while [ ! -e '$T/on.i' ]; do sleep 0.05; done"
	lock_is_free
	rm "$T/on.i"
	start -k job -t 60s -- sh -c "$(inner) -t 60s -- \
		sh -c 'echo on >\"$T/on.i\"; sleep 60'"
	wait_until begun i
	kill -KILL "$tool"
	wait_until lock_is_free
}

@test "nesting: an inner run that waits leaves the line when the outer one is killed" {
	writer w
	running w
	start -k outer -t 60s -- "$REDLOCK" -u "$url" -k job -t 60s -w 60s -- true
	wait_until in_line 1
	kill -KILL "$tool"
	wait_until in_line 0
	wait_until free outer
	let_go w
	ended w
}

@test "nesting: the inner lock is lost with the outer one: both commands are killed" {
	: >"$T/stay.in"
	helper "$REDLOCK" -u "$url" -k job -t 1s -- sh -c "
		$(inner) -t 1s -- sh -c 'echo on >\"$T/on.in\"; while [ -e \
		\"$T/stay.in\" ]; do sleep 0.05; done'" 2>"$T/err"
	local outer=$! status=0
	wait_until begun in
	cli a set job thief px 3000 >/dev/null
	wait "$outer" || status=$?
	[ "$status" = 125 ]
	wait_until gone_quiet in
	cli a del job >/dev/null
}

@test "nesting: the first run that asks heals the lock; the last one releases it" {
	: >"$T/stay.in"
	redlock -k job -t 1s -- sh -c "$(inner) -t 1s -- sh -c 'echo on \
		>\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do sleep 0.05; done' &
		while [ ! -e '$T/on.in' ]; do sleep 0.05; done
		# both renew as often: in four renewals the outer one has heard of it
		n=0 was=99999; while [ \$n -lt 4 ]; do
			is=\$(redis-cli -s '$T/a.sock' pttl job)
			[ \$is -le \$was ] || n=\$((n + 1)); was=\$is; sleep 0.01
		done
		redis-cli -s '$T/a.sock' flushall
		while ! redis-cli -s '$T/a.sock' exists job | grep -q 1; do
		sleep 0.05; done" >/dev/null 2>&1
	busy
	busy
	let_go in
	wait_until lock_is_free
}

@test "nesting: the outer run heals the lock before it knows that somebody joined" {
	: >"$T/stay.in"
	redlock -q -k job -t 1s -- sh -c "$(inner) -q -t 9s -- sh -c 'echo on \
		>\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do sleep 0.05; done' &
		while [ ! -e '$T/on.in' ]; do sleep 0.01; done
		redis-cli -s '$T/a.sock' flushall
		# until the inner one has renewed
		while [ \$(redis-cli -s '$T/a.sock' hkeys '$state' | grep -c ^hold:) -lt 2 ]; do
		sleep 0.05; done" >/dev/null 2>&1
	busy
	let_go in
	wait_until lock_is_free
}

@test "nesting: a reader in a reader passes a waiting writer; a nested writer does not" {
	client out "while [ -e '$T/stay.out' ]; do sleep 0.05; done
		$(inner) -s -n -- sh -c 'echo r >>\"$T/order\"'" -s
	running out
	lines_up writer w
	let_go out
	ended out
	running w
	let_go w
	ended w
	order out r w
	run redlock -s -k job -- sh -c "$(inner) -w 5s -- touch '$T/ran'"
	[ "$status" = 64 ]
	[[ $output = *'deadlock: already held shared (-s) by'* ]]
	[ ! -e "$T/ran" ]
	# a reader inside a writer is in its hold
	redlock -k job -- sh -c "$(inner) -s -n -- true"
}

@test "nesting: without the outer run's environment, refused at once: 64" {
	around <<-'END'
		for how in "$bare" "setsid $bare" "$bare timeout 10"; do
			refused $how "${inner[@]}" -w 1h -- touch "$T/ran"
			refused $how "${inner[@]}" -n -- touch "$T/ran"
			refused $how "${inner[@]}" -w 1h -E 0 -q -- touch "$T/ran"
			refused $how "${inner[@]}" -s -w 1h -- touch "$T/ran"
			refused $how "$REDLOCK" lock -w 1h -u "$url" job
			refused $how "$REDLOCK" wait -u "$url" job
		done
		# this waits for the same, whatever it knows
		refused "$REDLOCK" wait -u "$url" job
		$bare "$REDLOCK" -u "$url" -k other -n -- touch "$T/other"
	END
	redlock -k job -- bash "$T/body"
	[ ! -e "$T/ran" ]
	[ -e "$T/other" ]
	[ "$(cli a exists "$queue")" = 0 ]
	contains "$T/said" "held by .*@$(hostname) since .*, bash"
	# it says nothing else
	redlock -k job --no-describe -- bash "$T/body"
	contains "$T/said" 'held by an anonymous holder'
	# a writer waits for every reader
	around <<-'END'
		refused $bare "${inner[@]}" -w 1h -- touch "$T/ran"
		$bare "${inner[@]}" -s -n -- touch "$T/read"
	END
	redlock -k job -s -- bash "$T/body"
	[ ! -e "$T/ran" ]
	[ -e "$T/read" ]
	# but a run that wants one of several slots can get another
	redlock -k job -N 2 -- $bare "$REDLOCK" -u "$url" -k job -n -N 2 -- true
}

@test "nesting: a holder on this host that is no ancestor is waited for" {
	start -k job -- linger until "$T/go"
	wait_until held job
	run -75 $bare "$REDLOCK" -u "$url" -k job -n -- true
	run -75 "$REDLOCK" wait -u "$url" -w 100ms job
	# as if this test were the holder; then its number, but another start
	as_if 0
	run -64 $bare "$REDLOCK" -u "$url" -k job -n -- true
	as_if 1
	run -75 $bare "$REDLOCK" -u "$url" -k job -n -- true
	touch "$T/go"
	finish
	[ "$status" = 0 ]
}

# Makes this test's shell the recorded holder, as name_process() in process.c would
# name it if it had started TICKS earlier.
as_if() { # TICKS
	local who

	who=who:$(cli a get job)
	cli a hset "$state" "$who" "$(cli a --raw hget "$state" "$who" |
		sed "s/^process .*/process $(/usr/bin/python3 -c 'import os, sys
pid, less = sys.argv[1:]
start = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[19]) - int(less)
boot = open("/proc/sys/kernel/random/boot_id").read().strip()
space = os.readlink("/proc/self/ns/pid")
h = 0xcbf29ce484222325
for c in f"{boot} {space} {pid} {start}".encode():
    h = (h ^ c) * 0x100000001b3 % 2**64
print(f"{h:016x}")' $$ "$1")/")"$'\n' >/dev/null
}

@test "nesting: in another PID namespace the outer run is unknown" {
	unshare -fp --mount-proc true 2>/dev/null || skip "no PID namespaces"
	redlock -k job -- sh -c "unshare -fp --mount-proc $bare $(inner) -n -- true ||
		echo \$?" >"$T/new"
	# with the numbers of this one
	redlock -k job -- sh -c "unshare -fp $bare '$REDLOCK' wait -u '$url' -w 100ms job ||
		echo \$?" >"$T/old"
	[ "$(cat "$T/new" "$T/old" | tr '\n' ' ')" = '75 75 ' ]
}

@test "nesting: the key is lost, with all data and alone: joined each time" {
	redlock -k job -t 3s -- sh -c "echo \$REDLOCK_FENCE
		for lost in flushall 'del job' flushall 'del job'; do
			redis-cli -s '$T/a.sock' \$lost >/dev/null
			$(inner) -w 1m -- sh -c 'echo \$REDLOCK_FENCE'
		done" >"$T/fences"
	[ "$(wc -l <"$T/fences")" = 5 ]
	[ "$(sort -u "$T/fences" | wc -l)" = 1 ]
}

@test "nesting: the key vanished and the outer run does not know yet: joined" {
	redlock -k job -t 1s -- sh -c "redis-cli -s '$T/a.sock' del job
		$(inner) -t 1s -w 1m -- sh -c 'echo ran >\"$T/ran.1\"'
		redis-cli -s '$T/a.sock' flushall
		$(inner) -t 1s -w 1m -- sh -c 'echo ran >\"$T/ran.2\"'" >/dev/null
	[ -e "$T/ran.1" ]
	[ -e "$T/ran.2" ]
	redlock -s -k job -t 1s -- sh -c "redis-cli -s '$T/a.sock' flushall
		$(inner) -s -t 1s -w 1m -- touch '$T/ran.3'" >/dev/null
	[ -e "$T/ran.3" ]
	cli a flushall >/dev/null
}

@test "nesting: all data vanished: -n and -w end that wait, too, and say what for" {
	local give_up

	for give_up in -n '-w 300ms'; do
		cli a flushall >/dev/null # data that were lost are remembered for T
		run -75 redlock -k job -t 1h -- sh -c "redis-cli -s '$T/a.sock' flushall >'$T/out'
			$(inner) $give_up -- touch '$T/never'"
		[[ $output == *'not acquired'*': the hold of the run around this one (REDLOCK_HELD) has vanished'* ]]
	done
	for give_up in -n '-w 300ms'; do
		cli a flushall >/dev/null
		run -75 sh -c "eval \"\$('$REDLOCK' lock -u '$url' left -t 1h --export)\"
			redis-cli -s '$T/a.sock' flushall >'$T/out'
			exec $(inner left) $give_up -- touch '$T/never'"
		[[ $output == *'the server lost data'* ]]
	done
	[ ! -e "$T/never" ]
	cli a flushall >/dev/null
}

@test "nesting: joins across a run with the same key on another server" {
	node_start b
	redlock -k job -- "$REDLOCK" -u "unix://$T/b.sock" -k job -- \
		"$REDLOCK" -u "$url" -k job -n -- touch "$T/ran"
	[ -e "$T/ran" ]
}

@test "nesting: joins across a run without a lock" {
	redlock -k job -- "$REDLOCK" -q -u "unix://$T/nobody" -n \
		--on-unavailable run -k other -- "$REDLOCK" -u "$url" -k job -n \
		-- touch "$T/ran"
	[ -e "$T/ran" ]
}

@test "nesting: a run inside a slot has the same slot" {
	client a "$alone" -N 2
	running a
	redlock -k job -N 2 -- sh -c "echo \$REDLOCK_SLOT >'$T/out'
		$(inner) -N 2 -n -- sh -c 'echo \$REDLOCK_SLOT >\"$T/in\"'
		$(inner) -n -- sh -c 'echo \$REDLOCK_SLOT >>\"$T/in\"'"
	[ "$(cat "$T/out" "$T/in" | sort -u)" = 1 ]
	let_go a
	ended a
}

@test "a loss of the last second forgets a nested run: its next renewal is enough" {
	helper "$REDLOCK" -q -u "$url" -k job -t 3s -- sh -c '
		: >"$1/outer"; linger until "$1/go"
		"$0" -q -k job -t 3s -- witness "$1" --hold 60000 --started "$1/inner" &
		linger until "$1/end"' "$REDLOCK" "$T"
	tool=$!
	wait_until exists "$T/outer"
	cli a eval "return redis.call('set', 'saved', redis.call('dump', KEYS[1]))" \
		1 "$state" >/dev/null
	: >"$T/go"
	wait_until exists "$T/inner"
	# as if the server had come back without the join
	cli a eval "redis.call('restore', KEYS[1], 0, redis.call('get', 'saved'), 'replace')
		return redis.call('del', 'saved')" 1 "$state" >/dev/null
	[ "$(entries)" = 1 ]
	wait_until eval '[ "$(entries)" = 2 ]'
	: >"$T/end"
	wait "$tool"
	run -75 redlock -k job -n -- witness "$T"
	pkill -KILL -f "^witness $T" || pkill -KILL -f "witness $T"
	wait_until lock_is_free
}
