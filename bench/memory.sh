#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures what holding a lock, and waiting for one, costs while nothing happens:
# private memory and wake-ups.
#
#   bench/memory.sh [PATH-OF-REDLOCK] [SECONDS]
#
# Memory is Private_Clean + Private_Dirty of smaps_rollup; wake-ups are the
# context switches of all threads, per renewal that the server counted.
set -eu
. "$(dirname "$0")/lib.sh"
seconds=${2:-6}

holds() { [ "$(redis-cli -s "$sock" exists "$1")" = 1 ]; }
line() { printf '%-46s %6s kB\n' "$1" "$2"; }

start_redis
machine
echo
echo "private memory while holding"
redis_url=unix://$sock
"$redlock" -q -u "$redis_url" -k job -t 1s -- sleep 600 &
tool=$!
mine="$mine $tool"
wait_until holds job
sleep 1 # past the first renewal: the watchdog runs
guard=$(child $tool lockguard)
[ -n "$guard" ] || { echo "$0: no guard found" >&2; exit 1; }
line "redlock" "$(private_kb $tool)"
line "redlock's guard" "$(private_kb "$guard")"
line "redlock and guard together" "$(private_kb $tool "$guard")"
if have flock; then
	flock "$W/file" sleep 600 &
	mine="$mine $!"
	flock_pid=$!
	wait_until child $flock_pid sleep
	line "flock" "$(private_kb $flock_pid)"
fi
if start_etcd; then
	etcdctl lock z -- sh -c "touch '$W/held'; exec sleep 600" &
	mine="$mine $!"
	etcd_pid=$!
	wait_until has "$W/held"
	line "etcdctl lock" "$(private_kb $etcd_pid)"
else
	echo "etcdctl lock: skipped (needs etcd-server and etcd-client)"
fi

echo
echo "private memory while waiting"
"$redlock" -q -u "$redis_url" -k job -- true &
waiter=$!
mine="$mine $waiter"
wait_until child $waiter lockguard
sleep 0.5
line "redlock and guard together" \
	"$(private_kb "$waiter" "$(child "$waiter" lockguard)")"
if have flock; then
	flock "$W/file" true &
	mine="$mine $!"
	flock_waiter=$!
	sleep 0.5
	line "flock" "$(private_kb $flock_waiter)"
fi
if [ -e "$W/held" ]; then
	etcdctl lock z true &
	mine="$mine $!"
	etcd_waiter=$!
	sleep 1
	line "etcdctl lock" "$(private_kb $etcd_waiter)"
fi
kill -KILL $waiter

echo
echo "wake-ups while holding, -t 1s, for $seconds s"
sleep 0.3
before=$(switches $tool "$guard") calls=$(calls "eval|evalsha")
sleep "$seconds"
after=$(switches $tool "$guard")
calls=$(($(calls "eval|evalsha") - calls))
echo "$((after - before)) context switches of redlock and guard," \
	"$calls renewals: $(echo "$((after - before)) $calls" |
		awk '{ printf "%.2f", $1 / $2 }') per renewal"
kill $tool # or its guard would complain
wait $tool 2>/dev/null || :
