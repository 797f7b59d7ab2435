#!/usr/bin/env bats
# The simulators and their own tests: see tests/sim/sim.c, kinds.c and differ.c.
#
# Each run plays other schedules: the log of this file says which, and
# SIM_SEED=N plays them again. SIM_FULL=1 plays more, and tries every twin
# (make check-sim); make prove plays millions.

load lib/common
sim=$TEST_BIN/../sim/sim
differ=$TEST_BIN/../sim/differ
kinds=$TEST_BIN/../sim/kinds

setup_file() {
	export SIM_SEED=${SIM_SEED:-$(date +%s)}
	echo "# SIM_SEED=$SIM_SEED" >&3
}
from() { echo --from "${SIM_SEED}000000"; }
# of N in a full run: a twentieth, or a hundredth where a sanitizer makes it slow
some() {
	local n=$(($1 / 20))

	[ -z "${SANITIZED:-}" ] || n=$(($1 / 100))
	[ -z "${SIM_FULL:-}" ] || n=$1
	echo $((n > 0 ? n : 1))
}
twins() { # SIMULATOR SCHEDULES PARTS
	if [ -n "${SIM_FULL:-}" ]; then
		"$1" --twins "$2"
	else
		"$1" --twins "$2" --parts "$3" --from "$SIM_SEED"
	fi
}
need_kinds() {
	[ -x "$kinds" ] || skip "built without Lua 5.1 (liblua5.1-0-dev)"
}

@test "P1 P2 P6 simulated schedules on one node break no promise" {
	run -0 "$sim" --runs "$(some 100000)" $(from)
}

@test "P1 P2 P6 nor on three nodes, nor on five" {
	run -0 "$sim" --nodes 3 --runs "$(some 80000)" $(from)
	run -0 "$sim" --nodes 5 --runs "$(some 20000)" $(from)
}

@test "each broken twin of the protocol is caught by the simulator" {
	run -0 twins "$sim" 100000 15
}

@test "a seed plays the same schedule again" {
	"$sim" 4711 >"$T/one"
	"$sim" 4711 >"$T/two"
	[ -s "$T/one" ]
	cmp "$T/one" "$T/two"
}

@test "the simulated node and the scripts in a real server agree" {
	run "$differ" "$T/a.sock" "$(some 100000)"
	echo "$output"
	[ "$status" = 0 ]
}

@test "simulated schedules of all kinds of lock break no promise" {
	need_kinds
	run -0 "$kinds" --runs "$(some 2500)" $(from)
}

@test "simulated schedules of all kinds on three and five nodes break no promise" {
	need_kinds
	run -0 "$kinds" --nodes 3 --runs "$(some 200)" $(from)
	run -0 "$kinds" --nodes 5 --runs "$(some 40)" $(from)
}

@test "each broken twin of the scripts is caught by the simulator" {
	need_kinds
	run -0 twins "$kinds" 3000 48
}

@test "the small Redis of the simulator and a real server agree" {
	need_kinds
	run -0 "$kinds" --differ "$T/a.sock" "$(some 5000)"
}

@test "the scripts are sent without their blanks, and mean the same" {
	local name names

	need_kinds
	embedded() { # NAME [plain]; the line "#!lua ..." is for the server
		sh "$top/scripts/embed-lua.sh" "$top/src/lua" "$@" | sed '1{/^#!/d}'
	}
	names=$(sed -n 's/^script \([A-Z_]*\) .*/\1/p' "$top/scripts/embed-lua.sh")
	[ "$(wc -w <<<"$names")" -ge 12 ]
	for name in $names; do
		embedded "$name" >"$T/short"
		embedded "$name" plain >"$T/plain"
		[ "$(wc -c <"$T/short")" -lt "$(wc -c <"$T/plain")" ]
		run -0 "$kinds" --same "$T/short" "$T/plain"
	done
	embedded HISTORY >"$T/short"
	sed 's/2592000000/2592000001/' "$T/short" >"$T/other"
	run -1 "$kinds" --same "$T/short" "$T/other"
}
