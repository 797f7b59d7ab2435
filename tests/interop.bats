#!/usr/bin/env bats
# On one key with programs that lock with other libraries: Debian's
# python3-redis, npm's redlock (with ioredis) and redis-semaphore. See interop/.
#
# `make check-interop` installs what they need and says where; without that,
# a test whose library is missing is skipped.

load lib/common

interop=$BATS_TEST_DIRNAME/interop
export NODE_PATH=${INTEROP_NODE_MODULES:-$top/build-interop/node_modules}

# them NAME: from here on $them is that program, and $key what it calls "job".
them() {
	key=job
	case $1 in
	python-lock)
		them=(/usr/bin/python3 "$interop/$1.py")
		needs 'python3-redis' /usr/bin/python3 -c 'import redis'
		;;
	node-redlock)
		them=(node "$interop/$1.cjs")
		needs "npm's redlock and ioredis" \
			node -e 'require("ioredis"); require("redlock")'
		;;
	semaphore)
		key=mutex:job
		them=(node "$interop/$1.cjs")
		needs "npm's redis-semaphore and ioredis" \
			node -e 'require("ioredis"); require("redis-semaphore")'
		;;
	esac
	them+=("$T/a.sock" job)
}
needs() { # WHAT COMMAND...
	"${@:2}" >/dev/null 2>&1 || {
		[ -z "${INTEROP_NODE_MODULES:-}" ] || {
			echo "no $1, and this is check-interop" >&2
			return 1
		}
		skip "no $1"
	}
}

# They take the lock (its token is then in $T/theirs) until they_release.
they_wait() { # TTL_MS
	rm -f "$T/theirs" "$T/enough"
	helper "${them[@]}" "$1" hold "$T/theirs" "$T/enough"
	they=$!
}
they_hold() {
	they_wait "$1"
	wait_until exists "$T/theirs"
}
they_release() { : >"$T/enough"; }
they_end_with() { # STATUS
	local got=0
	wait "$they" || got=$?
	[ "$got" = "$1" ]
}

# We hold it until we_release.
we_hold() {
	start -k "$key" -t 2s -- sh -c \
		': >"$T/ours"; until [ -e "$T/done" ]; do sleep 0.01; done'
	wait_until exists "$T/ours"
}
we_release() {
	: >"$T/done"
	finish
	[ "$status" = 0 ]
}

calls() { # of the commands that match, since `no_calls`
	cli a info commandstats |
		awk -F '[:=,]' -v what="^cmdstat_($1)$" \
			'$1 ~ what { n += $3 } END { print n + 0 }'
}
no_calls() { cli a config resetstat >/dev/null; }
called() { [ "$(calls "$1")" -ge "$2" ]; } # COMMANDS N

# ---- one of each ----

we_wait_for() {
	them "$1"
	they_hold 60000
	token=$(cat "$T/theirs")
	[ "$(cli a get "$key")" = "$token" ]
	run -75 redlock -k "$key" -n -- witness "$T"
	[[ $output = *"held by another program, token $token, lease left "* ]]
	start -k "$key" -t 2s -- witness "$T"
	wait_until contains "$T/err" \
		"waiting.*: held by another program, token $token, lease left "
	# a look every 250 ms, less jitter
	began=$(now_ms)
	no_calls
	wait_until called 'eval|evalsha' 4
	took=$(($(now_ms) - began))
	at_least "$took" 690
	below "$took" 3000
	[ "$(holds)" = 0 ]
	[ "$(cli a get "$key")" = "$token" ]
	they_release
	they_end_with 0
	began=$(now_ms)
	finish
	below "$(($(now_ms) - began))" 700
	[ "$status" = 0 ]
	[ "$(holds)" = 1 ]
}
@test "python-lock holds: redlock says so, waits with a look every 250 ms, and gets it" {
	we_wait_for python-lock
}
@test "node-redlock holds: redlock says so, waits with a look every 250 ms, and gets it" {
	we_wait_for node-redlock
}
@test "semaphore holds: redlock says so, waits with a look every 250 ms, and gets it" {
	we_wait_for semaphore
}

they_wait_for_us() {
	them "$1"
	we_hold
	token=$(cli a get "$key")
	run -75 "${them[@]}" 60000 try
	[[ $output = *': busy' ]]
	no_calls
	they_wait 60000
	wait_until called 'set|evalsha' 10
	[ ! -e "$T/theirs" ]
	[ "$(cli a get "$key")" = "$token" ]
	we_release
	wait_until exists "$T/theirs"
	[ "$(cli a get "$key")" = "$(cat "$T/theirs")" ]
	they_release
	they_end_with 0
	free "$key"
	"${them[@]}" 60000 try
}
@test "redlock holds: python-lock finds it taken, waits, and gets it" {
	they_wait_for_us python-lock
}
@test "redlock holds: node-redlock finds it taken, waits, and gets it" {
	they_wait_for_us node-redlock
}
@test "redlock holds: semaphore finds it taken, waits, and gets it" {
	they_wait_for_us semaphore
}

