#!/usr/bin/env bats
# redlock list: all locks that are held or waited for, wherever they are, and
# nothing else, whatever their names.

load lib/common
load lib/sentinel
load lib/cluster
load lib/masters

setup_file() { cluster_start; }

# list STATUS ARGUMENT...: the answer is in $output, what was said in $stderr
list() {
	local want=$1

	shift
	run --separate-stderr "$REDLOCK" list -u "$url" "$@"
	[ "$status" = "$want" ] || { echo "status $status: $output$stderr" >&2; return 1; }
}
quiet() {
	[ -z "$stderr" ] && [ -n "$output" ] && return
	[[ -z $output && $stderr = 'redlock: no '*locks ]] || { echo "stderr: $stderr" >&2; return 1; }
}
keys() { awk 'NR > 1 { print $1 }' <<<"$output" | tr '\n' ' '; }
shows() { # KEY REGEX: its row
	grep -Eqx -- "$1 +$2" <<<"$output" || { echo "$output" >&2; return 1; }
}
# EXPRESSION [ARGUMENT...]: `d` is the document, which is as the manual says,
# `k` its keys and `of` a lock by its key
json() {
	local what=$1

	shift
	list 0 --json "$@"
	as_in_manual "$output" 'import base64
k = [l["key"] for l in d["locks"]]
of = {l["key"]: l for l in d["locks"]}
assert '"$what"', d'
}
forge() { forge_holder "$@"; } # NODE KEY [HOST]

# ---- one server ----

@test "nothing is held: nothing on standard output, status 0" {
	list 0
	[ -z "$output" ]
	quiet
	cli a set other 1 >/dev/null
	cli a hset 'job:redlock:{job}:state' fence 1 >/dev/null
	list 0
	[ -z "$output" ]
	list 0 --json
	[ "$(as_in_manual "$output")" = 1 ]
	cli a flushall >/dev/null
}

@test "a row for each lock, sorted by key: state, holder, times, how many wait" {
	USER=ann LOGNAME=ann start -k job -t 20s -- sleep 61.3
	wait_until held job
	helper "$REDLOCK" -q -u "$url" -k job -- true
	wait_until in_line 1
	forge a another
	list 0
	quiet
	[ "$(keys)" = 'another job ' ]
	shows job "held +$(hostname) +$tool +ann +sleep +[0-9]+s +(20|1[0-9])s +1"
	shows another 'held +web1 +12 +ann +backup.sh +[0-9]+d[0-9]+h +(60|5[0-9])s +0'
	json "k == ['another', 'job'] and of['job']['in_line'] == 1 and \
of['job']['holder']['pid'] == $tool and of['job']['role'] == 'holder' and \
of['job']['token'] == '$(cli a get job)' and d['scope'] == 'shared' and \
of['job']['fence'] == $(cli a hget 'job:redlock:{job}:state' fence) and \
d['nodes'][0]['state'] == 'up'"
	list 0 --waiting
	[ "$(keys)" = 'job ' ]
	list 0 'an*'
	[ "$(keys)" = 'another ' ]
	list 0 x
	[ -z "$output" ]
	cli a del another 'another:redlock:{another}:state' >/dev/null
	kill "$tool"
}

@test "readers, slots, nested runs, --min-hold, foreign locks are shown, with waiters" {
	helper "$REDLOCK" -q -u "$url" -s -k docs -- sleep 61.3
	helper "$REDLOCK" -q -u "$url" -s -k docs -- sleep 61.3
	for _ in 1 2 3; do
		helper "$REDLOCK" -q -u "$url" -N 3 -k sem -- sleep 61.3
	done
	helper "$REDLOCK" -q -u "$url" -k nest -- \
		"$REDLOCK" -q -u "$url" -k nest -- sleep 61.3
	"$REDLOCK" -q -u "$url" -k rest --min-hold 30s -- true
	cli a set foreign tok px 60000 >/dev/null
	cli a set unseen tok px 60000 >/dev/null
	helper "$REDLOCK" -q -u "$url" -k foreign -- true
	all() {
		list 0
		[ "$(keys)" = 'docs foreign nest rest sem ' ] &&
			grep -q '^docs.*+1' <<<"$output" &&
			grep -q '^nest.*+1' <<<"$output" &&
			grep -q '^sem.*+2' <<<"$output"
	}
	wait_until all
	quiet
	shows docs 'reading +.*'
	shows foreign 'foreign +\? .*s +1'
	shows rest 'resting +.*'
	shows sem "held +$(hostname) \+2 .*"
	# slot 0 is free, the others are not
	json "of['sem']['holders'] == 3 and of['docs']['role'] == 'reader' and \
of['foreign']['role'] == 'foreign' and of['foreign']['state'] == 'held'"
	kill_helpers || true
	cli a flushall >/dev/null
}

