#!/usr/bin/env bats
# Several masters under fire: faults S30 to S36, N3 and N6 to N10 on N nodes, by
# real servers that die, freeze and forget, by partitions, and by a proxy before
# each server. REDLOCK_FAULTS=SECONDS makes the long runs that long (make
# check-faults), with faults drawn from RANDOM, whose seed is told.

load lib/common
load lib/masters

# ---- the kit of this file ----

long=${REDLOCK_FAULTS-}
# T = 1s everywhere: a server restarted empty is out for two seconds more.

# Client N, again and again until $T/stop: its statuses go to $T/ended.
contend() { # N [OPTION...]
	local n=$1 got

	shift
	while [ ! -e "$T/stop" ]; do
		got=0
		"$REDLOCK" -q -u "$url" -k job -t 1s "$@" -- witness "$T" \
			--hold $((RANDOM % 20)) --spawn 2>"$T/err.$n" || got=$?
		echo "$got" >>"$T/ended"
		[ $got = 0 ] || sed "s/^/$n ended with $got: /" "$T/err.$n" >>"$T/why"
	done
}
contenders() { # N [OPTION...]
	local i

	rm -f "$T/stop"
	: >"$T/ended"
	: >"$T/why"
	for ((i = 1; i <= $1; i++)); do
		helper contend "$i" "${@:2}"
		contending="$contending $!"
	done
}
contending=
# Everyone ends, each with one of these: all_end STATUS...
all_end() {
	local p began bad

	began=$(now_ms)
	: >"$T/stop"
	for p in $contending; do wait_until gone "$p"; wait "$p"; done
	contending=
	below "$(($(now_ms) - began))" 5000
	for p; do bad+=" -e $p"; done
	! grep -vx $bad "$T/ended" || { cat "$T/why" >&2; return 1; }
	[ ! -s "$T/errors" ]
}
ran() { [ "$(holds)" -ge "$1" ]; }
tell() { echo "# $*" >&3; } # figures

# One server after another does WHAT, a COMMAND, which ends it: roll WHAT
roll() {
	local n

	for n in "${names[@]}"; do "$@" "$n"; done
}
forget() { # and vote when it has been up for long enough
	node_restart "$1"
	wait_until up_for "$1" 2
}
absent() { # MS NAME: killed, and back empty
	node_kill "$2"
	sleep "$1"
	forget "$2"
}
frozen() { # S NAME
	node_freeze "$2"
	sleep "$1" # how long the fault takes
	node_thaw "$2"
}
at_random() { # any of these, on any one
	local n=${names[RANDOM % ${#names[@]}]} s=$((RANDOM % 2)).$((RANDOM % 10))

	case $((RANDOM % 3)) in
	0) forget "$n" ;;
	1) frozen "$s" "$n" ;;
	2) absent "$s" "$n" ;;
	esac
}
until_over() { # COMMAND...: so long as the long form says
	local end=$((SECONDS + long))

	while ((SECONDS < end)) && [ ! -s "$T/errors" ]; do "$@"; done
}

# ---- servers that die, freeze and forget ----

healed() { # WHAT... NAME: and held there again before the next one's turn
	"$@"
	wait_until have ${#names[@]}
}
one_holds_and_eight_wait() { # N
	local n

	several "$1" auto
	keep
	for n in {1..8}; do
		helper "$REDLOCK" -v -u "$url" -k job -t 1s -- witness "$T" \
			--hold 5 2>/tmp/wf/w.$n
		contending="$contending $!"
	done
	roll healed node_restart
	for n in "${names[@]}"; do
		healed frozen 0.4 "$n"
	done
	healed frozen 1.2 "${names[0]}"
	if [ "$long" ]; then until_over healed_at_random; fi
	kill -0 "$worker"
	lacks "$T/err" SIGTERM
	wait_until in_line 8 || { for n in "${names[@]}"; do cli "$n" zcard "redlock:{job}:queue:job"; cli "$n" zrange "redlock:{job}:queue:job" 0 -1 withscores; cli "$n" zrange "redlock:{job}:alive:job" 0 -1 withscores;  done >&2; return 1; }
	let_go
	for n in $contending; do wait_until gone "$n"; wait "$n"; done
	contending=
	[ "$(holds)" = 8 ]
}
healed_at_random() {
	local n=${names[RANDOM % ${#names[@]}]}

	case $((RANDOM % 3)) in
	0) healed node_restart "$n" ;;
	1) healed frozen 0.$((RANDOM % 10)) "$n" ;;
	2) healed frozen 1.$((RANDOM % 5)) "$n" ;;
	esac
}
@test "S1 S33 each of three forgets and freezes in turn while one holds: it never notices, then eight run" {
	one_holds_and_eight_wait 3
}
@test "S1 S33 likewise of five" {
	one_holds_and_eight_wait 5
}
