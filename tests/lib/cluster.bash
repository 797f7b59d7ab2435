# SPDX-License-Identifier: MIT
# A Redis Cluster: `load lib/cluster` after lib/common (and after lib/tls, if it
# is to have TLS).
#
#	cluster_start password=hush	in a test; or one for all tests:
#	setup_file() { cluster_start; }
#
# Its nodes are c1 to c6. At first c1, c2 and c3 are primaries, of the slots
# 0-5460, 5461-10922 and 10923-16383, with the replicas c4, c5 and c6. `cluster
# COMMAND...` runs a function of lib/common or lib/servers on them: cluster
# node_freeze c1, or node_thaw, node_kill, node_pid, node_at, node_runs. Before
# node_revive, wait for cluster_ok: a primary that comes back empty before its
# replica has taken over empties the replica, too.
#
# Measured with two busy cores: it is ready after 0.8 s (2.2 s without the trick
# in cluster_launch; the 2 s are fixed in Redis). A frozen or dead primary is
# replaced after 2.4 to 2.7 s (sooner with timeout=500, but a busy machine may then
# count as dead), and is a replica as soon as it is back.
# cluster_failover takes 0.5 s, cluster_move 0.3 to 0.6 s, mostly for its
# redis-cli processes; with TLS a third more.

load lib/servers

# ---- start and stop ----

# cluster_start [password=P] [tls=CERTIFICATE] [timeout=MS]
cluster_start() {
	local password= tls= timeout=1000 n
	export cluster_dir=${T:-$BATS_FILE_TMPDIR}
	local T=$cluster_dir

	for n; do local "$n"; done
	[ "$T" != "$BATS_FILE_TMPDIR" ] || share_nodes c{1..6}
	echo "redis${tls:+s}-cluster" >"$T/cluster.scheme"
	on_ports 6 cluster_launch
	wait_until cluster_ok
}
cluster() { local T=$cluster_dir; "$@"; }
cluster_cli() { cluster cli "$@"; } # NODE [redis-cli option...] COMMAND...

# A primary does not serve for 2 s after its start; a replica serves at once, also
# when it becomes a primary. So c1 starts as the replica of c4 and takes over.
cluster_launch() {
	local n

	for n in 1 2 3 4 5 6; do
		cluster_nodes_conf "$n" >"$T/c$n.nodes"
		member_launch "c$n" $((port + n - 1)) --cluster-enabled yes \
			--cluster-config-file "c$n.nodes" \
			--cluster-node-timeout "$timeout" \
			--cluster-announce-ip "$address" \
			--cluster-migration-barrier 99 \
			--cluster-replica-validity-factor 0 || return 2
	done
	node_bound c{1..6} || return
	for n in 1 2 3; do
		wait_until cluster_serves "c$n" || return 2
		cli "c$n" cluster failover takeover >/dev/null
	done
}
# Every node takes over with an epoch of its own.
cluster_nodes_conf() { # N
	local n at flags
	local slots=([4]=0-5460 [5]=5461-10922 [6]=10923-16383)

	for n in 1 2 3 4 5 6; do
		at=$((port + n - 1))
		flags=
		[ "$n" != "$1" ] || flags=myself,
		printf '%040x %s:%d@%d ' "$n" "$address" "$at" $((at + 10000))
		if [ "$n" -le 3 ]; then
			printf '%sslave %040x' "$flags" $((n + 3))
		else
			printf '%smaster -' "$flags"
		fi
		echo " 0 0 $n connected ${slots[n]-}"
	done
	echo "vars currentEpoch $((6 + $1)) lastVoteEpoch 0"
}
cluster_serves() { # NODE
	cli "$1" cluster info | grep -q '^cluster_state:ok'
}

# ---- owners of slots and keys ----

