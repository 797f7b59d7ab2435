#!/usr/bin/env bats
# --max-hold, --max-renewals, --min-hold.

load lib/common
load lib/kinds

@test "--max-hold: TERM, KILL after -K, status 124; the lock is free when all are dead" {
	start -k job --max-hold 300ms -K 200ms --result-file "$T/result" -- \
		witness "$T" --hold 60000 --spawn --stubborn --started "$T/started"
	wait_until exists "$T/started"
	local t0=$(now_ms)
	redlock -q -k job -w 20s -- witness "$T" # the oracle
	finish
	[ "$status" = 124 ]
	[ $(($(now_ms) - t0)) -ge 400 ]
	contains "$T/err" 'held for 300ms (--max-hold)'
	contains "$T/result" '"outcome":"max-hold","exit":124'
	[ "$(holds)" -ge 1 ]
}

@test "--max-hold: 124 also when the command then ends well, or is stopped" {
	run redlock -q -k job --max-hold 200ms -- \
		sh -c 'trap "exit 0" TERM; while :; do sleep 0.05; done'
	[ "$status" = 124 ]
	run redlock -q -k job --max-hold 200ms -- sh -c 'kill -STOP $$'
	[ "$status" = 124 ]
	run redlock -q -k job --max-hold 10s -- sh -c 'exit 3'
	[ "$status" = 3 ]
	lock_is_free
}

@test "--max-hold: the command has all of -K to clean up, renewed meanwhile" {
	run redlock -q -k job -t 600ms --max-hold 200ms -K 10s -- \
		sh -c "trap 'sleep 1; touch $T/clean; exit' TERM
			while :; do sleep 0.05; done"
	[ "$status" = 124 ]
	[ -e "$T/clean" ]
}

@test "--max-hold: what the command leaves when it ends at once has all of -K, too" {
	run redlock -q -k job --max-hold 1s -K 10s -- sh -c "
		sh -c 'trap \"sleep 0.5; touch $T/clean; exit\" TERM
		while :; do sleep 0.05; done' & wait"
	[ "$status" = 124 ]
	[ -e "$T/clean" ]
	lock_is_free
	run redlock -q -k job --max-hold 200ms -K 10s -- sh -c "$(inner) -q -- sleep 60"
	[ "$status" = 124 ]
	lock_is_free
}

@test "--max-hold, force-release: also after a TERM for a lease that was then renewed" {
	local heedless='trap "echo term >>$1" TERM; while :; do sleep 0.05; done'
	local n

	for n in held forced; do
		helper "$REDLOCK" -u "$url" -k $n -t 5s -K 2s \
			--max-hold $([ $n = held ] && echo 9s || echo 90s) \
			-- sh -c "$heedless" sh "$T/$n" 2>"$T/err.$n"
		eval "$n=$!"
		wait_until not free $n
	done
	helper "$REDLOCK" -u "$url" lock --keep-for $$ --on-lost none -t 5s \
		--max-hold 9s kept
	wait_until not free kept
	node_freeze a
	for n in held forced; do wait_until exists "$T/$n"; done
	node_thaw a
	for n in held forced; do wait_until contains "$T/err.$n" 'renewed again'; done
	redlock force-release forced --confirm forced
	ended_as "$forced" 125
	contains "$T/err.forced" 'asked to stop (force-release)'
	ended_as "$held" 124
	contains "$T/err.held" 'held for 9.0s (--max-hold)'
	[ "$(cat "$T/held")" = $'term\nterm' ]
	wait_until free kept
}

@test "--max-renewals: ends as the lease does, with status 124" {
	may_need_another_try "a machine that stalls for a twentieth of a second is late itself"
	local t0=$(now_ms)
	run redlock -k job -t 600ms --max-renewals 2 -- sleep 30
	[ "$status" = 124 ]
	[[ $output = *'--max-renewals'* ]]
	# two renewals at T/6 each, then TERM at 0.65 T
	[ $(($(now_ms) - t0)) -ge 500 ]
	[ $(($(now_ms) - t0)) -lt 1500 ]
	t0=$(now_ms)
	run redlock -q -k job -t 600ms --max-renewals 0 -- \
		sh -c 'trap "" TERM; sleep 30'
	[ "$status" = 124 ]
	[ $(($(now_ms) - t0)) -lt 900 ]
	redlock -k job -t 600ms --max-renewals 0 -- true
	lock_is_free
}

