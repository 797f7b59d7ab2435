#!/bin/sh
# SPDX-License-Identifier: MIT
# harness.sh LOCK [SCENARIO]: does LOCK, one of the wrong ones or redlock, work?
# Prints one line, and exits with 0 if it did and with 1 if not.
# Without SCENARIO: the one in which LOCK is known to break; for redlock, all.
#
# A, B and C are the clients, in the order in which they come; each runs
# witness.sh. Every step waits for the one before, so timing plays no part. Where
# a client must stand still, either its command stops it as its last act, or it
# stops itself before the request that STOP_BEFORE names (see redis.sh).
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../redis.sh"
key=wrong-locks
short=${LEASE:-500} # ms
long=60000
scenarios='crash slow stopped clocks long'
usage() {
	echo "usage: $0 LOCK [$(echo "$scenarios" | tr ' ' '|')]" >&2
	exit 64
}

# ---- clients ----

client() { # NAME LEASE [PREFIX...]
	name=$1 LEASE=$2
	shift 2
	case $lock in
	redlock) set -- "$@" "$REDLOCK" -t "${LEASE}ms" -k $key -- ;;
	*) set -- "$@" "$here/$lock.sh" $key ;;
	esac
	# timeout makes a process group that can be killed as a whole, and has a
	# parent in our session: the kernel may wake stopped processes of an
	# orphaned group, see setpgid(2)
	# shellcheck disable=SC2016 # the dollars belong to the inner shell
	LEASE=$LEASE timeout 60 sh -c 'echo $$ >"$W/$0.pid" && exec "$@"' \
		"$name" "$@" "$here/witness.sh" "$name" 2>"$W/$name.err" &
}
go() { : >"$W/$1.go"; }
came() { # its command runs, or tried to
	[ -e "$W/$1.in" ] || grep -qsx "$1" "$W/two"
}
refused() { grep -qs waiting "$W/$1.err"; }
tried() { came "$1" || refused "$1"; }
still() { # NAME: stopped, or killed since
	case $(sed 's/.*) //; s/ .*//' "/proc/$(cat "$W/$1.pid")/stat" \
		2>/dev/null) in
	T | Z | '') ;;
	*) return 1 ;;
	esac
}
taken() { [ "$(redis exists $key)" = 1 ]; }
endless() { [ "$(redis pttl $key)" = -1 ]; }
value() { redis get $key; }
now() { date +%s%3N; }

wait_until() { # COMMAND...: up to 10 s
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 1000 ] || broken "waited 10 s in vain for: $*"
		sleep 0.01
	done
}
ends() { # PID: with 0
	wait "$1" || broken "a client ended with $?"
}

broken() {
	say "BROKEN: $*"
	exit 1
}
at_once() { # WHO WHY
	! [ -e "$W/two" ] || broken "$1 ran at once, $2"
}
say() { printf '%-17s %-8s %s\n' "$lock" "$scenario" "$*"; }

# ---- scenarios ----

# A is killed as soon as it has the lock.
crash() {
	client A "$short" env STOP_BEFORE=pexpire
	a=$!
	wait_until taken
	{ kill -KILL -"$a" && wait "$a"; } 2>/dev/null
	client B $long
	b=$!
	over=$(($(now) + 2 * short))
	until came B; do
		[ "$(now)" -lt "$over" ] || ! refused B || ! endless ||
			broken "A is dead, and its lock has no end"
		sleep 0.01
	done
	go B
	ends "$b"
}

# A's command is done, but A stands still until its lease has ended; then it
# releases what it takes for its lock.
slow() {
	client A "$short"
	a=$!
	: >"$W/A.stop"
	give_back_late
}

# The same, but A stands still right before the request that deletes its lock.
# redlock releases with that single request: there is no other place to stop.
stopped() {
	[ "$lock" != redlock ] || {
		slow
		return
	}
	client A "$short" env STOP_BEFORE='del eval'
	a=$!
	give_back_late
}

give_back_late() {
	wait_until came A
	go A
	wait_until still A
	client B $long
	b=$!
	wait_until came B
	at_once 'A and B' "A's lease being over"
	kill -CONT "$(cat "$W/A.pid")" 2>/dev/null
	# redlock wakes by itself while it still has the lock, and releases it:
	# with 0, or with 125 if it woke too late for a renewal, or with 137 if
	# it woke too late for anything: the kernel killed it
	wait "$a" 2>/dev/null || how=$?
	case $lock:${how-0} in
	redlock:0 | redlock:125 | redlock:137) ;;
	redlock:*) broken "A ended with $how" ;;
	esac
	client C $long
	c=$!
	wait_until tried C
	at_once 'B and C' "after A deleted B's lock"
	go B
	ends "$b"
	wait_until came C
	go C
	ends "$c"
}

# B's clocks are an hour ahead of A's: the time of day and, where the kernel
# allows it, the clocks that nobody can set, which redlock reads.
clocks() {
	mkdir "$W/ahead"
	printf '#!/bin/sh\nexec %s -d "1 hour" "$@"\n' "$(command -v date)" \
		>"$W/ahead/date"
	chmod 755 "$W/ahead/date"
	[ -n "${AHEAD-}" ] || {
		AHEAD='unshare -r --time --boottime 3600 --monotonic 3600'
		$AHEAD true 2>/dev/null || AHEAD=
	}
	client A $long
	a=$!
	wait_until came A
	# shellcheck disable=SC2086 # words
	client B $long env PATH="$W/ahead:$PATH" $AHEAD
	b=$!
	wait_until tried B
	at_once 'A and B' "B's clock being ahead"
	go A
	ends "$a"
	wait_until came B
	go B
	ends "$b"
}

# A's command takes twice as long as its lease, or until B comes.
long() {
	client A "$short"
	a=$!
	wait_until came A
	mine=$(value)
	over=$(($(now) + 2 * short))
	client B $long
	b=$!
	wait_until tried B
	# once the lock is no longer A's, B is on its way
	wait_until enough
	at_once 'A and B' "A's lease being over"
	go A
	ends "$a"
	wait_until came B
	go B
	ends "$b"
}
enough() {
	came B || { [ "$(now)" -ge "$over" ] && [ "$(value)" = "$mine" ]; }
}

# ---- all together ----

tidy() {
	flock -w 10 "$W/witness" true # the commands, too, are gone
	redis del $key >/dev/null
}

lock=${1-} scenario=${2-}
lock=$(basename "$lock" .sh)
case $lock in
setnx-expire) faults=crash ;;
constant-value) faults=slow ;;
get-compare-del) faults=stopped ;;
getset-timestamp) faults=clocks ;;
fixed-lease) faults=long ;;
redlock) faults=$scenarios; need_redlock ;;
*) usage ;;
esac
case " $scenarios " in
*" ${scenario:-crash} "*) ;;
*) usage ;;
esac
if [ -z "$scenario" ] && [ "$lock" = redlock ]; then
	status=0
	for scenario in $scenarios; do
		"$0" redlock "$scenario" || status=1
	done
	exit $status
fi
at_exit=tidy
own_server
export W
${scenario:=$faults}
at_once two 'at some time'
say 'kept: one at a time, and all in the end'
