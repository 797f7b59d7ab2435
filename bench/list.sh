#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures `redlock list` with few locks among many other keys, and beside it a bare
# SCAN by redis-cli for the same names.
#
#   bench/list.sh [PATH-OF-REDLOCK] [ROUNDS] [OTHER-KEYS] [LOCKS]
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${2:-5}
others=${3:-1000000}
locks=${4:-1000}
export LC_ALL=C

ms() { date +%s%N | sed 's/......$//'; }
timed() { # NAME COMMAND...: a line in $W/NAME, in ms
	name=$1
	shift
	from=$(ms)
	"$@" >"$W/out"
	echo $(($(ms) - from)) >>"$W/$name"
}
server_us() { # so long the server was busy with commands
	redis-cli -s "$sock" info commandstats | tr -d '\r' |
		awk -F '[=,]' '/^cmdstat_/ { sum += $4 } END { print sum + 0 }'
}

redis_options='--enable-debug-command yes'
start_redis
machine
redis-cli -s "$sock" debug populate "$others" other 10 >/dev/null
i=0
while [ $i -lt "$locks" ]; do
	i=$((i + 1))
	printf 'SET job%d tok%d PX 600000\n' $i $i
	printf 'HSET job%d:redlock:{job%d}:state fence 1790000000000000 holder "token tok%d\\nttl 600000\\nsince 1790000000000\\nhost web1\\npid 7\\nuser ann\\ncommand backup\\n"\n' $i $i $i
done | redis-cli -s "$sock" --pipe >/dev/null
echo "$others other keys, $locks locks"
i=0
while [ $i -lt "$rounds" ]; do
	i=$((i + 1))
	timed bare redis-cli -s "$sock" --scan --pattern '*redlock:*'
	redis-cli -s "$sock" config resetstat >/dev/null
	timed list "$redlock" list -q -u "unix://$sock"
	server_us >>"$W/busy"
	[ "$(wc -l <"$W/out")" = $((locks + 1)) ] || {
		echo "$0: redlock list shows $(wc -l <"$W/out") lines" >&2
		exit 1
	}
done
# And the share of the time while somebody watches all the time.
seconds=20
redis-cli -s "$sock" config resetstat >/dev/null
timeout "$seconds" "$redlock" top --json -q -u "unix://$sock" >"$W/out" || :
server_us >"$W/top"
median() { sort -n "$W/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
printf '%-46s %s ms\n' 'redlock list' "$(summary <"$W/list")" \
	"redis-cli --scan --pattern '*redlock:*'" "$(summary <"$W/bare")"
awk -v list="$(median list)" -v bare="$(median bare)" \
	-v busy="$(median busy)" -v top="$(cat "$W/top")" \
	-v seconds="$seconds" -v rounds="$(wc -l <"$W/out")" 'BEGIN {
	printf "redlock list takes %.2f of the bare scan\n", list / bare
	printf "the server is busy for %.0f ms of it\n", busy / 1000
	printf "redlock top: for %.1f %% of the time, with a round each %.1f s\n",
		top / 1e4 / seconds, seconds / (rounds > 0 ? rounds : 1) }'
