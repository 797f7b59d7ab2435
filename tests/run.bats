#!/usr/bin/env bats
# The main job: the lock is held exactly while the command runs.

load lib/common

@test "the lock is held while the command runs and free afterwards" {
	run -0 redlock -k job -- redis-cli -s "$T/a.sock" exists job
	[ "$output" = 1 ]
	free job
}

@test "the witness counts every one of 24 contending runs" {
	for i in {1..24}; do
		redlock -q -k job -t 20s --node-timeout 5s -- \
			witness "$T" --hold 2 &
	done
	wait
	[ "$(holds)" = 24 ]
}

@test "a lock taken by hand is held until it is released" {
	run -0 redlock lock -k job -t 20s
	[ "$(redis-cli -s "$T/a.sock" exists job)" = 1 ]
	run -0 redlock unlock job --token "$output"
	free job
}
