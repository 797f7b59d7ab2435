#!/usr/bin/env bats
# redlock doctor: what is wrong with a server is found on one that was made so,
# what is typed to cure it cures it, and nothing is changed by looking.

load lib/common
load lib/tls
load lib/sentinel
load lib/cluster
load lib/masters

setup_file() { certs_make; }

# ---- what it says ----

# doctor STATUS ARGUMENT...: the answer is in $output
doctor() {
	local want=$1 line

	shift
	run --separate-stderr timeout 20 "$REDLOCK" doctor "${at[@]}" "$@"
	told=$output
	# (what is a finding as well)
	[ -z "$stderr" ] || stderr=$(sed '/ servers survive \|tls-verify=none/d' <<<"$stderr")
	[ "$status $stderr" = "$want " ] || {
		printf '%s\n' "wanted $want, got $status:" "$stderr" "$told" >&2
		return 1
	}
	# each line is a finding, until the rights
	while IFS= read -r line && [ -n "$line" ]; do
		[[ $line =~ ^(ok|note|wrong)\ +[^\ ] ]] || { echo "$line" >&2; return 1; }
	done <<<"$told"
	line=${told//[$'\n\t']/}
	[[ $line != *[[:cntrl:]]* ]] || { echo "$line" | cat -v >&2; return 1; }
}
none() { [ -z "$1" ] || { echo "$1" >&2; return 1; }; }
on() { # URL...: the servers
	at=()
	for u; do at+=(-u "$u"); done
}
# LEVEL CHECK TEXT [CURE]: patterns; a finding says all of that
finds() {
	local line

	while IFS= read -r line; do
		[[ ! $line =~ ^$1\ .*\ $2\ \ .*$3${4:+.*  -> .*$4} ]] || return 0
	done <<<"$told"
	echo "no finding '$1 $2 $3 ${4-}' in:" >&2
	echo "$told" >&2
	return 1
}
finds_not() { none "$(grep -E -- " $1  .*$2" <<<"$told")"; } # CHECK TEXT
finds_no() { none "$(grep -E -- "^$1 .* $2  " <<<"$told")"; }
# What it calls the servers of this machine.
maker() { server_name; }
# Before Redis 7 only a write shows what a user may write.
tells_writes() { server_is_at_least 7.0; }
finds_all_rights() { # of joe
	if tells_writes; then
		finds ok rights 'user joe may use all'
	else
		finds note rights 'cannot tell whether user joe may use the comm'
	fi
}
# What stands behind the arrow of a finding, as redis-cli takes it. CHECK
cure_of() { grep "^wrong .* $1  " <<<"$told" | sed 's/.*  -> //; s/,.*//'; }
# STATUS EXPRESSION [ARGUMENT...]: `d` is the JSON document, which is as the
# manual says, and `f` its findings by level and check
json() {
	local want=$1 expression=$2

	shift 2
	run "-$want" --separate-stderr timeout 20 "$REDLOCK" doctor -q --json \
		"${at[@]}" "$@"
	as_in_manual "$output" '
f = {(x["level"], x["check"]) for x in d["findings"]}
assert d["well"] == (not [x for x in f if x[0] == "wrong"]), d
assert '"$expression"', d'
}

eval "common_$(declare -f setup)"
setup() {
	common_setup
	on "$url"
}
# The rights that it tells, on server a as user joe with the password pw, for
# all keys.
grant_told() {
	local line

	line=$(grep -m 1 '^ACL SETUSER' <<<"$told")
	line=${line/>PASSWORD/>pw}
	# shellcheck disable=SC2086 # words
	set -f -- ${line/NAME/joe}
	set +f
	cli a "$@"
}
as_joe() { on "unix://joe:pw@$T/a.sock"; }
# A server whose INFO says TEXT in place of LINE: NAME LINE TEXT [TIME]
masked() {
	helper /usr/bin/python3 "$top/tests/lib/mask.py" "$T/a.sock" \
		"$T/$1.sock" "${@:2}"
	wait_until exists "$T/$1.sock"
}

# ---- all is well ----

@test "a plain server passes: a line for each check, and status 0" {
	doctor 0
	finds ok version "$(maker) [0-9.]+"
	finds ok role master
	finds ok scripts 'EVAL works'
	finds ok rights 'user default'
	finds ok eviction noeviction
	finds ok clients ' of at most 10000'
	finds ok clock "agrees with this machine's|(ahead of|behind) this machine's"
	finds ok round-trip 'for a lease of 30.0s'
	finds ok keys 'no problems'
	finds note persistence 'nothing is saved to disk' 'CONFIG SET appendonly yes'
	finds_no wrong '.*'
	# a column begins where it begins in the line above
	[ "$(sed '/^$/,$d; s/\(^[a-z]*  *[^ ]*  *\)[a-z-].*/\1/' <<<"$told" |
		awk '{ print length }' | sort -u | wc -l)" = 1 ]
	json 0 "d['well'] and len(d['servers']) == 1 and \
d['servers'][0]['software'] == '$(maker)' and d['servers'][0]['scripts'] and \
len(d['servers'][0]['run_id']) == 40 and d['servers'][0]['role'] == 'master' \
and 0 < d['servers'][0]['round_trip_us'] < 1e6 and \
abs(d['servers'][0]['clock_ahead_us']) < 5e5 and \
d['servers'][0]['memory_policy'] == 'noeviction' and \
d['servers'][0]['save'] == '' and d['servers'][0]['appendfsync'] == 'off'"
}

@test "it changes nothing but its trial lock, which leaves nothing behind" {
	local was

	"$REDLOCK" -u "$url" lock job -t 60s >/dev/null
	cli a set forever 1 >/dev/null
	cli a set "x:redlock:{x}:state" a >/dev/null
	was=$(cli a dbsize)
	cli a monitor >"$T/seen" &
	helpers="$helpers $!"
	wait_until contains "$T/seen" OK
	doctor 1 job forever
	finds ok keys 'job: held'
	json 1 "('wrong', 'keys') in f" job forever
	cli a ping seen-all >/dev/null
	wait_until contains "$T/seen" seen-all
	# (the list is waited for for less than no time, which is an error)
	grep -v 'job:redlock:doctor:' "$T/seen" >"$T/other"
	none "$(grep -Eiv '"(eval|evalsha|info|role|get|getrange|exists|type|pttl|time|zscore|zrange|zcount|zrangebyscore|zrevrange|lindex|hget|hmget|hgetall|hexists|xrevrange|select|scan|config|acl|ping|monitor)"|^OK|"blpop" "redlock:\{doctor\}:rights" "-1"' \
		"$T/other")"
	none "$(grep -i '"config" "set"' "$T/seen")"
	# and what was of the trial has no other key in it
	none "$(grep 'job:redlock:doctor:' "$T/seen" |
		grep -Ei 'lua\] "(set|del|pexpire|rpush|zadd|zrem|hset|xadd)" "(job|forever|(job|x):redlock:\{(job|x)\}:[a-z]*)"')"
	[ "$(cli a dbsize)" = "$was" ]
	[ "$(cli a keys '*doctor*')" = "" ]
	cli a flushall >/dev/null
}

