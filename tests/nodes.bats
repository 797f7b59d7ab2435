#!/usr/bin/env bats
# Several independent servers: how they are named, and a lock that most of them
# have granted. All servers are a moment old, so --restart-guard is off.

load lib/common
load lib/masters

typed() { printf -- '-u\n%s\n' "${urls[@]}"; }

# says STATUS TEXT ARGUMENT...: one line, and nothing has been done anywhere
says() {
	local want=$1 text=$2 got=0 n
	shift 2
	"$REDLOCK" "$@" -k job -- touch "$T/ran" >"$T/out" 2>"$T/err" || got=$?
	[ "$got" = "$want" ] && [ "$(wc -l <"$T/err")" = 1 ] &&
		grep -qF -- "$text" "$T/err" && [ ! -e "$T/ran" ] &&
		[ "$(cli a dbsize)" = 0 ] && return
	printf 'wanted %s with "%s", got %s:\n' "$want" "$text" "$got" >&2
	cat "$T/out" "$T/err" >&2
	return 1
}

# ---- naming them (what is refused, and of which source: unit/t-server.c) ----

@test "-u repeated, a list in one -u, in REDLOCK_URL or in a file: the same servers" {
	local want
	several 3
	want=$url
	show=(sh -c 'echo "$REDLOCK_URL"')
	mapfile -t options < <(typed)
	run -0 --separate-stderr "$REDLOCK" "${options[@]}" -k job -- "${show[@]}"
	[ "$output" = "$want" ]
	[ -z "$stderr" ]
	run -0 "$REDLOCK" -u "$url" -k job -- "${show[@]}"
	[ "$output" = "$want" ]
	REDLOCK_URL=" $url"$'\n' run -0 "$REDLOCK" -k job -- "${show[@]}"
	[ "$output" = "$want" ]
	settings 'restart-guard = off' "url = ${urls[2]}	${urls[0]}" \
		"url = ${urls[1]}"
	run -0 "$REDLOCK" -k job -- "${show[@]}"
	[ "$output" = "$want" ]
	# a later source has its own list, and adds nothing to an earlier one
	REDLOCK_URL="${urls[2]} ${urls[1]}" run -0 "$REDLOCK" -q -k job -- "${show[@]}"
	[ "$output" = "${urls[1]} ${urls[2]}" ]
	REDLOCK_URL="${urls[2]} ${urls[1]}" run -0 "$REDLOCK" -u "${urls[0]}" \
		-k job -- "${show[@]}"
	[ "$output" = "${urls[0]}" ]
}

@test "one to nine servers, not ten" {
	several 9
	# one that is asked whole, late in a short run, may be running the acquire when
	# we are gone: its socket is a unix one, so it does not read the release then
	for n in "${names[@]}"; do warm "$n" & done
	wait
	[ "$("$REDLOCK" -u "$url" -k job -- sh -c 'echo "$REDLOCK_URL"')" = "$url" ]
	wait_until have 0 || { "$REDLOCK" inspect -u "$url" --json job; false; }
	for n in "${names[@]}"; do cli "$n" flushall; done
	says 64 'at most 9' -u "$url" -u redis://ten
}

@test "a server that is named twice is refused, however it is written" {
	several 2
	says 64 "'${urls[0]}' and 'unix://$T/%61.sock?db=1' are the same server" \
		-u "${urls[1]}" -u "${urls[0]}" -u "unix://$T/%61.sock?db=1"
	says 64 "'redis://h' and 'valkey://***@H:6379/2'" -u redis://h \
		-u valkey://me:hunter2@H:6379/2
	REDLOCK_URL="${urls[0]} ${urls[1]} ${urls[0]}" says 78 \
		"REDLOCK_URL: '${urls[0]}' and '${urls[0]}' are the same server"
	settings "url = ${urls[0]}" '' "url = ${urls[0]}"
	says 78 "config:3: '${urls[0]}' and"
}

@test "an even number of servers is accepted, with a note on what it is worth" {
	several 4
	run -0 --separate-stderr redlock -k job -- echo ran
	[ "$output" = ran ]
	[ "$stderr" = 'redlock: 4 servers survive no more failures than 3; use an odd number' ]
	run -0 --separate-stderr redlock -q -k job -- echo ran
	[ "$output$stderr" = ran ]
}

# ---- by what we are known ----

