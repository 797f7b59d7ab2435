#!/usr/bin/env bats
# --replace: the newest run asks the one that holds the lock to stop, and runs.

load lib/common
load lib/masters

state='job:redlock:{job}:state'
queue='job:redlock:{job}:queue'
is_asked() { [ "$(cli "$1" hexists "$state" stop:0)" = 1 ]; } # NODE
# The holder in the background as $tool, whose result is in $T/result.
begin() { # [OPTION...] -- COMMAND...
	start -t 3s --result-file "$T/result" -k job "$@"
	wait_until exists "$T/on"
}
# A command that says that it runs; "deaf": that does not hear SIGTERM.
runs=(sh -c ': >"$T/on"; exec linger')
deaf=(sh -c 'trap "" TERM; : >"$T/on"; exec linger')
# Replaces it, as number N in the background: ${pid[N]}.
declare -A pid
newer() { # N [OPTION...]
	local n=$1

	shift
	helper "$REDLOCK" -u "$url" -k job -t 3s --replace --reason "build $n" "$@" \
		-- sh -c "echo $n >>'$T/order'; exec witness '$T' --hold 50" 2>"$T/err.$n"
	pid[$n]=$!
}
ended_with() { ended_as "${pid[$1]}" "$2"; } # N STATUS
order() { [ "$(tr '\n' ' ' <"$T/order")" = "$* " ]; }
replaced_by() { # N: the holder was, and says so in each place
	finish
	[ "$status" = 125 ]
	grep -q "^redlock: job: replaced by $(hostname) (pid ${pid[$1]}, user .*: build $1); sent " "$T/err"
	grep -q '"outcome":"forced","exit":125' "$T/result"
}
told_by() { # N: the history
	run -0 redlock history --json job
	[[ $output == *'"outcome":"forced"'*"\"by\":\""*"build $1"* ]]
}

@test "--replace: the holder ends with 125 and says who replaced it; the newest runs" {
	begin -- "${runs[@]}"
	newer 1 --result-file "$T/result.1"
	ended_with 1 0
	replaced_by 1
	grep -q '; sent SIGTERM; SIGKILL in ' "$T/err"
	grep -q '"outcome":"ran"' "$T/result.1"
	order 1
	told_by 1
	not is_asked a # it was for that hold alone
	wait_until lock_is_free
}

@test "--replace: --log-format json has it, too" {
	begin --log-format json -- "${runs[@]}"
	newer 1
	ended_with 1 0
	finish
	[ "$status" = 125 ]
	grep -q '"event":"forced".*"message":"replaced by .*build 1' "$T/err"
}

@test "--replace: of three at once the newest runs, and the others are superseded" {
	# it stays until all have asked
	begin -t 12s -K 6s -- sh -c 'trap "" TERM; : >"$T/on"; linger until "$T/go"
		trap - TERM; kill $$'
	newer 1 --grace 1m
	wait_until in_line 1
	newer 2 --grace 1m
	ended_with 1 75
	wait_until in_line 1
	newer 3 --grace 1m
	ended_with 2 75
	wait_until contains "$T/err" 'replaced by'
	: >"$T/go"
	ended_with 3 0
	grep -q 'superseded by .*build 2' "$T/err.1"
	grep -q 'superseded by .*build 3' "$T/err.2"
	finish
	[ "$status" = 125 ]
	order 3
}

@test "--replace: a run that replaced another is replaced by the next one" {
	begin -- "${runs[@]}"
	helper "$REDLOCK" -q -u "$url" -k job -t 3s --replace -- \
		sh -c ': >"$T/second"; exec linger'
	pid[1]=$!
	wait_until exists "$T/second"
	newer 2
	ended_with 1 125
	ended_with 2 0
}

@test "--replace: a plain waiter in front goes first, and nobody is asked to stop" {
	begin -- sh -c ': >"$T/on"; while [ ! -e "$T/end" ]; do sleep 0.05; done'
	helper "$REDLOCK" -u "$url" -k job -t 3s -- sh -c "echo plain >>'$T/order'; exec linger" \
		2>"$T/err.plain"
	pid[0]=$!
	wait_until in_line 1
	newer 1
	wait_until in_line 2
	pause 2.5 # it has looked again
	not is_asked a
	: >"$T/end"
	finish
	[ "$status" = 0 ]
	ended_with 0 125
	grep -q 'replaced by .*build 1' "$T/err.plain"
	ended_with 1 0
	order plain 1
}

@test "--replace: a command that ignores TERM is killed after -K" {
	begin -K 300ms -- "${deaf[@]}"
	newer 1 --grace 1m
	ended_with 1 0
	replaced_by 1
	grep -q 'SIGKILL in 300ms' "$T/err"
}

