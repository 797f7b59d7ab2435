#!/usr/bin/env bats
# The kit that other tests stand on: certificates and servers with TLS, Sentinel
# groups and a Cluster (lib/tls, lib/sentinel, lib/cluster), by openssl and
# redis-cli alone, without redlock. Those marked "slow" take over a second,
# because Redis takes that long to replace a server.

load lib/common
load lib/tls
load lib/sentinel
load lib/cluster

setup_file() {
	certs_make
	cluster_start
}

is_replica() { [[ $(cli "$1" role) == slave* ]]; } # NODE
says() { [[ $output == *"$1"* ]] || { echo "no '$1' in: $output" >&2; return 1; }; }

# ---- addresses ----

@test "a server whose port is taken uses the next ones" {
	node_start_tls b server
	next_port=$port
	node_start_tls c server
	[ "$(node_at b)" != "$(node_at c)" ]
	[ "$(tls_cli c --cacert "$certs/ca.crt" config get unixsocket |
		tail -n 1)" = "$T/c.sock" ]
}

@test "a whole group or Cluster uses other ports, too, if one of theirs is taken" {
	local taken

	next_port=$((26879 + 50 * BATS_TEST_NUMBER))
	node_start_tls b server # where the third Sentinel is to be
	taken=$((port + 1))
	next_port=$((taken - 20002))
	group_start g
	[ "$(node_at g1)" = "$address:$port" ]
	[ "$port" -gt $((taken - 20002)) ]

	next_port=$((taken - 3)) # and the fourth node
	cluster_start
	[ "$(node_at c1)" = "$address:$port" ]
	[ "$port" -gt $((taken - 3)) ]
}

@test "servers in a directory are killed with it, even if frozen and without a pid file" {
	local pid

	node_launch b # here, not lent
	wait_until node_answers b
	pid=$(node_pid b)
	node_freeze b
	wait_until stopped "$pid"
	rm "$T/b.pid"
	kill_servers "$T"
	gone "$pid"
}

@test "a lock left on a server of the file fails the test" {
	local owner

	no_lock_left_anywhere
	owner=$(cluster_owner job)
	cluster_cli "$owner" set job token
	run ! no_lock_left_anywhere
	cluster_cli "$owner" del job
	no_lock_left_anywhere
}

# ---- certificates ----

# verified CERTIFICATE [openssl-verify option...]
verified() { openssl verify "${@:2}" "$certs/$1.crt"; }
# refused WHY CERTIFICATE [openssl-verify option...]
refused() {
	run ! verified "${@:2}"
	says "$1"
}

@test "a certificate is valid for its names, its CA and its time only" {
	local ca=(-CAfile "$certs/ca.crt" -no-CApath) name

	for name in redis.test localhost; do
		verified server "${ca[@]}" -verify_hostname "$name"
		verified chained "${ca[@]}" -verify_hostname "$name" \
			-untrusted "$certs/chained.crt"
	done
	for name in 127.0.0.1 "$address"; do
		verified server "${ca[@]}" -verify_ip "$name"
	done
	verified server -no-CAfile -CApath "$certs/cadir"
	verified elsewhere "${ca[@]}" -verify_hostname elsewhere.test
	verified stranger -CAfile "$certs/other-ca.crt"
	verified client "${ca[@]}" -purpose sslclient

	refused 'hostname mismatch' elsewhere "${ca[@]}" \
		-verify_hostname redis.test
	refused 'IP address mismatch' elsewhere "${ca[@]}" \
		-verify_ip "$address"
	refused 'has expired' expired "${ca[@]}"
	verified expired "${ca[@]}" -no_check_time
	refused 'local issuer' stranger "${ca[@]}"
	refused 'local issuer' chained "${ca[@]}"
	refused 'local issuer' server -CAfile "$certs/other-ca.crt"
	refused 'purpose' client "${ca[@]}" -purpose sslserver
}

# ---- TLS ----

