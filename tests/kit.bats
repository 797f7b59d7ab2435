#!/usr/bin/env bats
# The kit that other tests stand on: ports, what is left on servers, and servers
# that replace each other (lib/sentinel, lib/cluster), without redlock. What else
# it does, the tests that need it show. Those marked "slow" take over a second,
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

# ---- addresses ----

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

@test "a helper that has ended is not killed: its number may be another's" {
	local ended lives

	helper true
	ended=$!
	helper sleep 1000
	lives=$!
	helper sleep 1000
	kill -STOP $!
	wait_until stopped $!
	wait_until gone "$ended"
	kill() {
		echo "$2" >>"$T/killed"
		builtin kill "$@" || true
	}
	kill_helpers || true # without set -e, as in teardown()
	unset -f kill
	[ "$(cat "$T/killed")" = "$lives
$!" ]
	gone "$lives"
	gone $!
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
