#!/usr/bin/env bats
# What the network between redlock and one server can do.
#
# Mostly by the proxy of lib/proxy.c. Where the kernel itself has to drop, reset
# or run out, redlock and the proxy live in a network (and mount) namespace of
# their own, which goes with its last process.

load lib/common
load lib/namespace
load lib/proxy
load lib/servers

# ---- the kit of this file ----

granted() { [ -n "$(counter)" ]; }
counter() { cli a hget 'job:redlock:{job}:state' fence; }
asked() { [ "$(scripts_run a)" -ge "$1" ]; } # so many scripts have run

# Waits until the command is dead: at 0.80 T from a renewal that was at most
# T/6 before `began`, while the server still keeps the lock. killed_by_deadline T
killed_by_deadline() { # MS: the lease length
	local took left

	wait_until gone "$worker"
	left=$(cli a pttl job)
	took=$(($(now_ms) - began))
	ends_with 125
	at_least "$took" "$(($1 * 45 / 100))"
	below "$took" "$(($1 * 85 / 100))"
	# the margin of the timing rule, less what this test itself takes
	[ "$left" = -2 ] && released && return
	at_least "$left" "$(($1 * 10 / 100))"
}
# by redlock, when all was dead: a release moves the counter
released() {
	[ "$(cli a hget 'job:redlock:{job}:state' fence)" -gt "$(cat "$T/fence")" ]
}

# What the kernel does with packets to the server: on_port VERDICT...; pass_all
on_port() {
	"${within[@]}" nft -f - 2>/dev/null <<-END || skip 'no nft here'
		table inet t {
			chain in {
				type filter hook input priority 0;
				tcp dport 6379 $*
			}
		}
	END
}

# Names: hosts_say LINE..., all else is asked of a resolver that never answers.
private_names() {
	private_net
	[ -f /etc/resolv.conf ] && [ -f /etc/hosts ] || skip 'no /etc/hosts'
	echo 'nameserver 127.0.0.53' >"$T/resolv.conf"
	hosts_say '127.0.0.1 localhost'
	"${within[@]}" mount --bind "$T/resolv.conf" /etc/resolv.conf
	"${within[@]}" mount --bind "$T/hosts" /etc/hosts
	"${within[@]}" nft -f - 2>/dev/null <<-END || skip 'no nft here'
		table inet dns {
			chain in {
				type filter hook input priority 0;
				udp dport 53 drop
			}
		}
	END
}
hosts_say() { printf '%s\n' "$@" >"$T/hosts"; }

# ---- no connection ----

@test "nobody listens: retried, then status 69 when the wait is over" {
	url=unix://$T/nobody.sock
	began=$(now_ms)
	run -69 redlock -k job -w 300ms -- witness "$T"
	at_least "$(($(now_ms) - began))" 300
	below "$(($(now_ms) - began))" 1500
	began=$(now_ms)
	run -69 redlock -k job -n -- witness "$T"
	below "$(($(now_ms) - began))" 300
	[ "$(holds)" = 0 ]
}

# STATUS MOST COMMAND...: redlock says in its last line that it gave up, and has not
# taken more than MOST ms, give or take what starting it takes
gave_up() {
	local want=$1 most=$2 took began

	shift 2
	began=$(now_ms)
	run "-$want" ${within:+"${within[@]}"} "$REDLOCK" "$@"
	took=$(($(now_ms) - began))
	below "$took" "$((most + 200 + 150))" # the promise; and what this test takes
	[[ ${lines[-1]} == 'redlock: '*': gave up after '*': '* ]]
}