@test "a client accepts a server by the CA's file or directory, or an intermediate" {
	local n

	for n in server chained elsewhere; do
		node_start_tls "$n" "$n"
		[ "$(tls_cli "$n" --cacert "$certs/ca.crt" ping)" = PONG ]
		[ "$(tls_cli "$n" --cacertdir "$certs/cadir" ping)" = PONG ]
		run ! tls_cli "$n" --cacert "$certs/other-ca.crt" ping
		says 'verify failed'
	done
	for n in expired stranger; do
		node_start_tls "$n" "$n"
		run ! tls_cli "$n" --cacert "$certs/ca.crt" ping
		says 'verify failed'
		[ "$(tls_cli "$n" --insecure ping)" = PONG ]
	done
}

# seen_as NAME NODE: by a client that wants to see this name
seen_as() {
	timeout 5 openssl s_client -connect "$(node_at "$2")" -verify_return_error \
		-CAfile "$certs/ca.crt" -verify_hostname "$1" </dev/null 2>&1
}

@test "a client that checks the name notices a wrong one" {
	node_start_tls b server
	node_start_tls c elsewhere
	seen_as redis.test b
	seen_as elsewhere.test c
	run ! seen_as redis.test c
	says 'hostname mismatch'
}

@test "a server may require a client certificate, and then refuses clients without one" {
	node_start_tls b server --tls-auth-clients yes
	run tls_cli b --cacert "$certs/ca.crt" ping
	[ "$output" != PONG ]
	run tls_cli b --cacert "$certs/ca.crt" --cert "$certs/stranger.crt" \
		--key "$certs/stranger.key" ping
	[ "$output" != PONG ]
	[ "$(tls_cli b --cacert "$certs/ca.crt" --cert "$certs/client.crt" \
		--key "$certs/client.key" ping)" = PONG ]
}

@test "a URL with TLS leads to TLS, and one without to none" {
	node_start_tls b server
	[ "$(redis-cli -u "$(tls_url b)" --cacert "$certs/ca.crt" ping)" = PONG ]
	[ "$(redis-cli -u "$(tcp_url b)" ping)" = PONG ]
	[ "$(tls_url b)" != "$(tcp_url b)" ]
	[ "$(tls_url b sni=x "cacert=$certs/ca.crt")" = \
		"rediss://$(node_at b)?sni=x&cacert=$certs/ca.crt" ]
	run ! timeout 5 redis-cli -u "redis://$(node_at b)" ping
}

# ---- Sentinel ----

@test "a frozen master is replaced, and becomes a replica when it wakes (slow: 4 s)" {
	local was

	group_start g
	was=$(group_master g)
	[ "$was" = "$(node_at g1)" ]
	[ "$(group_url g timeout=1s)" = "redis-sentinel://$(node_at gs1),$(node_at \
		gs2),$(node_at gs3)/g?timeout=1s" ]
	group node_freeze g1
	wait_until group_left g "$was"
	[ "$(group_master_name g)" != g1 ]
	[ "$(cli "$(group_master_name g)" role | head -n 1)" = master ]
	run ! group_settled g
	group node_thaw g1
	kit await "$T/g1" slave role
	wait_until group_settled g
}

