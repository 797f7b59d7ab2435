#!/bin/sh
# SPDX-License-Identifier: MIT
# What the scripts of an uncontended run cost the server, beside a bare
# compare-and-delete: Redis' own usec_per_call.
#
#   bench/scripts.sh [PATH-OF-REDLOCK]... [ROUNDS]
#
# The requests of one run are recorded, and each is replayed alone, on the keys
# as they were before it (DUMP and RESTORE, which are not counted); the bare one
# beside the same keys, because the RESTORE of a long history leaves cold caches. The rounds
# are interleaved; the fastest counts: what else runs makes the others slower.
# "only" is a script that gets the same arguments and calls the same commands,
# written out, and decides nothing: no script that calls them can cost less.
# Then: how many commands run inside, and from one release to the next start.
# With several builds all take turns.
set -eu
builds=
while [ $# -gt 0 ] && [ -x "$1" ]; do
	builds="$builds $(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
	shift
done
rounds=${1:-9}
# shellcheck disable=SC2086 # a list
set -- ${builds:-./redlock}
. "$(dirname "$0")/lib.sh"
[ -n "$builds" ] || builds=$redlock
each=300 # replays per round

start_redis
cli() { redis-cli -s "$sock" "$@"; }

# What MONITOR told of commands, quoted as redis-cli prints them.
monitor_on() {
	: >"$W/monitor" # not the answer of the last one
	redis-cli -s "$sock" monitor >"$W/monitor" &
	monitor=$!
	mine="$mine $monitor"
	wait_until grep -q OK "$W/monitor"
}
monitor_off() {
	cli echo the-end >/dev/null
	wait_until grep -q the-end "$W/monitor"
	kill $monitor
	wait $monitor 2>/dev/null || :
}
requests() { sed -nE 's/^[0-9.]+ \[0 [^l][^]]*\] ("EVALSHA".*)/\1/ip' "$W/monitor"; }
inside() { grep -c '\[0 lua\]' "$W/monitor" || :; }

# The RESTORE of every key as it is now.
keys_now() {
	cli --no-raw keys '*' | sed -nE 's/^ *[0-9]+\) //p' | while read -r k; do
		name=${k#\"} name=${name%\"} # nothing to escape is in ours
		ttl=$(cli pttl "$name")
		printf 'RESTORE %s %s %s REPLACE\n' "$k" \
			$((ttl > 0 ? ttl : 0)) "$(cli --no-raw dump "$name")"
	done
}

# A request that finds what it found then, and leaves nothing for the next.
replay() { # NAME
	redis-cli -s "$sock" flushdb >/dev/null
	cli config resetstat >/dev/null
	cli <"$W/$1.replay" >"$W/answers"
	! grep -m 1 '^[A-Z]* \|error' "$W/answers" >&2 || exit 1
	cli info commandstats | sed -nE \
		's/^cmdstat_evalsha:.*usec_per_call=([0-9.]*),.*/\1/p' >>"$W/$1.us"
}
prepare() { # NAME REQUEST: on the keys as they are
	{
		keys_now
		printf '%s\n' "$2"
	} >"$W/once"
	n=0
	while [ $n -lt $each ]; do
		echo FLUSHDB
		cat "$W/once"
		n=$((n + 1))
	done >"$W/$1.replay"
	monitor_on
	printf '%s\n' "$2" | cli >"$W/$1.answer"
	monitor_off
	inside >"$W/$1.inside"
}

# The same, and beside it the commands that were called, and nothing else.
prepare_both() { # NAME REQUEST
	keys_now >"$W/keys"
	prepare "$1" "$2"
	only=$(sed -nE 's/^[0-9.]+ \[0 lua\] (.*)/redis.call(\1)/p' "$W/monitor" |
		sed -E 's/" "/", "/g'
		echo 'return {"yes", "0", 0, 0, "0", "0", "-1", ""}')
	sha=$(cli script load "$only")
	cli flushdb >/dev/null
	cli <"$W/keys" >/dev/null
	prepare "$1-only" "$(printf '%s\n' "$2" |
		sed -E "s/^\"EVALSHA\" \"[0-9a-f]*\"/\"EVALSHA\" \"$sha\"/I")"
}

with_history() { # BUILD: as long as it gets
	cli flushall >/dev/null
	n=0
	while [ $n -lt 120 ]; do
		"$1" -u "unix://$sock" -k job -- true
		n=$((n + 1))
	done
}

record() { # BUILD NAME: what it sends
	with_history "$1"
	# twice: a script that is not known yet travels whole
	"$1" -u "unix://$sock" -k job -t 7777ms -- sleep 1.4
	monitor_on
	"$1" -u "unix://$sock" -k job -t 7777ms -- sleep 1.4
	monitor_off
	requests | sed 's/7777/777700/g' >"$W/requests" # time enough to look
	prepare_both "$2-acquire" "$(sed -n 1p "$W/requests")"
	# what was acquired last is newer than what was recorded
	recorded=$(sed -nE '2s/.* "([0-9]{16})" .*/\1/p' "$W/requests")
	acquired=$(cli hget 'job:redlock:{job}:state' fence)
	sed -i "s/\"$recorded\"/\"$acquired\"/g" "$W/requests"
	prepare_both "$2-confirm" "$(sed -n 2p "$W/requests")"
	prepare_both "$2-release" "$(sed -n '$p' "$W/requests")"
}

# From the holder's release to the next one's start.
hand_over() { # BUILD
	cli flushall >/dev/null
	"$1" -u "unix://$sock" -k job -- true
	rm -f "$W/go" && mkfifo "$W/go"
	"$1" -u "unix://$sock" -k job -- sh -c "read -r _ <'$W/go'" &
	mine="$mine $!"
	wait_until cli --raw exists job
	soon_held() { [ "$(cli exists job)" = 1 ]; }
	wait_until soon_held
	"$1" -u "unix://$sock" -k job -- sh -c \
		"redis-cli -s '$sock' echo started >/dev/null" &
	waiter=$!
	mine="$mine $waiter"
	waits() { cli client list | grep -q cmd=blpop; }
	wait_until waits
	monitor_on
	echo >"$W/go"
	wait $waiter
	monitor_off
	sed -nE '/"started"/q; /\] "EVAL/I,$p' "$W/monitor" |
		grep -vciE '\] "(echo|ping|hello|client|command|info)"'
}

bare="if redis.call('get', KEYS[1]) == ARGV[1] then
return redis.call('del', KEYS[1]) else return 0 end"
sha=$(cli script load "$bare")
with_history "$1"
cli set job 5c3b7b6e-9a53-4d65-a4b7-0c5ee8ee59dc px 30000 >/dev/null
prepare bare "\"EVALSHA\" \"$sha\" \"1\" \"job\" \"5c3b7b6e-9a53-4d65-a4b7-0c5ee8ee59dc\""

machine
names=bare
b=0
for build in $builds; do
	b=$((b + 1))
	record "$build" "$b"
	for verb in acquire confirm release; do
		names="$names $b-$verb $b-$verb-only"
	done
	hand_over "$build" >"$W/$b.over"
done
r=0
while [ "$r" -lt "$rounds" ]; do
	for name in $names; do replay "$name"; done
	r=$((r + 1))
done
printf '\n%-14s %8s %8s %7s %8s\n' 'µs a call' median least ratio commands
for name in $names; do
	sort -n "$W/$name.us" | awk -v name="$name" \
		-v inside="$(cat "$W/$name.inside")" -v f="$W/bare.least" '
		{ v[NR] = $1 }
		END {
			m = v[1]
			if (name == "bare") print m >f
			else getline bare <f
			if (name == "bare") bare = m
			printf "%-14s %8.2f %8.2f %6.1fx %8d\n", name,
				v[int((NR + 1) / 2)], m, m / bare, inside
		}'
done
b=0
for build in $builds; do
	b=$((b + 1))
	echo "$b: $build: $(cat "$W/$b.over") commands from a release to the next start"
done
