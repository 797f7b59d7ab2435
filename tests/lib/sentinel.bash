# SPDX-License-Identifier: MIT
# Groups of redis-servers that Sentinels watch: `load lib/sentinel` after
# lib/common (and after lib/tls, if a group has TLS).
#
#	group_start g password=hush	in a test; or one for all tests:
#	setup_file() { group_start g; }
#
# Group g has the servers g1, g2 and g3, of which g1 is the master at first, and
# the Sentinels gs1, gs2 and gs3. `group COMMAND...` runs a function of
# lib/common or lib/servers on them: group cli gs1 ping; group node_freeze g1, or
# node_thaw, node_kill, node_pid, node_at.
#
# Measured with two busy cores: a group is ready after 0.4 s, because its Sentinels
# are told of each other and of the replicas (finding out takes some seconds). A
# frozen or dead master is replaced after 1.5 to 1.9 s (0.5 s until it counts as down;
# a vote; up to 1 s, fixed in Redis, until a Sentinel asks the promoted server for its
# role), and by group_failover after 0.7 to 1.2 s. The old master, when it wakes, is a
# replica after 0.9 s (8 s without sentinel_hasten); until then it claims to be a
# master, and accepts writes. All is settled 0.5 to 1.4 s after that.
#
# To see what a failover does with Sentinels at their normal speed, use
# group_start g hasten=no.

load lib/servers

# ---- start and stop ----

# group_start NAME [password=P] [sentinel_password=P] [tls=CERTIFICATE]
#	[down_after=MS] [hasten=no]
group_start() {
	local password= sentinel_password= tls= down_after=500 hasten=yes n
	export group_dir=${T:-$BATS_FILE_TMPDIR}
	local T=$group_dir g=$1

	for n in "${@:2}"; do local "$n"; done
	[ "$T" != "$BATS_FILE_TMPDIR" ] || share_nodes "$g"{1,2,3}
	echo "redis${tls:+s}-sentinel" >"$T/$g.scheme"
	on_ports 3 group_launch "$g"
	wait_until group_settled "$g"
}
group() { local T=$group_dir; "$@"; }

group_launch() {
	local g=$1 n

	member_launch "${g}1" "$port" || return 2
	node_bound "${g}1" || return
	for n in 2 3; do
		member_launch "$g$n" $((port + n - 1)) \
			--replicaof "$address" "$port" || return 2
	done
	node_bound "$g"{1,2,3} || return
	# a Sentinel asks those that it finds down at first only once a second
	wait_until replicas_online "${g}1" || return 2
	for n in 1 2 3; do
		group_sentinel_conf "$g" "$n" >"$T/${g}s$n.conf"
		sentinel_launch "${g}s$n" || return 2
	done
	node_bound "$g"s{1,2,3} || {
		local status=$?
		for n in 1 2 3; do node_kill "$g$n"; done
		return "$status"
	}
	for n in 1 2 3; do
		[ "$hasten" = no ] || sentinel_hasten "${g}s$n"
	done
}
replicas_online() { # MASTER
	[ "$(cli "$1" info replication | grep -c state=online)" = 2 ]
}

# Each Sentinel is told of the others: finding out takes seconds.
group_sentinel_conf() { # GROUP N
	local g=$1 s=$1s$2 n member server_password=$password
	local password=$sentinel_password

	member_options $((port + 20000 + $2 - 1))
	member_files "$s" $((port + 20000 + $2 - 1))
	printf '%s %s\n' "${member[@]#--}"
	cat <<-END
		daemonize yes
		dir $T
		logfile $T/$s.log
		pidfile $T/$s.pid
		unixsocket $T/$s.sock
		sentinel myid $(printf '%040x' "$2")
		sentinel announce-ip $address
		sentinel monitor $g $address $port 2
		sentinel down-after-milliseconds $g $down_after
		sentinel failover-timeout $g 2000
		sentinel parallel-syncs $g 2
		sentinel known-replica $g $address $((port + 1))
		sentinel known-replica $g $address $((port + 2))
		${server_password:+sentinel auth-pass $g $server_password}
	END
	for n in 1 2 3; do
		[ "$n" = "$2" ] || echo "sentinel known-sentinel $g $address" \
			"$((port + 20000 + n - 1)) $(printf '%040x' "$n")"
	done
}
sentinel_launch() { # NAME
	env -u REDLOCK_TEST_ID redis-server "$T/$1.conf" --sentinel \
		>/dev/null 3>&-
}
# Makes a Sentinel, which acts every 1, 2 or 10 s, act several times as often, and not
# idle for 30 s after it was frozen. But it never promotes a replica that was silent
# for 5 ping-periods, or 3 info-periods; and while the master is down it asks replicas
# for INFO once a second, whatever is set here. And after 4 publish-periods it makes a
# replica again of a master that it does not know of: the one who promotes that server
# must have heard of it by then.
sentinel_hasten() { # NAME
	cli "$1" sentinel debug ping-period 300 info-period 400 \
		ask-period 100 publish-period 500 tilt-period 1000 >/dev/null
}
# Restarts a killed member: a server empty, a Sentinel as it was.
group_revive() { # NAME
	local T=$group_dir

	[ -e "$T/$1.conf" ] || { node_revive "$1"; return; }
	sentinel_launch "$1"
	wait_until node_answers "$1"
	sentinel_hasten "$1"
}