@test "--max-hold, --max-renewals: a redlock that is stopped is woken when it must act" {
	local how

	for how in "--max-hold 1s -K 1s" "--max-renewals 0 -K 10s"; do
		rm -f "$T/started" "$T/clean"
		# shellcheck disable=SC2086 # two words each
		start -k job -t 20s $how -- sh -c "
			trap 'touch $T/clean; exit' TERM
			touch $T/started
			while :; do sleep 0.05; done"
		wait_until exists "$T/started"
		kill -STOP "$tool"
		finish
		[ "$status" = 124 ]
		[ -e "$T/clean" ] # there was time for TERM
	done
	lock_is_free
}

@test "--max-renewals: a first answer too old to start on is renewed before it counts" {
	node_start f
	node_freeze f
	helper "$REDLOCK" -u "unix://$T/f.sock" -t 3s --node-timeout 10s \
		--max-renewals 0 -k job -- touch "$T/ran"
	local tool=$!
	sleep 1.2 # a third of the lease
	node_thaw f
	wait "$tool"
	[ -e "$T/ran" ]
}

@test "--min-hold: redlock ends at once with the command's status, the lock when due" {
	local t0=$(now_ms) left
	run redlock -k job -t 60s --min-hold 1500ms -- sh -c 'exit 3'
	[ "$status" = 3 ]
	[ $(($(now_ms) - t0)) -lt 1000 ]
	left=$(cli a pttl job)
	[ "$left" -gt 500 ]
	[ "$left" -le 1500 ]
	run -75 redlock -k job -n -- true
	[[ $output =~ :\ kept\ \(--min-hold\)\ by\ [a-z0-9]+@$(hostname)\ since\ [0-9:]+\ [A-Z]+\ \([01]s\),\ lease\ left\ [0-9.]+m?s,\ sh\;\ see ]]
	redlock -q -k job -- true
	[ $(($(now_ms) - t0)) -ge 1500 ]
	[ $(($(now_ms) - t0)) -lt 2500 ]
}

@test "--min-hold: longer than the lease, too, and no longer than asked for" {
	redlock -k job -t 300ms --min-hold 1200ms -- true
	sleep 0.7
	held job
	wait_until lock_is_free
	redlock -k job -t 300ms --min-hold 400ms -- sleep 0.5
	lock_is_free
}

@test "--min-hold: a waiter gets the lock then, not at its next look" {
	start -k job -t 60s --min-hold 800ms -- sh -c "echo on >'$T/on.h'
		while [ -e '$T/stay.h' ]; do sleep 0.05; done"
	: >"$T/stay.h"
	wait_until begun h
	lines_up writer w
	let_go h
	finish
	[ "$status" = 0 ]
	local t0=$(now_ms)
	running w
	[ $(($(now_ms) - t0)) -lt 1500 ]
	let_go w
	ended w
}

@test "--min-hold: a waiter gets the lock of a reader then, too" {
	reader r -t 60s --min-hold 800ms
	running r
	lines_up writer w
	let_go r
	ended r
	local t0=$(now_ms)
	running w
	[ $(($(now_ms) - t0)) -lt 1500 ]
	let_go w
	ended w
}

@test "--min-hold: goes by the server's clock, whatever the client's says" {
	local ms shim

	shim=$(shim wallclock.so)
	preloading wallclock.so
	for ms in -3600000 3600000; do
		wallclock "$T/clock" "$ms"
		LD_PRELOAD=$shim WALLCLOCK=$T/clock redlock -k job --min-hold 1s -- true
		[ "$(cli a pttl job)" -gt 300 ]
		[ "$(cli a pttl job)" -le 1000 ]
		wait_until lock_is_free
	done
}

@test "--min-hold: works for readers, slots and nested runs" {
	redlock -s -k job --min-hold 700ms -- true
	redlock -s -k job -n -- true
	busy
	wait_until lock_is_free
	redlock -k job -N 2 --min-hold 700ms -- true
	redlock -k job -N 2 -n -- sh -c '[ "$REDLOCK_SLOT" = 1 ]'
	busy
	wait_until lock_is_free
	redlock -k job -t 2s -- sh -c "$(inner) -t 2s --min-hold 700ms -- true"
	busy
	wait_until lock_is_free
}
