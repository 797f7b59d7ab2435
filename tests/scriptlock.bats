#!/usr/bin/env bats
# Locks by hand and for scripts: lock, unlock, extend; a shell of its own for each
# line, or all the rest of a script; whatever is killed.

load lib/common
load lib/tls
load lib/sentinel
load lib/cluster
load lib/masters
eval "common_$(declare -f setup)"

setup() {
	common_setup
	export REDLOCK REDLOCK_URL=$url
}
shells() { # those that are here
	local s

	for s in sh dash bash zsh; do ! command -v "$s" || true; done
}
# Every shell that reads eval "$(redlock lock ... --export)": script SHELL,
# with the script at standard input.
script() { cat >"$T/script"; timeout 30 "$@" "$T/script" 3>&-; }
lasts() { [ "$(cli a pttl job)" -gt "$1" ]; } # so many ms are left
value() { cli a get job; }
drop() { cli a del job 'redlock:{job}:holder:job' >/dev/null; }
renewed() { # its lease grew
	local was=$left

	left=$(cli a pttl job)
	[ "$left" -gt "$was" ]
}
keeper_pid() { pgrep -fx "$REDLOCK lock .*--keep-for $1( .*)?"; }
in_line() { [ "$(cli a zcard 'redlock:{job}:queue:job')" = "$1" ]; }
# A process that is kept for: sleeps, and notes which signals it gets. $kept
target() { # [SIGNAL that it survives]...
	local trap=

	for s; do trap="$trap trap 'echo $s >>\"$T/told\"' $s;"; done
	helper bash -c "$trap touch '$T/there'
		while :; do read -rt 0.05 <> <(:) || :; done"
	kept=$!
	wait_until exists "$T/there"
}
told() { [ "$(cat "$T/told" 2>/dev/null)" = "$*" ]; }

# ---- lock ----