# The Cluster as each NODE sees it, one line each: "ok" if the node serves, and has
# its primary's data if it is a replica; then, after semicolons, `c4 master - 0-5460`
# or `c1 slave c4` for all. It starts few processes, as cluster_ok calls it often.
cluster_views() { # NODE...
	kit each "${@/#/$T/}" \
		<<<$'cluster info\ninfo replication\ncluster nodes' | awk '
		function name(id) {
			return id == "-" ? id : "c" (substr(id, 40) + 0)
		}
		{ sub("\r$", "") }
		$0 == "cluster_state:ok" { serves = 1 }
		$0 == "role:master" || $0 == "master_link_status:up" { has = 1 }
		NF >= 8 && length($1) == 40 {
			sub("myself,", "", $3)
			n = substr($1, 40) + 0
			line[n] = name($1) " " $3 " " name($4)
			for (i = 9; i <= NF; i++)
				if ($i !~ /^\[/) line[n] = line[n] " " $i
		}
		$0 == "end" {
			printf "%s", serves && has ? "ok" : "not ok"
			for (n = 1; n <= 6; n++) {
				printf ";%s", line[n]
				line[n] = ""
			}
			print ""
			serves = has = 0
		}'
}
# All running nodes are ok and see the same, and own all slots.
cluster_ok() {
	local T=$cluster_dir n view views running=()

	for n in c{1..6}; do ! node_runs "$n" || running+=("$n"); done
	views=$(cluster_views "${running[@]}")
	view=${views%%$'\n'*}
	[[ $view == ok* && ${views//"$view"/} != *[!$'\n']* ]] || return
	for n in c{1..6}; do
		# "master,fail? - 0-5460": suspected, but not replaced yet
		node_runs "$n" || [[ ! $view =~ ";$n master"[^\ ]*" - " ]] ||
			return
	done
}
cluster_any() { # a node that runs
	local T=$cluster_dir n

	for n in c{1..6}; do
		! node_runs "$n" || { echo "$n"; return; }
	done
	return 1
}
# The slot of KEY, its primary, the primary's replica and the first other primary, in
# a line; "-" for none.
cluster_where() {
	local T=$cluster_dir any slot

	any=$(cluster_any)
	slot=$(cli "$any" cluster keyslot "$1")
	cluster_views "$any" | tr ';' '\n' | awk -v slot="$slot" '
		BEGIN { owner = replica = other = "-" }
		$2 == "slave" { of[$3] = $1 }
		$2 == "master" {
			has = 0
			for (i = 4; i <= NF; i++) {
				n = split($i, range, "-")
				if (range[1] <= slot + 0 && slot + 0 <= range[n])
					has = 1
			}
			if (has) owner = $1
			else if (other == "-") other = $1
		}
		END {
			if (owner in of) replica = of[owner]
			print slot, owner, replica, other
		}'
}
# Nodes for a KEY: the owner of its slot, the owner's replica, and a primary to move
# the slot to.
cluster_owner() { cluster_where "$1" | cut -d ' ' -f 2; }
cluster_replica() { cluster_where "$1" | cut -d ' ' -f 3; }
cluster_other() { cluster_where "$1" | cut -d ' ' -f 4; }
cluster_primaries() {
	cluster cluster_views "$(cluster_any)" | tr ';' '\n' |
		awk '$2 == "master" { print $1 }'
}
cluster_id() { printf '%040x' "${1#c}"; } # NODE

# redis-cluster://... of all nodes, or of those named, without certificates:
# cluster_url [NODE...] [OPTION=VALUE...]
cluster_url() {
	local T=$cluster_dir auth= at=() n

	while [[ ${1-} == c? ]]; do
		at+=("$(node_at "$1")")
		shift
	done
	[ "${#at[@]}" != 0 ] ||
		for n in c{1..6}; do at+=("$(node_at "$n")"); done
	[ ! -e "$T/c1.auth" ] || auth=":$(cat "$T/c1.auth")@"
	n=$(IFS=, && echo "${at[*]}")
	echo "$(cat "$T/cluster.scheme")://$auth$n$(url_options "$@")"
}

# ---- a migrating slot ----

# KEY TO: begins to migrate the slot of KEY to the primary TO. The owner answers ASK
# for keys that it lacks; TO answers MOVED except after ASKING.
cluster_migrate_begin() {
	local slot from

	read -r slot from _ < <(cluster_where "$1")
	cluster_set "$2" "$slot" importing "$(cluster_id "$from")"
	cluster_set "$from" "$slot" migrating "$(cluster_id "$2")"
}
# KEY TO [WHICH...]: moves these keys of the slot, or all of them, to TO
cluster_migrate_keys() {
	local T=$cluster_dir to=$2 slot from at keys auth=()

	read -r slot from _ < <(cluster_where "$1")
	at=$(node_at "$2")
	shift 2
	[ $# != 0 ] || {
		mapfile -t keys < <(cli "$from" cluster getkeysinslot \
			"$slot" 1000 | grep .)
		set -- "${keys[@]}"
	}
	[ $# != 0 ] || return 0 # the slot is empty
	[ ! -e "$T/$to.auth" ] || auth=(auth "$(cat "$T/$to.auth")")
	[ "$(cli "$from" migrate "${at%:*}" "${at#*:}" '' 0 5000 "${auth[@]}" \
		keys "$@")" = OK ]
}
# KEY TO: TO owns the slot from now on; the old owner must have no keys of it
cluster_migrate_end() {
	local slot n

	read -r slot _ < <(cluster_where "$1")
	for n in "$2" $(cluster_primaries); do
		cluster_set "$n" "$slot" node "$(cluster_id "$2")"
	done
	wait_until cluster_ok
}
cluster_move() { # KEY TO: all three
	cluster_migrate_begin "$@"
	cluster_migrate_keys "$@"
	cluster_migrate_end "$@"
}
cluster_set() { # NODE SLOT WHAT...
	[ "$(cluster_cli "$1" cluster setslot "${@:2}")" = OK ] || {
		echo "$1 does not set slot $*" >&2
		return 1
	}
}
# ---- failover ----

# KEY: the replica of its owner takes over, by agreement
cluster_failover() {
	local to asked=-9

	to=$(cluster_replica "$1")
	wait_until cluster_fails_over "$1" "$to"
	wait_until cluster_ok
}
# The others may refuse it within a second of the last one, or undo it: it is asked
# again once the server itself has given up, after 5 s.
cluster_fails_over() { # KEY NODE
	cluster_owned "$@" && return
	((SECONDS - asked > 5)) || return
	asked=$SECONDS
	cluster_cli "$2" cluster failover >/dev/null
	return 1
}
cluster_owned() { [ "$(cluster_owner "$1")" = "$2" ]; } # KEY NODE
# Repairs it after tests that left it frozen, killed, half-way or full. Only who is
# whose replica may differ from the start.
cluster_mend() {
	local T=$cluster_dir n slot

	for n in c{1..6}; do node_thaw "$n" 2>/dev/null || true; done
	for n in c{1..6}; do node_runs "$n" || node_revive "$n"; done
	wait_until cluster_ok
	for n in $(cluster_primaries); do
		for slot in $(cli "$n" cluster nodes | grep myself, |
			grep -o '\[[0-9]*' | tr -d '['); do
			cluster_set "$n" "$slot" stable
		done
		cli "$n" flushall >/dev/null
	done
	wait_until cluster_ok
	wait_until cluster_empty # the replicas as well
}
cluster_empty() {
	local T=$cluster_dir n

	for n in c{1..6}; do [ "$(cli "$n" dbsize)" = 0 ] || return; done
}
