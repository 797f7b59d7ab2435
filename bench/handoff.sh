#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures hand-overs from one waiter to the next: the gap between the end of one
# command and the start of the next, the order, and the server's share.
#
#   bench/handoff.sh [PATH-OF-REDLOCK] [HAND-OFFS]
#   WAITERS="2 8" CONTENDERS="flock redlock" bench/handoff.sh
#
# One command (bench/stamp.c) holds the lock; N others come one by one, each in
# line, or connected, before the next; then the first ends, and the rest follow.
# For each N, HAND-OFFS are timed, in rounds in which the contenders take turns. The
# first round is watched with MONITOR, which would slow flock and redlock down: for
# them it is only a warm-up.
set -eu
. "$(dirname "$0")/lib.sh"
handoffs=${2:-512}
WAITERS=${WAITERS:-2 8 32 128 512}
CONTENDERS=${CONTENDERS:-flock redlock etcdctl redis-py node-redlock}
HOLD=${HOLD:-1000} # microseconds that a command takes
# The others are slow, also to start: limit their waiters and rounds
FEW=${FEW:-32}
ONE_IN=${ONE_IN:-32}

prepare() { # CONTENDER: false if it is not installed
	case $1 in
	flock) have flock ;;
	redlock) ;;
	etcdctl) start_etcd ;;
	redis-py) have_redis_py ;;
	node-redlock) get_node_redlock ;;
	*) false ;;
	esac
}

run() { # CONTENDER COMMAND...: under the lock, in the background
	contender=$1
	shift
	case $contender in
	flock) set -- flock "$W/file" "$@" ;;
	redlock) set -- "$redlock" -q -u "unix://$sock" -k job -- "$@" ;;
	etcdctl) set -- etcdctl lock job "$@" ;;
	redis-py) set -- "$python" "$W/lock.py" "$sock" "$@" ;;
	node-redlock) set -- node "$W/lock.mjs" "$sock" "$@" ;;
	esac
	$rt "$@" >/dev/null 3>&- 4<&- 5>&- &
	mine="$mine $!"
	pids="$pids $!"
}

ask() { # COMMAND...: whose reply is a line; by one redis-cli, hence quickly
	echo "$*" >&3
	read -r answer <&4
}

in_line() { # CONTENDER N: that many wait
	case $1 in
	flock) answer=$(grep -c -- "-> FLOCK .*:$inode " /proc/locks) || : ;;
	redlock) ask zcard "job:redlock:{job}:queue" ;;
	etcdctl)
		answer=$(etcdctl get job/ --prefix --keys-only | grep -c .)
		answer=$((answer - 1))
		;;
	*) # are connected; so are the holder, ask() and this one
		answer=$(redis-cli -s "$sock" client list |
			grep -vc cmd=monitor)
		answer=$((answer - 3))
		;;
	esac
	[ "$answer" -ge "$2" ]
}

blocked() { redis-cli -s "$sock" info clients | grep -q "^blocked.*:$1\b"; }

# Appends the stamps, and the server's CPU time in us per hand-off. The first
# and the last command wait for the end of a FIFO; opening it waits for them.
chain() { # CONTENDER N
	pids=
	run "$1" "$W/stamp" "$W/lines" 0 "$W/first"
	exec 5>"$W/first"
	for i in $(seq $(($2 - 1))); do
		run "$1" "$W/stamp" "$W/lines" "$i" "$HOLD"
		soon in_line "$1" "$i"
	done
	run "$1" "$W/stamp" "$W/lines" "$2" "$W/last"
	soon in_line "$1" "$2"
	[ "$1" != redlock ] || soon blocked "$2"
	ask echo begin
	read -r before _ <"/proc/$redis/schedstat"
	exec 5>&-
	exec 5>"$W/last"
	read -r now _ <"/proc/$redis/schedstat"
	ask echo end
	exec 5>&-
	# shellcheck disable=SC2086 # a list
	must_end_with_0 $pids
	mine=$servers
	echo $(((now - before) / 1000 / $2)) >>"$W/$1.cpu"
	{
		echo begin
		cat "$W/lines"
	} >>"$W/$1.stamps"
	rm "$W/lines"
}

said() { grep -q "$1" "$W/monitor"; }