@test "-w is over in time, also if a server accepts and says nothing" {
	for n in 1 2 3; do
		echo silent >"$T/m$n"
		helper proxy "$T/m$n.sock" "$T/a.sock" "$T/m$n" >/dev/null
		wait_until exists "$T/m$n.sock"
	done
	one=(-u "unix://$T/m1.sock")
	three=("${one[@]}" -u "unix://$T/m2.sock" -u "unix://$T/m3.sock")
	token=12345678-1234-1234-1234-123456789abc
	for servers in one three; do
		declare -n u=$servers
		gave_up 69 300 "${u[@]}" -k job -w 300ms -- true
		gave_up 69 300 "${u[@]}" wait -w 300ms job
		gave_up 69 300 "${u[@]}" extend -w 300ms --token $token job
		gave_up 69 300 "${u[@]}" unlock -w 300ms --token $token job
	done
	gave_up 69 1200 "${one[@]}" -k job -w 1200ms -- true
	gave_up 69 300 "${one[@]}" -k a -k b -w 300ms -- true
	gave_up 69 300 "${one[@]}" lock -w 300ms job
	gave_up 69 500 "${one[@]}" -k job -w 500ms \
		--password-command 'sh -c "sleep 0.3; echo x"' -- true
	# it has no time for its own end
	began=$(now_ms)
	run -69 "$REDLOCK" "${one[@]}" -k job -w 300ms \
		--password-command 'sleep 5.3' -- true
	below "$(($(now_ms) - began))" 650
	[[ $output = *"password command 'sleep': killed: not done in time (-w)" ]]
	# and it says the limit that it has kept
	run -69 "$REDLOCK" "${one[@]}" -k job -w 300ms -- true
	[[ $output = *': no answer within 300ms' ]]
}

@test "without -w, 5 s for a server that is away; it says that it tries, and gave up" {
	url=unix://$T/nobody.sock
	began=$(now_ms)
	run -69 redlock -k job -- true
	at_least "$(($(now_ms) - began))" 5000
	below "$(($(now_ms) - began))" 6000
	[ "${#lines[@]}" = 2 ]
	[ "${lines[0]}" = "redlock: job: trying for up to 5s: $T/nobody.sock: cannot connect: No such file or directory" ]
	# (it counts from when it first asks)
	[[ ${lines[1]} = "redlock: job: gave up after "[45].[0-9]"s: $T/nobody.sock: cannot connect: No such file or directory" ]]
}

# The server comes up, with its data, once redlock has said WHAT: comes_up WHAT
comes_up() {
	wait_until contains "$T/err" "$1"
	[ "$(($(now_ms) - began))" -gt 5500 ] || sleep 5.5 # longer than without -w
	node_start b --dbfilename b.rdb
}

@test "-w lasts while servers are away at the start: run, lock, wait, extend, unlock" {
	node_start b --dbfilename b.rdb
	url=unix://$T/b.sock
	token=$(redlock lock -t 1m job)
	cli b shutdown save || true
	began=$(now_ms)
	start -k other -w 1m -- witness "$T" --hold 1
	run=$tool
	helper "$REDLOCK" -u "$url" lock -q third -t 1m -w 30 >"$T/third"
	lock=$!
	helper "$REDLOCK" -u "$url" -q wait none -w 30
	waits=$!
	helper "$REDLOCK" -u "$url" -q extend job -w 30 -t 50s --token "$token"
	extend=$!
	comes_up 'trying for up to 1m: '
	ended_as "$run" 0
	ended_as "$lock" 0
	ended_as "$waits" 0
	ended_as "$extend" 0
	[ "$(holds)" = 1 ]
	for key in job third; do [ "$(cli b exists $key)" = 1 ]; done
	redlock -q unlock third --token "$(cat "$T/third")"
	# without -w: 5 s, for a restart
	cli b shutdown save || true
	start unlock job --token "$token"
	wait_until contains "$T/err" 'trying for up to 5s: '
	node_start b --dbfilename b.rdb
	finish
	[ "$status" = 0 ]
	[ "$(cli b exists job)" = 0 ]
}

at_least_two() { [ "$(cat)" -ge 2 ]; }

