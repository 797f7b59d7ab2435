#!/usr/bin/env bats
# Servers that Sentinels watch: which of them is asked, what a failover does to a
# hold and to those who wait, and what is said when the Sentinels are no help.

load lib/common
load lib/tls
load lib/sentinel
load lib/masters

setup_file() { certs_make; }

# The server that the Sentinels call the master has the key, or not.
master() { cli "$(group_master_name g)" "$@"; }
replicated() { # the lock is on all of them
	local n

	for n in g1 g2 g3; do [ "$(cli "$n" exists job)" = 1 ] || return; done
}
fails() { # STATUS TEXT ARGUMENT...
	local want=$1 text=$2 got=0

	shift 2
	timeout 20 "$REDLOCK" -k job "$@" -- touch "$T/ran" 2>"$T/err" || got=$?
	[ "$got" = "$want" ] && [ ! -e "$T/ran" ] &&
		grep -qF -- "$text" "$T/err" && return
	echo "wanted $want with '$text', got $got for: $*" >&2
	cat "$T/err" >&2
	return 1
}

# ---- which server ----

@test "the master is the one that most Sentinels name; without a majority: 69, or 125" {
	group_start g
	url=$(group_url g)
	redlock -k job -- true
	node_freeze gs1
	run -0 redlock -vv -k job -- true
	[[ $output = *"g at $(node_at g1): granted"* ]]
	[ "$(cli g1 exists 'job:redlock:{job}:state')" = 1 ]
	# one alone may be cut off with an old master
	node_kill gs2
	fails 69 'fewer than 2 of its 3 Sentinels say' -u "$url" -w 1s
	node_thaw gs1
	redlock -k job -- true
	# nor does a hold go on: there may be two masters
	hold 60000 -t 3s
	node_kill gs1
	ends_with 125
	grep -q 'fewer than 2 of its 3 Sentinels say' "$T/err"
	run ! grep -q 'clock was set forward' "$T/err"
}

# the number of its last request
renewals() {
	cli g1 hget 'job:redlock:{job}:state' "hold:$(cli g1 get job)" | cut -d ' ' -f 2
}
renewed_thrice() { # since it was so often
	[ "$(renewals)" -ge $(($1 + 3)) ]
}
@test "a hold outlasts a Sentinel that is gone and one that comes back" {
	local n

	group_start g
	url=$(group_url g)
	hold 60000 -t 2s
	node_kill gs1
	n=$(renewals)
	wait_until renewed_thrice "${n:-0}"
	group_revive gs1
	wait_until node_answers gs1
	node_kill gs2
	n=$(renewals)
	wait_until renewed_thrice "${n:-0}"
	run ! grep -q 'cannot renew' "$T/err"
	kill -TERM "$worker"
	ends_with 143
}

# The Sentinels of g of these numbers, as a URL that names no others.
names() { # N...
	local n list=

	for n; do list=$list,$(node_at "gs$n"); done
	echo "redis-sentinel://${list#,}/g"
}

@test "the Sentinels say how many they are; those not in the URL are asked as well" {
	group_start g
	node_kill gs2
	# two names of which one is dead: the third one is found
	url=$(names 1 2)
	redlock -w 5s -k job -- true
	# one name
	url=$(names 1)
	redlock -w 5s -k job -- true
	hold 60000 -t 3s
	# one alone may be cut off with an old master, however few are named
	node_kill gs3
	ends_with 125
	grep -q 'fewer than 2 of its 3 Sentinels say' "$T/err"
	fails 69 'fewer than 2 of its 3 Sentinels say' -u "$url" -w 1s
	fails 69 'fewer than 2 of its 3 Sentinels say' -u "$(names 1 2)" -w 1s
	# one Sentinel has one vote, by however many names
	url=$(names 1)
	fails 69 'fewer than 2 of its 3 Sentinels say' -w 1s \
		-u "${url/%\/g/,[::ffff:$(node_at gs1 | sed 's/:/]:/')/g}"
	# it is the only one
	cli gs1 sentinel reset g
	url=$(names 1 2)
	redlock -w 5s -k job -- true
}

