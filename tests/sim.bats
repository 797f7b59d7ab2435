#!/usr/bin/env bats
# The simulator and its own tests: see tests/sim/sim.c and differ.c.

load lib/common
sim=$TEST_BIN/../sim/sim
differ=$TEST_BIN/../sim/differ
kinds=$TEST_BIN/../sim/kinds
runs=${SANITIZED:+10000} # those builds are ten times slower
runs=${runs:-100000}

@test "P1 P2 P6 100,000 simulated schedules on one node break no promise" {
	run -0 "$sim" --runs "$runs"
}

@test "P1 P2 P6 and 100,000 on three nodes, and on five" {
	run -0 "$sim" --nodes 3 --runs "$((runs * 8 / 10))"
	run -0 "$sim" --nodes 5 --runs "$((runs / 5))"
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
	run -0 "$differ" "$T/a.sock" 100000
	cli a flushall >/dev/null
}

# ---- slots, readers, runs inside runs: tests/sim/kinds.c ----

schedules=${SANITIZED:+250}
schedules=${schedules:-2500}

need_kinds() {
	[ -x "$kinds" ] || skip "built without Lua 5.1 (liblua5.1-0-dev)"
}

@test "2,500 simulated schedules of all kinds of lock break no promise" {
	need_kinds
	run -0 "$kinds" --runs "$schedules"
}

@test "240 simulated schedules of all kinds on three and five nodes break no promise" {
	need_kinds
	run -0 "$kinds" --nodes 3 --runs "$((schedules / 12))"
	run -0 "$kinds" --nodes 5 --runs "$((schedules / 80))"
}

@test "each broken twin of the scripts is caught by the simulator" {
	need_kinds
	run -0 "$kinds" --twins 3000
}

@test "the small Redis of the simulator and a real server agree" {
	need_kinds
	run -0 "$kinds" --differ "$T/a.sock" 5000
	cli a flushall >/dev/null
}
