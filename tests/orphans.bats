#!/usr/bin/env bats
# What a command leaves behind.

load lib/common
load lib/kinds

@test "--orphans wait: the lock is held until the last process has ended" {
	start -k job -t 600ms --orphans wait -- sh -c "setsid sh -c 'while [ -e \
		\"$T/stay.o\" ]; do sleep 0.05; done' & echo on >'$T/on.o'; exit 7"
	: >"$T/stay.o"
	wait_until begun o
	for i in {1..10}; do busy; sleep 0.1; done
	let_go o
	finish
	[ "$status" = 7 ]
	lock_is_free
}

@test "--orphans wait: lost, or held too long, they are killed" {
	start -k job -t 1s --orphans wait -- sh -c "(echo on >'$T/on.o'; sleep 60) & :"
	wait_until begun o
	cli a set job thief px 2000 >/dev/null
	finish
	[ "$status" = 125 ]
	cli a del job >/dev/null
	start -k job --orphans wait --max-hold 300ms -K 100ms -- sh -c '(trap "" TERM
		sleep 60) & :'
	finish
	[ "$status" = 124 ]
}

@test "--orphans kill: they are dead before the lock is free" {
	redlock -k job --orphans kill -- sh -c "setsid sh -c 'trap \"\" TERM HUP
		exec flock -x \"$T/rw\" sleep 60' & while flock -n \"$T/rw\" true; do
		sleep 0.05; done"
	redlock -k job -n -- flock -n "$T/rw" true
}

@test "--orphans leave: they are left, with a warning" {
	run redlock -k job -- sh -c 'sleep 0.3 & :'
	[ "$status" = 0 ]
	[[ $output = *'left processes running; the lock does not cover them'* ]]
	lock_is_free
}

@test "S2 a loss of the last second forgets a nested run: its next renewal is enough" {
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

@test "-N with names: one for each slot, also for a nested run and for lock --export" {
	local n names=(gpu0 'b c' 2)

	list=$(IFS=,; echo "${names[*]}")
	for n in 0 1 2; do
		rm -f "$T/on"
		helper "$REDLOCK" -q -u "$url" -k job -N "$list" -- sh -c '
			echo "$REDLOCK_SLOT $REDLOCK_SLOT_NAME" >>"$T/slots"
			"$0" -k job -- sh -c "echo \"nested \$REDLOCK_SLOT_NAME\"" >>"$T/slots"
			: >"$T/on"; exec linger until "$T/end"' "$REDLOCK"
		wait_until exists "$T/on"
	done
	[ "$(cat "$T/slots")" = $'0 gpu0\nnested gpu0\n1 b c\nnested b c\n2 2\nnested 2' ]
	run -75 redlock -n -k job -N "$list" -- true
	: >"$T/end"
	wait_until free job
	eval "$(redlock lock job --export --slots a,b)"
	[ "$REDLOCK_SLOT $REDLOCK_SLOT_NAME" = "0 a" ]
	# a lock without names has none, whatever runs around it
	run -0 redlock -k other -- sh -c 'echo "${REDLOCK_SLOT_NAME-none}"'
	[ "$output" = none ]
	redlock unlock job
	for list in a,,b ,a a, , a,a a,b,a "$(printf 'x%.0s' {1..128}),b" 0 gpu \
		"$(seq -s, 1001)"; do
		run -64 redlock -n -k job -N "$list" -- true
	done
	run -0 redlock -n -k job -N "$(seq -s, 1000)" -- sh -c 'echo $REDLOCK_SLOT_NAME'
	[ "$output" = 1 ]
	# a number that is typed has no names, whatever the file says
	REDLOCK_SLOTS=a,b run -0 redlock -k job -N 2 -- \
		sh -c 'echo "${REDLOCK_SLOT_NAME-none}"'
	[ "$output" = none ]
}