@test "each server has its own password, or all without one get that of an option" {
	several 3
	cli a acl setuser joe on '>pa' '~*' +@all
	cli b acl setuser joe on '>pb' '~*' +@all
	cli c acl setuser joe on '>pb' '~*' +@all
	(umask 077 && echo pb >"$T/pw")
	settings 'restart-guard = off' "password-file = $T/pw" 'user = joe'
	u=("unix://joe:pa@$T/a.sock" "${urls[1]}" "${urls[2]}")
	run -0 "$REDLOCK" -u "${u[*]}" -k job -- sh -c 'echo "$REDLOCK_URL"'
	[ "$output" = "${u[0]} unix://joe:@$T/b.sock?password-file=$T/pw unix://joe:@$T/c.sock?password-file=$T/pw" ]
	settings 'restart-guard = off'
	REDISCLI_AUTH=pb run -0 "$REDLOCK" -u "${u[0]}" --user joe \
		-u "${u[1]}" -u "${u[2]}" -k job -- sh -c 'echo "$REDLOCK_URL"'
	[ "$output" = "${u[0]} unix://joe:@$T/b.sock unix://joe:@$T/c.sock" ]
}

@test "--askpass asks once for all servers" {
	several 3
	for n in "${names[@]}"; do
		cli "$n" acl setuser joe on '>hunter2' '~*' +@all
	done
	run -0 pty "wait:Password for joe at $T/a.sock and others: " \
		'send:hunter2\n' -- "$REDLOCK" -u "$url" --user joe --askpass \
		-k job -- echo ran
	[[ $output = *ran* && $output != *hunter2* ]]
	[ "$(grep -o Password <<<"$output" | wc -l)" = 1 ]
}

@test "ps shows no password of a list" {
	several 3
	cli b acl setuser joe on '>hunter2' '~*' +@all
	cli c acl setuser joe on '>hunter3' '~*' +@all
	"$REDLOCK" -v -u "${urls[0]}" -u "unix://joe:hunter2@$T/b.sock" \
		--url="unix://joe:hunter3@$T/c.sock" -k job -- sh -c \
		'cat "/proc/$(awk "{ print \$4 }" "/proc/$PPID/stat")/cmdline"' \
		>"$T/out" 2>"$T/err"
	[ -s "$T/err" ]
	[ "$(tr '\0' '\n' <"$T/out" | grep -c '\*@.*\.sock$')" = 2 ]
	not grep -a 'hunter[23]' "$T/out" "$T/err"
}

# ---- holding ----

@test "the lock is on 3 servers, and on 5, while the command runs, and then on none" {
	for n in 3 5; do
		several "$n"
		keep
		let_go
		wait_until have 0
	done
}

@test "each server has the token, and most have the fence as counter" {
	local n sum=0

	several 3
	keep
	for n in "${names[@]}"; do
		[ "$(cli "$n" get job)" = "$(cli a get job)" ]
		[ "$(cli "$n" hget 'job:redlock:{job}:state' fence)" -lt \
			"$(cat "$T/fence")" ] || sum=$((sum + 1))
	done
	[ "$sum" -ge 2 ]
	let_go
}

@test "-n against a held lock is 75, leaves nothing, and names the holder" {
	several 3
	keep
	run -75 --separate-stderr redlock -n -k job -- touch "$T/ran"
	[[ $stderr = *"not acquired: held by "*"@$(hostname) "*witness* ]]
	for n in "${names[@]}"; do [ "$(cli "$n" dbsize)" = 2 ]; done
	run -75 redlock -q -w 300ms -E 75 -k job -- touch "$T/ran"
	[ ! -e "$T/ran" ]
	let_go
}

@test "a waiter gets the lock when it is released" {
	several 3
	keep
	helper "$REDLOCK" -u "$url" -k job -- witness "$T" 2>"$T/err.waiter"
	waiter=$!
	wait_until contains "$T/err.waiter" waiting
	let_go
	wait "$waiter"
	[ "$(holds)" = 1 ] # the first one was ended before it could count
}

@test "the witness counts every one of 10 contending runs on 3 servers, fences grow" {
	several 3
	for i in {1..10}; do
		redlock -q -k job -t 5s -- witness "$T" --hold 2 &
	done
	wait
	[ "$(holds)" = 10 ]
}

