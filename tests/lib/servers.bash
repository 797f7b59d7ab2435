# SPDX-License-Identifier: MIT
# Servers at TCP addresses, for lib/tls, lib/sentinel and lib/cluster, each of
# which loads this.
#
# Ports do not clash: each .bats file has a random loopback address (Linux answers at
# all of 127.0.0.0/8, also in a container) and uses the well-known ports there. Tests
# of one file, which may run in parallel, use different ports. If a port is taken
# nevertheless, the server says so and the next ports are tried.
#
# Besides NAME.sock, NAME.pid and NAME.log of lib/common, $T has NAME.at
# (ADDRESS:PORT), NAME.auth (the password) and NAME.options (for a member of a group).

# ---- addresses ----

random_address() {
	echo "127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))"
}
# on_ports N COMMAND...: runs COMMAND with $port, the first of N in a row at $address,
# and again with other ports while it returns 1 because one was taken (node_bound).
# Returns COMMAND's status.
on_ports() {
	local n=$1 i status

	shift
	export address=${address:-$(random_address)}
	: "${next_port:=$((6379 + 50 * ${BATS_TEST_NUMBER:-0}))}"
	for ((i = 0; i < 20; i++)); do
		port=$next_port
		next_port=$((next_port + n))
		status=0
		"$@" || status=$?
		[ "$status" = 1 ] || return "$status"
	done
	echo "found no ports at $address: $*" >&2
	return 1
}
# NAME...: returns 0 if all answer; 1 if one could not bind, and kills them; 2 for
# another fault
node_bound() {
	local n i unbound

	for n; do
		wait_until node_decided "$n" || return 2
		[ -n "$unbound" ] || continue
		for i; do
			node_kill "$i"
			rm -f "$T/$i.log"
		done
		return 1
	done
}
node_decided() {
	unbound=
	node_answers "$1" && return
	unbound=1
	# Redis 6.0 prints the second
	contains "$T/$1.log" 'Failed listening\|# Could not create server TCP'
}
node_at() { # NAME: where it listens, ADDRESS:PORT
	local at

	read -r at <"$T/$1.at" && echo "$at"
}
node_runs() { # NAME: neither killed nor frozen
	local pid state

	# without a process: this is called often
	{ read -r pid <"$T/$1.pid" && read -r state <"/proc/$pid/stat"; } \
		2>/dev/null || return
	state=${state##*) }
	[[ ${state:0:1} != [TZ] ]]
}
# The end of a URL: url_options [OPTION=VALUE...]
url_options() {
	local IFS='&'

	[ $# = 0 ] || echo "?$*"
}

# ---- members of a group or Cluster ----

# PORT: sets ${member[@]}, the options of all members. The caller sets $password, and
# $tls (a certificate of lib/tls), each empty for none.
member_options() {
	member=(--bind "$address" --port "$1")
	[ -z "$tls" ] || {
		tls_options "$tls"
		member=(--bind "$address" --port 0 --tls-port "$1"
			--tls-replication yes --tls-cluster yes
			"${tls_options[@]}")
	}
	[ -z "$password" ] ||
		member+=(--requirepass "$password" --masterauth "$password")
}
# The files about a member: member_files NAME PORT
member_files() {
	echo "$address:$2" >"$T/$1.at"
	rm -f "$T/$1.auth"
	[ -z "$password" ] ||
		(umask 077 && echo "$password" >"$T/$1.auth")
}
# A replica gets its data at once, and each member announces $address.
member_launch() { # NAME PORT [redis-server option...]
	local n=$1 member

	member_options "$2"
	member_files "$n" "$2"
	shift 2
	member+=(--replica-announce-ip "$address" --repl-diskless-sync yes
		--repl-diskless-sync-delay 0 --repl-ping-replica-period 1 "$@")
	printf '%s\n' "${member[@]}" >"$T/$n.options"
	node_launch "$n" "${member[@]}"
}
# NAME: restarts a killed member, empty, with its options
node_revive() {
	local options

	mapfile -t options <"$T/$1.options"
	node_start "$1" "${options[@]}"
}