@test "Sentinels that may not say how many they are: those in the URL count" {
	server_is_at_least 7.0 || skip "no rights for subcommands"
	group_start g
	for n in 1 2 3; do cli gs$n acl setuser default '-sentinel|sentinels'; done
	url=$(group_url g)
	node_kill gs2
	redlock -k job -- true
	node_kill gs3
	fails 69 'fewer than 2 of its 3 Sentinels say' -u "$url" -w 1s
	url=$(names 1)
	redlock -k job -- true
}

@test "no Sentinel, and an unknown group, are two errors" {
	local nobody="redis-sentinel://$address:1,$address:2/g"

	fails 69 'no Sentinel answers' -n -u "$nobody"
	fails 69 'cannot connect' -n -u "$nobody"
	group_start g
	url=$(group_url g)
	fails 78 "do not know 'h'" -u "${url%/g*}/h"
	# one that was set up a moment ago knows nothing: the others do
	cli gs1 sentinel remove g >/dev/null
	redlock -k job -- true
	fails 78 'is not a Sentinel' -u "redis-sentinel://$(node_at g1)/g"
	fails 78 'for a Sentinel, write redis-sentinel://HOST:PORT/NAME' \
		-u "redis://$(node_at gs1)"
	node_kill gs2
	node_kill gs3
	fails 69 'do not answer' -n -u "$url"
}

