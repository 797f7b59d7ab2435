#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures how long a service on one of three machines stands still when its machine
# stops, dies or is cut off, and when the server is away (examples/scripts/service.sh).
#
#   bench/takeover.sh [PATH-OF-REDLOCK] [ROUNDS] [LEASE-IN-SECONDS]
#
# A machine is a PID namespace, which takes root or user namespaces. What it runs
# notes when it starts; it is dead when nobody holds the lock of its file any more.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${2:-5}
ttl=${3:-10}
export REDLOCK="$redlock" PAUSE=0.2 W

cat >"$W/work" <<'SCRIPT'
#!/bin/sh
exec 9>>"$W/alive"
flock -n 9 || echo "$MACHINE is not alone" >>"$W/two"
echo "$MACHINE $(date +%s%3N)" >>"$W/starts"
exec sleep 3600
SCRIPT
chmod +x "$W/work"
set -- -pf
[ "$(id -u)" = 0 ] || set -- -Upf --map-root-user
own="$* --kill-child --mount-proc"

now() { date +%s%3N; }
power_on() { # NAME URL
	# shellcheck disable=SC2086 # words
	MACHINE=$1 unshare $own "$here/../examples/scripts/service.sh" job -q -u "$2" \
		-t "${ttl}s" -- "$W/work" 2>/dev/null &
	echo $! >"$W/pid.$1"
	mine="$mine $!"
}
first() { pgrep -P "$(cat "$W/pid.$1")"; }
more_than() { [ "$(wc -l <"$W/starts")" -gt "$1" ]; }
in_line() { [ "$(redis-cli -s "$sock" zcount 'job:redlock:{job}:queue' 0 +inf)" = "$1" ]; }
dead() { flock -n "$W/alive" true; }
long() { # COMMAND...: until it is true, without a limit
	until "$@" >/dev/null 2>&1; do sleep 0.005; done
}
works() { tail -n 1 "$W/starts" | cut -d ' ' -f 1; }
gap() { # COMMAND...: milliseconds from now to the next start
	before=$(wc -l <"$W/starts")
	from=$(works)
	began=$(now)
	"$@"
	long more_than "$before"
	ended=$(tail -n 1 "$W/starts" | cut -d ' ' -f 2)
	echo $((ended - began))
	# back as the last in line
	network pass
	[ -d "/proc/$(cat "$W/pid.$from")" ] || power_on "$from" "unix://$sock"
	long in_line 2
}
network() { echo "$1" >"$W/px.new" && mv "$W/px.new" "$W/px"; }
repeat() { # ROUNDS NAME COMMAND...
	n=$1 name=$2
	shift 2
	while [ "$n" -gt 0 ]; do
		"$@" >>"$W/$name"
		n=$((n - 1))
	done
	printf '%-55s ' "$name"
	summary <"$W/$name"
}

stop() { kill -TERM "$(first "$from")" && long gone "$from"; }
gone() { ! [ -d "/proc/$(cat "$W/pid.$1")" ]; }
die() { kill -KILL "$(first "$from")" && long gone "$from"; }
restart() { # after SECONDS
	kill -KILL "$redis"
	wait "$redis" || :
	sleep "$1"
	redis-server --port 0 --unixsocket "$sock" --save '' --appendonly yes --dir "$W" \
		--logfile "$W/redis.log" &
	redis=$!
	mine="$mine $redis"
	long redis-cli -s "$sock" get job
}
away() {
	restart $((ttl + ttl / 5))
	began=$(now)
}
cut_off() {
	network silent
	long dead
	echo $(($(now) - began)) >>"$W/dies"
}

redis_options='--appendonly yes' start_redis
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -o "$W/proxy" "$here/../tests/lib/proxy.c"
machine
echo "milliseconds without the service, -t ${ttl}s"
: >"$W/starts"
for m in 1 2 3; do
	power_on $m "unix://$sock"
	[ $m != 1 ] || long more_than 0
done
long in_line 2
repeat "$rounds" 'the machine is stopped' gap stop
repeat "$rounds" 'the machine dies' gap die
before=$(wc -l <"$W/starts")
n=$rounds
while [ "$n" -gt 0 ]; do
	restart 0
	long in_line 2
	n=$((n - 1))
done
echo "the server is killed and starts: $(($(wc -l <"$W/starts") - before)) of $rounds times another machine"
repeat "$rounds" 'the server is back after longer than the lease' gap away
once_cut() { # the first machine, which works
	for m in 1 2 3; do
		! kill -KILL "$(first $m)" 2>/dev/null || long gone $m
	done
	redis-cli -s "$sock" flushall >/dev/null
	before=$(wc -l <"$W/starts")
	power_on 1 "unix://$W/px.sock"
	long more_than "$before"
	power_on 2 "unix://$sock"
	power_on 3 "unix://$sock"
	long in_line 2
	gap cut_off
}
network pass
"$W/proxy" "$W/px.sock" "$sock" "$W/px" >/dev/null &
mine="$mine $!"
repeat "$rounds" 'the machine is cut off: until another one works' once_cut
printf '%-55s ' 'the machine is cut off: until its command is dead'
summary <"$W/dies"
[ ! -s "$W/two" ] || {
	cat "$W/two"
	exit 1
}
echo 'never two'