# ---- what the Sentinels say ----

group_master() { # GROUP: the master's ADDRESS:PORT
	local T=$group_dir n

	for n in "$1"s{1,2,3}; do
		node_runs "$n" || continue
		sentinel_master "$n" "$1"
		return
	done
	return 1
}
sentinel_master() { # SENTINEL GROUP
	local at

	at=$(cli "$1" sentinel get-master-addr-by-name "$2")
	echo "${at/$'\n'/:}"
}
group_master_name() { # GROUP: g1, g2 or g3
	local T=$group_dir n at

	at=$(group_master "$1")
	for n in "$1"{1,2,3}; do
		[ "$(node_at "$n")" != "$at" ] || echo "$n"
	done
}
# GROUP: the master has two replicas in sync; all Sentinels agree on it, and see it,
# its replicas and each other up
group_settled() { # GROUP
	local T=$group_dir n at

	for n in "$1"{1,2,3} "$1"s{1,2,3}; do node_runs "$n" || return; done
	at=$(group_master "$1")
	n="$at master slave slave sentinel sentinel"
	[ "$(sentinel_views "$1" "$1"s{1,2,3})" = "$n"$'\n'"$n"$'\n'"$n" ] ||
		return
	n=$(group_master_name "$1")
	[[ $(cli "$n" role) == master* ]] && replicas_online "$n"
}
# Prints a line for each Sentinel: the master's address and flags, then the flags of
# the others. (In Valkey 9.1, master_down outlives the failover.)
sentinel_views() { # GROUP SENTINEL...
	local g=$1

	shift
	printf "sentinel %s $g\n" master replicas sentinels |
		kit each "${@/#/$T/}" | awk '
		last == "ip" && !ip { ip = $0 }
		last == "port" && !port { port = $0 }
		last == "flags" { sub(/sentinel,master_down/, "sentinel"); flags = flags " " $0 }
		{ last = $0 }
		$0 == "end" {
			print ip ":" port flags
			ip = port = flags = last = ""
		}'
}
# GROUP: all Sentinels have heard from both replicas that they are. (One that knows the
# next master only as the last one makes a replica of it as soon as it is promoted.)
group_heard() {
	local T=$group_dir

	[ "$(echo "sentinel replicas $1" | kit each "$T/$1"s{1,2,3} |
		grep -A 1 -x role-reported | grep -cx slave)" = 6 ]
}

# ---- failover ----

# GROUP: the Sentinels replace the live master, on command
group_failover() {
	local T=$group_dir was n

	was=$(group_master "$1")
	for n in "$1"s{1,2,3}; do
		! node_runs "$n" || break
	done
	[ "$(cli "$n" sentinel failover "$1")" = OK ]
	wait_until group_left "$1" "$was"
}
# group_left GROUP ADDRESS: no running Sentinel calls ADDRESS the master any more
group_left() {
	local T=$group_dir n

	for n in "$1"s{1,2,3}; do
		node_runs "$n" || continue
		[ "$(sentinel_master "$n" "$1")" != "$2" ] || return
	done
}

# group_url GROUP [OPTION=VALUE...]: redis-sentinel://... with the options for its
# passwords, without certificates
group_url() {
	local T=$group_dir g=$1 auth=

	shift
	[ ! -e "$T/${g}1.auth" ] || auth=":$(cat "$T/${g}1.auth")@"
	[ ! -e "$T/${g}s1.auth" ] ||
		set -- "sentinel-password-file=$T/${g}s1.auth" "$@"
	echo "$(cat "$T/$g.scheme")://$auth$(for n in 1 2 3; do
		node_at "${g}s$n"
	done | paste -s -d ,)/$g$(url_options "$@")"
}
