#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures a lock on several independent masters: for one client alone, with masters
# that hang, for ten clients that contend, and for npm's redlock.
#
#   bench/masters.sh [PATH-OF-REDLOCK] [RUNS]
#   CONTENDERS=10 ROUNDS=3 LASTING=3 RETRY_MS=5 bench/masters.sh
#
# All servers are local, on unix sockets, and new: hence --restart-guard off.
# Each case has a key of its own. With one key for all, a case would find different
# counters, because the case before has moved them on some masters only.
#
# npm's redlock is that of `make check-interop`, or of INTEROP_NODE_MODULES.
set -eu
. "$(dirname "$0")/lib.sh"
runs=${2:-200}
CONTENDERS=${CONTENDERS:-10}
ROUNDS=${ROUNDS:-3}
LASTING=${LASTING:-3} # seconds of a case in a round
RETRY_MS=${RETRY_MS:-5} # of npm's redlock, where it is not as it comes
NODE_PATH=$(dirname "$redlock")/build-interop/node_modules
NODE_PATH=${INTEROP_NODE_MODULES:-$NODE_PATH}
export NODE_PATH

# The longest backlog that the kernel allows: a master that hangs accepts nothing,
# and every run leaves it a connection.
start_master() { # NAME
	$rt redis-server --port 0 --unixsocket "$W/$1.sock" --save '' \
		--appendonly no --dir "$W" --logfile "$W/$1.log" \
		--tcp-backlog 65535 &
	mine="$mine $!"
	wait_until redis-cli -s "$W/$1.sock" ping
}

# redlock on these masters, with the arguments that follow
on() { # "NAME..." WORD...
	urls=''
	for name in $1; do urls="$urls -u unix://$W/$name.sock"; done
	shift
	echo "$redlock -q --restart-guard off$urls $*"
}

# ---- alone ----

# The lines of race, with names; a row's ratio is to the row that it names, and
# beside it that of the 10th percentiles, which a busy machine disturbs less.
named() {
	awk 'BEGIN {
			split("1 master:3 masters:5 masters:" \
				"3 masters, 1 frozen:5 masters, 2 frozen",
				name, ":")
			split("1 1 1 2 3", base)
			split("- 1.3 1.5 1.2 1.2", goal)
			printf "%-22s %8s %8s %8s %8s  %s\n", "", "wall ms",
				"p10", "p90", "cpu ms", "ratio"
		}
		NR == 1 { next }
		{
			wall[++n] = $1
			p10[n] = $2
			printf "%-22s %8s %8s %8s %8s", name[n], $1, $2, $3, $4
			if (n > 1)
				printf "  %.2f (p10 %.2f) to %s, goal %s",
					$1 / wall[base[n]], $2 / p10[base[n]],
					name[base[n]], goal[n]
			print ""
		}'
}

# Those that hang come first in the list: redlock must not wait for them.
alone() {
	frozen=
	for name in x y z; do
		start_master "$name"
		kill -STOP $!
		frozen="$frozen $!"
	done
	race "$runs" \
		"$(on redis -k one -- true)" \
		"$(on "redis b c" -k three -- true)" \
		"$(on "redis b c d e" -k five -- true)" \
		"$(on "x b c" -k three-frozen -- true)" \
		"$(on "y z c d e" -k five-frozen -- true)" >"$W/alone"
	named <"$W/alone"
	# shellcheck disable=SC2086 # a list
	{
		kill -KILL $frozen
		wait $frozen || :
	} 2>/dev/null
	mine=$servers
}

# ---- in contention ----

# Takes the lock again and again; prints how often it got it, and how often not: never.
# A run that ends after the time does not count.
again() { # COMMAND...
	held=0
	wait_until has "$W/go"
	while
		"$@" || { echo "$0: $*: status $?" >&2; exit 1; }
		! has "$W/stop"
	do
		held=$((held + 1))
	done
	echo "$held 0"
}

npm() { # NAME CASE RETRY_MS [COMMAND]
	exec node "$here/masters.cjs" "$W" "$1" "$2" "$3" \
		"redis b c d e" ${4:+"$4"}
}