@test "a lock of which only slots above the first are held is shown" {
	helper "$REDLOCK" -q -u "$url" -N 2 -k sem -- sh -c 'touch "$T/first"; exec sleep 61.3'
	first=$!
	wait_until exists "$T/first"
	helper "$REDLOCK" -q -u "$url" -N 2 -k sem -- sh -c 'touch "$T/second"; exec sleep 61.3'
	wait_until exists "$T/second"
	kill "$first"
	wait "$first" || true
	list 0
	shows sem "held +$(hostname) +[0-9].*"
	json "of['sem']['slot'] == 1"
}

@test "a lock with waiters but no holder is free, and --held hides it" {
	cli a zadd 'job:redlock:{job}:queue' 1790000000000000 \
		$'tok 30000 1 -\nhost web1\n' >/dev/null
	list 0
	shows job 'free +1'
	json "of['job']['state'] == 'free' and of['job']['holders'] == 0"
	list 0 --held
	[ -z "$output" ]
	forge a other
	list 0 --held
	[ "$(keys)" = 'other ' ]
	list 0 --held --waiting
	[ -z "$output" ]
	cli a flushall >/dev/null
}

@test "a record without a lock, and names that only look like ours, are not shown" {
	cli a hset 'job:redlock:{job}:state' who:tok 1 >/dev/null
	cli a hset 'job:redlock:{other}:state' who:tok $'token tok\n' >/dev/null
	cli a set ':redlock:{' 1 >/dev/null
	cli a hset ':redlock:{}:state' who:tok 1 >/dev/null
	cli a set ':redlock:state' 1 >/dev/null
	cli a set 'redlock:{x}::state' 1 >/dev/null
	cli a set 'x:redlock:{x}:queue' 1 >/dev/null # of another type
	list 0
	[ -z "$output" ]
	quiet
	cli a flushall >/dev/null
}

@test "no bytes of a key, host or command control the terminal; JSON has them all" {
	forge a $'e\e[31mvil' $'h\e]0;x\a'
	forge a $'new\nline'
	forge a 'a}b{c'
	forge a $'\xff\xfe'
	forge a '*[x]?'
	list 0
	quiet
	[[ $output != *$'\e'* && $output != *$'\a'* ]]
	[ "$(wc -l <<<"$output")" = 5 ] # (a}b{c has another tag than forged here)
	shows 'e\\x1b\[31mvil' 'held +h\\x1b\]0;x\\x07 .*'
	shows 'new\\x0aline' 'held .*'
	json "sorted(k) == sorted(['e\x1b[31mvil', 'new\nline', '\ufffd\ufffd', '*[x]?']) \
and base64.b64decode(of['\ufffd\ufffd']['key_b64']) == b'\xff\xfe'"
	list 0 '\*\[x]\?'
	[ "$(keys)" = '*[x]? ' ]
	list 0 $'\xff*'
	[ "$(keys)" = '\xff\xfe ' ]
	cli a flushall >/dev/null
	# and those that are hardest to name, for real
	for key in 'a}b{c' '{}' '{a}}b' '}'; do
		helper "$REDLOCK" -q -u "$url" -k "$key" -- sleep 61.3
	done
	all() { list 0; [ "$(keys)" = '{a}}b {} } a}b{c ' ] || [ "$(keys)" = 'a}b{c {a}}b {} } ' ]; }
	wait_until all
}