# A server that is running the acquire when we are gone cannot answer, and then
# does not read the release behind it.
@test "-n against a lock on most servers leaves none on one that is slow to grant" {
	local i began took

	several 3
	cli a set job other px 60000
	cli b set job other px 60000
	for i in {1..25}; do
		cli c script flush # to compile them takes it longer
		began=$(now_ms)
		run -75 redlock -q -n -k job -t 30s -- touch "$T/ran"
		took=$(($(now_ms) - began))
		# no server is waited for longer than 50 ms: see timing_hedge()
		if ((took < 50)); then
			wait_until free_on c
		else
			cli c flushall
		fi
	done
	[ ! -e "$T/ran" ]
	cli a del job
	cli b del job
}
free_on() { [ "$(cli "$1" exists job)" = 0 ]; }

@test "a key that another program holds on most servers is not acquired" {
	several 3
	cli a set job other px 60000
	cli b set job other px 60000
	run -75 redlock -n -k job -- touch "$T/ran"
	[ ! -e "$T/ran" ]
	wait_until have 2
	cli a del job
	redlock -k job -w 20s -- true
	cli b del job
}

@test "the result file has the number of servers" {
	several 3
	redlock -k job --result-file "$T/result" -- true
	grep -q '"scope":"shared","servers":3,' "$T/result"
	"$REDLOCK" -u "${urls[0]}" -k job --result-file "$T/result" -- true
	not grep -q servers "$T/result"
}
@test "the result file has the token, so only its owner can read it" {
	several 1
	(umask 0 && redlock -k job --result-file "$T/result" -- true)
	[ "$(stat -c %a "$T/result")" = 600 ]
	grep -q '"token":"' "$T/result"
	# one that is there already is as its owner made it
	chmod 640 "$T/result"
	redlock -k job --result-file "$T/result" -- true
	[ "$(stat -c %a "$T/result")" = 640 ]
}

# ---- nesting ----

@test "a nested run joins by REDLOCK_URL, and by the same servers in another order" {
	several 3
	mapfile -t options < <(typed)
	run -0 --separate-stderr timeout 20 "$REDLOCK" "${options[@]}" -k job -- \
		sh -c 'echo "$REDLOCK_FENCE" "$REDLOCK_TOKEN"
		"$0" -n -k job -- sh -c "echo \$REDLOCK_FENCE \$REDLOCK_TOKEN"
		"$0" -n -u "$3" -u "$1" -u "$2" -k job -- \
			sh -c "echo \$REDLOCK_FENCE \$REDLOCK_TOKEN"' \
		"$REDLOCK" "${urls[@]}"
	[ -z "$stderr" ]
	[ "${#lines[@]}" = 3 ]
	[ "${lines[0]}" = "${lines[1]}" ]
	[ "${lines[0]}" = "${lines[2]}" ]
	wait_until have 0
}

@test "an inner run that outlives the outer one keeps the lock, with one server dead" {
	local n

	several 3
	helper "$REDLOCK" -u "$url" -k job -t 1s -- sh -c '
		"$0" -k job -t 1s -- witness "$1" --hold 2500 --started "$1/started" &
		while [ ! -e "$1/enough" ]; do sleep 0.01; done' "$REDLOCK" "$T" 2>"$T/err"
	holder=$!
	# a majority is enough to start, but not if one of it is killed
	for n in "${names[@]}"; do wait_until has_holds "$n" 2; done
	wait_until exists "$T/started"
	node_kill c
	: >"$T/enough"
	ends_with 0
	run -75 redlock -n -k job -- touch "$T/ran"
	wait_until have 0
	[ "$(holds)" = 1 ]
}

# ---- servers that are gone ----

@test "one of three dead, or two of five: locks are acquired and released as usual" {
	several 3
	node_kill b
	run -0 --separate-stderr redlock -k job -- echo ran
	[ "$output$stderr" = ran ]
	wait_until have 0
	several 5
	node_kill a
	node_kill d
	run -0 --separate-stderr redlock -k job -- echo ran
	[ "$output$stderr" = ran ]
	wait_until have 0
}

@test "one of three frozen: locks are acquired at once, and none is left when it thaws" {
	several 3
	node_freeze b
	began=$(now_ms)
	for _ in 1 2 3; do redlock -k job -- witness "$T"; done
	below "$(($(now_ms) - began))" 4000
	[ "$(holds)" = 3 ]
	node_thaw b
	wait_until have 0
}