@test "several servers away at the start: -w lasts, for extend and unlock as well" {
	for n in b c d; do node_start $n --dbfilename $n.rdb; done
	all=(-u "unix://$T/b.sock" -u "unix://$T/c.sock" -u "unix://$T/d.sock")
	token=$("$REDLOCK" "${all[@]}" lock -t 1m --restart-guard off job)
	for n in c d; do cli $n shutdown save || true; done
	run -69 "$REDLOCK" "${all[@]}" extend -w 300ms --token "$token" job
	[[ $output = *': gave up after '*': 1 of 3 servers answered, 2 are needed; '*': cannot connect: '* ]]
	helper "$REDLOCK" "${all[@]}" extend -w 20 --token "$token" job 2>"$T/err.e"
	extend=$!
	helper "$REDLOCK" "${all[@]}" -k other -w 20 -t 1s -- true 2>"$T/err"
	other=$!
	wait_until contains "$T/err" 'trying for up to 20s: \(at most \)\?1 of 3 servers'
	wait_until contains "$T/err.e" 'trying for up to 20s: '
	for n in c d; do node_start $n --dbfilename $n.rdb; done
	ended_as "$extend" 0
	ended_as "$other" 0
	for n in c d; do cli $n shutdown save || true; done
	helper "$REDLOCK" "${all[@]}" unlock --token "$token" job 2>"$T/err.u"
	unlock=$!
	wait_until contains "$T/err.u" 'trying for up to 5s: '
	for n in c d; do node_start $n --dbfilename $n.rdb; done
	ended_as "$unlock" 0
	# (a majority is enough)
	for n in b c d; do cli $n exists job; done | grep -c 0 | at_least_two
	for n in c d; do cli $n del job 'job:redlock:{job}:state' >/dev/null; done
}

@test "unlock asks again after a reply was lost: what it released was its own" {
	proxy_start a
	token=$(redlock lock -t 1m job)
	px cut 0
	start unlock job --token "$token"
	wait_until free job
	px pass
	finish
	[ "$status" = 0 ]
	run -75 redlock unlock job --token "$token"
}

@test "a server that comes up while we retry is used" {
	proxy_start a
	px refuse
	start_hold 10
	wait_until contains "$T/err" refused
	px pass
	ends_with 0
	[ "$(holds)" = 1 ]
}

@test "connection refused during a hold for 0.4 T disturbs nothing" {
	proxy_start a
	hold 900
	px refuse
	wait_until contains "$T/err" 'cannot renew'
	sleep 0.3
	px pass
	wait_until contains "$T/err" 'renewed again'
	ends_with 0
	lacks "$T/err" SIGTERM
}

@test "a black hole: our own time-out ends the connect, not the kernel's" {
	private_net
	on_port drop
	url=redis://127.0.0.1
	began=$(now_ms)
	run -69 "${within[@]}" "$REDLOCK" -u "$url" -k job -n \
		--node-timeout 300ms -- witness "$T"
	below "$(($(now_ms) - began))" 1800
	[ "${#lines[@]}" = 1 ]
	[[ $output != *'redlock: job: ' ]] # a reason is named
}

@test "a black hole that opens while we retry: a new connection is used" {
	private_net
	proxy_start a 127.0.0.1:6379
	on_port drop
	start_hold 10 --node-timeout 200ms
	sleep 0.3
	pass_all
	ends_with 0
	[ "$(holds)" = 1 ]
}

@test "partitioned during a hold: the tree is dead while the server keeps the lock" {
	may_need_another_try "a machine that stalls for a twentieth of a second is late itself"
	private_net
	proxy_start a 127.0.0.1:6379
	hold 9000
	began=$(now_ms)
	on_port drop
	killed_by_deadline 1000
	contains "$T/err" 'SIGTERM'
}

@test "a partition shorter than 0.48 T disturbs nothing" {
	may_need_another_try "a machine that stalls makes the outage longer than what is survived"
	private_net
	proxy_start a 127.0.0.1:6379
	hold 1200
	on_port drop
	sleep 0.4
	pass_all
	ends_with 0
	lacks "$T/err" SIGTERM
}

@test "replies are lost, not requests: renewals do not count, killed by the deadline" {
	may_need_another_try "a machine that stalls for a twentieth of a second is late itself"
	proxy_start a
	hold 9000 -t 800ms
	began=$(now_ms)
	before=$(scripts_run a)
	px drop-replies
	killed_by_deadline 800
	asked "$((before + 2))"
	at_least "$(did 'dropped a reply')" 2
	px pass
}

@test "only requests are lost: renewals do not count, killed by the deadline" {
	may_need_another_try "a machine that stalls for a twentieth of a second is late itself"
	proxy_start a
	hold 9000 -t 800ms
	began=$(now_ms)
	px drop-requests
	killed_by_deadline 800
	px pass
}