@test "patterns are those of Redis" {
	for key in a ab abc b-c 'x[y' 'a\b' 'a*' '[a]' ]x ^; do forge a "$key"; done
	/usr/bin/python3 - "$T/a.sock" "$REDLOCK" "$url" <<-'END'
	import json, random, socket, subprocess, sys
	random.seed(1)
	s = socket.socket(socket.AF_UNIX)
	s.connect(sys.argv[1])
	f = s.makefile('rb')
	def keys(pattern):
	    words = b'KEYS', pattern.encode()
	    s.sendall(b'*2\r\n' + b''.join(b'$%d\r\n%s\r\n' % (len(w), w) for w in words))
	    got = []
	    for _ in range(int(f.readline()[1:])):
	        got.append(f.read(int(f.readline()[1:]) + 2)[:-2].decode())
	    return sorted(k for k in got if not ':redlock:' in k)
	for _ in range(150):
	    p = ''.join(random.choice('ab*?[]^-\\') for _ in range(random.randint(1, 6)))
	    out = subprocess.run([sys.argv[2], 'list', '-u', sys.argv[3], '--json', '--', p],
	                         stdout=subprocess.PIPE, check=True).stdout
	    ours = sorted(l['key'] for l in json.loads(out)['locks'])
	    assert ours == keys(p), (p, ours, keys(p))
	END
	cli a flushall >/dev/null
}

@test "300 locks, each once, with waiters, and one server command for each" {
	local us=$(($(date +%s%N) / 1000))

	for ((i = 0; i < 300; i++)); do
		printf 'SET k%d tok PX 60000\n' $i
		printf 'HSET k%d:redlock:{k%d}:state v 2 fence %s born %s trail %s slot:0 "tok 1 %s 60000 tok" hold:tok "%s000 1 " who:tok "0 %s 1790000000000 60000\\n60000 1 -\\nhost web%d\\n"\n' $i $i $us $us $us $us $((us / 1000000 + 600)) $us $((i % 7))
		printf 'ZADD k%d:redlock:{k%d}:queue 1790000000000000 "w%d 30000 1 -\\nhost x\\n"\n' $i $i $i
	done | cli a --pipe >/dev/null
	"$REDLOCK" list -u "$url" x # knows the script from then on
	cli a config resetstat >/dev/null
	list 0
	quiet
	[ "$(awk 'NR > 1 { print $1 }' <<<"$output" | sort -u | wc -l)" = 300 ]
	[ "$(wc -l <<<"$output")" = 301 ]
	[ "$(scripts_run a)" -le 301 ]
	[ "$(cli a info commandstats | grep -c '^cmdstat_keys:')" = 0 ]
	cli a flushall >/dev/null
}

@test "it changes nothing, and asks the database of the URL" {
	forge a job
	changes() { cli a info persistence | grep '^rdb_changes'; }
	before=$(changes)
	list 0
	[ "$(keys)" = 'job ' ]
	[ "$(changes)" = "$before" ]
	run -0 "$REDLOCK" list -q -u "unix://$T/a.sock?db=3"
	[ -z "$output" ]
	cli a flushall >/dev/null
}

# ---- what goes wrong ----

@test "no server: 69; no right to SCAN: 77 with the server's words; foreign key: hidden" {
	run -69 --separate-stderr "$REDLOCK" list -u "unix://$T/none.sock"
	[[ $stderr == *'cannot connect'* ]]
	[ -z "$output" ]
	forge a job
	forge a secret
	cli a acl setuser joe on '>pw' '~*' +@all -scan >/dev/null
	echo pw >"$T/pw" && chmod 600 "$T/pw"
	list 77 --user joe --password-file "$T/pw"
	[[ $stderr == *scan* ]]
	cli a acl setuser joe +scan resetkeys '~job' '~job:redlock:*' >/dev/null
	list 0 --user joe --password-file "$T/pw"
	[ "$(keys)" = 'job ' ]
	[[ $stderr == *'1 lock cannot be read: '* ]]
	# what cannot be read is not said to be nothing
	cli a acl setuser joe resetkeys '~none' >/dev/null
	list 0 --user joe --password-file "$T/pw"
	[[ $stderr == *'2 locks cannot be read: '* && $stderr != *'no locks'* ]]
	list 64 a b
	[[ $stderr == *'more than one pattern'* ]]
	list 64 -k job
	cli a flushall >/dev/null
}