@test "a trial lock is taken, renewed, waited for, handed over and released" {
	doctor 0
	finds ok lock 'acquired, renewed, waited for, handed over and released'
	[ "$(cli a dbsize)" = 0 ]
	# on other keys this user may do nothing: those of the key that is named
	cli a acl setuser joe on '>pw' '~job*' +@all >/dev/null
	as_joe
	doctor 0
	finds note lock 'not tested'
	doctor 0 job
	finds ok lock 'acquired, renewed'
	# nobody is woken, but the waiter finds out
	cli a acl setuser joe allkeys -blpop >/dev/null
	doctor 1 job
	finds note lock 'waiters are not woken.*NOPERM'
	[ "$(cli a dbsize)" = 0 ]
}

@test "a server where no lock can be acquired is wrong; the run form says 78" {
	local name

	for name in TIME ZADD PEXPIRE; do
		node_start "b$name" --rename-command "$name" ''
		on "unix://$T/b$name.sock"
		doctor 1
		finds wrong lock 'nknown'
	done
	run -78 "$REDLOCK" -u "unix://$T/bTIME.sock" -k job -- touch "$T/ran"
	[[ $output = *"a command that redlock's scripts need is unknown"* ]]
	[ ! -e "$T/ran" ]
	# one that lets scripts use only the keys that they declare
	printf '%s\n' >"$T/strict.py" 'def answer(words):' \
		'    if words[0].upper() == b"EVAL" and len(words) > 3:' \
		'        return Error("ERR Error running script (call to f_" +' \
		'            "0" * 40 + "): @user_script:1: script tried " +' \
		'            "accessing undeclared key")' \
		'    return 1 if words[0] == b"EVAL" else usual(words)'
	helper /usr/bin/python3 "$top/tests/lib/fake.py" "$T/strict.sock" "$T/strict.py"
	wait_until exists "$T/strict.sock"
	on "unix://$T/strict.sock"
	doctor 1
	finds wrong lock 'taking a test lock: .*undeclared key'
	run -78 "$REDLOCK" -u "unix://$T/strict.sock" -k job -- touch "$T/ran"
	[[ $output = *'its scripts may only use the keys that they declare'* ]]
	[ ! -e "$T/ran" ]
}

@test "EVAL refused without keys is not reported where a lock can be acquired" {
	cat >"$T/keyed.py" <<-'END'
		def answer(words):
		    if words[0].upper() == b'EVAL' and words[2] == b'0':
		        return Error('ERR a script without keys goes nowhere')
		    if words[0] == b'BLPOP' and words[2] != b'-1':
		        return [words[1], 'woken']
		    return forward(PATH, words)
	END
	sed -i "s|PATH|'$T/a.sock'|" "$T/keyed.py"
	helper /usr/bin/python3 "$top/tests/lib/fake.py" "$T/keyed.sock" "$T/keyed.py"
	wait_until exists "$T/keyed.sock"
	on "unix://$T/keyed.sock"
	doctor 0
	finds ok scripts 'EVAL works'
	finds ok lock 'acquired'
}

# ---- rights ----