@test "one of three frozen: a release follows everything that it was asked meanwhile" {
	local key=some-service/deploys-to-production-in-europe args

	several 3
	redlock -k job -- true # they know the scripts
	for args in '-t 30s -- true' '-t 1s -- sleep 1.5'; do
		node_freeze b
		# shellcheck disable=SC2086 # options
		redlock -k "$key" $args
		node_thaw b
		cli b ping
		[ -z "$(cli b get "$key")" ]
	done
}

@test "one of three that has seen no release yet freezes, and knows one when it thaws" {
	several 3
	on_all script flush >/dev/null
	helper "$REDLOCK" -q -u "$url" -k other -- \
		sh -c "touch $T/started; linger until $T/done"
	holder=$!
	wait_until exists "$T/started"
	node_freeze b
	redlock -k job -t 30s -- true
	node_thaw b
	cli b ping
	[ -z "$(cli b get job)" ]
	touch "$T/done"
	ends_with 0
}

@test "most servers dead or frozen: 69 in time, and no lock is left" {
	several 3
	node_kill b
	node_kill c
	began=$(now_ms)
	run -69 --separate-stderr redlock -n -k job -- touch "$T/ran"
	below "$(($(now_ms) - began))" 2500
	[ "${#stderr_lines[@]}" = 1 ]
	wait_until have 0
	several 5
	for n in a c e; do node_freeze "$n"; done
	began=$(now_ms)
	run -69 --separate-stderr redlock -w 300ms -k job -- touch "$T/ran"
	below "$(($(now_ms) - began))" 4000
	for n in a c e; do node_thaw "$n"; done
	wait_until have 0
	[ ! -e "$T/ran" ]
}

@test "a hold is undisturbed when one of three dies, or two of five, one by one" {
	several 3
	hold 1500
	wait_until have 3
	node_kill a
	ends_with 0
	not grep -q 'SIGTERM\|lost' "$T/err"
	several 5
	hold 2500
	wait_until have 5
	node_kill b
	node_freeze d
	ends_with 0
	not grep -q 'SIGTERM\|lost' "$T/err"
	[ "$(holds)" = 2 ]
}

@test "when most servers are gone, the holder loses the lock in time: 125" {
	several 3
	keep
	began=$(now_ms)
	node_kill a
	node_kill c
	wait_until gone "$worker"
	below "$(($(now_ms) - began))" 1000 # of a lease of 1 s
	ends_with 125
}

@test "a server that comes back empty gets the lock again from the holder" {
	several 3
	keep
	node_restart b
	wait_until have 3
	[ "$(cli b get job)" = "$(cli a get job)" ]
	let_go
}

# A replica of server a as server r; the link is cut, so that it stays behind.
behind() {
	node_start a
	node_start r --replicaof 127.0.0.1 1
}