@test "a frozen server: 69 within the node time-out" {
	node_start b
	url=unix://$T/b.sock
	node_freeze b
	from=$(now_ms)
	list 69 --node-timeout 300ms
	below $(($(now_ms) - from)) 3000
	[[ $stderr == *'no answer within 300ms'* ]]
	node_thaw b
}

@test "a full standard output is reported" {
	forge a job
	run -70 --separate-stderr sh -c "'$REDLOCK' list -u '$url' >/dev/full"
	[[ $stderr == *'cannot write'* ]]
	cli a flushall >/dev/null
}

# ---- a Cluster ----

use_cluster() {
	cluster_mend
	url=$(cluster_url)
}
# One on each primary, and some more: ten keys
cluster_hold() {
	for key in a b c d e f g h i 'x{y}z'; do
		helper "$REDLOCK" -q -u "$url" -t 20s -k "$key" -- sleep 61.3
	done
	ten() { list 0; [ "$(keys)" = 'a b c d e f g h i x{y}z ' ]; }
	wait_until ten
}

@test "in a Cluster, the keys of every primary are shown, each asked for at its node" {
	use_cluster
	cluster_hold
	quiet
	for n in $(cluster_primaries); do
		[ "$(cluster_cli "$n" dbsize)" -gt 0 ]
		cluster_cli "$n" config resetstat >/dev/null
	done
	list 0 -v
	# no question was sent on
	[ "$(for n in $(cluster_primaries); do
		cluster_cli "$n" info errorstats
	done | grep -c 'MOVED')" = 0 ]
	json "d['nodes'][0]['state'] == 'up'"
}

@test "in a Cluster, a lock in a migrating slot is shown once, with its holder" {
	use_cluster
	cluster_hold
	to=$(cluster_other d)
	cluster_migrate_begin d "$to"
	ten
	quiet
	cluster_migrate_keys d "$to"
	ten
	grep -Eq "^d +held +$(hostname) " <<<"$output"
	cluster_migrate_end d "$to"
	ten
	quiet
	kill_helpers || true
}

@test "a primary of a Cluster that is down hides its keys: 69, and the others are shown" {
	use_cluster
	cluster_hold
	down=$(cluster_owner a)
	cluster node_freeze "$down"
	list 69 --node-timeout 500ms
	[[ $stderr == *"$(cluster node_at "$down")"* ]]
	at_least "$(wc -l <<<"$output")" 2
	not grep -q '^a ' <<<"$output"
	# until its replica has taken over
	wait_until ten
	kill_helpers || true
}

# ---- several servers ----

@test "on three servers, a lock on most of them is shown as held, on one as not held" {
	several 3
	helper "$REDLOCK" -q -u "$url" -k job -- sleep 61.3
	wait_until have 3
	forge b alone
	list 0
	quiet
	[ "$(keys)" = 'alone job ' ]
	shows alone 'minority +web1 .*'
	shows job "held +$(hostname) .*"
	list 0 --held
	[ "$(keys)" = 'job ' ]
	json "len(d['nodes']) == 3 and of['alone']['state'] == 'minority'"
	cli b flushall >/dev/null
}

@test "with one of three servers down all is shown, with a line; with two down: 69" {
	several 3
	# (its release is tried for as long as the lease lasts)
	helper "$REDLOCK" -q -u "$url" -t 4s -k job -- sleep 61.3
	wait_until have 3
	node_freeze c
	list 0
	[ "$(keys)" = 'job ' ]
	[[ $stderr == *"showing what the other servers report: "*"$T/c.sock"* ]]
	json "[n['state'] for n in d['nodes']] == ['up', 'up', 'down']"
	node_thaw c
	node_kill b
	node_kill c
	list 69
	[[ $stderr == *'1 of 3 servers answered, 2 are needed'* ]]
	kill_helpers || true
	cli a flushall >/dev/null
}