@test "lock prints the token, and nothing else; the lease stands, and is not renewed" {
	run -0 --separate-stderr "$REDLOCK" lock -t 700ms job
	[ "$output" = "$(value)" ]
	[ ${#output} = 36 ]
	[ -z "$stderr" ]
	lasts 200
	run -75 "$REDLOCK" -n -k job -- true
	wait_until free job
}

@test "lock -n of what is held: 75, nothing printed, and who has it" {
	"$REDLOCK" lock -t 30s job >"$T/token"
	run -75 --separate-stderr "$REDLOCK" lock -n job
	[ -z "$output" ]
	[[ $stderr = *"not acquired: held by"* ]]
	run -3 "$REDLOCK" lock -E 3 -w 50ms job
	drop
}

@test "lock waits in line, and has the lock as soon as the holder ends" {
	hold 300
	run -0 --separate-stderr "$REDLOCK" lock job
	[ "$output" = "$(value)" ]
	ends_with 0
	[[ $stderr = *"waiting: held by"* ]]
	drop
}

@test "a token that cannot be printed is given back, status 70" {
	for how in '' --hold "--keep-for $$" --export "--export --keep-for $$"; do
		status=0
		# shellcheck disable=SC2086 # words
		"$REDLOCK" lock $how job >/dev/full 2>"$T/err" || status=$?
		[ "$status" = 70 ]
		contains "$T/err" 'standard output: cannot write'
		wait_until free job
	done
	status=0
	"$REDLOCK" lock --hold job | true
	wait_until free job
}

@test "what does not go together is refused with 64, and a script with it" {
	run -64 "$REDLOCK" lock --hold --keep-for $$ job
	run -64 "$REDLOCK" lock --on-lost HUP job
	run -64 "$REDLOCK" lock --keep-for $$ --on-lost STOP job
	run -64 "$REDLOCK" lock --keep-for 0 job
	run -64 "$REDLOCK" lock
	run -64 script bash <<-'SH'
		eval "$("$REDLOCK" lock job --export --wiat 5s)"
		touch "$T/ran"
	SH
	[ ! -e "$T/ran" ]
}

# ---- --hold ----

@test "--hold renews until TERM or INT, gives back, and dies of it" {
	for sig in TERM INT; do
		start_hold_by_hand
		left=1000000
		wait_until renewed
		kill -"$sig" "$tool"
		finish
		[ "$status" = $((128 + $(kill -l "$sig"))) ]
		free job
	done
}
start_hold_by_hand() {
	rm -f "$T/token"
	launch --default all "$REDLOCK" lock --hold -t 1s job >"$T/token" \
		2>"$T/err" 3>&- &
	tool=$!
	helpers="$helpers $tool"
	wait_until test -s "$T/token"
	[ "$(cat "$T/token")" = "$(value)" ]
}

@test "--hold whose lock is another's ends with 125" {
	start_hold_by_hand
	cli a set job other px 60000
	finish
	[ "$status" = 125 ]
	contains "$T/err" 'lease lost: the server says that it is no longer ours; the hold ends'
	drop
}

@test "--hold in the background of \$(...) does not keep it" {
	token=$("$REDLOCK" lock --hold -t 1s job 3>&- &)
	[ "$token" = "$(value)" ]
	pkill -TERM -fx "$REDLOCK lock --hold -t 1s job"
	wait_until free job
}

# ---- the rest of a script: --export --keep-for $$ ----

@test "every shell: the rest of the script is under the lock, and the end frees it" {
	for sh in $(shells); do
		run -0 --separate-stderr script "$sh" <<-'SH'
			eval "$("$REDLOCK" lock -t 500ms --keep-for $$ --export job)"
			[ "$(redis-cli -s "$T/a.sock" get job)" = "$REDLOCK_TOKEN" ]
			[ "$(redis-cli -s "$T/a.sock" get 'redlock:{job}:fence:job')" = \
				"$REDLOCK_FENCE" ]
			left=$(redis-cli -s "$T/a.sock" pttl job)
			was=$left
			until [ "$left" -gt "$was" ]; do
				was=$left left=$(redis-cli -s "$T/a.sock" pttl job)
			done
			"$REDLOCK" -n -k job -- echo nested
			echo "$REDLOCK_KEY $REDLOCK_SLOT"
		SH
		echo "$sh: $output, $stderr"
		[ "$output" = $'nested\njob 0' ]
		[ -z "$stderr" ]
		wait_until free job
	done
}

@test "every shell: without the lock the rest of the script does not run" {
	"$REDLOCK" lock job >/dev/null
	for sh in $(shells); do
		run -75 --separate-stderr script "$sh" <<-'SH'
			REDLOCK_TOKEN=old
			eval "$("$REDLOCK" lock -q -n --keep-for $$ --export job)"
			touch "$T/ran"
		SH
		[ ! -e "$T/ran" ]
		[ -z "$output" ]
		run -69 script "$sh" <<-'SH'
			eval "$("$REDLOCK" lock -u "unix://$T/none" -n --export job)"
			touch "$T/ran"
		SH
		[ ! -e "$T/ran" ]
		# a person's shell goes on, and knows
		run -0 --separate-stderr timeout 10 "$sh" -i <<-'SH'
			REDLOCK_TOKEN=old
			eval "$("$REDLOCK" lock -q -n --export job)"; echo "$?,$REDLOCK_TOKEN"
			exit 0
		SH
		[[ $output = *75,* ]]
		[[ $output != *old* ]]
	done
	drop
}

@test "any key, also with quotes, newlines and dollars, comes through eval whole" {
	key=$'it\'s "a" $(touch x) `b` \\\n; echo * \t\e[31m\xff'
	for sh in $(shells); do
		export key
		run -0 script "$sh" <<-'SH'
			eval "$("$REDLOCK" lock -t 5s --keep-for $$ --export -k "$key")"
			[ "$REDLOCK_KEY" = "$key" ]
		SH
		wait_until eval '[ "$(cli a exists "$key")" = 0 ]'
	done
	cli a flushall # a counter by that name is too much for the asserts
}

@test "x=\$(redlock lock --keep-for) returns at once: the keeper has nothing of the caller's" {
	target
	exec 7>"$T/seven"
	token=$(timeout 10 "$REDLOCK" lock -t 2s --keep-for "$kept" job 2>"$T/err")
	both=$(timeout 10 "$REDLOCK" lock -n --keep-for "$kept" b 2>&1)
	exec 7>&-
	[ "$token" = "$(value)" ]
	[ "$both" = "$(cli a get b)" ]
	for p in $(keeper_pid "$kept"); do
		[ "$(readlink "/proc/$p/cwd")" = / ]
		[ "$(ps -o sid= -p "$p" | tr -d ' ')" = "$p" ]
		run readlink "/proc/$p/fd/"{0,1}
		[ "$output" = $'/dev/null\n/dev/null' ]
		run bash -c "readlink /proc/$p/fd/* /proc/$(pgrep -P "$p")/fd/*"
		[[ $output != *seven* ]]
	done
	kill -9 "$kept"
	wait_until free job
	wait_until free b
	[ ! -s "$T/err" ]
}

@test "a process killed with -9: its lock is free at once, the next in line has it" {
	target
	"$REDLOCK" lock -t 30s --keep-for "$kept" job >/dev/null
	start -k job -- sh -c 'echo $(($(date +%s%N) / 1000000)) >"$T/began"'
	wait_until in_line 1
	from=$(now_ms)
	kill -9 "$kept"
	finish
	[ "$status" = 0 ]
	echo "took $(($(cat "$T/began") - from)) ms"
	below $(($(cat "$T/began") - from)) 2000
	wait_until eval '! keeper_pid "$kept"'
}

@test "--keep-for: no such process, one that has ended, one of another user: 64" {
	sleep 0 &
	gone=$!
	wait "$gone"
	for p in "$gone" 2147483647; do
		run -64 "$REDLOCK" lock --keep-for "$p" job
		[ "${#lines[@]}" = 1 ]
		[[ $output = *"--keep-for: no process $p" ]]
	done
	target
	as=(env)
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --clear-groups)
	# ours, seen by somebody else
	[ "$(id -u)" = 0 ] || kept=1
	cp "$REDLOCK" "${TMPDIR:-/tmp}/redlock.$$"
	run "${as[@]}" "${TMPDIR:-/tmp}/redlock.$$" lock --keep-for "$kept" job
	rm "${TMPDIR:-/tmp}/redlock.$$"
	echo "$output"
	[ "$status" = 64 ]
	[ "${#lines[@]}" = 1 ]
	free job
}

@test "who asked a keeper and is interrupted, or whose process ends: nobody waits on" {
	helper "$REDLOCK" -k job -- sleep 60
	holder=$!
	wait_until held job
	target
	launch --default all "$REDLOCK" lock --keep-for "$kept" job \
		>"$T/out" 2>"$T/err2" 3>&- &
	asker=$!
	wait_until in_line 1
	kill -INT "$asker"
	wait_until in_line 0
	run -130 wait "$asker"
	launch --default all "$REDLOCK" lock --keep-for "$kept" job \
		>"$T/out" 2>"$T/err2" 3>&- &
	asker=$!
	wait_until in_line 1
	kill -9 "$kept"
	wait_until in_line 0
	run -129 wait "$asker"
	[ ! -s "$T/out" ]
	kill "$holder"
	ends_with 143
}

# ---- keepers that die, servers that freeze ----

# The guard tells the process, and gives back only when that is gone.
killed_keeper() { # redlock|guard|child
	target TERM
	"$REDLOCK" lock -t 3s --keep-for "$kept" job >"$T/token" 2>"$T/err"
	tool=$(keeper_pid "$kept")
	guard=$(pgrep -P "$tool")
	case $1 in
	redlock) victim=$tool ;;
	guard) victim=$guard ;;
	child) victim=$(pgrep -P "$guard") ;;
	esac
	kill -9 "$victim"
	wait_until told TERM
	[ "$(value)" = "$(cat "$T/token")" ]
	run -75 "$REDLOCK" -n -k job -- true
	kill -9 "$kept"
	wait_until free job
	contains "$T/err" "sending SIGTERM to process $kept"
}
@test "the keeper killed with -9: its process is told; the lock is free when that is gone" {
	killed_keeper redlock
}
@test "the keeper's guard killed with -9: likewise" {
	killed_keeper guard
}
@test "the keeper's last process killed with -9: likewise" {
	killed_keeper child
}