# A URL whose first Sentinel says for ever that the master is at OLD; the others
# are farther away.
stale_url() { # OLD
	local old=$1 n

	printf '*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n' ${#address} "$address" \
		"$(printf %s "${old#*:}" | wc -c)" "${old#*:}" >"$T/stale"
	echo "answer $T/stale" >"$T/mode"
	helper proxy "$address:$((port + 40))" "$T/gs1.sock" "$T/mode" >/dev/null
	url=redis-sentinel://$address:$((port + 40))
	echo 'delay 50' >"$T/far"
	for n in 1 2 3; do
		helper proxy "$address:$((port + 40 + n))" "$T/gs$n.sock" \
			"$T/far" >/dev/null
		url=$url,$address:$((port + 40 + n))
	done
	url=$url/g
	wait_until eval 'timeout 5 redis-cli -h "$address" -p $((port + 40)) \
		ping >/dev/null'
}
@test "an outdated Sentinel that answers first is not believed twice" {
	local old

	group_start g
	old=$(node_at g1)
	group_failover g
	wait_until group_settled g
	stale_url "$old"
	redlock -k job -w 10s -- true
}

@test "a newcomer at an old master that still grants keeps nobody waiting" {
	local old got=0

	group_start g hasten=no
	old=$(node_at g1)
	group_failover g
	url=$(group_url g)
	hold 60000 -t 10s
	stale_url "$old"
	"$REDLOCK" -u "$url" -n -k job -- touch "$T/ran" 2>"$T/new" || got=$?
	cat "$T/new" >&2
	[ "$got" = 69 ] || [ "$got" = 75 ]
	[ ! -e "$T/ran" ]
	[ "$(cli g1 role | head -n 1)" = master ]
	# a waiter finds the new one
	"$REDLOCK" -u "$url" -w 2s -k job -- touch "$T/ran" 2>"$T/new" || got=$?
	cat "$T/new" >&2
	[ "$got" = 75 ]
	[ ! -e "$T/ran" ]
	kill -TERM "$worker"
	ends_with 143
}

@test "locks on an old master keep nobody waiting, and its grants are released" {
	local old

	group_start g hasten=no
	old=$(node_at g1)
	group_failover g
	stale_url "$old"
	for n in 1 2 3 4; do
		redlock -k job -t 30s -w 10s -- true
		[ -z "$(cli g1 get job)" ]
	done
	cli g1 set busy somebody px 60000
	for n in 1 2 3 4; do redlock -n -k busy -- true; done
	[ "$(cli g1 role | head -n 1)" = master ]
	cli g1 del busy
}

@test "a Sentinel's password file that cannot be read is reported at once" {
	fails 78 "'$T/none'" -u \
		"redis-sentinel://$address:1/g?sentinel-password-file=$T/none"
	fails 78 "user 'joe'" -u "redis-sentinel://$address:1/g?sentinel-user=joe"
}

@test "servers and Sentinels have separate passwords" {
	group_start g password=hush sentinel_password=shush
	url=$(group_url g)
	redlock -k job -- true
	fails 77 'sentinel-password-file' -n -u "${url%%\?*}"
	fails 77 'WRONGPASS' -n -u "${url/hush/loud}"
	"$REDLOCK" -u "${url/:hush@/}" --password-command 'echo hush' -k job -- \
		true
	echo loud >"$T/loud"
	chmod 600 "$T/loud"
	fails 77 'Sentinel' -n -u \
		"${url%%\?*}?sentinel-password-file=$T/loud"
	# a user of each, with the least that it needs
	cli g1 acl setuser joe on '>pw' '~job' '~job:redlock:*' $(rights_in_manual) \
		+role >/dev/null
	echo pw >"$T/pw"
	chmod 600 "$T/pw"
	url="redis-sentinel://joe:pw@$(node_at gs1)/g?sentinel-user=joe\
&sentinel-password-file=$T/pw"
	server_is_at_least 6.2 || {
		fails 77 'Sentinels since 6.2); leave out the user name' -u "$url"
		"$REDLOCK" -u "${url/sentinel-user=joe&sentinel-password-file=*/\
sentinel-password-file=$T/gs1.auth}" -k job -- true
		return
	}
	cli gs1 acl setuser joe on '>pw' \
		'+sentinel|get-master-addr-by-name' >/dev/null
	"$REDLOCK" -u "$url" -k job -- true
}

@test "TLS goes to the Sentinels and to the servers, unless sentinel-tls says no" {
	group_start g tls=server
	url=$(group_url g "cacert=$certs/ca.crt")
	redlock -k job -- true
	fails 77 'certificate' -n -u "$(group_url g)"
	node_start_tls b server
	fails 69 'TLS' -n -u "$url&sentinel-tls=no"
}

@test "a server that says it is not the master is not asked" {
	group_start g
	url=$(group_url g)
	# one Sentinel alone cannot put it right
	node_freeze gs2
	node_freeze gs3
	cli gs1 sentinel set g down-after-milliseconds 60000 >/dev/null
	cli g1 replicaof "${address}" "$(node_at g2 | cut -d : -f 2)" >/dev/null
	fails 69 'not the master' -n -u "$url"
}

# ---- failover during a hold ----

@test "a planned failover disturbs nobody: the hold goes on, and so does the line" {
	local i

	group_start g
	url=$(group_url g)
	hold 6000 -t 8s
	for i in 1 2 3; do
		helper "$REDLOCK" -u "$url" -k job -t 8s -- witness "$T" --hold 20
	done
	wait_until replicated
	group_failover g
	ends_with 0
	wait_until eval '[ "$(holds)" = 4 ]'
}

renewals_at_master() {
	master hget 'job:redlock:{job}:state' "hold:$(master get job)" | cut -d ' ' -f 2
}
@test "a planned failover disturbs nobody at normal speed" {
	local i

	group_start g hasten=no
	url=$(group_url g)
	hold open -t 3s
	for i in 1 2 3; do
		helper "$REDLOCK" -u "$url" -k job -t 3s -- witness "$T" --hold 20
	done
	wait_until replicated
	group_failover g
	# until the old master is one no more, and for two renewals from then on
	kit await "$T/g1" slave role
	i=$(renewals_at_master)
	wait_until eval 'at_least "$(renewals_at_master)" $((i + 2)) 2>/dev/null'
	end_hold
	run ! grep -q 'clock was set forward' "$T/err"
	wait_until eval '[ "$(holds)" = 4 ]'
}

@test "a master is killed: the hold goes on at the new one, and a waiter is next" {
	group_start g
	url=$(group_url g)
	hold 7000 -t 10s
	helper "$REDLOCK" -u "$url" -k job -t 10s -- witness "$T" --hold 20
	wait_until replicated
	node_kill g1
	ends_with 0
	grep -q 'renewed again' "$T/err"
	wait_until eval '[ "$(holds)" = 2 ]'
}

@test "a master that was frozen and wakes gives nobody a second lock" {
	local i

	group_start g
	url=$(group_url g)
	hold 7000 -t 10s
	for i in 1 2 3 4; do
		helper "$REDLOCK" -u "$url" -k job -t 10s -- witness "$T" --hold 20
	done
	wait_until replicated
	node_freeze g1
	wait_until group_left g "$(node_at g1)"
	node_thaw g1
	ends_with 0
	wait_until eval '[ "$(holds)" = 5 ]'
}

# What the master has acknowledged is not on its replicas: they have COMMAND's
# instead, as if that had been lost on the way.
replicas_have() { # COMMAND...
	local n

	for n in g1 g2 g3; do
		[ "$n" != "$(group_master_name g)" ] || continue
		cli "$n" config set replica-read-only no
		cli "$n" flushall
		cli "$n" "$@"
		cli "$n" config set replica-read-only yes
	done >/dev/null
}

@test "a lock that the new master never had is set again if nobody took it" {
	group_start g
	url=$(group_url g)
	hold 7000 -t 10s
	wait_until replicated
	replicas_have ping
	node_kill g1
	ends_with 0
	grep -q 'was missing and was restored' "$T/err"
}

@test "a lock that the new master granted to another: the command is killed, status 125" {
	group_start g
	url=$(group_url g)
	hold 60000 -t 10s
	wait_until replicated
	replicas_have set job theirs px 60000
	node_kill g1
	ends_with 125
	wait_until gone "$worker"
	wait_until group_left g "$(node_at g1)" # all of them know it
	master del job
}

# Two of three give out fences; then one of these is set back, and with the third
# one, which those did not reach, gives out the next. The witness compares them.
@test "one of three is a group whose new master is behind: each fence is larger" {
	local i was at old state='job:redlock:{job}:state'

	group_start g
	several 2 off
	url="$url $(group_url g)"
	for i in 1 2; do
		redlock -k job -- witness "$T"
		was=$(group_master_name g) at=$(group_master g)
		old=$(cli "$was" hget "$state" fence)
		redlock -k job -- witness "$T"
		redlock -k job -- witness "$T"
		cli a hset "$state" fence "$old" >/dev/null
		replicas_have hset "$state" fence "$old" \
			writer "$(cli "$was" hget "$state" writer)"
		node_freeze b
		node_kill "$was"
		wait_until group_left g "$at"
		redlock -k job -- witness "$T"
		node_thaw b
		group_revive "$was"
		wait_until group_settled g
	done
	[ "$(holds)" = 8 ]
	[ ! -s "$T/errors" ]
}

# ---- --wait-replicas ----

@test "--wait-replicas N: they have the lock before the command starts; too few: 69" {
	local has="redis-cli -s '$T/g2.sock' get job; redis-cli -s '$T/g3.sock' get job
		echo \"\$REDLOCK_TOKEN\""

	group_start g
	url=$(group_url g)
	run -0 redlock -k job --wait-replicas 2 -- sh -c "$has"
	[ "${lines[0]}" = "${lines[2]}" ]
	[ "${lines[1]}" = "${lines[2]}" ]
	# of a waiter as well
	hold 300
	run -0 redlock -k job --wait-replicas 2 -- sh -c "$has"
	[ "${lines[-3]}" = "${lines[-1]}" ]
	[ "${lines[-2]}" = "${lines[-1]}" ]
	ends_with 0
	# it is released when too few have it
	fails 69 'of 3 replicas' -u "$url" --wait-replicas 3 \
		--node-timeout 300ms
	[ "$(cli g1 exists job)" = 0 ]
	node_freeze g3
	fails 69 '1 of 2 replicas' -u "$url" --wait-replicas 2 \
		--node-timeout 300ms
	[ "$(cli g1 exists job)" = 0 ]
	redlock -k job --wait-replicas 1 -- true
	node_thaw g3
}