@test "a Sentinel group: shows the locks of its master" {
	group_start g
	url=$(group_url g)
	helper "$REDLOCK" -q -u "$url" -k job -- sh -c 'touch "$T/started"; exec sleep 61.3'
	wait_until exists "$T/started"
	list 0
	[ "$(keys)" = 'job ' ]
	# it gives the lock back itself, and has the connections for that
	kill "$!"
	wait "$!" || true
}

@test "local: shows the locks of this machine" {
	url="local:?dir=$T/mine&idle=1s"
	helper "$REDLOCK" -q -u "$url" -k job -- sh -c 'touch "$T/started"; exec sleep 61.3'
	wait_until exists "$T/started"
	list 0
	[ "$(keys)" = 'job ' ]
	json "d['scope'] == 'host'"
	kill_helpers || true
	kill_servers "$T/mine"
}

@test "no locks: a line on standard error, nothing on standard output" {
	run -0 --separate-stderr "$REDLOCK" list -u "$url"
	[ "$output" = '' ]
	[ "$stderr" = 'redlock: no locks' ]
	for o in 'x*' --held --waiting; do
		run -0 --separate-stderr "$REDLOCK" list -u "$url" $o
		[ "$output|$stderr" = '|redlock: no matching locks' ]
	done
	run -0 --separate-stderr "$REDLOCK" list -u "$url" -q
	[ -z "$output$stderr" ]
	run -0 --separate-stderr "$REDLOCK" list -u "$url" --json
	[ -z "$stderr" ]
}

@test "--prometheus: two long keys that end otherwise are two series" {
	local long

	long=$(printf '%0300d' 0)
	redlock -k "${long}1" -k "${long}2" -- "$REDLOCK" list -u "$url" --prometheus >"$T/metrics"
	[ "$(grep -c '^redlock_held{.*} 1$' "$T/metrics")" = 2 ]
	[ -z "$(sort "$T/metrics" | uniq -d)" ]
}

