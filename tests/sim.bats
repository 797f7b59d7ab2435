#!/usr/bin/env bats
# The simulator and its own tests: see tests/sim/sim.c and differ.c.

load lib/common
sim=$TEST_BIN/../sim/sim
differ=$TEST_BIN/../sim/differ
runs=${SANITIZED:+10000} # those builds are ten times slower
runs=${runs:-100000}

@test "P1 P2 P6 100,000 simulated schedules on one node break no promise" {
	run -0 "$sim" --runs "$runs"
}

@test "each broken twin of the protocol is caught by the simulator" {
	run -0 "$sim" --twins 100000
}

@test "a seed plays the same schedule again" {
	"$sim" 4711 >"$T/one"
	"$sim" 4711 >"$T/two"
	[ -s "$T/one" ]
	cmp "$T/one" "$T/two"
}

@test "the simulated node and the scripts in a real server agree" {
	run -0 "$differ" "$T/a.sock" 20000
	cli a flushall >/dev/null
}
