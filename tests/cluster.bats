#!/usr/bin/env bats
# A Cluster of three primaries with a replica each: whichever node has the key is
# found, also while slots move and primaries fail, under a hold and under a line
# of waiters.

load lib/common
load lib/tls
load lib/cluster

setup_file() { cluster_start; }

use_cluster() { # whatever became of it
	cluster_mend
	url=$(cluster_url)
}
on_owner() { cluster_cli "$(cluster_owner job)" "$@"; } # COMMAND...
fails() { # STATUS TEXT ARGUMENT...
	local want=$1 text=$2 got=0

	shift 2
	timeout 20 "$REDLOCK" "$@" -- touch "$T/ran" 2>"$T/err" || got=$?
	[ "$got" = "$want" ] && [ ! -e "$T/ran" ] &&
		grep -qF -- "$text" "$T/err" && return
	echo "wanted $want with '$text', got $got for: $*" >&2
	cat "$T/err" >&2
	return 1
}
# So many waiters, each with the witness.
line() { # N [redlock option...]
	local i n=$1

	shift
	for ((i = 0; i < n; i++)); do
		helper "$REDLOCK" -u "$url" -k job -t 2s "$@" -- \
			witness "$T" --hold 20
	done
	wait_until eval '[ "$(on_owner zcount "job:redlock:{job}:queue" \
		0 +inf)" = '"$n ]"
}
ran() { [ "$(holds)" = "$1" ]; } # so many commands
after_a_while() { # as many renewals as make the lease, twice
	local from

	from=$(now_ms)
	wait_until eval '[ $(($(now_ms) - '"$from"')) -gt 2000 ]'
}

# ---- which node ----

@test "the node that has the key is down, and its replica, too: it is named" {
	local owner other how

	use_cluster
	owner=$(cluster_owner job)
	other=$(cluster_other job)
	url=redis-cluster://$(cluster node_at "$other")
	for how in node_kill node_freeze; do
		cluster node_kill "$(cluster_replica job)"
		cluster_cli "$other" config set cluster-require-full-coverage no
		cluster $how "$owner"
		for n in -n '-w 3s'; do
			fails 69 "$(cluster node_at "$owner")" -u "$url" -k job $n
			contains "$T/err" 'cannot be reached\|no answer'
			lacks "$T/err" 'too many redirections'
		done
		run -69 "$REDLOCK" inspect -u "$url" job
		[[ $output = *"$(cluster node_at "$owner")"* && $output != *'too many'* ]]
		cluster_mend
		cluster_cli "$other" config set cluster-require-full-coverage yes
		owner=$(cluster_owner job)
		other=$(cluster_other job)
	done
}

