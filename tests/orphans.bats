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
