#!/usr/bin/env bats
# redlock inspect: who holds a lock, who waits, what looks wrong; on every kind of
# server, whatever bytes others wrote, and without changing anything.

load lib/common
load lib/sentinel
load lib/cluster
load lib/masters

# inspect STATUS ARGUMENT...: the answer is in $output, and nothing on stderr
inspect() {
	local want=$1

	shift
	run "-$want" --separate-stderr "$REDLOCK" inspect -u "$url" "$@"
	[ -z "$stderr" ] || { echo "stderr: $stderr" >&2; return 1; }
	answer=$output
}
# STATUS EXPRESSION [KEY]: `d` is the JSON document, which is as the manual says
json() {
	inspect "$1" --json "${3:-job}"
	as_in_manual "$answer" 'assert '"$2"', d'
}
shows() { grep -Eqx -- " *$1" <<<"$answer" || { echo "$answer" >&2; return 1; }; }

# ---- what a person needs ----

# Each string, or field of a hash, that is kept of locks: with OLD (a pattern of
# Lua), if given, replaced by NEW. OLD NEW
all_values() {
	local key

	for key in $(cli a keys '*redlock:*'); do
		cli a eval "local key, all = KEYS[1], {}
			local function change(v) return (v:gsub(ARGV[1], ARGV[2])) end
			if redis.call('type', key).ok == 'string' then
				local v = change(redis.call('get', key))
				redis.call('set', key, v, 'KEEPTTL')
				all[1] = v
			elseif redis.call('type', key).ok == 'hash' then
				for _, f in ipairs(redis.call('hkeys', key)) do
					local v = change(redis.call('hget', key, f))
					redis.call('hset', key, f, v)
					all[#all + 1] = v
				end
			end
			return all" 1 "$key" "${1-^$}" "${2-}"
	done
}
@test "a link with a password is kept and shown without it, whoever wrote it" {
	CI_JOB_URL="https://ann:$(printf 'x%.0s' {1..300})@ci.example/7" \
		start -k job -t 20s -- sleep 61.3
	wait_until held job
	all_values | not grep -F xxx
	inspect 0 job
	shows 'ci job    https://\*\*\*@ci.example/7'
	kill "$tool"
	wait_until free job
	GITHUB_SERVER_URL=https://joe:secret@git.example GITHUB_REPOSITORY=a/b \
		GITHUB_RUN_ID=7 start -k job -t 20s -- sleep 61.3
	wait_until held job
	inspect 0 job
	shows 'ci job    https://\*\*\*@git.example/a/b/actions/runs/7'
	# as one that masks nothing would keep it
	all_values '%*%*%*@' old:secret@ | grep -qF old:secret@
	inspect 0 job
	shows 'ci job    https://\*\*\*@git.example/a/b/actions/runs/7'
	json 0 "d['holder']['ci_url'].startswith('https://***@git')"
	kill "$tool"
}

@test "a holder is shown with who, what, why, where from, since, lease, fence, token" {
	CI_JOB_URL=https://ci.example/jobs/7 USER=ann LOGNAME=ann \
		start -k job -t 20s --reason 'nightly dump' -- sleep 61.3
	wait_until held job
	inspect 0 job
	[[ $answer == "job: held by $(hostname) (pid $tool, user ann)"* ]]
	shows 'command   sleep'
	shows 'reason    nightly dump'
	shows 'ci job    https://ci.example/jobs/7'
	shows 'since     20[0-9-]* [0-9:]* [A-Z]+ \([0-9.]*m?s ago\)'
	shows 'lease     (20\.0|1[0-9]\.[0-9])s left of 20\.0s'
	shows "token     $(cli a get job)"
	shows "fence     $(cli a hget 'job:redlock:{job}:state' fence)"
	[[ $answer != *"problems"* && $answer != *renewed* ]]
	json 0 "d['state'] == 'held' and d['role'] == 'holder' and \
d['holder']['pid'] == $tool and d['holder']['ci_url'].endswith('/7') and \
d['ttl_ms'] == 20000 and 0 < d['ttl_left_ms'] <= 20000 and \
d['token'] == '$(cli a get job)' and d['problems'] == [] and \
d['scope'] == 'shared' and d['nodes'][0]['state'] == 'held'"
	kill "$tool"
}

@test "waiters are shown in order, with what they want" {
	start -k job -- sleep 61.3
	wait_until held job
	helper "$REDLOCK" -q -u "$url" -k job -- true
	wait_until in_line 1
	helper "$REDLOCK" -q -u "$url" -k job -s -- echo
	wait_until in_line 2
	helper "$REDLOCK" -q -u "$url" -k job -N 3 -- pwd
	wait_until in_line 3
	helper "$REDLOCK" -q -u "$url" -k job --priority high -- id
	wait_until in_line 4
	inspect 0 job
	shows 'waiting   4'
	shows "1 +$(hostname) +pid [0-9]+ +user [^ ]+ +for [0-9.]+m?s +id \(priority\)"
	shows "2 +$(hostname) +pid [0-9]+ +user [^ ]+ +for [0-9.]+m?s +true\$"
	shows '3 .* echo \(reads\)'
	shows '4 .* pwd \(a slot\)'
	json 0 "[w['command'] for w in d['waiters']] == ['id', 'true', 'echo', 'pwd'] \
and [w['place'] for w in d['waiters']] == [1, 2, 3, 4] and d['in_line'] == 4 \
and [w['priority'] for w in d['waiters']] == ['high', 'normal', 'normal', 'normal'] \
and d['waiters'][0]['since'] >= d['waiters'][1]['since'] \
and d['waiters'][2]['shared'] and d['waiters'][3]['slots'] == 3"
	kill_helpers || true
	cli a del 'job:redlock:{job}:queue' >/dev/null
}

@test "a free lock: status 1, the last fence; of several keys the worst status" {
	redlock -k job -- true
	inspect 1 job
	[[ $answer == "job: free"* ]]
	shows "counter   $(cli a hget 'job:redlock:{job}:state' fence); the next fence will be larger"
	json 1 "d['state'] == 'free' and 'token' not in d and d['fence'] > 0"
	start -k other -- sleep 61.3
	wait_until held other
	inspect 1 other job
	[[ $answer == "other: held by "*$'\n\n'"job: free"* ]]
	inspect 1 --json other job
	[ "$(wc -l <<<"$answer")" = 2 ]
	kill "$tool"
}

@test "readers, and runs nested in a hold, are each shown" {
	start -k job -s -- sh -c "'$REDLOCK' -s -k job -- sleep 61.3"
	wait_until held job
	helper "$REDLOCK" -u "$url" -k job -s -- sleep 61.4
	wait_until eval 'json 0 "[o[\"role\"] for o in d[\"others\"]] == [\"reader\"] * 2" 2>/dev/null'
	inspect 0 job
	[[ $answer == "job: read by "* ]]
	shows "and reader $(hostname) .*"
	kill_helpers || true
	wait_until free job
	start -k job -- sh -c "'$REDLOCK' -k job -- sleep 61.3"
	wait_until eval 'json 0 "[o[\"role\"] for o in d[\"others\"]] == [\"inside\"]" 2>/dev/null'
	inspect 0 job
	[[ $answer == "job: held by $(hostname) (pid $tool,"* ]]
	shows "and within it: $(hostname) .*"
	kill "$tool"
}

# Others' grants move the counter: it is the fence of the newest of them.
@test "each holder has its own fence: beside a nested run, readers, slots, alone" {
	local what own n=0

	shows_own() { # KEY FENCE
		inspect 0 "$1"
		shows "fence     $2"
		json 0 "d['fence'] == $2" "$1"
		as_in_manual "$(redlock list --json)" \
			"assert [l['fence'] for l in d['locks'] if l['key'] == '$1'] == [$2]"
		redlock history "$1" --json | grep '"outcome":"held"' |
			grep -q "\"fence\":$2,"
	}
	for what in "" -s "-N 2"; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # words
		helper "$REDLOCK" -q -u "$url" -k k$n $what -- sh -c "
			[ '$what' ] || '$REDLOCK' -q -u '$url' -k k$n -- true
			echo \$REDLOCK_FENCE >$T/own.new; mv $T/own.new $T/own.$n
			exec sleep 61.3"
		wait_until exists "$T/own.$n"
		[ -z "$what" ] || redlock -q -k k$n $what -- true
		shows_own k$n "$(cat "$T/own.$n")"
	done
	# only a nested run is left: its fence is that of the outer one, which is gone
	: >"$T/stay"
	redlock -q -k nest -- sh -c "'$REDLOCK' -q -u '$url' -k nest -- \
		sh -c ': >$T/in; while [ -e $T/stay ]; do sleep 0.02; done' &
		while [ ! -e $T/in ]; do sleep 0.02; done" 3>&-
	json 0 "'fence' not in d and d['counter'] > 0" nest
	rm "$T/stay"
	kill_helpers || true
	wait_until no_process_left
	cli a flushall >/dev/null
}

@test "each slot that is taken is shown, also when slot 0 is not" {
	for i in 0 1 2; do
		helper "$REDLOCK" -q -u "$url" -k job -N 3 -- \
			sh -c "echo \$REDLOCK_FENCE >$T/fence.\$REDLOCK_SLOT; exec sleep 61.3"
	done
	wait_until eval 'json 0 "len(d[\"others\"]) == 2" 2>/dev/null'
	wait_until eval '[ "$(cat "$T"/fence.[012] | wc -w)" = 3 ]'
	inspect 0 job
	# each with its own fence
	[ "$(sed -n 's/^  \(slot\|fence\) *//p' <<<"$answer" | paste -s -d ' ')" = \
		"0 $(cat "$T/fence.0") 1 $(cat "$T/fence.1") 2 $(cat "$T/fence.2")" ]
	json 0 "d['fence'] == $(cat "$T/fence.0") and \
[h['fence'] for h in d['others']] == [$(cat "$T/fence.1"), $(cat "$T/fence.2")]"
	cli a del job >/dev/null # the state decides
	json 0 "d['slot'] == 0 and len(d['others']) == 2"
	kill_helpers || true
	wait_until no_process_left
	cli a flushall >/dev/null
}

@test "a lock kept by --min-hold says so" {
	redlock -k job --min-hold 61s -- true
	inspect 0 job
	[[ $answer == "job: kept (--min-hold) for $(hostname) "* ]]
	json 0 "d['role'] == 'resting' and d['ttl_left_ms'] <= 61000"
	cli a flushall >/dev/null
}

@test "--token: is it mine? 0 yes, 1 no, 69 not known; in a run's environment by itself" {
	is() { # STATUS ANSWER [ARGUMENT...]
		run "-$1" "$REDLOCK" inspect -u "$url" "${@:3}"
		[[ $output = *$'\n'"  mine      $2"* ]]
	}
	token=$(redlock lock job -t 60s)
	is 0 yes job --token "$token"
	is 1 no job --token "${token%?}x"
	REDLOCK_TOKEN=$token is 0 yes job
	REDLOCK_TOKEN=$token REDLOCK_KEY=job is 0 yes
	as_in_manual "$(redlock inspect job --json --token "$token")" 'assert d["mine"]'
	# of another key, nothing is asked
	REDLOCK_TOKEN=$token REDLOCK_KEY=job run -1 redlock inspect other
	[ "$output" = "other: free" ]
	run -64 redlock inspect
	run -64 redlock inspect job other --token "$token"
	# the server has lost data, which this fence shows
	cli a flushall >/dev/null
	REDLOCK_TOKEN=$token REDLOCK_KEY=job REDLOCK_FENCE=9 is 69 'not known'
	[[ $output = *"the server has lost data"* ]]
	is 1 no job --token "$token"
	# taken by hand; ended
	token=$(redlock lock job -t 60s)
	cli a set job other >/dev/null
	is 1 no job --token "$token"
	cli a del job >/dev/null
	redlock unlock job --token "$token"
	is 1 no job --token "$token"
	# nested, as a reader among many, and without the outer run
	redlock -q -k job -s -- sh -c "'$REDLOCK' inspect >'$T/seen' &&
		'$REDLOCK' -q -s -k job -- '$REDLOCK' inspect >>'$T/seen'"
	[ "$(grep -c 'mine      yes' "$T/seen")" = 2 ]
	run -0 redlock -q -k job -- "$REDLOCK" -q -k job -- "$REDLOCK" inspect
	run -69 "$REDLOCK" inspect -u "unix://$T/none.sock" job --token "$token"
	cli a flushall >/dev/null
}

@test "--token on three servers: a silent one may have it" {
	several 3
	token=$("$REDLOCK" lock -u "$url" job -t 60s --restart-guard off)
	run -0 "$REDLOCK" inspect -u "$url" job --token "$token"
	node_freeze c
	run -0 "$REDLOCK" inspect -u "$url" job --token "$token"
	cli b flushall >/dev/null
	run -69 "$REDLOCK" inspect -u "$url" job --token "$token"
	node_thaw c
	run -0 "$REDLOCK" inspect -u "$url" job --token "$token"
	cli c flushall >/dev/null
	run -1 "$REDLOCK" inspect -u "$url" job --token "$token"
	cli a flushall >/dev/null
}

# ---- what looks wrong ----

@test "no expiry, another program's lock, another type: each is named" {
	cli a set job foreign >/dev/null
	inspect 0 job
	shows '- no expiry: .*force-release.*'
	shows "- no holder record: .*another program's.*"
	json 0 "d['role'] == 'foreign' and d['ttl_left_ms'] is None and \
d['token'] == 'foreign' and len(d['problems']) == 2"
	cli a del job >/dev/null
	cli a lpush job x >/dev/null
	inspect 0 job
	shows '- the key holds a list, .*; a run ends with 78 .*--foreign.*'
	run -78 redlock -k job -- true
	cli a pexpire job 60000 >/dev/null
	inspect 0 job
	shows '- the key holds a list, .*; waiters wait until it is gone .*--foreign.*'
	run -75 redlock -k job -n -- true
	json 0 "d['type'] == 'list'"
	cli a del job >/dev/null
	cli a flushall >/dev/null
}

@test "another program's lock has no fence: the last one is called the counter" {
	redlock -k job -- true
	counter=$(cli a hget 'job:redlock:{job}:state' fence)
	cli a set job theirs px 60000 >/dev/null
	inspect 0 job
	shows "counter   $counter; the next fence will be larger"
	[[ $answer != *"  fence "* ]]
	json 0 "d['counter'] == $counter and 'fence' not in d and d['role'] == 'foreign'"
	as_in_manual "$(redlock list --json)" 'assert "fence" not in d["locks"][0]'
	# beside a slot of ours, which has one
	helper "$REDLOCK" -q -u "$url" -k job -N 2 -- linger
	wait_until eval 'json 0 "len(d[\"others\"]) == 1" 2>/dev/null'
	json 0 "d['role'] == 'foreign' and 'fence' not in d and \
d['others'][0]['fence'] == d['counter']"
	inspect 0 job
	[ "$(grep -c '  fence ' <<<"$answer")" = 1 ]
	kill_helpers || true
	wait_until no_process_left
	cli a flushall >/dev/null
}

@test "a waiter without a sign of life is marked" {
	local at=$(($(date +%s) - 12))

	cli a set job foreign px 60000 >/dev/null
	cli a zadd 'job:redlock:{job}:queue' "${at}000000" \
		$'dead-token 30000 1 -\nhost gone\npid 7\n' >/dev/null
	inspect 0 job
	shows '1 .*\(silent\)'
	shows '- 1 waiter silent for over 10s; skipped after 15s'
	cli a flushall >/dev/null
}

@test "key, token, host, command and reason cannot control the terminal" {
	local esc=$'\e[31m\a\x9b' key

	key="k$esc"
	cli a set "$key" "t$esc" px 60000 >/dev/null
	inspect 0 "$key"
	[[ $answer != *[$'\e\a\x9b']* ]]
	[[ $answer == 'k\x1b[31m\x07\x9b: held by another'* ]]
	run -0 "$REDLOCK" inspect --json -u "$url" "$key"
	[[ $output != *[$'\e\a\x9b']* ]]
	[[ $output == *'"key_b64":'* ]]
	cli a flushall >/dev/null
	REDLOCK_URL=$url LOGNAME="$esc" start -k job --reason "$esc" -- sleep 61.3
	wait_until held job
	inspect 0 job
	[[ $answer != *[$'\e\a\x9b']* ]]
	kill "$tool"
}

# ---- whom it asks ----

@test "no server or a frozen one: 69 in time; no password: 77; stdout full: 70" {
	run -69 --separate-stderr "$REDLOCK" inspect -u "unix://$T/none.sock" job
	[[ $stderr == *none.sock* ]]
	[ -z "$output" ]
	node_freeze a
	run -69 --separate-stderr timeout 10 "$REDLOCK" inspect -u "$url" \
		--node-timeout 200ms job
	[[ $stderr == *"no answer within 200ms"* ]]
	node_thaw a
	cli a config set requirepass hush >/dev/null
	echo hush >"$T/a.auth"
	run -77 --separate-stderr "$REDLOCK" inspect -u "$url" job
	[[ $stderr == *"requires a password"* ]]
	REDISCLI_AUTH=hush run -1 "$REDLOCK" inspect -u "$url" job
	REDISCLI_AUTH=hush run -70 sh -c '"$0" inspect -u "$1" job >/dev/full' \
		"$REDLOCK" "$url"
}

@test "it changes nothing: its script calls no command that writes" {
	start -k job -- sleep 61.3
	wait_until held job
	helper "$REDLOCK" -q -u "$url" -k job -s -- true
	wait_until in_line 1
	cli a acl setuser looker on '>x' '~*' -@all +@read +eval +evalsha \
		+time >/dev/null
	REDISCLI_AUTH=x inspect 0 --user looker job
	shows 'waiting   1'
	kill_helpers || true
	cli a del 'job:redlock:{job}:queue' >/dev/null
}

@test "a state of another type is left as it is by who only looks, and inspect says so" {
	local state='job:redlock:{job}:state' verb

	cli a set "$state" precious >/dev/null
	for verb in 'inspect job' 'inspect job --json' 'inspect job --max-age 1h' list \
		'history job' 'wait job -w 1' 'doctor job'; do
		# shellcheck disable=SC2086 # words
		"$REDLOCK" $verb -u "$url" >"$T/out" || true
		[ "$(cli a get "$state")" = precious ]
		[[ $verb != inspect* || $(cat "$T/out") = *'state is of another type'* ]]
	done
	redlock -k job -- true # a client with a token replaces it
	[ "$(cli a type "$state")" = hash ]
}

@test "a missing right is reported: the lock is not shown as free or foreign" {
	local right

	start -k job -- sleep 61.3
	wait_until held job
	for right in getrange type hgetall hmget pttl; do
		cli a acl setuser joe on '>x' '~*' +@all "-$right" >/dev/null
		REDISCLI_AUTH=x run -77 "$REDLOCK" inspect -u "$url" --user joe job
		[[ $output == *'redlock doctor KEY prints the rights that redlock needs'* ]]
	done
	# nor is the holder told that it has nothing
	for right in getrange hmget; do
		cli a acl setuser joe +@all "-$right" >/dev/null
		REDISCLI_AUTH=x run -77 "$REDLOCK" unlock -u "$url" --user joe \
			--token "$(cli a get job)" job
	done
	cli a acl deluser joe >/dev/null
	held job
	kill_helpers || true
}

@test "the script is called by its hash, and sent to a server that does not know it" {
	inspect 1 job
	cli a script flush >/dev/null
	cli a config resetstat >/dev/null
	inspect 1 job
	inspect 1 job
	[ "$(cli a info commandstats | grep -c '^cmdstat_eval:calls=1,')" = 1 ]
	[ "$(cli a info commandstats | grep -c '^cmdstat_evalsha:calls=2,')" = 1 ]
}

@test "the database of the URL is asked" {
	helper "$REDLOCK" -u "$url?db=3" -k job -- sleep 61.3
	wait_until eval '[ "$(cli a -n 3 exists job)" = 1 ]'
	run -0 "$REDLOCK" inspect -u "$url?db=3" job
	inspect 1 job
	kill_helpers || true
}

@test "three servers: each with its answer; one dead is shown as such; two dead: 69" {
	several 3
	start -k job -t 2s -- sleep 61.3
	wait_until have 3
	inspect 0 job
	[ "$(grep -c '\.sock  held, ' <<<"$answer")" = 3 ]
	[[ $answer == "job: held by "* ]]
	node_kill b
	inspect 0 job
	shows '/.*b\.sock  no answer'
	shows '- .*b\.sock: .*'
	json 0 "[n['state'] for n in d['nodes']].count('down') == 1"
	node_freeze c
	run -69 --separate-stderr "$REDLOCK" inspect --node-timeout 200ms \
		-u "$url" job
	[[ $stderr == *"1 of 3 servers answered, 2 are needed"*"b.sock"*"c.sock"* ]]
	node_thaw c
	kill "$tool"
}

@test "a lock on one of three servers is held by nobody, and looks wrong" {
	several 3
	cli b set job somebody px 60000 >/dev/null
	inspect 0 job
	[[ $answer == "job: not held: on only 1 of 3 servers, held by another"* ]]
	shows '- token somebody is on only 1 of 3 servers \(2 needed\): .*'
	json 0 "d['state'] == 'minority'"
	cli b del job >/dev/null
}

@test "a Cluster: the node that has the key is asked, also while a slot migrates" {
	cluster_start
	url=$(cluster_url)
	helper "$REDLOCK" -u "$url" -k job -t 2s -- sleep 61.3
	wait_until eval 'json 0 "d[\"state\"] == \"held\"" 2>/dev/null'
	for key in a b c d e f; do inspect 1 "$key"; done
	cluster_cli "$(cluster_owner job)" cluster setslot \
		"$(cluster_cli c1 cluster keyslot job)" migrating \
		"$(cluster_cli "$(cluster_owner a)" cluster myid)" \
		>/dev/null 2>&1 || true
	inspect 0 job
	kill_helpers || true
}

@test "a Sentinel group: the master is asked" {
	group_start g
	url=$(group_url g)
	helper "$REDLOCK" -u "$url" -k job -- sleep 61.3
	wait_until eval 'json 0 "d[\"state\"] == \"held\"" 2>/dev/null'
	kill_helpers || true
}

@test "local: says its scope, and starts its server if necessary" {
	run -1 "$REDLOCK" inspect -u "local:?dir=$T/mine&idle=50ms" job
	[ "$output" = $'job: free\n  scope     host' ]
	wait_until eval '! exists "$T/mine/redis.sock"'
}

# ---- for monitoring ----

@test "--max-age: one line and 0, 1 or 2, for Nagios" {
	local since='since [0-9:]+ [A-Z]+ \([0-9]+s\)' who="held by ann@$(hostname)"

	run -0 --separate-stderr "$REDLOCK" inspect -u "$url" --max-age 2h job
	[ "$output$stderr" = 'OK: job: free' ]
	LOGNAME=ann start -k job -t 20s --reason 'release 1.4' -- sleep 61.3
	wait_until held job
	run -0 --separate-stderr "$REDLOCK" inspect -u "$url" --max-age 2h job
	[[ $output =~ ^"OK: job: "$who\ $since", sleep: release 1.4"$ ]]
	sleep 0.1
	run -2 --separate-stderr "$REDLOCK" inspect -u "$url" --max-age 50ms job
	[[ $output =~ ^"CRITICAL: job: "$who\ $since", sleep: release 1.4; longer than 50ms"$ ]]
	run -2 "$REDLOCK" inspect -u "$url" --max-age 50ms other job other2
	[ "${#lines[@]}" = 3 ]
	[ "${lines[0]}" = 'OK: other: free' ]
	kill "$tool"
	finish
	cli a set job theirs px 60000 >/dev/null
	run -1 "$REDLOCK" inspect -u "$url" --max-age 2h job
	[[ $output = 'WARNING: job: held by another program, token theirs, lease left '* ]]
	[ "${#lines[@]}" = 1 ]
	cli a del job >/dev/null
}

@test "several slots: --max-age, list and its metrics tell of the one held longest" {
	local age held

	hold_slot() { # NAME
		helper "$REDLOCK" -q -u "$url" -N 2 -k sem --reason "$1" -- \
			sh -c ': >"$0"; exec sleep 61.3' "$T/$1"
		wait_until exists "$T/$1"
	}
	hold_slot first
	first=$!
	hold_slot old
	age=$(now_ms)
	kill "$first"
	wait "$first" || true
	sleep 0.2
	hold_slot new # in slot 0
	age=$(($(now_ms) - age))
	run -2 "$REDLOCK" inspect -u "$url" --max-age "${age}ms" sem
	[[ $output = 'CRITICAL: sem: held by '*': old; longer than '* ]]
	run -0 "$REDLOCK" list -u "$url" --json
	[[ $output = *'"slot":1,'* ]]
	held=$("$REDLOCK" list -u "$url" --prometheus |
		sed -n 's/^redlock_held_seconds.* \([0-9.]*\)$/\1/p')
	at_least "$(awk "BEGIN {printf \"%d\", $held * 1000}")" "$age"
}

# What a monitoring system sees: it drops what is not on standard output.
unknown() { # ARG... : status 3, and one line
	run -3 --separate-stderr "$REDLOCK" "$@"
	[ "${#lines[@]}" = 1 ]
	[[ $output = 'UNKNOWN: '?* ]]
}

@test "a check without an answer ends with 3 and a line: server, password, setting" {
	local check

	for check in 'inspect --max-age 2h' 'history --last-success 2h'; do
		unknown $check -u "unix://$T/none" job
		[[ $output = 'UNKNOWN: job: '*none* ]]
		unknown $check -u redis://nobody.invalid job
		unknown $check -u "$url" --json job
		unknown $check -u "$url" --no-such-option job
		unknown $check -u "$url"
		unknown $check -u nonsense job
		REDLOCK_URL=nonsense unknown $check job
		REDLOCK_NODE_TIMEOUT=x unknown $check -u "$url" job
		unknown $check -u "$url" --password-file "$T/no-such-file" job
	done
	unknown inspect -u "$url" --max-age 0 job
	unknown history -u "$url" --last-success
	unknown inspect --max-age=2h -u "$url"
	cli a config set requirepass secret >/dev/null
	unknown inspect --max-age 2h -u "$url" job
	unknown history --last-success 2h -u "$url" job
	REDISCLI_AUTH=secret cli a config set requirepass '' >/dev/null
	# what is known to be wrong is worse; what came before is not lost
	redlock lock job -t 10s >/dev/null
	sleep 0.1
	run -2 "$REDLOCK" inspect -u "$url" --max-age 50ms job other
	cli a del job >/dev/null
}