@test "the rights it prints are those of the scripts and of the manual, in that order" {
	local told_rights manual scripts c

	doctor 0
	told_rights=$(grep -m 1 '^ACL SETUSER' <<<"$told" | grep -o '+.*')
	[[ $told = *'SETUSER NAME on >PASSWORD ~KEY ~KEY:redlock:* +select '* ]]
	manual=$(rights_in_manual | sed 's/^ //; s/ $//')
	[ "$told_rights" = "$manual" ]
	# what a script calls, by redis.call, redis.pcall, or by a function of ours
	scripts=$(grep -oh "\(redis\.p\?call\|call\|try\|line\|ask\)('[a-z]*'" --exclude=idle.lua "$top"/src/lua/*.lua |
		grep -o "'[a-z]*" | tr -d "'" | sort -u)
	[ "$(wc -l <<<"$scripts")" -gt 20 ]
	for c in $scripts; do
		[ "$c" = info ] || [[ " $told_rights " = *" +$c "* ]] ||
			{ echo "the scripts use $c" >&2; return 1; }
	done
	# and nothing is granted that they do not use
	for c in ${told_rights//+/}; do
		[[ $c = eval* || $c = blpop ]] ||
			grep -q "'$c'" "$top"/src/lua/*.lua ||
			{ echo "nobody uses $c" >&2; return 1; }
	done
}

@test "a user with the rights that it prints passes, and takes locks on the named keys" {
	doctor 0 job
	[[ $told = *'ACL SETUSER NAME on >PASSWORD ~job ~job:redlock:{job}:* +'* ]]
	grant_told
	as_joe
	doctor 0 job
	finds_all_rights
	finds note info 'INFO is refused' 'ACL SETUSER joe \+info'
	finds note config 'CONFIG is refused'
	finds note keys 'SCAN is refused'
	finds_no wrong '.*'
	"$REDLOCK" "${at[@]}" -k job -n -- true
	doctor 1 other
	finds wrong keys 'other: .*NOPERM' 'ACL SETUSER joe'
	doctor 1 '{a*}?b' # special in a pattern
	[[ $told = *' ~{a\*}\?b ~{a\*}\?b:redlock:* '* ]]
	grant_told
	doctor 0 '{a*}?b'
	"$REDLOCK" "${at[@]}" -k '{a*}?b' -n -- true
	run -77 "$REDLOCK" "${at[@]}" -k '{aa}?b' -n -- true
	json 0 "d['servers'][0]['user'] == 'joe' and d['servers'][0]['version'] \
is None and d['acl'].startswith('ACL SETUSER joe on')" job
}

@test "a right to the key but not to what redlock keeps beside it: reported as wrong" {
	cli a acl setuser joe on '>pw' '~job' +@all >/dev/null
	as_joe
	run -77 "$REDLOCK" "${at[@]}" -k job -n -- true
	doctor 1 job
	finds wrong keys 'job: NOPERM: no right .* beside it' 'ACL SETUSER joe'
	! server_is_at_least 7.0 || {
		cli a acl setuser joe resetkeys '%R~*' >/dev/null
		run -77 "$REDLOCK" "${at[@]}" -k job -n -- true
		doctor 1 job
		finds wrong keys 'job: NOPERM: no right .* beside it'
	}
}

@test "list, top and doctor need a second line of rights: they work with it, or ask" {
	doctor 0 job
	grant_told
	as_joe
	for verb in list 'top --json'; do
		run -77 --separate-stderr "$REDLOCK" $verb "${at[@]}"
		[[ $stderr = *'; to allow it: ACL SETUSER NAME +scan +info (NOPERM '* ]]
	done
	doctor 0 job
	[[ $told = *$'\n\nFor list, top and doctor as well:\nACL SETUSER joe +scan +info' ]]
	json 0 "d['acl_looking'] == 'ACL SETUSER joe +scan +info'" job
	cli a acl setuser joe +scan +info >/dev/null
	"$REDLOCK" list "${at[@]}" 'job*'
	doctor 0 job
	finds_no note '(info|keys)'
}

@test "-q: only what is wrong or worth a note; the status is the same" {
	doctor 0
	[ "$(wc -l <<<"$told")" -gt 10 ]
	grep '^note' <<<"$told" >"$T/notes" || true
	run "$REDLOCK" doctor -q "${at[@]}"
	[ "$status" = 0 ]
	[ "$(tr -s ' ' <<<"$output")" = "$(tr -s ' ' <"$T/notes")" ]
	cli a set job nonsense >/dev/null
	run -1 "$REDLOCK" doctor -q "${at[@]}" job
	[[ $output = *"wrong "*job* ]]
	not grep -v '^\(note\|wrong\) ' <<<"$output"
	cli a del job >/dev/null
}

@test "each command that a user lacks is named, with the line that grants it" {
	local lacks='getrange zadd zrem blpop'

	tells_writes || lacks='getrange blpop'
	cli a acl setuser joe on '>pw' '~*' +@all -zadd -zrem -blpop -getrange >/dev/null
	as_joe
	doctor 1
	finds wrong rights "user joe may not use: $lacks" \
		"ACL SETUSER joe \\+${lacks// / \\+}"
	# shellcheck disable=SC2046 # words
	cli a $(cure_of rights) >/dev/null
	tells_writes || {
		doctor 1
		finds wrong lock 'waiting for a test lock: the user lacks a right'
		cli a acl setuser joe +zadd +zrem >/dev/null
	}
	doctor 0
	finds_all_rights
	cli a acl setuser joe -xadd -evalsha >/dev/null
	doctor 0
	! tells_writes ||
		finds note rights 'may not use xadd: no history' '\+xadd'
	finds note rights 'may not use evalsha' '\+evalsha'
	cli a acl setuser joe -wait >/dev/null
	doctor 0
	doctor 1 --wait-replicas 1
	finds wrong rights 'may not use: wait'
}

@test "a user who may run no script at all is reported" {
	cli a acl setuser joe on '>pw' '~*' +@all -eval -evalsha >/dev/null
	as_joe
	doctor 1
	finds wrong scripts 'NOPERM' 'ACL SETUSER joe \+eval \+evalsha'
	json 1 "not d['servers'][0]['scripts'] and d['servers'][0]['answers']"
}

@test "INFO, CONFIG, ROLE and ACL refused, as by managed servers: not a fault" {
	cli a acl setuser joe on '>pw' '~*' +@all -info -config -role -acl >/dev/null
	as_joe
	doctor 0
	finds note info 'INFO is refused' 'ACL SETUSER joe \+info'
	finds note config 'CONFIG is refused'
	finds_all_rights
	# the one user of a managed server
	cli a acl setuser default -info >/dev/null
	on "$url"
	doctor 0
	finds note info 'INFO is refused' 'ask the provider'
	cli a acl setuser default +info >/dev/null
	node_start b --rename-command CONFIG '' --rename-command INFO '' \
		--rename-command ACL '' --rename-command ROLE ''
	on "unix://$T/b.sock"
	doctor 0
	finds note config 'CONFIG is refused'
	on "unix://joe:pw@$T/a.sock" "unix://$T/b.sock"
	doctor 0
	finds note info 'redlock cannot notice a restart'
	[[ $told = *' +info'* ]]
}

@test "no server can be asked: 69, 77 or 78, with the reason" {
	on "unix://$T/none.sock"
	doctor 69
	finds wrong answer 'cannot connect' 'check that it is running'
	json 69 "not d['well'] and not d['servers'][0]['answers'] and \
'cannot connect' in d['servers'][0]['error']"
	on "unix://$T/a.sock" "unix://$T/none.sock" "unix://$T/nobody.sock"
	doctor 1
	finds wrong quorum '1 of 3 servers answer, and 2 are needed'
	cli a acl setuser joe on '>other' '~*' +@all >/dev/null
	as_joe
	doctor 77
	finds wrong answer WRONGPASS '--password-file'
	cli a acl setuser joe on '>pw' -@all >/dev/null
	doctor 77
	finds wrong answer NOPERM
	cli a config set requirepass hush >/dev/null
	on "$url"
	doctor 77
	finds wrong answer 'NOAUTH'
	echo hush >"$T/a.auth"
	run -64 "$REDLOCK" doctor -u "$url" -w 5s
	run -64 "$REDLOCK" doctor -u "nonsense://$T"
	run -64 "$REDLOCK" doctor -u "$url" -t 1ms
	run -78 "$REDLOCK" doctor -u "$url?password-file=$T/none"
}

# ---- memory, disk, connections ----

@test "an eviction policy with a limit loses locks: wrong, until it is cured" {
	cli a config set maxmemory-policy allkeys-lru >/dev/null
	doctor 0
	finds ok eviction 'allkeys-lru, but maxmemory is not set'
	cli a config set maxmemory 100mb >/dev/null
	doctor 1
	finds wrong eviction 'allkeys-lru' 'CONFIG SET maxmemory-policy noeviction'
	# shellcheck disable=SC2046 # words
	cli a $(cure_of eviction) >/dev/null
	doctor 0
	finds ok eviction noeviction
	finds ok memory '[0-9]+% of maxmemory'
}

@test "memory that is nearly full, or full, is wrong" {
	local used

	node_restart a # of which nothing was used before
	cli a setrange big 2000000 x >/dev/null
	used=$(cli a info memory | tr -d '\r' | sed -n 's/^used_memory://p')
	cli a config set maxmemory "$((used * 100 / 95))" >/dev/null
	doctor 1
	finds wrong memory '9[0-9]% of maxmemory' 'CONFIG SET maxmemory'
	cli a config set maxmemory "$((used / 2))" >/dev/null
	doctor 1
	finds wrong memory '2[0-9][0-9]% of maxmemory'
	finds ok rights 'all' # full is no matter of rights
	# shellcheck disable=SC2046 # words
	cli a $(cure_of memory) >/dev/null
	doctor 0
	cli a del big >/dev/null
}

@test "what a restart loses: without persistence, with snapshots, with the AOF" {
	doctor 0
	finds note persistence 'nothing is saved to disk: .* restore them'
	cli a config set save '3600 1' >/dev/null
	doctor 0
	finds note persistence 'snapshots only \(save 3600 1\)' 'appendonly yes'
	cli a config set appendonly yes >/dev/null
	doctor 0
	finds note persistence 'appendfsync everysec' 'CONFIG SET appendfsync always'
	cli a config set appendfsync no >/dev/null
	doctor 0
	finds note persistence 'half a minute'
	cli a config set appendfsync always >/dev/null
	doctor 0
	finds ok persistence 'always: keeps all locks'
	json 0 "d['servers'][0]['appendfsync'] == 'always' and \
d['servers'][0]['save'] == '3600 1'"
	on "$url" "unix://$T/none.sock"
	cli a config set appendfsync everysec >/dev/null
	doctor 1
	finds note persistence 'does not vote until .*--restart-guard'
}

@test "a failed save stops writing: wrong; without stop-writes-on-bgsave-error: note" {
	node_restart a # its directory is ours
	mkdir -p "$T/dump.rdb/x" # nothing can take that name
	cli a config set save '3600 1' >/dev/null
	cli a bgsave >/dev/null
	wait_until save_failed
	run -69 "$REDLOCK" -q -u "$url" -k job -n -- true
	doctor 1
	finds wrong saving 'writes are refused' 'stop-writes-on-bgsave-error no'
	cli a config set stop-writes-on-bgsave-error no >/dev/null
	redlock -k job -n -- true
	doctor 0
	finds note saving 'the last save failed'
}
save_failed() { cli a info persistence | grep -q rdb_last_bgsave_status:err; }

@test "connections: nearly all taken is wrong; all taken means no answer" {
	local i

	cli a config set maxclients 6 >/dev/null
	for i in 1 2 3 4 5; do
		helper redis-cli -s "$T/a.sock" blpop "never$i" 0 >/dev/null
	done
	wait_until clients_are 6
	doctor 1
	finds wrong clients '6 of at most 6' 'CONFIG SET maxclients 12'
	cli a config set maxclients 20 >/dev/null
	helper redis-cli -s "$T/a.sock" blpop never6 0 >/dev/null
	wait_until blocked_are 6
	cli a config set maxclients 6 >/dev/null
	wait_until full
	doctor 69
	finds wrong answer 'max number of clients' 'maxclients'
	kill_helpers 2>/dev/null || :
	wait_until node_answers a
}

@test "connections: a server that hides its limit (before 7.0, without CONFIG): note" {
	masked silent 'maxclients:\d+' 'max_clients:0'
	cli a acl setuser joe on '>pw' '~*' +@all -config >/dev/null
	on "unix://joe:pw@$T/silent.sock"
	doctor 0
	finds note clients '[0-9]+ connected; the limit is unknown'
	finds_no ok clients
	on "unix://$T/silent.sock" # which has CONFIG
	doctor 0
	finds ok clients ' of at most 10000'
}
clients_are() { # with the one that asks
	cli a info clients | grep -q "^connected_clients:$1.\$"
}
blocked_are() { cli a info clients | grep -q "^blocked_clients:$1.\?$"; }
full() { if node_answers a; then return 1; fi; }

# ---- roles ----

@test "a replica is wrong, alone or in a list; so is a Cluster member as a server" {
	on_ports 2 pair
	on "redis://$(node_at m2)"
	doctor 1
	finds wrong role "a replica of $address:$port" 'redis-sentinel://'
	on "$url" "redis://$(node_at m1)" "redis://$(node_at m2)"
	doctor 1
	finds wrong role 'a replica of'
	on "redis://$(node_at m1)"
	doctor 0 --wait-replicas 1
	finds ok replicas '1, of which 1 online'
	doctor 1 --wait-replicas 2
	finds wrong replicas '1, of which 1 online' '--wait-replicas 2 cannot be met'
	cli m1 config set min-replicas-to-write 2 >/dev/null
	doctor 1
	finds wrong replicas '1, of which 1 online' 'CONFIG SET min-replicas-to-write 1'
	# shellcheck disable=SC2046 # words
	cli m1 $(cure_of replicas) >/dev/null
	doctor 0
	json 0 "d['servers'][0]['replicas'] == d['servers'][0]['replicas_online'] == 1"
	node_start lone --bind "$(random_address)" --cluster-enabled yes \
		--cluster-config-file lone.nodes
	on "unix://$T/lone.sock"
	doctor 1
	finds wrong role 'a member of a Cluster' 'write redis-cluster://'
}
pair() {
	# shellcheck disable=SC2034 # of member_options
	local password='' tls=''

	member_launch m1 "$port" || return 2
	node_bound m1 || return
	member_launch m2 $((port + 1)) --replicaof "$address" "$port" || return 2
	node_bound m2 || return
	wait_until one_online
}
one_online() { cli m1 info replication | grep -q 'state=online'; }

@test "two names of one server are one vote: wrong" {
	on_ports 1 tcp_too
	on "unix://$T/twin.sock" "redis://$(node_at twin)" "$url"
	doctor 1 --restart-guard off
	finds wrong twins "twin.sock and .*$(node_at twin) are the same|$(node_at twin) and .*twin.sock are the same" \
		'leave one out'
	on "unix://$T/twin.sock" "$url"
	doctor 0
	finds_no wrong '.*'
	finds note quorum '2 servers survive no more failures than 1'
}
tcp_too() {
	# shellcheck disable=SC2034 # of member_options
	local password='' tls=''

	member_launch twin "$port" || return 2
	node_bound twin
}

@test "one frozen server of three is found soon; the others are judged" {
	local before

	several 3 auto
	on "${urls[@]}"
	doctor 0
	node_freeze b
	before=$(now_ms)
	doctor 1
	below $(($(now_ms) - before)) 5000
	finds wrong answer 'no answer within'
	[ "$(grep -c '^ok .* scripts ' <<<"$told")" = 2 ]
	finds_no wrong '(quorum|rights|keys)'
	json 1 "[s['answers'] for s in d['servers']] == [True, False, True]"
	node_thaw b
}

@test "a server that has just started has no vote yet: noted, with how long" {
	several 3
	on "${urls[@]}"
	doctor 0 --restart-guard 1h
	finds note uptime 'does not vote for another (59m5|1h00m)'
	doctor 0 --restart-guard off
	finds_no note uptime
	finds ok uptime '.'
}

@test "different versions are noted, old ones are wrong, and what is not Redis is named" {
	local version

	# lines in a row; Redict's own is before that of Redis, the first of which
	# counts
	version=$(cli a info server | grep '^redict_version:' ||
		cli a info server |
		grep -E '^(redis_version|server_name|valkey_version):')
	version=${version%$'\r'}
	masked old "$version" redis_version:6.0.17
	on "$url" "unix://$T/old.sock"
	doctor 1 # twins
	finds note version "they differ: .* has $(maker) .*has Redis 6.0.17"
	masked ancient "$version" redis_version:5.0.14
	on "unix://$T/ancient.sock"
	doctor 1
	finds wrong version 'Redis 5.0.14' 'Redis 6.0 or Valkey 7.2'
	masked valkey "$version" "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1"
	on "unix://$T/valkey.sock"
	doctor 0
	finds ok version 'Valkey 8.1.1'
	masked keydb "$version" "redis_version:6.3.4\r\nexecutable:/opt/keydb-server"
	on "unix://$T/keydb.sock"
	doctor 0
	finds note version 'KeyDB .*active-replica'
	masked active role:master role:active-replica
	on "unix://$T/active.sock"
	doctor 1
	finds wrong role 'an active replica' 'active-replica no'
	masked redict "$version" "redis_version:7.2.4\r\nredict_version:7.3.6"
	on "unix://$T/redict.sock"
	doctor 0
	finds ok version 'Redict 7.3.6'
	masked fly "$version" "redis_version:7.4.0\r\ndragonfly_version:df-v1.30.0\x1b[2J"
	on "unix://$T/fly.sock"
	doctor 0
	finds note version 'Dragonfly df-v1.30.0\\x1b\[2J'
}

@test "impossible numbers are ignored" {
	local huge=2000000000000000000

	masked memory '\bused_memory:\d+' "used_memory:$huge\r\nmaxmemory:$huge"
	masked clients '\bconnected_clients:\d+' \
		"connected_clients:$huge\r\nmaxclients:$huge"
	masked uptime 'uptime_in_seconds:\d+' "uptime_in_seconds:$huge"
	for name in memory clients uptime; do
		on "unix://$T/$name.sock"
		doctor 0
		finds_no '.*' "$name"
	done
	masked lag 'connected_slaves:0' \
		"connected_slaves:1\r\nslave0:ip=x,port=1,state=online,lag=99999999999999999999"
	on "unix://$T/lag.sock"
	doctor 0
	finds note replicas '1, of which 1 online, at most [0-9]+s behind'
	masked version '(?:redis|valkey|redict)_version:[^\r]*' 'redis_version:99999999999.99999999999'
	on "unix://$T/version.sock"
	doctor 0
	finds ok version 'Redis 99999999999\.'
}

# ---- clocks ----

# The clock of this machine is off by so many ms for what is run: MS COMMAND...
off_by() {
	preloading clockshim.so
	echo "0 $1" >"$T/clock"
	CLOCKSHIM=$T/clock LD_PRELOAD=$(shim clockshim.so) "${@:2}"
}

@test "a clock that is 2s off is noted with a lease of 30s, and wrong with one of 5s" {
	off_by 2000 doctor 0
	finds note clock '(2\.0|1\.9)s behind this machine' 'chrony'
	off_by -2000 doctor 1 -t 5s
	finds wrong clock '(2\.0|1\.9)s ahead of' 'chrony'
	off_by 400 doctor 0 -t 1s
	finds ok clock '[34][0-9][0-9]ms behind'
	off_by 4000 doctor 1
	finds wrong clock '(4\.0|3\.9)s behind'
	off_by 2000 json 0 "-2.1e6 < d['servers'][0]['clock_ahead_us'] < -1.9e6"
}

@test "servers whose clocks differ are reported, and whose clock is wrong" {
	local shim=$(shim wallclock.so)

	preloading wallclock.so
	several 2
	on "${urls[@]}"
	off_by 2000 doctor 0
	finds note clock "this machine's clock is wrong"
	wallclock "$T/later" 60000
	LD_PRELOAD=$shim WALLCLOCK=$T/later node_start later
	on "${urls[@]}" "unix://$T/later.sock"
	doctor 1
	finds wrong clock "later.sock is (1m00|59\.9)s ahead of" 'chrony'
	[ "$(grep -c '^wrong' <<<"$told")" = 2 ]
}

@test "an impossible clock is ignored" {
	local name

	masked ages none none 4611686018427387903
	on "unix://$T/ages.sock"
	doctor 0
	finds_no '.*' clock
	masked far none none 2000000000000
	masked early none none 0
	on "$url" "unix://$T/far.sock" "unix://$T/early.sock"
	doctor 1
	finds wrong clock 'the clock of .*far.sock is [0-9]+d[0-9]+h ahead of that of .*early.sock'
}

# ---- keys ----

@test "a lock without expiry is found without being named; after the cure all is well" {
	cli a hset 'job:redlock:{job}:state' fence 1 >/dev/null
	cli a set job x >/dev/null
	doctor 1
	finds wrong keys 'job: no expiry' "redlock force-release --foreign 'job'"
	cli a pexpire job 60000 >/dev/null
	doctor 0
	finds ok keys '1 held'
	cli a hset "it's:redlock:{it's}:state" fence 1 >/dev/null
	cli a set "it's" z >/dev/null
	doctor 1
	finds wrong keys "it's: no expiry" "force-release --foreign 'it'\\\\''s'"
	cli a flushall >/dev/null
}

@test "leftovers of free locks are counted, and noted if they are many" {
	cli a eval "for i = 1, 10001 do
		redis.call('hset', 'k' .. i .. ':redlock:{k' .. i .. '}:state', 'fence', i)
	end" 0 >/dev/null
	cli a xadd 'k1:redlock:{k1}:log' '*' token t >/dev/null
	doctor 0
	finds note keys '10001 free locks are remembered for 30 days .*: about 10 MB' no-history
	cli a del 'k1:redlock:{k1}:state' 'k2:redlock:{k2}:state' >/dev/null
	doctor 0
	finds_no note keys
	cli a flushall >/dev/null
}

@test "a named key is judged by itself: no expiry, another type, a damaged state" {
	cli a set plain x >/dev/null
	cli a hset hash a b >/dev/null
	cli a hset 'bad:redlock:{bad}:state' fence many >/dev/null
	cli a rpush 'list:redlock:{list}:state' 1 >/dev/null
	doctor 0 # plain and hash may be anybody's
	finds note keys 'bad: its fence counter is not a number; the next client mends that'
	finds note keys 'list: its state is of another type; the next client mends that'
	doctor 1 plain hash bad nobody
	finds wrong keys 'plain: no expiry' "redlock force-release --foreign 'plain'"
	finds wrong keys 'hash: it holds a hash' "force-release --foreign 'hash'"
	finds ok keys 'nobody: free'
	[ "$(grep -c '^note .* bad: ' <<<"$told")" = 1 ]
	run -1 "$REDLOCK" doctor -u "$url" -k plain
	cli a flushall >/dev/null
}

# What doctor says is to be typed about KEY
cure_for() { grep -aF -- " $1: " <<<"$told" | sed 's/.*-> //'; }

@test "foreign entries in the line are noted until somebody has dropped them" {
	cli a zadd 'job:redlock:{job}:queue' 1 'some garbage' >/dev/null
	doctor 0 job
	finds note keys "job: .*has entries that are not redlock's; the next client mends that"
	redlock -k job -n -- true
	doctor 0 job
	finds_not keys "has entries that are not"
	cli a flushall >/dev/null
}

@test "a cure is quoted for its program, repairs that key and no other" {
	local key

	# in a shell
	for key in -x --foreign "it's" 'a b' '$(touch x)' '*'; do
		cli a hset "$key:redlock:{$key}:state" fence 1 >/dev/null
		cli a set "$key" x >/dev/null
		doctor 1
		sh -c "PATH=${REDLOCK%/*}:\$PATH REDLOCK_URL=$url $(cure_for "$key") --now --confirm=\"\$0\"" "$key"
		[ "$(cli a exists "$key")" = 0 ]
		cli a flushall >/dev/null
	done
	# the name that a server has for us
	cli a acl setuser 'jo"e' on nopass '~*' +@all -zadd >/dev/null
	on "unix://jo%22e:x@$T/a.sock"
	doctor 1
	tells_writes || return 0
	grep -q 'ACL SETUSER "jo\\"e" +zadd' <<<"$told"
	grep -o 'ACL SETUSER .* +zadd$' <<<"$told" | redis-cli -s "$T/a.sock"
	doctor 0
}

@test "control bytes are escaped, in text and in JSON" {
	local key=$'k\e]0;x\a\xff'

	cli a hset "$key:redlock:{$key}:state" fence 1 >/dev/null
	cli a set "$key" x >/dev/null
	doctor 1
	finds wrong keys 'k\\x1b\]0;x\\x07\\xff: no expiry' 'force-release --foreign KEY$'
	doctor 1 "$key"
	json 1 "any('x1b' in x['text'] for x in d['findings'])" "$key"
	cli a flushall >/dev/null
}

@test "many keys are scanned page by page; of many faults only some are shown" {
	cli a eval 'for i = 1, 5000 do
			redis.call("hset", "k" .. i .. ":redlock:{k" .. i .. "}:state", "fence", i)
		end
		for i = 1, 30 do
			redis.call("hset", "l" .. i .. ":redlock:{l" .. i .. "}:state", "fence", 1)
			redis.call("set", "l" .. i, 1)
		end' 0 >/dev/null
	doctor 1
	cli a flushall >/dev/null
	[ "$(grep -c 'no expiry' <<<"$told")" = 20 ]
	finds wrong keys 'there may be more'
}

# ---- other kinds of servers ----

@test "TLS: an unverified certificate is noted, an invalid one is 77" {
	node_start_tls t server
	on "$(tls_url t cacert="$certs/ca.crt")"
	doctor 0
	finds note tls 'is valid for another (1d23h|2d00h)' 'renew it'
	finds_not tls tls-verify
	on "$(tls_url t tls-verify=none)"
	doctor 0
	finds note tls 'any server that answers' '--tls-verify full'
	node_start_tls old expired
	on "$(tls_url old tls-verify=none)"
	doctor 1
	finds wrong tls 'has expired, since' 'renew it'
	json 1 "d['servers'][0]['certificate_left_ms'] < 0"
	on "$(tls_url old cacert="$certs/ca.crt")"
	doctor 77
	finds wrong answer 'certificate has expired' "renew the server's certificate"
	on "$(tls_url t cacert="$certs/other-ca.crt")"
	doctor 77
	finds wrong answer certificate '--cacert'
}

@test "Sentinel: the master is asked, and the number of Sentinels that answer is shown" {
	group_start g
	on "$(group_url g)"
	doctor 0
	finds ok sentinel '3 of 3 Sentinels answer'
	finds note sentinel 'best effort' 'wait-replicas'
	finds_not sentinel 'survives an outage'
	finds ok replicas '2, of which 2 online'
	doctor 0 -t 3s
	finds note sentinel 'lease of 3.0s survives an outage of 1.4s, but a failover takes up to 3.0s .*if it fails, the next attempt comes 4.0s later .twice the failover-timeout.' '-t 7.0s'
	doctor 0 -t 7s
	finds_not sentinel 'survives an outage'
	doctor 0
	[[ $told = *' +role'* && $told = *'+sentinel|get-master-addr-by-name'* ]]
	json 0 "d['acl_sentinel'] and d['servers'][0]['role'] == 'master'"
	on "redis-sentinel://$(node_at gs1)/g"
	doctor 0
	finds note sentinel 'there are 3, but the URL names 1' 'name them all'
	on "$(group_url g)"
	node_freeze gs3
	doctor 0
	finds note sentinel '2 of 3 Sentinels answer' 'start them'
	node_freeze gs2
	doctor 1
	finds wrong sentinel '1 of 3 Sentinels answer'
	wait_until quorum_gone
	doctor 1
	finds wrong sentinel NOQUORUM
	node_thaw gs2
	node_thaw gs3
	on "redis://$(node_at gs1)"
	doctor 1
	finds wrong role 'a Sentinel' "write redis-sentinel://$(node_at gs1)/g"
	finds_no wrong '(lock|scripts)'
	on "redis-sentinel://$(node_at gs1)/none"
	doctor 78
	finds wrong sentinel 'does not know the name'
}
quorum_gone() { cli gs1 sentinel ckquorum g 2>&1 | grep -q NOQUORUM; }

@test "Cluster: each primary is judged, and no other speaks for one that is frozen" {
	cluster_start
	on "$(cluster_url)"
	doctor 0 job
	[ "$(grep -c '^ok .* cluster  *state ok, 16384 of 16384' <<<"$told")" = 3 ]
	[ "$(grep -c '^ok .* keys  *job: free' <<<"$told")" = 1 ]
	[[ $told = *'+asking +cluster|myid'* ]]
	cluster_cli "$(cluster_owner job)" set job x >/dev/null
	doctor 1 job
	finds wrong keys 'job: no expiry'
	cluster_cli "$(cluster_owner job)" \
		hset 'job:redlock:{job}:state' fence 1 >/dev/null
	doctor 1
	finds wrong keys 'job: no expiry'
	cluster_cli "$(cluster_owner job)" del job 'job:redlock:{job}:state' \
		>/dev/null
	on "redis://$(node_at c1)"
	doctor 1
	finds wrong role 'a member of a Cluster' 'redis-cluster://'
	on "$(cluster_url c1 c3)"
	node_freeze c2
	doctor 1
	finds wrong answer 'no answer within'
	grep -q "^wrong *$(node_at c2) *answer" <<<"$told"
	node_thaw c2
	wait_until cluster_ok
	on "$(cluster_url)"
	wait_until slot_lost
	doctor 1
	finds wrong cluster 'state fail, 16383 of 16384' '--cluster check'
	for n in $(cluster_primaries); do cluster_cli "$n" flushall >/dev/null; done
}
slot_lost() { # those who still have it tell the others
	local n

	for n in $(cluster_primaries); do
		cluster_cli "$n" cluster delslots 16383 >/dev/null
	done
	for n in $(cluster_primaries); do
		cluster_cli "$n" cluster info | grep -q state:fail || return
	done
}

@test "local: passes, and its scope is noted" {
	on "local:?dir=$T/mine&idle=1s"
	doctor 0
	finds note scope 'this machine'
	finds ok persistence 'keeps all locks unless the machine crashes'
	finds ok scripts 'EVAL works'
	wait_until local_gone
}
local_gone() { [ ! -e "$T/mine/redis.sock" ]; }

# ---- this machine ----

@test "a missing, foreign or restricted /proc is reported, by --version too" {
	local as=() what
	[ "$(id -u)" = 0 ] || as=(-Ur)
	unshare "${as[@]}" -m true 2>/dev/null || skip "no mount namespaces here"
	# COMMAND to mount; LEVEL and TEXT of the finding; what --version says
	machine() {
		local mount=$1 status=0
		told=$(unshare "${as[@]}" -m sh -c "$mount"' && exec "$@"' - \
			"$REDLOCK" doctor -q -u "$url" 2>&1) || status=$?
		[ "$2:$status" = wrong:1 ] || [ "$2:$status" = note:0 ]
		finds "$2" processes "$3"
		[[ $(unshare "${as[@]}" -m sh -c "$mount"' && exec "$@"' - \
			"$REDLOCK" --version) = *"$4"* ]]
	}
	doctor 0
	finds ok processes 'found through /proc'
	machine 'mount -t tmpfs none /proc' wrong \
		'/proc does not show .*: it is not mounted; redlock cannot run commands  -> mount' \
		'guard process: NO: '
	if [ "$(id -u)" = 0 ]; then
		need_user
		chmod 755 "$T"
		chmod 777 "$(readlink -f "$T/a.sock")"
		machine 'mount -t proc -o hidepid=2 proc /proc && set -- setpriv \
			--bounding-set -all --reuid 54321 --regid 54321 \
			--clear-groups "$@"' note \
			'hides other users. processes \(hidepid\)' 'hides those of other users'
	fi
	as+=(-p -f)
	machine true wrong 'it belongs to another PID namespace' 'guard process: NO: '
}

@test "ok, note, wrong and problems are colored on a terminal or on demand" {
	local bad=$'\e[1;31mwrong\e[0m  '

	cli a set job nonsense >/dev/null
	run -1 "$REDLOCK" doctor -u "$url" job
	[[ $output != *$'\e'* ]]
	run -1 "$REDLOCK" doctor -u "$url" --color always job
	[[ $output = *"$bad"* && $output = *$'\e[32mok\e[0m     '* ]]
	[[ $output = *$'\e[33mnote\e[0m   '* ]]
	# colors take no room
	[ "$(sed $'s/\e[^m]*m//g' <<<"$output" | sed '/^$/,$d' | cut -c 1-20)" = \
		"$("$REDLOCK" doctor -u "$url" job | sed '/^$/,$d' | cut -c 1-20)" ]
	TERM=xterm run -1 pty -- env -u NO_COLOR "$REDLOCK" doctor -q -u "$url" job
	[[ $output = *"$bad"* ]]
	TERM=xterm NO_COLOR=1 run -1 pty -- "$REDLOCK" doctor -q -u "$url" job
	[[ $output != *$'\e'* ]]
	run -0 "$REDLOCK" inspect -u "$url" --color always job
	[[ $output = $'job: \e[33mheld\e[0m by another program\n'* ]]
	[[ $output = *$'  \e[1;31mproblems\e[0m\n    '* ]]
	run -0 "$REDLOCK" inspect -u "$url" job
	[[ $output = *$'\n  problems\n    '* && $output != *$'\e'* ]]
	# the same in messages, which have a color of their own
	run -0 "$REDLOCK" force-release -u "$url" --color always --foreign --now \
		--confirm job job
	[[ $output = *'job:   problems'* && $output != *'x1b'* ]]
	run -1 "$REDLOCK" inspect -u "$url" --color always job
	[[ $output = $'job: \e[32mfree\e[0m'* ]]
}

@test "on a terminal a finding is wrapped at whole words, and goes on below its text" {
	LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1 run -0 pty size:24x80 -- \
		"$REDLOCK" doctor -u "$url"
	told=$(tr -d '\r' <<<"$output" | sed '/^$/,$d')
	[ -z "$(awk 'length > 80' <<<"$told")" ]
	[[ $told = *'  nothing is saved to disk: '*$'\n          '* ]]
	# the same words as without one
	[ "$(tr -s ' \n' ' ' <<<"$told" | grep -o 'nothing is saved.*appendonly yes')" = \
		"nothing is saved to disk: a restart forgets all locks; until \
their holders restore them, another client may get one -> CONFIG SET \
appendonly yes" ]
}