@test "a replica is not believed without a word, by any verb that looks" {
	behind
	hold open # at server a
	at() { # STATUS VERB [OPTION...]: what it says is in $output, with -q
		run "-$1" "$REDLOCK" "$2" -q -u "unix://$T/r.sock" "${@:3}"
		[[ $output = *"$T/r.sock: a replica of ${master-127.0.0.1:1}, which may not \
know of the latest changes: name the master"* ]] || return 1
		[ "$(grep -c 'a replica of' <<<"$output")" = 1 ]
	}
	at 1 inspect job
	[[ $output = "job: free (on a replica)"* ]]
	at 1 inspect job --max-age 1h
	[[ $output = "WARNING: job: free; "* ]]
	run -1 "$REDLOCK" inspect -u "unix://$T/r.sock" job --json
	as_in_manual "$output" 'assert d["nodes"][0]["replica"] and d["problems"]'
	at 0 list
	run -0 --separate-stderr "$REDLOCK" list -u "unix://$T/r.sock" --json
	as_in_manual "$output" 'assert d["nodes"][0]["replica"] and not d["complete"]'
	run -0 --separate-stderr "$REDLOCK" list -u "unix://$T/r.sock" --prometheus
	[[ $output = *$'\n'redlock_server_replica\{server=\"*/r.sock\"\}\ 1* ]]
	[[ $output = *$'\n'redlock_complete\ 0* ]]
	at 0 history job
	at 3 history job --last-success 1h
	[[ $output = "UNKNOWN: job: no success in the history; "* ]]
	at 78 wait job -w 200ms
	at 78 force-release job --confirm job
	for verb in extend unlock; do
		master='another server' at 78 "$verb" job -w 300ms --token "$(cli a get job)"
		[[ $output = *"job: gave up after "* ]]
		at 78 "$verb" job -w 0 --token no-token
	done
	# and it was there: the run form refuses, too
	run -78 "$REDLOCK" -u "unix://$T/r.sock" -n -k job -- true
	# once it is a master, it is believed
	helper "$REDLOCK" wait -u "unix://$T/r.sock" job
	waits=$!
	cli r replicaof no one >/dev/null
	ended_as "$waits" 0
	end_hold
}

@test "a replica among three servers does not vote, and is said, with -q too" {
	behind
	node_start b
	local three="unix://$T/a.sock unix://$T/b.sock unix://$T/r.sock" verb token
	# it answers when the others have granted
	node_freeze r
	hold open -u "unix://$T/b.sock" -u "unix://$T/r.sock" -q --restart-guard off
	node_thaw r
	wait_until contains "$T/err" "$T/r.sock: the server is a replica, which grants no lock"
	contains "$T/err" "it does not vote"
	[ "$(wc -l <"$T/err")" = 1 ]
	for verb in 'inspect job' list 'history job' 'wait job -w 200ms'; do
		REDLOCK_URL=$three run "$REDLOCK" ${verb%% *} -q \
			$([ $verb = list ] 2>/dev/null || echo ${verb#* })
		[[ $output = *"$T/r.sock: a replica of 127.0.0.1:1, which does not vote"* ]]
	done
	export REDLOCK_URL=$three
	token=$("$REDLOCK" -q lock --restart-guard off -t 1m other 2>/dev/null)
	for verb in 'extend -q' 'extend -q' 'unlock -q' 'unlock'; do
		run "$REDLOCK" $verb --token "$token" other
		[ "$(grep -c 'r.sock: a replica of .* does not vote' <<<"$output")" = 1 ]
		[ "$(wc -l <<<"$output")" = $((status == 0 ? 1 : 2)) ]
	done
	[[ $output = *"not released: nobody holds it"* ]]
	unset REDLOCK_URL
	REDLOCK_URL=$three run -0 "$REDLOCK" inspect job --json
	as_in_manual "$output" 'assert [n.get("replica") for n in d["nodes"]] == \
[None, None, True] and [n["state"] for n in d["nodes"]] == ["held", "held", "replica"]'
	REDLOCK_URL=$three run -0 "$REDLOCK" inspect job
	[[ $output = *"r.sock  a replica"$'\n'* && $output != *'no answer'* ]]
	REDLOCK_URL=$three run -0 --separate-stderr "$REDLOCK" list --json
	as_in_manual "$output" 'assert {n["state"] for n in d["nodes"]} == {"up"}'
	REDLOCK_URL=$three run -0 --separate-stderr "$REDLOCK" list --prometheus
	[ "$(grep -c '^redlock_server_up.* 1$' <<<"$output")" = 3 ]
	node_kill b
	REDLOCK_URL=$three run "$REDLOCK" inspect job
	[ "$status" != 0 ]
	[ "$status" != 1 ]
	[[ $output = *"1 of 3 servers answered"*"a replica of"* ]]
	REDLOCK_URL=$three run --separate-stderr "$REDLOCK" list --prometheus
	[ "$(grep '^redlock_server_up.* 0$' <<<"$output")" = \
		"redlock_server_up{server=\"$T/b.sock\"} 0" ]
	for verb in extend unlock; do
		REDLOCK_URL=$three run -78 "$REDLOCK" $verb -w 1s \
			--token "$token" other
		[[ $output = *": trying for up to 1s: 1 of 3 servers answered, \
2 are needed; "*"gave up after "*": 1 of 3 servers answered, 2 are needed; "*b.sock*r.sock* ]]
	done
	kill -KILL "$holder" || true # b was away for long
	wait "$holder" || true
	wait_until no_process_left
}

@test "extend and unlock of what is left on one of three servers say so" {
	several 3
	token=$("$REDLOCK" -q -u "unix://$T/a.sock" lock -t 1m job)
	run -75 redlock extend --token "$token" job
	[[ $output = *": not extended: it was held on only 1 of 3 servers" ]]
	run -75 redlock unlock --token "$token" job
	[[ $output = *": it was held on only 1 of 3 servers, and was released there" ]]
	run -75 redlock unlock --token "$token" job
	[[ $output = *": not released: nobody holds it" ]]
}