contender() { # CASE NAME
	case $1 in
	redlock-*)
		: >"$W/$2.ready"
		[ "$1" = redlock-1 ] && on="redis" || on="redis b c d e"
		# shellcheck disable=SC2046 # words
		again $(on "$on" -k "$1" -- true)
		;;
	npm-tuned) npm "$2" "$1" "$RETRY_MS" ;;
	npm-true) npm "$2" "$1" default true ;;
	*) npm "$2" "$1" default ;;
	esac
}

all_ready() { # N
	set -- "$1" "$W"/*.ready
	[ $(($# - 1)) = "$1" ] && [ -e "$2" ]
}

# npm's redlock by default tries for 2 s before it gives up and releases what it has
# on a minority. So it gets more time.
lasting() { # CASE
	case $1 in
	npm | npm-true) echo $((LASTING * 3)) ;;
	*) echo "$LASTING" ;;
	esac
}

contest() { # CASE CONTENDERS
	pids=
	rm -f "$W"/*.ready "$W"/*.says "$W/go" "$W/stop"
	for i in $(seq "$2"); do
		contender "$1" "$i" >"$W/$i.says" &
		pids="$pids $!"
		mine="$mine $!"
	done
	wait_until all_ready "$2"
	begin=$(date +%s%N)
	: >"$W/go"
	sleep "$(lasting "$1")"
	: >"$W/stop"
	end=$(date +%s%N)
	# shellcheck disable=SC2086 # a list
	must_end_with_0 $pids
	mine=$servers
	cat "$W"/*.says >>"$W/$1.shares"
	cat "$W"/*.says | awk -v ns=$((end - begin)) '{ held += $1 }
		END { printf "%.1f\n", held / ns * 1e9 }' >>"$W/$1.rates"
}

mean() { # CASE
	awk '{ sum += $1 } END { print sum / NR }' "$W/$1.rates"
}

# A share is how often one contender held the lock in one round.
report() { # CASE NAME
	printf '%-34s %8.1f %8.1f %8.1f ' "$2" "$(mean "$1")" \
		"$(sort -n "$W/$1.rates" | head -n 1)" \
		"$(sort -n "$W/$1.rates" | tail -n 1)"
	sort -n "$W/$1.shares" | awk 'NR == 1 { least = $1 }
		{ most = $1; failed += $2 }
		END { printf "%6d %6d %8d\n", least, most, failed }'
}

ratio() { # NAME CASE CASE [GOAL]
	awk -v name="$1" -v a="$(mean "$2")" -v b="$(mean "$3")" \
		-v goal="${4:+ (goal >= $4)}" 'BEGIN {
			ratio = (b > 0) ? sprintf("%.2f", a / b) : "all to none"
			printf "%-34s %s%s\n", name, ratio, goal
		}'
}

in_contention() { # CASE...
	for _ in $(seq "$ROUNDS"); do
		for c; do contest "$c" "$CONTENDERS"; done
	done
	printf '%-34s %8s %8s %8s %6s %6s %8s\n' "holds per second" \
		mean least most share to "gave up"
	report redlock-1 "redlock, 1 master"
	report redlock-5 "redlock, 5 masters"
	[ -n "$npm" ] || return 0
	report npm "npm's redlock, as it comes"
	report npm-true "  and runs true"
	report npm-tuned "  retrying after $RETRY_MS ms"
	contest npm-alone 1
	report npm-alone "  one, alone"
}

real_time
start_redis
for name in b c d e; do start_master "$name"; done
compile race
npm=
if have node && node -e 'require("ioredis"); require("redlock")' 2>/dev/null
then npm="npm npm-true npm-tuned"; fi
servers=$mine

machine
echo "$runs runs of \`true\` each, interleaved"
echo
alone
echo
echo "$CONTENDERS contenders, $ROUNDS times $LASTING s each, interleaved;" \
	"redlock runs \`true\`"
[ -z "$npm" ] || echo "npm's redlock, as it comes: $((LASTING * 3)) s each"
[ -n "$npm" ] || echo "npm's redlock: skipped (needs node, and" \
	"\`make check-interop\` or INTEROP_NODE_MODULES)"
echo
# shellcheck disable=SC2086 # a list
in_contention redlock-1 redlock-5 $npm
echo
ratio "redlock: 5 masters to 1" redlock-5 redlock-1 0.25
[ -n "$npm" ] || exit 0
ratio "5 masters: to npm's redlock" redlock-5 npm 5
ratio "  that runs true" redlock-5 npm-true
ratio "  retrying after $RETRY_MS ms" redlock-5 npm-tuned
