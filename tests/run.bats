#!/usr/bin/env bats
# The main job: the lock is held exactly while the command runs.

load lib/common

@test "the lock is held while the command runs and free afterwards" {
	run -0 redlock -k job -- redis-cli -s "$T/a.sock" exists job
	[ "$output" = 1 ]
	free job
}

@test "the witness counts every one of 24 contending runs" {
	for i in {1..24}; do
		redlock -q -k job -t 5m --node-timeout 1m -w 5m -- \
			witness "$T" --hold 2 &
	done
	wait
	[ "$(holds)" = 24 ]
}

# Longer with REDLOCK_FAULTS=SECONDS. At real-time priority on one processor, where
# that is allowed, a few µs more or less between our processes are another order.
@test "each of some hundred short runs ends with the status of its command" {
	local fast=() n=0 got end

	! taskset -c 0 chrt -f 50 true 2>/dev/null ||
		fast=(taskset -c 0 chrt -f 50)
	end=$((SECONDS + ${REDLOCK_FAULTS:-0}))
	until ((n >= 300 && SECONDS >= end)); do
		got=0
		"${fast[@]}" "$REDLOCK" -q -u "$url" -k job -- true || got=$?
		[ $got = 0 ] || {
			echo "run $n ended with $got" >&2
			return 1
		}
		((n += 1))
	done
}

@test "a lock taken by hand is held until it is released" {
	run -0 redlock lock -k job -t 20s
	[ "$(redis-cli -s "$T/a.sock" exists job)" = 1 ]
	run -0 redlock unlock job --token "$output"
	free job
}

@test "little memory: a run works; too little is reported before any lock is taken" {
	[ -z "${SANITIZED-}" ] || skip "a sanitizer needs more"
	local kib keys=()
	for i in {1..16}; do keys+=(-k "job$i"); done
	limited() { (ulimit -d "$kib" && exec "$REDLOCK" "$@"); }
	kib=8000
	limited -q -u "$url" -k job -- true
	limited -q -u "$url" "${keys[@]}" -- true
	# the least with which a run of one key works
	for ((kib = 1000; kib < 8000; kib += 200)); do
		! limited -q -u "$url" -k job -- true 2>/dev/null || break
	done
	((kib += 400))
	cli a flushall >/dev/null
	run -70 limited -u "$url" "${keys[@]}" -- touch "$T/ran"
	[ "$output" = 'redlock: out of memory' ]
	[ ! -e "$T/ran" ]
	[ -z "$(cli a keys '*')" ]
}
