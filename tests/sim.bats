#!/usr/bin/env bats
# The simulator and its own tests: see tests/sim/sim.c and compare.c.
#
# Each run plays other schedules: the log of this file says which, and
# SIM_SEED=N plays them again. SIM_FULL=1 plays more
# (make check-sim); make prove plays a million.

load lib/common
sim=$TEST_BIN/../sim/sim

setup_file() {
	export SIM_SEED=${SIM_SEED:-$(date +%s)}
	echo "# SIM_SEED=$SIM_SEED" >&3
}
need_lua() {
	[ -x "$sim" ] || skip "built without Lua 5.1 (liblua5.1-0-dev)"
}
from() { echo --from "${SIM_SEED}000000"; }
# of N in a full run: a twenty-fifth, or less where a sanitizer makes it slow
some() {
	local n=$(($1 / 25))

	[ -z "${SANITIZED:-}" ] || n=$(($1 / 125))
	[ -z "${SIM_FULL:-}" ] || n=$1
	echo $((n > 0 ? n : 1))
}

@test "each script answers as the table says" {
	need_lua
	run -0 "$sim" --rules "$top/tests/sim/rules"
}

@test "simulated schedules on one node break no promise" {
	need_lua
	run -0 "$sim" --runs "$(some 10000)" $(from)
}

@test "simulated schedules on three and on five nodes break no promise" {
	need_lua
	run -0 "$sim" --nodes 3 --runs "$(some 3000)" $(from)
	run -0 "$sim" --nodes 5 --runs "$(some 600)" $(from)
}

@test "each broken twin of the protocol is caught by the simulator" {
	need_lua
	run -0 "$sim" --twins 20000
}

@test "a seed plays the same schedule again" {
	need_lua
	"$sim" 4711 >"$T/one"
	"$sim" 4711 >"$T/two"
	[ -s "$T/one" ]
	cmp "$T/one" "$T/two"
}

@test "the small Redis of the simulator and a real server agree" {
	need_lua
	run -0 "$sim" --differ "$T/a.sock" "$(some 20000)" "$SIM_SEED"
}

@test "the short cut of the scripts agrees with the rest" {
	need_lua
	run -0 "$sim" --plain "$(some 200000)" "$SIM_SEED"
}

@test "each broken twin of the short cut is noticed" {
	need_lua
	run -0 "$sim" --plain-twins 400000
}

@test "the scripts mean the same without their blanks" {
	local name names

	need_lua
	embedded() { # NAME [plain]; the line "#!lua ..." is for the server
		sh "$top/scripts/embed-lua.sh" "$top/src/lua" "$@" | sed '1{/^#!/d}'
	}
	names=$(sed -n 's/^script \([A-Z_]*\) .*/\1/p' "$top/scripts/embed-lua.sh")
	[ "$(wc -w <<<"$names")" -ge 9 ]
	for name in $names; do
		embedded "$name" >"$T/short"
		embedded "$name" plain >"$T/plain"
		[ "$(wc -c <"$T/short")" -lt "$(wc -c <"$T/plain")" ]
		run -0 "$sim" --same "$T/short" "$T/plain"
	done
	embedded HISTORY >"$T/short"
	[ "$(head -1 "$T/short")" = '--!df flags=allow-undeclared-keys' ]
	sed 's/2592000000/2592000001/' "$T/short" >"$T/other"
	run -1 "$sim" --same "$T/short" "$T/other"
}