# CONTENDER.commands: all commands per hand-off, and those that clients sent.
watched() { # CONTENDER N
	redis-cli -s "$sock" monitor >"$W/monitor" &
	monitor=$!
	wait_until said OK
	chain "$1" "$2"
	wait_until said '"end"'
	kill $monitor
	awk -v n="$2" '/"begin"$/ { on = 1; next }
		/"end"$/ { printf "%9.1f %6.1f\n", all / n, sent / n; exit }
		on { all++; sent += !/^[^"]* lua\]/ }' \
		"$W/monitor" >"$W/$1.commands"
	case $1 in flock | redlock) rm "$W/$1.stamps" "$W/$1.cpu" ;; esac
}

gaps() { # CONTENDER: in us, sorted
	awk '/begin/ { end = 0; next }
		end { printf "%.1f\n", ($2 - end) / 1e3 }
		{ end = $3 }' "$W/$1.stamps" | sort -n
}

# Waiters that ran before an earlier one.
inversions() { # CONTENDER
	awk 'function count() {
			for (least = ran[n]; n > 0; n--)
				if (ran[n] > least) sum++
				else least = ran[n]
		}
		/begin/ { count(); next }
		{ ran[++n] = $1 }
		END { count(); print sum + 0 }' "$W/$1.stamps"
}

part() { # PERCENT: of the sorted numbers
	awk -v p="$1" '{ v[NR] = $1 } END { print v[int(NR * p / 100 + 0.999)] }'
}

ratio() { awk -v a="$1" -v b="${2:-0}" \
	'BEGIN { printf(b > 0 ? "%.2f" : "-", b > 0 ? a / b : 0) }'; }

report() { # CONTENDER N
	gaps "$1" >"$W/gaps"
	median=$(part 50 <"$W/gaps")
	[ "$1" != flock ] || flock_median=$median
	[ -e "$W/$1.median" ] || echo "$median" >"$W/$1.median"
	commands='        -      -' cpu=-
	case $1 in
	flock | etcdctl) ;;
	*)
		commands=$(cat "$W/$1.commands")
		cpu=$(sort -n "$W/$1.cpu" | part 50)
		;;
	esac
	printf '%4d %-12s %9.0f %9.0f %7s %7s %10d %s %7s %8d\n' "$2" "$1" \
		"$median" "$(part 90 <"$W/gaps")" \
		"$(ratio "$median" "$flock_median")" \
		"$(ratio "$median" "$(cat "$W/$1.median")")" \
		"$(inversions "$1")" "$commands" "$cpu" \
		"$(wc -l <"$W/gaps")"
	! grep -q '^-' "$W/gaps" || echo "     $1: TWO RAN AT ONCE"
}

real_time
start_redis
compile stamp
: >"$W/file"
inode=$(stat -c %i "$W/file")
mkfifo "$W/first" "$W/last" "$W/asked" "$W/answered"
redis-cli -s "$sock" <"$W/asked" >"$W/answered" &
mine="$mine $!"
exec 3>"$W/asked" 4<"$W/answered"
contenders='' skipped=''
for c in $CONTENDERS; do
	if prepare "$c"; then contenders="$contenders $c"; else
		skipped="$skipped $c"
	fi
done
servers=$mine

machine
[ -z "$skipped" ] || echo "not installed:$skipped"
echo "$handoffs hand-offs per N at least; all but flock and redlock: $FEW" \
	"waiters at most, one round in $ONE_IN"
echo
printf '%4s %-12s %9s %9s %7s %7s %10s %9s %6s %7s %8s\n' \
	N "" "median us" "90 %" :flock :first inversions commands sent \
	"cpu us" hand-offs
for n in $WAITERS; do
	flock_median=
	rounds=$(((handoffs + n - 1) / n))
	rm -f "$W"/*.stamps "$W"/*.cpu
	for round in $(seq 0 $rounds); do
		for c in $contenders; do
			case $c in
			flock | redlock) ;;
			*)
				[ "$n" -le "$FEW" ] || continue
				[ $((round % ONE_IN)) = 0 ] || continue
				;;
			esac
			if [ "$round" = 0 ]; then watched "$c" "$n"; else
				chain "$c" "$n"
			fi
		done
	done
	for c in $contenders; do
		[ ! -e "$W/$c.stamps" ] || report "$c" "$n"
	done
	echo
done