@test "every string of three letters over {}ab is a key: locked, held, released" {
	local a b c key keys=() n=0

	use_cluster
	export REDLOCK url
	for a in '{' '}' a b; do for b in '{' '}' a b; do for c in '{' '}' a b; do
		keys+=(-k "$a$b$c")
		[ ${#keys[@]} = 32 ] || continue # as many as one run may have
		"$REDLOCK" -q -u "$url" "${keys[@]}" -n -t 5s -- "$REDLOCK" -q \
			-u "$url" "${keys[@]}" -n -t 5s -- true
		"$REDLOCK" -q -u "$url" "${keys[@]}" -n -N 3 -- true
		"$REDLOCK" -q -u "$url" "${keys[@]}" -n -s -- true
		# each is held by the run around it: see nesting.bats
		"$REDLOCK" -q -u "$url" "${keys[@]}" -t 5s -- bash -c '
			unset REDLOCK_HELD REDLOCK_TOKEN
			while [ $# != 0 ]; do
				"$REDLOCK" -q -u "$url" -k "$2" -n -- true
				[ $? = 64 ] || echo "$2 is not held"
				shift 2
			done' - "${keys[@]}" >"$T/said"
		[ ! -s "$T/said" ] || { cat "$T/said" >&2; return 1; }
		n=$((n + ${#keys[@]} / 2))
		keys=()
	done; done; done
	[ "$n" = 64 ]
}

@test "any node will do to begin with: a replica, or a list with one that is down" {
	local n

	for n in 1 2 3 4 5 6; do
		"$REDLOCK" -u "$(cluster_url "c$n")" -k job -n -- true
	done
	url="redis-cluster://$address:1,no.such.name.invalid,$address:2,\
$(cluster_url c5 | cut -d / -f 3)"
	redlock -k job -n -- true
	"$REDLOCK" -u "$url/0" -k job -n -- true
}

@test "a silent node does not matter, even if it is the first in the URL" {
	use_cluster
	cluster node_freeze c4 # a replica, so that all goes on
	cluster node_freeze c6
	"$REDLOCK" -u "$(cluster_url c4 c6 c2)" -k job -n -- true
	"$REDLOCK" -u "$(cluster_url c4 c6 c2)" -k other -- true
	url=$(cluster_url c4 c6 c2)
	briefly "$REDLOCK" -u "$url"
	cluster node_thaw c4
	cluster node_thaw c6
}

@test "another database is refused before any question; a node named as a server, too" {
	local other

	other=$(cluster cat "$cluster_dir/$(cluster_other job).at")
	fails 64 'database' -u "$(cluster_url c1)/1" -k job
	fails 78 'write redis-cluster://' -u "redis://$other" -k job
	fails 69 'cannot connect' -n -u "redis-cluster://$address:1" -k job
}

@test "servers that are not a Cluster are refused: each would have a lock of its own" {
	node_start b --bind "$address" --port $((next_port + 7000))
	fails 78 'not a member of a Cluster' -k job \
		-u "redis-cluster://$address:$((next_port + 7000)),$address:1"
	[ "$(cli b dbsize)" = 0 ]
}

@test "several keys on several nodes are acquired together, or not at all" {
	use_cluster
	run -0 redlock -k a -k b -k c -- sh -c 'echo $REDLOCK_FENCES | wc -w'
	[ "$output" = 3 ]
	[ "$(for k in a b c; do cluster_owner $k; done | sort -u | wc -l)" -gt 1 ]
	start -k b -- sleep 61.5
	wait_until eval '[ "$(cluster_cli "$(cluster_owner b)" exists b)" = 1 ]'
	run -75 redlock -n -k a -k b -k c -- false
	[ "$(cluster_cli "$(cluster_owner a)" exists a)" = 0 ]
	kill "$tool"
	finish
}

@test "the least rights that the manual names are enough, with +asking" {
	local n rights to

	rights=$(rights_in_manual)
	for n in 1 2 3 4 5 6; do
		# shellcheck disable=SC2086 # words
		cluster_cli "c$n" acl setuser joe on '>pw' '~job' \
			'~job:redlock:*' $rights +asking >/dev/null
	done
	use_cluster
	url=${url/:\/\//://joe:pw@}
	hold 2500 -t 2s -v
	line 1
	to=$(cluster_other job)
	cluster_migrate_begin job "$to"
	cluster_migrate_keys job "$to"
	ends_with 0
	run ! contains "$T/err" 'cannot renew'
	cluster_migrate_end job "$to"
	wait_until ran 2
}

# ---- slots that move ----

@test "a slot moves during a hold and a wait: only -v mentions it" {
	use_cluster
	hold 4000 -t 5s -v
	line 3
	cluster_move job "$(cluster_other job)"
	cluster_move job "$(cluster_other job)"
	ends_with 0
	wait_until ran 4
	run ! contains "$T/err" 'cannot renew'
}

@test "a slot that migrates for long ends no hold; the lock is free when its lease ends" {
	use_cluster
	hold 3500 -t 1s
	cluster_migrate_begin job "$(cluster_other job)"
	ends_with 0
	contains "$T/err" 'the release was not confirmed: '
	wait_until eval '[[ $(on_owner exists job 2>&1) = ASK* ]]' # it has no such key
}

@test "half of the keys on each of two nodes: the hold goes on, then and after" {
	local to

	use_cluster
	hold 6000 -t 3s
	to=$(cluster_other job)
	cluster_migrate_begin job "$to"
	cluster_migrate_keys job "$to" 'job:redlock:{job}:state'
	wait_until contains "$T/err" 'cannot renew'
	cluster_migrate_keys job "$to"
	wait_until contains "$T/err" 'renewed again'
	cluster_migrate_end job "$to"
	ends_with 0
}

@test "extend renews a lock in a migrating slot, as its holder would" {
	local to token

	use_cluster
	token=$("$REDLOCK" lock -u "$url" -t 5s job)
	to=$(cluster_other job)
	cluster_migrate_begin job "$to"
	"$REDLOCK" extend -u "$url" -t 60s --token "$token" job
	[ "$(on_owner pttl job)" -gt 50000 ]
	cluster_migrate_keys job "$to"
	cluster_migrate_end job "$to"
	"$REDLOCK" unlock -u "$url" --token "$token" job
}

@test "a lock in a migrating slot is acquired in the end" {
	local to

	use_cluster
	"$REDLOCK" -u "$url" -k job -- true # the counter is there
	to=$(cluster_other job)
	cluster_migrate_begin job "$to"
	start -k job -t 2s -- witness "$T" --hold 20
	wait_until contains "$T/err" 'TRYAGAIN\|waiting'
	cluster_migrate_keys job "$to"
	cluster_migrate_end job "$to"
	finish
	[ "$status" = 0 ]
	ran 1
}

@test "a reader outlives a slot that migrates for longer than a lease" {
	local to

	use_cluster
	start -s -k job -t 1s -- sleep 61.7
	wait_until eval '[ "$(on_owner exists job)" = 1 ]'
	to=$(cluster_other job)
	cluster_migrate_begin job "$to"
	cluster_migrate_keys job "$to" job 'job:redlock:{job}:state'
	sleep 1.5
	cluster_migrate_keys job "$to"
	cluster_migrate_end job "$to"
	"$REDLOCK" -u "$url" -s -k job -- true
	"$REDLOCK" -u "$url" history job >"$T/history"
	not contains "$T/history" expired
	kill -TERM "$tool"
	finish
	[ "$status" = 143 ]
}

@test "MOVED is remembered: a hold asks no node again that redirected it" {
	local first

	use_cluster
	first=$(cluster_other job)
	cluster_cli "$first" info errorstats | grep -q '^# Errorstats' ||
		skip "this server does not count its errors"
	cluster_cli "$first" config resetstat >/dev/null
	url=$(cluster_url "$first")
	hold 2500 -t 2s
	after_a_while
	ends_with 0
	[ "$(cluster_cli "$first" info errorstats |
		tr -d '\r' | sed -n 's/^errorstat_MOVED:count=//p')" -le 2 ]
}

@test "ASK is followed: a lock whose keys all moved before their slot" {
	local to

	use_cluster
	hold 2500 -t 2s -v
	to=$(cluster_other job)
	cluster_migrate_begin job "$to"
	cluster_migrate_keys job "$to"
	after_a_while
	[[ $(on_owner exists job 2>&1) = ASK* ]]
	ends_with 0
	run ! contains "$T/err" 'cannot renew'
	cluster_migrate_end job "$to"
}

# ---- failover ----

@test "a planned failover during a hold and a wait loses nothing" {
	use_cluster
	hold 3500 -t 3s
	line 3
	cluster_failover job
	ends_with 0
	wait_until ran 4
}

@test "a killed primary: the hold goes on at its replica, then the waiters" {
	local was

	use_cluster
	hold 7000 -t 10s
	line 2
	was=$(cluster_owner job)
	cluster node_kill "$was"
	ends_with 0
	wait_until ran 3
}

@test "a primary that was frozen and wakes gives nobody a second lock" {
	local was

	use_cluster
	hold 7000 -t 10s
	line 3
	was=$(cluster_owner job)
	cluster node_freeze "$was"
	wait_until eval '[ "$(cluster_owner job)" != '"$was"' ]'
	cluster node_thaw "$was"
	ends_with 0
	wait_until ran 4
}

# ---- with all the rest ----

@test "with TLS, a password and only one node to begin with" {
	local cluster_dir address=

	certs_make
	cluster_start password=hush tls=server
	url=$(cluster_url c2 "cacert=$certs/ca.crt")
	hold 800
	line 2
	ends_with 0
	wait_until ran 3
	fails 77 'requires a password' -n -k job -u "${url/:hush@/}"
	"$REDLOCK" -u "${url/:hush@/}" --password-command 'echo hush' -k job -- \
		true
	kill_servers "$cluster_dir"
}
