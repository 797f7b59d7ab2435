#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures what thousands of redlocks cost one server: its share of a core, its
# memory, and the time of a renewal and of a hand-over. Clients and server share the
# machine, so with 2 cores the times include waiting for a core.
#
# For comparison, as many clients renew as often with a bare compare-and-PEXPIRE, or
# with only a GET. No lock costs less.
#
#   bench/scale.sh [PATH-OF-REDLOCK] [SECONDS]
#
# Needs `make bench/scale` in the build directory that this redlock comes from.
set -eu
. "$(dirname "$0")/lib.sh"
seconds=${2:-20}
# the build directory: both programs must be of the same build
scale=$(dirname "$redlock")/bench/scale
[ -x "$scale" ] || {
	echo "$0: run \"make bench/scale\" first" >&2
	exit 69
}
# shellcheck disable=SC3045
ulimit -n 60000 2>/dev/null || :
redis_options="--maxclients 40000"
start_redis

# A socket with many clients at the door may refuse one more.
ask_info() { # SECTION
	until redis-cli -s "$sock" info "$1" 2>/dev/null; do
		kill -0 "$redis" || return 1
		sleep 0.1
	done
}
info() { # FIELD
	ask_info all | tr -d '\r' | sed -n "s/^$1://p"
}
cpu_ms() {
	ask_info cpu | tr -d '\r' |
		awk -F: '/^used_cpu_(sys|user):/ { s += $2 } END { print int(s * 1000) }'
}

# What the keys take. (used_memory less mem_clients_normal is not that: the
# server counts the buffers of its clients with some delay.)
keys_bytes() {
	redis-cli -s "$sock" eval "local bytes = 0
		for _, key in ipairs(redis.call('keys', '*')) do
			bytes = bytes + (redis.call('memory', 'usage', key,
				'samples', 0) or 0)
		end
		return bytes" 0
}

# Fails if scale dies before it says WORD.
await() { # WORD PID
	until grep -q "$1" "$W/out"; do
		kill -0 "$2" 2>/dev/null || {
			echo "$0: scale died before it had $1:" >&2
			cat "$W/err" >&2
			return 1
		}
		sleep 0.1
	done
}

# What they cost while they are there.
trial() { # WORDS KEYS EACH T HOLD
	measure "$1" $(($2 * $3)) "$scale" "unix://$sock" "$2" "$3" "$4" "$5" "$seconds"
}
yardstick() { # WORDS CLIENTS T EVERY HOW
	measure "$1" "$2" "$W/renew" "$sock" "$2" "$3" "$4" "$seconds" "$5"
}
measure() { # WORDS CLIENTS COMMAND...
	redis-cli -s "$sock" flushall >/dev/null
	words=$1
	all=$2
	shift 2
	"$@" >"$W/out" 2>"$W/err" &
	trial=$!
	mine="$mine $trial"
	await settled $trial || {
		status=1
		return 0
	}
	data=$(keys_bytes)
	clients=$(info connected_clients)
	cpu=$(cpu_ms)
	calls=$(info total_commands_processed)
	await counted $trial || {
		status=1
		return 0
	}
	cpu=$(($(cpu_ms) - cpu))
	calls=$(($(info total_commands_processed) - calls))
	wait $trial || :
	awk -v words="$words" -v all="$all" -v data="$data" -v cpu="$cpu" \
		-v seconds="$seconds" -v calls="$calls" -v clients="$clients" '
		{ v[$1] = $2 }
		END {
			printf "%-34s %5.1f%% of a core, %6d commands/s, %d connections, %d bytes of data each\n",
				words, cpu / seconds / 10, calls / seconds, clients, data / all
			if (v["renewals"])
				printf "%34s renewals %d/s, p50 %.1f ms, p99 %.1f ms\n", "",
					v["renewals"] / seconds, v["renewals_p50_us"] / 1000,
					v["renewals_p99_us"] / 1000
			if (v["handovers"])
				printf "%34s hand-overs %d/s, p50 %.2f ms, p99 %.2f ms\n", "",
					v["handovers"] / seconds, v["handovers_p50_us"] / 1000,
					v["handovers_p99_us"] / 1000
			if (v["lost"] + v["ended"])
				printf "%34s %d leases lost, %d ended without the lock\n", "",
					v["lost"], v["ended"]
		}' "$W/out"
	sed 's/[0-9a-f-]\{36\}/TOKEN/' "$W/err" | sort | uniq -c | sort -rn | head -n 3
	sleep 0.5
}

compile renew
machine
status=0
# A first look.
if [ "$seconds" -lt 5 ]; then
	yardstick '100 bare ones' 100 3000 500 compare
	trial '100 holders, T 3 s' 100 1 3000 0
	trial '100 waiters, each holds for 20 ms' 1 101 3000 20
	exit $status
fi
yardstick '10,000 that only read it' 10000 30000 5000 get
yardstick '10,000 bare ones' 10000 30000 5000 compare
trial '10,000 holders, T 30 s' 10000 1 30000 0
for n in 10 1000 5000; do
	trial "$n waiters on one key, at rest" 1 $((n + 1)) 30000 0
done
for n in 10 1000 5000; do
	trial "$n waiters, each holds for 20 ms" 1 $((n + 1)) 30000 20
done
trial '1,000 keys, 10 contenders each' 1000 10 30000 100
exit $status