@test "reset by the peer while connecting and during a hold: asked again" {
	private_net
	proxy_start a 127.0.0.1:6379
	on_port reject with tcp reset
	start_hold 900
	wait_until contains "$T/err" 'refused'
	pass_all
	wait_until exists "$T/started"
	on_port reject with tcp reset
	wait_until contains "$T/err" 'cannot renew'
	sleep 0.2
	pass_all
	wait_until contains "$T/err" 'renewed again'
	ends_with 0
}

@test "every connection is closed again and again: nothing is lost" {
	local i

	proxy_start a
	hold 1000
	for i in 1 2 3 4 5; do
		px reset
		sleep 0.1
		px "pass $i"
		sleep 0.1
	done
	at_least "$(did reset)" 1
	ends_with 0
}

@test "half-open, as behind a NAT that forgot: a second connection renews" {
	proxy_start a
	hold 900
	px old silent
	sleep 0.5
	cli a pttl job
	ends_with 0
	at_least "$(did accept)" 2
	lacks "$T/err" SIGTERM
}

@test "every connection becomes half-open, again and again: nothing is lost" {
	local i

	proxy_start a
	hold 1400
	for i in 1 2 3 4 5; do
		px "old silent $i"
		sleep 0.2
	done
	ends_with 0
	at_least "$(did accept)" 4
	lacks "$T/err" SIGTERM
}

@test "granted, but the reply is late: the client that gave up takes it back" {
	proxy_start a
	px hold
	run -69 redlock -k job -n -t 60s --node-timeout 150ms -- witness "$T"
	wait_until granted
	wait_until free job
	px pass
	[ "$(holds)" = 0 ]
	wait_until free job
}

@test "a late reply to the first of two acquires: one lock, one fence, one run" {
	proxy_start a
	px hold
	start_hold 50 -t 3s --node-timeout 150ms
	wait_until held job
	first=$(counter)
	wait_until asked 2
	px pass
	ends_with 0
	[ "$(cat "$T/fence")" = "$first" ]
	[ "$(holds)" = 1 ]
	# the one grant, and the release
	[ "$(cli a hget 'job:redlock:{job}:state' trail)" = " $first $(counter)" ]
}

@test "replies held for 2 T while acquiring: nothing is run on the old lease" {
	proxy_start a
	px hold
	start_hold 50 -t 400ms
	wait_until held job
	first=$(counter)
	wait_until free job # it ran out
	px pass
	ends_with 0
	[ "$(holds)" = 1 ]
	[ "$(cat "$T/fence")" -gt "$first" ]
}

@test "cut after the acquire was done and before its reply: asked again, same fence" {
	proxy_start a
	px cut 0
	start_hold 50 -t 3s
	wait_until held job
	first=$(counter)
	wait_until contains "$T/px.log" cut
	px pass
	ends_with 0
	[ "$(cat "$T/fence")" = "$first" ]
	[ "$(cli a hget 'job:redlock:{job}:state' trail)" = " $first $(counter)" ]
}

@test "cut within the reply, after each of its first 34 bytes" {
	local k first

	proxy_start a
	for k in 1 4 5 10 14 19 24 34; do
		px cut "$k"
		start_hold 0 -t 3s
		wait_until held job
		first=$(counter)
		wait_until contains "$T/px.log" cut
		px pass
		ends_with 0
		[ "$(cat "$T/fence")" = "$first" ]
		: >"$T/px.log"
	done
	[ "$(holds)" = 8 ]
}

@test "cut before the reply to a renewal, and to the release: asked again" {
	proxy_start a
	hold 700
	px cut 0
	wait_until contains "$T/err" 'cannot renew'
	px pass
	wait_until contains "$T/err" 'renewed again'
	# and from now on to the end
	px cut 0
	ends_with 0
	free job
	px pass
}