@test "--prometheus: prints the text format, with figures from each lock's history" {
	local p='redlock_' now

	"$REDLOCK" list -u "$url" --prometheus >"$T/metrics"
	grep -qx "redlock_server_up{server=\"$T/a.sock\"} 1" "$T/metrics"
	grep -qx "redlock_server_replica{server=\"$T/a.sock\"} 0" "$T/metrics"
	[ "$(grep -vc '^#' "$T/metrics")" = 3 ]
	redlock -k 'a "b\' -- true
	now=$EPOCHSECONDS
	cli a xadd 'a "b\:redlock:{a "b\}:log' '*' token t fence 1 since 1 held_ms 1 \
		outcome lost >/dev/null
	cli a xadd 'a "b\:redlock:{a "b\}:log' '*' token u fence 2 since 1 held_ms 1 \
		outcome forced >/dev/null
	start -k 'a "b\' -- sleep 61.3
	wait_until eval '[ "$(cli a exists "a \"b\\")" = 1 ]'
	run -0 --separate-stderr "$REDLOCK" list -u "$url" --prometheus
	[ -z "$stderr" ]
	value() {
		local name="redlock_$1{key=\"a \\\"b\\\\\"} " line

		line=$(grep -F -- "$name" <<<"$output")
		echo "${line#"$name"}"
	}
	[ "$(value held) $(value waiters)" = '1 0' ]
	[ "$(value history_lost) $(value history_forced)" = '1 1' ]
	[[ $(value held_seconds) =~ ^[0-9.]+$ ]]
	local at=$(value last_success_timestamp_seconds)
	at=${at%.*}
	at_least 2 $((at - now))
	at_least 2 $((now - at))
	# each name has its type, before its samples, which stand together
	awk '/^# TYPE/ { type[$3] = $4; next } /^#/ { next }
		{ name = $0; sub(/[{ ].*/, "", name)
		if (type[name] != "gauge" || (name != last && seen[name]++)) exit 1
		last = name }' <<<"$output"
	kill "$tool"
	finish
	# free again: held is 0, and the last success is still there to be watched
	run -0 "$REDLOCK" list -u "$url" --prometheus
	[ "$(value held) $(value waiters) $(value held_seconds)" = '0 0 ' ]
	[ "$(value history_lost) $(value history_forced)" = '1 1' ]
	[ "$(value last_success_timestamp_seconds)" ]
	run -0 "$REDLOCK" list -u "$url" --prometheus 'x*'
	[[ $output != *'{key='* ]]
	run -0 "$REDLOCK" list -u "$url" --prometheus --held
	[[ $output != *'{key='* ]]
	run -0 --separate-stderr "$REDLOCK" list -u "$url"
	[ -z "$output" ]
	run -64 "$REDLOCK" list -u "$url" --prometheus --json
}

@test "on a terminal, list and history fit: keys and reasons are cut in the middle" {
	local key=deploy-of-the-shop/with-a-path/and-more/in-the-third-region/blue
	local reason=$key/of-the-first-shop

	"$REDLOCK" -u "$url" -k "$key" --reason "$reason" true
	"$REDLOCK" lock -q -u "$url" "$key" -t 1m >/dev/null
	LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1 run -0 pty size:24x100 -- \
		"$REDLOCK" list -u "$url"
	[[ $output = *deploy-of-t*…*region/blue\ \ held\ * ]]
	LC_ALL=C.UTF-8 run -1 grep -E '.{101}' <<<"${output//$'\r'}"
	LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1 run -0 pty size:24x130 -- \
		"$REDLOCK" history -u "$url" "$key"
	[[ $output = *deploy-of-t*…*first-shop* ]]
	LC_ALL=C.UTF-8 run -1 grep -E '.{131}' <<<"${output//$'\r'}"
	# of 40: the columns that matter most, of list
	LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1 run -0 pty size:24x40 -- \
		"$REDLOCK" list -u "$url"
	[[ ${lines[0]} =~ ^KEY\ +STATE\ +HOLDER\ +HELD ]]
	LC_ALL=C.UTF-8 run -1 grep -E '.{41}' <<<"${output//$'\r'}"
	# of 80 columns: who and how it ended, whole; the fence is left out
	cli a flushall >/dev/null
	"$REDLOCK" lock -q -u "$url" "deploy" -t 1m >/dev/null
	cli a xadd 'deploy:redlock:{deploy}:log' '*' token t fence 7 host web1 user joe pid 4711 \
		command deploy.sh since 1763726400000 waited_ms 60000 held_ms 90000 \
		outcome forced signal 15 by 'ann on ops: wrong branch' >/dev/null
	LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1 run -0 pty size:24x80 -- \
		"$REDLOCK" history -u "$url" deploy
	LC_ALL=C.UTF-8 run -1 grep -E '.{81}' <<<"${output//$'\r'}"
	LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1 run -0 pty size:24x80 -- \
		"$REDLOCK" history -u "$url" deploy
	[[ ${lines[0]} =~ ^WHEN\ +WHO\ +COMMAND\ +WAITED\ +HELD\ +OUTCOME ]]
	cli a xadd 'deploy:redlock:{deploy}:log' '*' token u fence 8 host web1 user joe \
		command sh reason "$reason" since 1763726500000 held_ms 1 outcome ran >/dev/null
	LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1 run -0 pty size:24x80 -- \
		"$REDLOCK" history -u "$url" deploy
	LC_ALL=C.UTF-8 run -1 grep -E '.{81}' <<<"${output//$'\r'}"
	LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1 run -0 pty size:24x80 -- \
		"$REDLOCK" history -u "$url" deploy
	[[ $(tr -s ' \r\n' ' ' <<<"$output") = *' joe@web1 deploy.sh 1m00s 1m30s forced (signal 15) by ann on ops: wrong branch '* ]]
	cli a flushall >/dev/null
	"$REDLOCK" -u "$url" -k "$key" --reason "$reason" true
	"$REDLOCK" lock -q -u "$url" "$key" -t 1m >/dev/null
	# elsewhere nothing is cut
	run -0 "$REDLOCK" list -u "$url"
	[[ $output = *$'\n'"$key  held "* ]]
	run -0 "$REDLOCK" history -u "$url" "$key"
	[[ $output = *"$reason"* ]]
	cli a flushall >/dev/null
}