@test "--replace: --grace bounds -K, and the command is dead before the next one runs" {
	begin -K 1500ms -- witness "$T" --hold 20000 --started "$T/on" --stubborn
	newer 1 --grace 1s
	ended_with 1 0
	replaced_by 1
	grep -qE 'SIGKILL in [1-8]?[0-9]?[0-9]ms' "$T/err"
}

@test "--replace: the --signal of the replaced run is used" {
	begin --signal INT -K 1s -- sh -c 'trap "echo INT >\"$T/got\"; exit 3" INT; trap "" TERM
		: >"$T/on"; while :; do sleep 0.05; done'
	newer 1
	ended_with 1 0
	replaced_by 1
	[ "$(cat "$T/got")" = INT ]
}

@test "--replace: a run that gives up has still asked the holder to stop" {
	begin -- "${runs[@]}"
	kill -STOP "$tool" # so that it does not hear it yet
	newer 1 -w 600ms
	ended_with 1 75
	is_asked a
	kill -CONT "$tool"
	replaced_by 1
	wait_until lock_is_free

	rm "$T/on"
	begin -- "${runs[@]}"
	kill -STOP "$tool"
	newer 2
	wait_until is_asked a
	kill "${pid[2]}"
	ended_with 2 143
	kill -CONT "$tool"
	replaced_by 2
}

@test "--replace: a run inside the holder joins it, or is refused, and replaces nobody" {
	start -t 3s -k job -- sh -c "
		'$REDLOCK' -u '$url' -k job -t 3s --replace -w 3s -- true; echo \$? >'$T/joined'
		env -u REDLOCK_HELD -u REDLOCK_TOKEN \
			'$REDLOCK' -u '$url' -k job -t 3s --replace -w 3s -- true
		echo \$? >'$T/refused'"
	finish
	[ "$status" = 0 ]
	[ "$(cat "$T/joined")" = 0 ]
	[ "$(cat "$T/refused")" = 64 ] || { cat "$T/refused" "$T/err" >&2; false; }
	not is_asked a
}

@test "--replace: all readers are asked to stop" {
	begin -s -- "${runs[@]}"
	helper "$REDLOCK" -q -u "$url" -k job -t 3s -s -- sh -c ': >"$T/second"; exec linger'
	pid[0]=$!
	wait_until exists "$T/second"
	newer 1
	ended_with 0 125
	ended_with 1 0
	replaced_by 1
}

@test "--replace: --min-hold, a manual lock and a foreign key are waited for" {
	redlock -k job --min-hold 1500ms -- true
	newer 1
	ended_with 1 0
	run -0 redlock lock -t 2s job
	newer 2
	ended_with 2 0
	cli a set job theirs px 1500 >/dev/null
	newer 3
	wait_until in_line 1
	pause 0.5
	not is_asked a
	[ "$(cli a get job)" = theirs ]
	ended_with 3 0
	order 1 2 3
}

@test "--replace: lock --hold replaces: the holder ends with 125, then held by hand" {
	helper "$REDLOCK" lock -u "$url" -t 3s --hold job >"$T/token" 2>"$T/err.0"
	pid[0]=$!
	wait_until test -s "$T/token"
	run -0 redlock lock -t 3s --replace --reason 'by hand' job
	ended_with 0 125
	grep -q 'replaced by .*by hand' "$T/err.0"
}

@test "--replace: works from a file, and excludes some options" {
	settings 'replace = yes' 'grace = 5s'
	begin -- "${runs[@]}"
	helper "$REDLOCK" -q -u "$url" -k job -t 3s -- true
	wait "$!"
	finish
	[ "$status" = 125 ]
	for with in -n '-w 0' -s '-N 2'; do
		# shellcheck disable=SC2086 # words
		run -64 redlock -k job $with -- true
		[[ $output == *--replace* ]]
	done
	run -0 redlock -k job -w 1s -- true
}

@test "--replace: works with local:" {
	url="local:?dir=$T/mine&idle=2s"
	begin -- "${runs[@]}"
	newer 1
	ended_with 1 0
	replaced_by 1
}

@test "--replace on three servers, one of them down: the newest of several runs" {
	several 3
	begin -- "${runs[@]}"
	node_kill b
	newer 1
	wait_until in_line 1
	newer 2
	ended_with 1 75
	ended_with 2 0
	replaced_by 2
	order 2
}

@test "--replace on three servers: each of them asks the holder" {
	several 3
	begin -- "${runs[@]}"
	kill -STOP "$tool"
	newer 1
	for n in a b c; do wait_until is_asked "$n"; done
	kill -CONT "$tool"
	ended_with 1 0
	replaced_by 1
}