@test "every request runs twice: one grant, one release, no other holder is touched" {
	local i pids=

	proxy_start a
	px duplicate 0
	for i in 1 2 3 4; do
		redlock -q -k job -t 2s -- witness "$T" --hold 20 3>&- &
		pids="$pids $!"
	done
	wait $pids
	[ "$(holds)" = 4 ]
	at_least "$(did duplicate)" 8
}

@test "a late copy of a release does not free the next holder's lock" {
	proxy_start a
	before=$(scripts_run a)
	px duplicate 300
	redlock -q -k job -t 2s -- true
	px pass
	hold open -t 1h # it does not renew meanwhile
	token=$(cli a get job)
	# an acquire and a release, their copies, and the acquire of this one
	wait_until asked "$((before + 5))"
	[ "$(cli a get job)" = "$token" ]
	end_hold
}

@test "a late copy of a renewal does not bring a released lock back" {
	proxy_start a
	hold 450
	before=$(cat "$T/fence")
	px duplicate 1200
	wait_until contains "$T/px.log" duplicate
	ends_with 0
	free job
	n=$(scripts_run a)
	# the renewals' copies come, and the lock stays away
	wait_until asked "$((n + 1))"
	free job
	wait_until asked "$((n + $(did duplicate)))"
	free job
	[ "$(redlock -q -k job -- sh -c 'echo $REDLOCK_FENCE')" -gt "$before" ]
}

@test "force-release while an older counter came back: a late renewal sets no lock" {
	local counter forcer

	proxy_start a
	start -k job -t 9s -- sh -c ': >"$0"; exec linger' "$T/on"
	wait_until exists "$T/on"
	px silent
	sleep 2 # longer than T/6: a renewal is on its way
	crash "$tool"
	finish
	"$REDLOCK" force-release -u "unix://$T/a.sock" job --confirm job \
		--grace 1s 2>"$T/said" &
	forcer=$!
	wait_until stop_asked
	counter=$(counter)
	cli a hset 'job:redlock:{job}:state' fence $((counter - 1000)) \
		moved $((counter - 1000)) >/dev/null
	wait "$forcer"
	free job
	before=$(scripts_run a)
	px pass
	wait_until asked "$((before + 1))"
	free job
}
stop_asked() { [ -n "$(cli a --raw keys '*:grant:*')" ]; }

@test "an old acquire that runs after our release blocks the key for T at most" {
	proxy_start a
	px duplicate 1000
	echo pass >"$T/px.pass"
	redlock -q -k job -t 600ms -- mv "$T/px.pass" "$T/px"
	free job
	wait_until held job # the copy came
	at_least 600 "$(cli a pttl job)"
	run -75 redlock -n -k job -- witness "$T"
	redlock -q -k job -w 2s -- witness "$T"
	[ "$(holds)" = 1 ]
}

@test "the first connection is slow, the second is used: the late acquire is undone" {
	proxy_start a
	px delay 400
	start_hold 200 -t 30s --node-timeout 100ms
	wait_until contains "$T/px.log" accept
	px old delay 400
	ends_with 0
	[ "$(holds)" = 1 ]
	sleep 0.5
	wait_until free job
}

@test "bytes that come one by one in both directions are understood" {
	proxy_start a
	px dribble
	hold 400 -t 2s
	run -75 redlock -n -k job --node-timeout 3s -- witness "$T"
	ends_with 0
	[ "$(holds)" = 1 ]
}

@test "several replies in one piece are understood" {
	proxy_start a
	cli a acl setuser app on '>pw' '~*' +@all
	px delay 0 50
	REDISCLI_AUTH=pw run -0 "$REDLOCK" --user app -u "$url?db=3" -k job -- \
		env -u REDISCLI_AUTH redis-cli -s "$T/a.sock" -n 3 exists job
	[ "${lines[-1]}" = 1 ]
	cli a -n 3 flushdb
}

# ---- names ----

@test "a resolver that never answers at the start: one try ends in time" {
	private_names
	url=redis://server.rl.test
	began=$(now_ms)
	run -69 "${within[@]}" "$REDLOCK" -u "$url" -k job -n \
		--node-timeout 300ms -- witness "$T"
	below "$(($(now_ms) - began))" 1800
	[[ $output != *'redlock: job: ' ]] # a reason is named
}