@test "a group has passwords, another for its Sentinels, and TLS, if asked to" {
	local at

	group_start g password=hush sentinel_password=sesame tls=server
	group_start h
	at=$(node_at gs1),$(node_at gs2),$(node_at gs3)
	[ "$(group_url g sni=redis.test)" = "rediss-sentinel://:hush@$at/g?$(:
		)sentinel-password-file=$T/gs1.auth&sni=redis.test" ]
	[ "$(cat "$T/gs1.auth")" = sesame ]
	for at in g1 gs1; do
		run tls_cli "$at" --cacert "$certs/ca.crt" ping
		says NOAUTH
		run ! timeout 5 redis-cli -u "redis://$(node_at "$at")" ping
	done
	[ "$(REDISCLI_AUTH=hush tls_cli g1 --cacert "$certs/ca.crt" \
		ping)" = PONG ]
	[ "$(REDISCLI_AUTH=sesame tls_cli gs3 --cacert "$certs/ca.crt" \
		sentinel get-master-addr-by-name g | paste -s -d :)" = \
		"$(node_at g1)" ]
	[ "$(redis-cli -u "redis://$(node_at hs1)" ping)" = PONG ]
	[ "$(group_master h)" = "$(node_at h1)" ]
}

agree() { [ "$(sentinel_master "$1" g)" = "$(group_master g)" ]; } # SENTINEL

@test "Sentinels promote another server on command, one of them dead (slow: 2 s)" {
	local was

	group_start g
	group node_kill gs3
	run ! group_settled g
	was=$(group_master g)
	group_failover g
	[ "$(group_master g)" != "$was" ]
	group_revive gs3
	wait_until agree gs3
	kit await "$T/g1" slave role
}

# ---- Cluster ----

@test "the owner of a key serves it, and the other nodes redirect to it" {
	local n owner

	cluster_mend
	owner=$(cluster_owner job)
	for n in c{1..6}; do
		run cluster_cli "$n" set job x
		if [ "$n" = "$owner" ]; then
			[ "$output" = OK ]
		else
			says "MOVED 2906 $(cluster node_at "$owner")"
		fi
	done
	[ "$(redis-cli -c -u "redis://$(cluster node_at \
		"$(cluster_other job)")" get job)" = x ]
	[[ $(cluster_url) == redis-cluster://*,*,*,*,*,* ]]
	[ "$(cluster_url c2 c1 timeout=1s)" = "redis-cluster://$(cluster \
		node_at c2),$(cluster node_at c1)?timeout=1s" ]
	cluster_cli "$owner" del job
}

@test "a migrating slot answers ASK and TRYAGAIN, and then has moved" {
	local from to

	cluster_mend
	from=$(cluster_owner job) to=$(cluster_other job)
	cluster_cli "$from" mset job 1 '{job}2' 2 >/dev/null
	cluster_migrate_begin job "$to"
	[ "$(cluster_cli "$from" get job)" = 1 ]
	cluster_migrate_keys job "$to" '{job}2'

	[ "$(cluster_cli "$from" get job)" = 1 ]
	run cluster_cli "$from" get '{job}2'
	says "ASK 2906 $(cluster node_at "$to")"
	run cluster_cli "$from" mget job '{job}2'
	says TRYAGAIN
	run cluster_cli "$to" get '{job}2'
	says "MOVED 2906 $(cluster node_at "$from")"
	[ "$(printf '%s\n' asking 'get {job}2' | cluster_cli "$to" |
		paste -s)" = $'OK\t2' ]
	run cluster_cli "$to" <<<$'asking\nmget job {job}2'
	says TRYAGAIN

	cluster_migrate_keys job "$to"
	cluster_migrate_end job "$to"
	[ "$(cluster_owner job)" = "$to" ]
	[ "$(cluster_cli "$to" mget job '{job}2' | paste -s)" = $'1\t2' ]
	run cluster_cli "$from" get job
	says "MOVED 2906 $(cluster node_at "$to")"

	cluster_move job "$from"
	[ "$(cluster_cli "$from" del job '{job}2')" = 2 ]
}

@test "servers left half-started, killed or full are repaired" {
	local from

	cluster_mend
	from=$(cluster_owner job)
	cluster_cli "$from" set job x
	cluster_migrate_begin job "$(cluster_other job)"
	cluster node_kill "$(cluster_replica job)"
	run ! no_lock_left_anywhere
	cluster_mend
	no_lock_left_anywhere
	run cluster_cli "$from" get job
	[ "$output" = '' ]
}

@test "a replica takes over by agreement, or from a frozen primary (slow: 3 s)" {
	local was now

	cluster_mend
	was=$(cluster_owner job)
	cluster_failover job
	now=$(cluster_owner job)
	[ "$now" != "$was" ]
	[ "$(cluster_replica job)" = "$was" ]

	cluster node_freeze "$now"
	run ! cluster_ok
	wait_until cluster_ok
	[ "$(cluster_owner job)" = "$was" ]
	cluster node_thaw "$now"
	wait_until cluster is_replica "$now"
	wait_until cluster_ok
}

@test "a Cluster has a password and TLS, if asked to, and still moves its slots" {
	local to owner

	cluster_start password=hush tls=server
	[[ $(cluster_url) == "rediss-cluster://:hush@$(node_at c1),"* ]]
	owner=$(cluster_owner job) to=$(cluster_other job)
	cli "$owner" set job x
	cluster_move job "$to"
	run tls_cli "$to" --cacert "$certs/ca.crt" get job
	says NOAUTH
	[ "$(REDISCLI_AUTH=hush tls_cli "$owner" --cacert "$certs/ca.crt" \
		-c get job)" = x ]
	cli "$to" del job
}
