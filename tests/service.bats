#!/usr/bin/env bats
# A service on one of several machines: one works, the others stand by. Each machine is
# a PID namespace: when its first process is killed with -9, all of it is dead at once.

load lib/common
load lib/proxy
eval "common_$(declare -f setup)"

setup() {
	common_setup
	own=(-Upf --kill-child --map-root-user --mount-proc)
	[ "$(id -u)" != 0 ] || own=(-pf --kill-child --mount-proc)
	unshare "${own[@]}" true 2>/dev/null || skip 'may not make a PID namespace'
	# what it runs says where, and the witness notices a second one
	printf '%s\n' '#!/bin/sh' 'echo "$MACHINE" >>"$T/starts"' \
		'exec witness "$T" --spawn --until "$T/end"' >"$T/work"
	chmod +x "$T/work"
	: >"$T/starts"
	export REDLOCK PAUSE=0.2
}

declare -gA machine
start_machine() { # NAME COMMAND...
	MACHINE=$1 launch --default all unshare "${own[@]}" "${@:2}" \
		2>>"$T/err.$1" 3>&- &
	machine[$1]=$!
	helpers="$helpers $!"
}
service() { # NAME [OPTION...]: the plain loop
	start_machine "$1" "$top/examples/scripts/service.sh" job -u "$url" --orphans kill "${@:2}" -- "$T/work"
}
first_of() { pgrep -P "${machine[$1]}"; } # the machine's process 1
powers_off() {
	kill -KILL "$(first_of "$1")"
	wait_until gone "${machine[$1]}"
}
works() { tail -n 1 "$T/starts"; } # where
started() { [ "$(wc -l <"$T/starts")" = "$1" ]; }
# COMMAND... ends the work on its machine; the Nth start is elsewhere. $took: ms
moves() { # N COMMAND...
	local from began

	from=$(works)
	began=$(now_ms)
	"${@:2}" "$from"
	wait_until started "$1"
	took=$(($(now_ms) - began))
	[ "$(works)" != "$from" ]
	echo "# from $from to $(works): $took ms"
}
ends() { # all machines
	local m

	for m in "${!machine[@]}"; do
		! kill -TERM "$(first_of "$m")" 2>/dev/null || wait_until gone "${machine[$m]}"
	done
}

stops() { kill -TERM "$(first_of "$1")"; }
asks_to_stop() { redlock force-release -q --confirm job job; }
crashes() {
	kill -KILL "$(pgrep --ns "$(first_of "$1")" --nslist pid -x witness | head -n 1)"
}
@test "service: a machine that stops, is asked to, or whose command crashes hands over" {
	local m

	for m in 1 2 3; do service $m -t 20s -K 300ms; done
	wait_until started 1
	wait_until in_line 2
	# long before the lease would be over
	moves 2 stops
	below "$took" 10000
	service 4 -t 20s -K 300ms
	wait_until in_line 2
	moves 3 asks_to_stop
	below "$took" 15000
	# it stands in line again: 125 is no reason to give up
	wait_until in_line 2
	moves 4 crashes
	below "$took" 10000
	wait_until in_line 2
	ends
	grep -q 'asked to stop' "$T"/err.*
}

@test "service: a machine that dies is replaced when its lease is over" {
	local m

	for m in 1 2 3; do service $m -t 2s; done
	wait_until started 1
	wait_until in_line 2
	moves 2 powers_off
	below "$took" 12000
	service 4 -t 2s
	wait_until in_line 2
	# also beside one that waits
	kill -KILL "$(first_of 4)"
	moves 3 powers_off
	below "$took" 12000
	ends
}

down_for_long() { # MACHINE: longer than a lease
	node_kill a
	wait_until no_witness "$1"
	sleep 2.5
	node_start a --appendonly yes
}
no_witness() { ! pgrep --ns "$(first_of "$1")" --nslist pid -x witness >/dev/null; }
@test "service: a server that restarts: one machine works when it is back" {
	local m from

	node_restart a --appendonly yes
	for m in 1 2 3; do service $m -t 2s; done
	wait_until started 1
	wait_until in_line 2
	# at once: whoever works goes on, unless this machine was too slow
	node_kill a
	node_start a --appendonly yes
	wait_until in_line 2
	at_least 2 "$(wc -l <"$T/starts")"
	: >"$T/starts"
	from=$(pgrep_works)
	down_for_long "$from"
	wait_until started 1
	wait_until in_line 2
	ends
}
pgrep_works() {
	local m

	for m in "${!machine[@]}"; do
		no_witness $m || echo $m
	done
}

@test "service: a machine that is cut off stops before another one works" {
	local direct=$url

	proxy_start a
	service 1 -t 2s
	wait_until started 1
	url=$direct
	for m in 2 3; do service $m -t 2s; done
	wait_until in_line 2
	cut_off() { px silent; }
	moves 2 cut_off
	no_witness 1
	# it stands by again when it is back
	wait_until in_line 1
	px pass
	wait_until in_line 2
	ends
}

# The lines as systemd and Kubernetes run them, in place of the loop.
@test "service: the systemd unit and the Deployment hand over when they are stopped" {
	local line words yaml=examples/kubernetes/deployment.yaml
	local container='spec template spec containers 0'

	export PATH=$(dirname "$REDLOCK"):$PATH REDLOCK_URL=$url REDLOCK_KILL_AFTER=300ms
	line=$(sed -n 's/^ExecStart=//p' "$top/examples/systemd/redlock@.service")
	line=${line//%i/dispatcher}
	start_machine 1 bash -c "exec ${line/'${COMMAND}'/$T/work}"
	wait_until started 1
	ln -s work "$T/dispatcher"
	# shellcheck disable=SC2086
	mapfile -t words < <("$top/tests/lib/yamlat.py" "$top/$yaml" $container command
		"$top/tests/lib/yamlat.py" "$top/$yaml" $container args)
	PATH=$T:$PATH start_machine 2 "${words[@]}"
	wait_until waits_for dispatcher
	moves 2 stops
	wait_until gone "${machine[1]}"
	ends
}
waits_for() { [ "$(cli a zcount "$1:redlock:{$1}:queue" 0 +inf)" = 1 ]; }