@test "an unknown name: retried until the wait is over, then status 69" {
	private_names
	on_udp_refuse
	url=redis://server.rl.test
	began=$(now_ms)
	run -69 "${within[@]}" "$REDLOCK" -u "$url" -k job -w 300ms -- witness "$T"
	below "$(($(now_ms) - began))" 2000
	[ "$(holds)" = 0 ]
}
# no resolver at all: answered at once by ICMP
on_udp_refuse() { "${within[@]}" nft flush ruleset; }

@test "the resolver falls silent during a hold: the last good address is used" {
	private_names
	hosts_say '127.0.0.1 server.rl.test'
	proxy_start a 127.0.0.1:6379
	url=redis://server.rl.test
	hold 900
	hosts_say '127.0.0.1 localhost'
	px reset
	wait_until contains "$T/err" 'cannot renew'
	px pass
	wait_until contains "$T/err" 'renewed again'
	ends_with 0
	lacks "$T/err" SIGTERM
}

@test "a silent resolver does not delay the kill" {
	private_names
	hosts_say '127.0.0.1 server.rl.test'
	proxy_start a 127.0.0.1:6379
	url=redis://server.rl.test
	hold 9000
	hosts_say '127.0.0.1 localhost'
	began=$(now_ms)
	px refuse
	killed_by_deadline 1000
}

# During a hold, the name goes on to an address that leads to this node: name_moves
# NODE MS OPTION...
name_moves() {
	private_names
	hosts_say '127.0.0.2 server.rl.test'
	proxy_start a 127.0.0.2:6379
	cp "$T/px" "$T/px.2"
	helper "${within[@]}" proxy 127.0.0.3:6379 "$T/$1.sock" "$T/px.2" \
		>"$T/px.2.log"
	url=redis://server.rl.test
	hold "${@:2}"
	hosts_say '127.0.0.3 server.rl.test'
}

@test "the name moves to another address: looked up again when the old one refuses" {
	name_moves a 1200 -t 1500ms
	px refuse
	wait_until contains "$T/px.2.log" accept
	ends_with 0
	lacks "$T/err" SIGTERM
}

@test "the name moves while the old address turns READONLY: looked up again" {
	node_start b
	name_moves b 1200 -t 1500ms
	cli a replicaof 127.0.0.1 1
	wait_until contains "$T/px.2.log" accept
	# nothing was granted there, so the lock is set there
	wait_until contains "$T/err" 'was missing'
	ends_with 0
	cli a replicaof no one
	cli a flushall
}

@test "the name moves while the old address is silent: late answers are ignored" {
	name_moves a 4500 -t 3s # without a renewal it would be over
	px silent
	wait_until contains "$T/px.2.log" accept
	px pass
	ends_with 0
	lacks "$T/err" SIGTERM
}

@test "the first address of a name is a black hole: the next is used, also with -n" {
	private_names
	hosts_say '127.0.0.2 server.rl.test
127.0.0.3 server.rl.test'
	cp "$T/px" "$T/px.2" 2>/dev/null || echo pass >"$T/px.2"
	helper "${within[@]}" proxy 127.0.0.3:6379 "$T/a.sock" "$T/px.2" \
		>"$T/px.2.log"
	proxy_start a 127.0.0.2:6379
	px silent
	wait_until eval '"${within[@]}" redis-cli -h 127.0.0.3 ping >/dev/null'
	"${within[@]}" "$REDLOCK" -u redis://server.rl.test -k job -n -- true
}

# Of the name server.rl.test: the proxies at 127.0.0.2:PORT and 127.0.0.3:PORT, in
# these modes; what they lead to. two_addresses PORT MODE MODE NODE [NODE]
two_addresses() {
	hosts_say '127.0.0.2 server.rl.test' '127.0.0.3 server.rl.test'
	echo "$2" >"$T/$1.2"
	echo "$3" >"$T/$1.3"
	helper "${within[@]}" proxy "127.0.0.2:$1" "$T/$4.sock" "$T/$1.2" \
		>/dev/null
	helper "${within[@]}" proxy "127.0.0.3:$1" "$T/${5:-$4}.sock" "$T/$1.3" \
		>/dev/null
	wait_until eval '"${within[@]}" redis-cli -h 127.0.0.3 -p '"$1"' ping >/dev/null'
}

