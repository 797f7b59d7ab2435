#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures what waiting in line costs while the line stands still: on the server,
# on the network and on the machine of the waiters.
#
#   bench/idle.sh [PATH-OF-REDLOCK] [WAITERS] [SECONDS]
#
# A waiter is two processes: redlock and its guard.
set -eu
. "$(dirname "$0")/lib.sh"
waiters=${2:-100}
seconds=${3:-10}

line() { printf '%-46s %s\n' "$1" "$2"; }
per_waiter() { awk -v sum="$1" -v n="$waiters" -v by="${2:-1}" \
	'BEGIN { printf "%.3f", sum / n / by }'; }
in_line() {
	[ "$(redis-cli -s "$sock" zcard "job:redlock:{job}:queue")" = "$1" ]
}
connections() {
	redis-cli -s "$sock" info clients | tr -d '\r' |
		sed -n 's/^connected_clients://p'
}
# Nanoseconds so far, of redlock and guard together: a line per waiter. Each has one
# thread.
cpu() { # SCHEDSTAT...
	awk '{ sum += $1 } NR % 2 == 0 { print sum; sum = 0 }' "$@"
}

start_redis
machine
# rarely renewed, so that only the waiters' commands count
"$redlock" -q -u "unix://$sock" -k job -t 10m -- \
	sh -c "touch '$W/held'; exec sleep 600" &
holder=$!
mine="$mine $holder"
wait_until has "$W/held"
before=$(connections)
for _ in $(seq "$waiters"); do
	"$redlock" -q -u "unix://$sock" -k job -- true &
	mine="$mine $!"
	tools="${tools:-} $!"
done
wait_until in_line "$waiters"
pids=''
for tool in $tools; do
	pids="$pids $tool $(child "$tool" lockguard)"
done
sleep 1 # whatever comes after coming
echo "$waiters waiters, for $seconds s"
echo
# shellcheck disable=SC2086 # lists
{
	files=$(printf '/proc/%s/schedstat ' $pids)
	cpu $files >"$W/before"
	read -r server _ <"/proc/$redis/schedstat"
	woken=$(switches $pids)
	sent=$(calls 'eval|evalsha|blpop') # nothing else, and no script runs these
	sleep "$seconds"
	sent=$(($(calls 'eval|evalsha|blpop') - sent))
	woken=$(($(switches $pids) - woken))
	read -r now _ <"/proc/$redis/schedstat"
	cpu $files >"$W/after"
	private=$(private_kb $pids)
}
line "commands sent, per second and waiter" "$(per_waiter $sent "$seconds")"
line "connections at the server, per waiter" \
	"$(per_waiter $(($(connections) - before)))"
line "CPU of the server, ms per second" \
	"$(awk -v ns=$((now - server)) -v s="$seconds" \
		'BEGIN { printf "%.2f", ns / s / 1e6 }')"
line "context switches, per second and waiter" \
	"$(per_waiter $woken "$seconds")"
line "CPU of a waiter, ms in $seconds s" "$(paste "$W/before" "$W/after" |
	awk '{ print ($2 - $1) / 1e6 }' | summary)"
line "private memory of a waiter, kB" "$(per_waiter "$private")"
# in order, or the holder's guard would complain
# shellcheck disable=SC2086 # a list
kill -KILL $tools
kill $holder
wait $holder 2>/dev/null || :