they_die() {
	them "$1"
	they_hold 1500
	start -k "$key" -t 2s -- sh -c \
		'date +%s%3N >"$T/began"; exec witness "$T"'
	wait_until contains "$T/err" 'another program'
	kill -KILL "$they"
	before=$(now_ms)
	left=$(cli a pttl "$key")
	after=$(now_ms)
	at_least "$left" 1 # else this test shows nothing
	finish
	[ "$status" = 0 ]
	began=$(cat "$T/began")
	at_least "$began" $((before + left))
	below "$began" $((after + left + 400))
}
@test "python-lock dies with the lock: redlock gets it when the lease ends, not before" {
	they_die python-lock
}
@test "node-redlock dies with the lock: redlock gets it when the lease ends, not before" {
	they_die node-redlock
}
@test "semaphore dies with the lock: redlock gets it when the lease ends, not before" {
	they_die semaphore
}

# While the witness or one of its children lives, the step would fail.
we_die() { # SIGNAL
	hold 60000
	helper "${them[@]}" 20000 count "$T" 1
	they=$!
	no_calls
	wait_until called set 2
	kill "-$1" "$holder"
	they_end_with 0
	wait_until gone "$worker"
	[ ! -e "$T/errors" ]
}
@test "redlock is killed or stopped: python-lock gets it when the tree is dead" {
	them python-lock
	we_die KILL
	ends_with 137
	we_die STOP
	ends_with 125
	[ "$(holds)" = 2 ]
}

# ---- many ----

# What we do under the lock: the log says in which order.
export OUR_WORK='echo "redlock $1" >>"$T/log"; exec witness "$T" --hold 5'
we_count() { # N
	local i
	for ((i = 0; i < $1; i++)); do
		redlock -q -k "$key" -t 10s -w 20s -- sh -c "$OUR_WORK" || return
		sleep 0.0$((RANDOM % 90 + 10))
	done
}
# contenders N NAME...: each makes N steps; "redlock" is us
contenders() {
	local n=$1 name
	shift
	workers=
	for name; do
		if [ "$name" = redlock ]; then
			helper we_count "$n"
		else
			them "$name"
			helper "${them[@]}" 20000 count "$T" "$n"
		fi
		workers="$workers $!"
	done
	total=$((n * $#))
}
# Each has a limit of 20 s for each lock: nobody is left to starve.
all_end_well() {
	local pid
	for pid in $workers; do wait "$pid"; done
	[ ! -e "$T/errors" ]
	[ "$(holds)" = "$total" ]
	[ "$(wc -l <"$T/log")" = "$total" ]
}
# How often the lock went from one program to another
changes() { cut -d' ' -f1 "$T/log" | uniq | wc -l; }

@test "the counter of this file shows when two programs do not exclude each other" {
	them python-lock
	start -k another -t 2s -- witness "$T" --hold 60000 --started "$T/ours"
	wait_until exists "$T/ours"
	"${them[@]}" 20000 count "$T" 1
	contains "$T/errors" 'exclusion violated by python-lock'
	rm "$T/errors"
	kill "$tool"
	finish
}

@test "redlock, python-lock and node-redlock count together, and miss none" {
	them node-redlock
	contenders 10 redlock python-lock node-redlock redlock python-lock \
		node-redlock redlock python-lock node-redlock redlock
	all_end_well
	at_least "$(changes)" 10
}

@test "redlock and semaphore count together, and miss none" {
	them semaphore
	contenders 10 redlock semaphore redlock semaphore redlock semaphore redlock
	all_end_well
	at_least "$(changes)" 3
}

# queue N: N of us in line, in this order
queue() {
	local i
	for ((i = 1; i <= $1; i++)); do
		helper "$REDLOCK" -q -u "$url" -k job -t 10s -w 20s -- \
			sh -c "$OUR_WORK" sh "$i"
		workers="$workers $!"
		wait_until in_line "$i"
	done
}
our_order() { sed -n 's/^redlock //p' "$T/log" | tr '\n' ' '; }

@test "waiters behind python-lock get the lock in the order in which they came" {
	them python-lock
	they_hold 60000
	workers=$they
	queue 6
	they_release
	total=6
	all_end_well
	[ "$(our_order)" = '1 2 3 4 5 6 ' ]
}

@test "no other program gets between redlock and the next in line" {
	them python-lock
	them node-redlock
	we_hold
	workers=
	queue 6
	export RETRY_MS=1
	before=$workers
	contenders 3 python-lock node-redlock
	workers="$before$workers"
	total=$((total + 6))
	# they do try
	no_calls
	wait_until called set 10
	wait_until called evalsha 10
	we_release
	all_end_well
	[ "$(our_order)" = '1 2 3 4 5 6 ' ]
	[ "$(cut -d' ' -f1 "$T/log" | head -n 6 | uniq)" = redlock ]
}