# every_verb OPTION...: each answers under these, and changes what it should. (The
# keeper of a lock is a fork of a process with a thread that looks up names.)
every_verb() {
	local at=("${within[@]}" "$REDLOCK" "$@" --node-timeout 200ms) token verb

	"${at[@]}" -q -k job -w 5 -- true
	[ -z "${SANITIZED-}" ] || skip "a sanitizer may hang after a fork beside a thread"
	token=$("${at[@]}" -q lock -t 1m job)
	"${at[@]}" extend --token "$token" job
	for verb in 'inspect job' 'inspect job --max-age 1h' list 'history job' \
		'wait -w 0 other'; do
		run -0 "${at[@]}" $verb
	done
	"${at[@]}" unlock --token "$token" job
	run -0 "${at[@]}" wait -w 3 job
	"${at[@]}" -q lock -t 1m job
	run -0 "${at[@]}" force-release --now --confirm job job
	run "${at[@]}" doctor
	[[ $output != *'no connection'* && $output != *'no answer'* ]]
}

@test "the first address of a name is silent: every verb uses the next" {
	private_names
	two_addresses 6379 silent pass a
	every_verb -u redis://server.rl.test
	briefly "${within[@]}" "$REDLOCK" -u redis://server.rl.test
	# as of a host that is down, or behind a firewall
	"${within[@]}" nft -f - <<-END || skip 'no nft here'
		table inet t {
			chain in {
				type filter hook input priority 0;
				ip daddr 127.0.0.2 drop
			}
		}
	END
	every_verb -u redis://server.rl.test
	briefly "${within[@]}" "$REDLOCK" -u redis://server.rl.test
	hosts_say '127.0.0.2 server.rl.test'
	run -69 "${within[@]}" "$REDLOCK" -u redis://server.rl.test inspect job
	[[ $output = *': no connection within 1.0s (--node-timeout): the host is down, or a firewall drops the packets' ]]
	run -69 "${within[@]}" "$REDLOCK" -u redis://server.rl.test -k job -n -- true
	[[ $output = *': no connection within 1.0s (--node-timeout): the host is down, or a firewall drops the packets' ]]
}

@test "the names of a Cluster and of Sentinels have a silent address: the next" {
	private_names
	node_start b --bind "$(random_address)" --cluster-enabled yes \
		--cluster-announce-ip 127.0.0.3 \
		--cluster-announce-port 6379 --cluster-config-file "$T/nodes.conf"
	cli b cluster addslotsrange 0 16383 || cli b cluster addslots {0..16383}
	wait_until eval 'cli b cluster info | grep -q cluster_state:ok'
	two_addresses 6379 silent pass b
	every_verb -u redis-cluster://server.rl.test
	# its nodes announce that name
	if server_is_at_least 7.0; then
		cli b config set cluster-announce-hostname server.rl.test
		cli b config set cluster-preferred-endpoint-type hostname
		every_verb -u redis-cluster://127.0.0.3
	fi
	two_addresses 6380 silent pass a
	printf '%s\n' 'port 26390' 'bind 127.0.0.1' "unixsocket $T/s.sock" \
		"dir $T" 'sentinel resolve-hostnames yes' \
		'sentinel announce-hostnames yes' \
		'sentinel monitor g server.rl.test 6380 1' >"$T/s.conf"
	helper "${within[@]}" redis-server "$T/s.conf" --sentinel >/dev/null
	wait_until eval '[ "$(redis-cli -s "$T/s.sock" ping)" = PONG ]'
	two_addresses 26379 silent pass s
	every_verb -u redis-sentinel://server.rl.test/g
}

@test "the first address of a name is slow, the next one refuses: the first is used" {
	private_names
	hosts_say '127.0.0.2 server.rl.test' '127.0.0.3 server.rl.test'
	echo delay 200 >"$T/slow"
	helper "${within[@]}" proxy 127.0.0.2:6379 "$T/a.sock" "$T/slow" >/dev/null
	wait_until eval '"${within[@]}" redis-cli -h 127.0.0.2 ping >/dev/null'
	run -1 "${within[@]}" "$REDLOCK" -u redis://server.rl.test \
		--node-timeout 600ms inspect job
	[ "$output" = 'job: free' ]
}