@test "the keeper killed, its process lives on: the lease runs out, and no sooner" {
	target TERM
	"$REDLOCK" lock -t 2s --keep-for "$kept" job >"$T/token" 2>"$T/err"
	kill -9 "$(keeper_pid "$kept")"
	start -k job -- witness "$T" --hold 10
	finish
	[ "$status" = 0 ]
	told TERM
	wait_until no_keeper
}
no_keeper() { ! pgrep -x lockguard >/dev/null || [ -z "$(list_processes)" ]; }

@test "a frozen server: the process is told in time, and nobody else runs beside it" {
	url=unix://$T/a.sock
	helper env REDLOCK_FENCE=1 witness "$T" --hold 60000 --started "$T/started"
	wait_until exists "$T/started"
	kept=$(cat "$T/started")
	from=$(now_ms)
	"$REDLOCK" lock -t 2s --keep-for "$kept" job >"$T/token" 2>"$T/said"
	start -k job -- witness "$T"
	wait_until in_line 1
	node_freeze a
	wait_until gone "$kept"
	echo "after $(($(now_ms) - from)) ms"
	node_thaw a
	finish
	[ "$status" = 0 ]
	contains "$T/said" "not renewed for .*; sending SIGTERM to process $kept"
}

@test "--on-lost names the signal, once when it is near and once when it is lost" {
	for s in USR1 SIGHUP; do
		rm -f "$T/told" "$T/there"
		target "${s#SIG}"
		"$REDLOCK" lock -t 1s --on-lost "$s" --keep-for "$kept" job \
			>/dev/null 2>"$T/err"
		node_freeze a
		wait_until told "${s#SIG}
${s#SIG}"
		wait_until eval '[ -z "$(keeper_pid "$kept")" ]'
		node_thaw a
		contains "$T/err" "lease lost: not renewed for .*; sending SIG${s#SIG} to"
		kill -9 "$kept"
		wait_until free job
	done
}

@test "--on-lost none: nothing is sent, one line says it" {
	target TERM
	"$REDLOCK" lock -t 1s --on-lost none --keep-for "$kept" job \
		>/dev/null 2>"$T/err"
	cli a set job other px 60000
	wait_until contains "$T/err" "no longer ours; process $kept goes on"
	wait_until eval '[ -z "$(keeper_pid "$kept")" ]'
	[ ! -e "$T/told" ]
	drop
}

@test "a lock that is another's: the process is told at once" {
	target TERM
	"$REDLOCK" lock -t 1s --keep-for "$kept" job >/dev/null 2>"$T/err"
	cli a set job other px 60000
	wait_until told TERM
	contains "$T/err" "lease lost: the server says .*; sending SIGTERM to process $kept"
	wait_until eval '[ -z "$(keeper_pid "$kept")" ]'
	[ "$(wc -l <"$T/err")" = 1 ]
	drop
}