@test "the first address of a name is a replica: the master is used, also with -n" {
	private_names
	node_start b
	cli a replicaof 127.0.0.1 1
	two_addresses 6379 pass pass a b
	"${within[@]}" "$REDLOCK" -u redis://server.rl.test -k job -n -- true
	[ "$(cli b exists 'job:redlock:{job}:state')" = 1 ]
	cli a replicaof no one
}

@test "a name with the addresses of all Sentinels, the first frozen: the next one" {
	private_names
	two_addresses 6379 pass pass a
	printf '%s\n' 'port 26390' 'bind 127.0.0.1' "unixsocket $T/s.sock" \
		"dir $T" 'sentinel monitor g 127.0.0.3 6379 1' >"$T/s.conf"
	helper "${within[@]}" redis-server "$T/s.conf" --sentinel >/dev/null
	wait_until eval '[ "$(redis-cli -s "$T/s.sock" ping)" = PONG ]'
	two_addresses 26379 silent pass s
	"${within[@]}" "$REDLOCK" -u redis-sentinel://server.rl.test/g -k job \
		-n -- true
	briefly "${within[@]}" "$REDLOCK" -u redis-sentinel://server.rl.test/g
	# and it freezes under a hold
	echo pass >"$T/26379.new" && mv "$T/26379.new" "$T/26379.2"
	url=redis-sentinel://server.rl.test/g
	hold 4500 -t 3s # without a renewal it would be over
	echo silent >"$T/26379.new" && mv "$T/26379.new" "$T/26379.2"
	ends_with 0
	lacks "$T/err" SIGTERM
}

# ---- slow and tight ----

@test "AUTH and SELECT travel with the first question: one round trip" {
	proxy_start a
	cli a acl setuser app on '>pw' '~*' +@all
	px delay 0 200
	began=$(now_ms)
	REDISCLI_AUTH=pw "$REDLOCK" --user app -u "$url?db=3" -k job -- \
		sh -c 'date +%s%3N' >"$T/when"
	below "$(($(cat "$T/when") - began))" 380
	cli a -n 3 flushdb
}

@test "a slow AUTH counts towards the node time-out" {
	proxy_start a
	cli a acl setuser app on '>pw' '~*' +@all
	px silent
	began=$(now_ms)
	REDISCLI_AUTH=pw run -69 redlock --user app -k job -n \
		--node-timeout 200ms -- witness "$T"
	below "$(($(now_ms) - began))" 1700
	px pass
}

@test "connections cut when idle: renewals keep the holder's open" {
	proxy_start a
	px idle 400
	hold 900
	ends_with 0
	[ "$(did accept)" = 1 ]
	nothing_said "$T/err"
}

@test "connections cut between renewals: opened again, nothing is lost" {
	proxy_start a
	hold 1100
	px idle 60
	ends_with 0
	at_least "$(did idle)" 2
	lacks "$T/err" SIGTERM
}

@test "no local port left: retried, and used when there is one again" {
	# as the C library says it: musl has other words
	local none='Cannot assign requested address|Address not available'

	private_net
	proxy_start a 127.0.0.1:6379
	"${within[@]}" sh -c \
		'echo 40000 40001 >/proc/sys/net/ipv4/ip_local_port_range' ||
		skip 'may not set the port range'
	for i in 1 2; do
		helper "${within[@]}" redis-cli -h 127.0.0.1 subscribe x \
			>"$T/sub.$i"
		wait_until contains "$T/sub.$i" subscribe
	done
	run -69 "${within[@]}" "$REDLOCK" -u "$url" -k job -w 200ms -- witness "$T"
	grep -Eq "$none" <<<"$output"
	start_hold 10
	wait_until grep -Eq "$none" "$T/err"
	"${within[@]}" sh -c \
		'echo 41000 42000 >/proc/sys/net/ipv4/ip_local_port_range'
	ends_with 0
	[ "$(holds)" = 1 ]
}
