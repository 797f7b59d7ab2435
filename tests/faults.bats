#!/usr/bin/env bats
# Several masters under fire: what servers and networks do to N nodes, by
# real servers that die, freeze, forget, are replaced by their Sentinels or Cluster
# and have their clocks set, by partitions, and by a proxy before each server.
# REDLOCK_FAULTS=SECONDS makes the long runs that long (make check-faults), with faults
# drawn from RANDOM, whose seed is printed.

load lib/common
load lib/masters
load lib/sentinel
load lib/cluster

# ---- the kit of this file ----

# T is 1 s: a server that was restarted does not vote for two.
long=${REDLOCK_FAULTS-}
# ms; short holds are many, and take the processor from all other tests
longest=100
[ -z "$long" ] || longest=20
seed=${REDLOCK_SEED:-$$}

# Client N, again and again until $T/stop: its statuses go to $T/ended. One that is
# not in $expected ends the test.
expected=0
contend() { # N [OPTION...]
	local n=$1 got

	shift
	while [ ! -e "$T/stop" ]; do
		got=0
		"$REDLOCK" -q -u "$url" -k job -t 1s "$@" -- witness "$T" \
			--hold $((RANDOM % longest)) --spawn 2>"$T/err.$n" || got=$?
		echo "$got" >>"$T/ended"
		case " $expected " in *" $got "*) continue ;; esac
		{ echo "client $n ended with $got:"
		cat "$T/err.$n"; } >>"$T/errors"
	done
}
contenders() { # N [OPTION...]
	local i

	rm -f "$T/stop"
	: >"$T/ended"
	for ((i = 1; i <= $1; i++)); do
		helper contend "$i" "${@:2}"
		contending="$contending $!"
	done
}
contending=
# Everyone ends, each with an expected status.
all_end() {
	local p began

	began=$(now_ms)
	: >"$T/stop"
	for p in $contending; do wait_until gone "$p"; wait "$p"; done
	contending=
	below "$(($(now_ms) - began))" 5000
	[ ! -s "$T/errors" ]
}
ran() { # so many commands, at least; the file may just be written
	local n

	n=$(holds)
	[ "${n:-0}" -ge "$1" ]
}
more_run() { # N more than now
	local now

	wait_until ran 1
	now=$(holds)
	wait_until ran $((${now:-0} + $1))
}
tell() { echo "# $*" >&3; } # figures

# One server after another does WHAT, a COMMAND, which ends it: roll WHAT
roll() {
	local n

	for n in "${names[@]}"; do "$@" "$n"; done
}
forget() { # and vote when it has been up for long enough
	node_restart "$1"
	wait_until up_for "$1" 2
}
absent() { # MS NAME: killed, and back empty
	node_kill "$2"
	sleep "$1"
	forget "$2"
}
frozen() { # S NAME
	node_freeze "$2"
	sleep "$1" # how long the fault takes
	node_thaw "$2"
}
at_random() { # any of these, on any one
	local n=${names[RANDOM % ${#names[@]}]} s=$((RANDOM % 2)).$((RANDOM % 10))

	case $((RANDOM % 3)) in
	0) forget "$n" ;;
	1) frozen "$s" "$n" ;;
	2) absent "$s" "$n" ;;
	esac
}
until_over() { # COMMAND...: so long as the long form says
	local end=$((SECONDS + long))

	while ((SECONDS < end)) && [ ! -s "$T/errors" ]; do "$@"; done
}

# ---- servers that die, freeze and forget ----

# Then it is held there again, before the next one's turn: WHAT... NAME
healed() {
	"$@"
	wait_until hold_alike ${#names[@]}
}
healed_at_random() {
	local n=${names[RANDOM % ${#names[@]}]}

	case $((RANDOM % 3)) in
	0) healed node_restart "$n" ;;
	1) healed frozen 0.$((RANDOM % 10)) "$n" ;;
	2) healed frozen 1.$((RANDOM % 5)) "$n" ;;
	esac
}
one_holds_and_eight_wait() { # N
	local n

	several "$1" auto
	keep
	for n in {1..8}; do
		helper "$REDLOCK" -q -u "$url" -k job -t 1s -- witness "$T" \
			--hold 5
		contending="$contending $!"
	done
	roll healed node_restart
	healed frozen 0.4 "${names[1]}"
	if [ "$1" = 3 ]; then healed frozen 1.2 a; fi
	if [ "$long" ]; then until_over healed_at_random; fi
	lacks "$T/err" SIGTERM
	wait_until in_line 8
	let_go
	for n in $contending; do wait_until gone "$n"; wait "$n"; done
	contending=
	[ "$(holds)" = 8 ]
}

@test "each of three forgets and freezes in turn during a hold, then eight run" {
	one_holds_and_eight_wait 3
}

@test "each of five forgets and freezes in turn during a hold, then eight run" {
	one_holds_and_eight_wait 5
}

# A server that was restarted is out for as long as its guard lasts.
eight_contend() { # N
	several "$1" auto
	RANDOM=$seed
	contenders 8
	forget a
	frozen 0.4 b
	frozen 1.2 c
	if [ "$long" ]; then until_over at_random; fi
	more_run 20
	all_end
	tell "$(holds) holds by 8 clients on $1 servers"
}

@test "eight contend on three while one after another is down: all get the lock" {
	eight_contend 3
}

@test "eight contend on five, two of them down at a time: all get the lock" {
	several 5 auto
	contenders 8
	node_freeze a
	node_kill b
	sleep 1.2 # longer than a lease
	wait_until ran 10
	node_thaw a
	node_start b
	frozen 0.4 c
	node_freeze e
	wait_until up_for b 2
	node_thaw e
	all_end
	tell "$(holds) holds by 8 clients on 5 servers"
}

@test "most servers killed and emptied at once, repeatedly: never two at a time" {
	local n

	several 3 auto
	expected='0 69 75 125'
	contenders 8
	for n in 'b c' 'a b c'; do
		more_run 3
		# shellcheck disable=SC2086 # names
		all_restart $n
	done
	if [ "$long" ]; then until_over all_at_random; fi
	all_end
	if [ "$long" ]; then drop_line; fi # see R31
	tell "$(holds) holds; $(statuses)"
}
drop_line() {
	on_all del 'job:redlock:{job}:queue' 'job:redlock:{job}:alive' >/dev/null
}
all_restart() { # NAME...: none before all are dead
	local n

	for n; do node_kill "$n"; done
	for n; do node_start "$n"; done
}
all_at_random() { # however many are out
	local n=${names[RANDOM % ${#names[@]}]}

	case $((RANDOM % 3)) in
	0) node_restart "$n" ;;
	1) frozen 0.$((RANDOM % 10)) "$n" ;;
	2) frozen 1.$((RANDOM % 5)) "$n" ;;
	esac
}

# ---- a Sentinel's masters and a Cluster's primaries, replaced under load ----

replace_master() {
	group_failover g
	wait_until group_settled g
	wait_until group_heard g
	more_run 3
}
@test "eight contend while Sentinels replace the master, repeatedly: never two" {
	group_start g
	url=$(group_url g)
	# what both replicas have is not lost with the master; while they join the
	# new one, they have nothing: 69
	expected='0 69'
	contenders 8 --wait-replicas 2
	more_run 3
	replace_master
	if [ "$long" ]; then until_over replace_master; fi
	all_end
	tell "$(holds) holds by 8 clients, a Sentinel's masters; $(statuses)"
}
statuses() { echo "ended with: $(sort "$T/ended" | uniq -c | tr -s ' \n' ' ')"; }

move_key() {
	case $((RANDOM % 2)) in
	0) cluster_failover job ;;
	1) cluster_move job "$(cluster_other job)" ;;
	esac
	more_run 3
}
@test "eight contend while a Cluster moves the key, repeatedly: never two at a time" {
	cluster_start
	url=$(cluster_url)
	RANDOM=$seed
	# a failover that is refused pauses the primary for 5 s, which is as long as
	# who has no limit asks a server that never answered
	contenders 8 -w 1m
	more_run 3
	cluster_failover job
	cluster_move job "$(cluster_other job)"
	more_run 3
	if [ "$long" ]; then until_over move_key; fi
	all_end
	tell "$(holds) holds by 8 clients, a Cluster; $(statuses)"
}

# ---- servers whose clocks are set ----

# At most a minute ahead or behind, during a hold that all three know of: then it
# never gives the lock to two. (A holder that counts on this server's vote, because
# another has not answered yet, is what docs/faults.md says.)
set_clock() { # NAME
	keep
	wait_until hold_alike 3
	node_step "$1" $((RANDOM % 120000 - 60000))
	let_go
	more_run 3
}
@test "eight contend while each server's clock is set, repeatedly: all get the lock" {
	local n

	node_kill a
	for n in a b c; do node_start_clock "$n"; done
	several 3 auto
	RANDOM=$seed
	contenders 8
	roll set_clock
	if [ "$long" ]; then until_over set_clock_of_any; fi
	all_end
	tell "$(holds) holds by 8 clients on 3 servers with clocks of their own"
}
set_clock_of_any() { set_clock "${names[RANDOM % 3]}"; }

# ---- split votes ----

@test "sixteen clients ask five servers at one instant: all are done within seconds" {
	local i began pids=

	several 5
	for i in {1..16}; do
		helper sh -c 'while [ ! -e "$0/go" ]; do :; done; exec "$@"' "$T" \
			"$REDLOCK" -q -u "$url" -k job -t 2s -- witness "$T" --hold 5
		pids="$pids $!"
	done
	began=$(now_ms)
	: >"$T/go"
	for i in $pids; do wait "$i"; done
	tell "16 clients on 5 servers: all done after $(($(now_ms) - began)) ms"
	[ "$(holds)" = 16 ]
	below "$(($(now_ms) - began))" 10000
	# in one try each: whichever gets it, nothing stays
	rm "$T/go"
	pids=
	for i in {1..16}; do
		helper sh -c 'while [ ! -e "$0/go" ]; do :; done; exec "$@"' "$T" \
			"$REDLOCK" -q -n -u "$url" -k job -t 2s -- witness "$T"
		pids="$pids $!"
	done
	: >"$T/go"
	for i in $pids; do wait "$i" || [ $? = 75 ]; done
	wait_until have 0
	redlock -n -k job -- true
}

# ---- partitions ----

cut_off() { # ADDRESS...: nothing passes any more
	"${within[@]}" nft -f - 2>/dev/null <<-END || skip 'no nft here'
		table inet t {
			chain in {
				type filter hook input priority 0;
				ip daddr { $(echo "$@" | tr ' ' ,) } drop
				ip saddr { $(echo "$@" | tr ' ' ,) } drop
			}
		}
	END
}
# A holder behind the network; other clients are next to the servers.
behind_network() { # N
	several "$1"
	here=$url
	private_net
	proxied
	there=$url
}

@test "a minority cut off from the holder: no effect, and later held there again" {
	behind_network 3
	keep
	cut_off 127.0.0.3
	url=$here
	wait_until have 2 # its lease there is over
	run -75 redlock -n -k job -t 3s -- witness "$T"
	pass_all
	wait_until hold_alike 3
	let_go
	lacks "$T/err" SIGTERM
	[ "$(holds)" = 0 ] # nobody but this one, which was ended
}

@test "a majority cut off during a hold: dead while the servers keep the lock" {
	local left n

	behind_network 3
	hold 600000 -t 3s
	helper "$REDLOCK" -q -u "$here" -k job -t 1s -- witness "$T"
	next=$!
	wait_until in_line 1
	began=$(now_ms)
	cut_off 127.0.0.2 127.0.0.3
	wait_until gone "$worker"
	left=$(on_all pttl job | sort -n | tail -n 1)
	took=$(($(now_ms) - began))
	ends_with 125
	at_least "$took" 1350
	below "$took" 2550
	at_least "$left" 1
	tell "dead after $took ms, with $left ms left of the lease"
	wait "$next"
	[ "$(holds)" = 1 ]
	pass_all
}

@test "a partition without a majority: nobody gets the lock until it heals" {
	local pids=

	behind_network 5
	cut_off 127.0.0.3 127.0.0.4 127.0.0.5
	node_freeze c
	url=$here
	helper "${within[@]}" "$REDLOCK" -q -u "$there" -k job -t 1s -- \
		witness "$T" --hold 50
	pids=$!
	for n in a b; do node_freeze "$n"; done
	helper "$REDLOCK" -q -u "$here" -k job -t 1s -- witness "$T" --hold 50
	pids="$pids $!"
	run -69 redlock -n -k job -- witness "$T"
	[ "$(holds)" = 0 ]
	pass_all
	for n in a b c; do node_thaw "$n"; done
	for n in $pids; do wait "$n"; done
	[ "$(holds)" = 2 ]
}

# ---- a bad network before each server ----

behind_proxies() { # N
	local n

	several "$1"
	# what they do not know they must be sent again, for which they must be heard
	for n in "${names[@]}"; do warm "$n" & done
	wait
	here=$url
	proxied
}

@test "every connection half-open on all of three, repeatedly: renewed on others" {
	local i

	behind_proxies 3
	hold 1400
	for i in 1 2 3 4; do
		network_all old silent "$i"
		sleep 0.25 # how long until the next
	done
	ends_with 0
	lacks "$T/err" SIGTERM
	at_least "$(cat "$T"/?.done | grep -c accept)" 9
}

# A waiter that gives back what it is granted there, and hears nothing of it, is
# next all the same: unheard NAME...
unheard() {
	local n

	behind_proxies 3
	# nobody has two of them: otherwise the waiter would give the third back at once
	for n in "${names[@]}"; do cli "$n" set job "foreign-$n" px 60000; done >/dev/null
	helper "$REDLOCK" -u "$url" -k job -t 4s -- witness "$T" 2>"$T/err"
	waiter=$!
	for n; do
		wait_until waits_at "$n"
		cli "$n" del job >/dev/null
		# it keeps a minority for T/4, once it has heard that it got it: the
		# proxy forwards that answer before those of later questions
		wait_until set_on "$n" job
		proxy_answers "unix://$T/$n.px"
		network "$n" drop-replies
		wait_until contains "$T/$n.done" 'dropped a reply'
		wait_until unset_on "$n" job
	done
	network_all old silent
}
is_next() {
	cli c del job >/dev/null
	wait_until gone "$waiter"
	wait "$waiter"
	[ "$(holds)" = 1 ]
	wait_until have 0
}
# (after 5 s it has a sign of life there as well, below 0)
waits_at() { # NAME
	[ "$(cli "$1" zcount 'job:redlock:{job}:queue' 0 +inf)" = 1 ]
}

@test "two of three do not answer a waiter's release: it is next all the same" {
	unheard a b
	is_next
}

@test "one of three does not answer a waiter's release, one is dead: it is next" {
	unheard a
	node_kill b
	is_next
}

@test "replies of one held for 2 T, then of two: never granted on an old lease" {
	local n
	local -A was

	behind_proxies 3
	network b hold
	run -0 redlock -k job -t 500ms -- witness "$T"
	wait_until have 0 # given back behind it
	network c hold
	for n in b c; do was[$n]=$(counter "$n"); done
	start_hold 50 -t 500ms
	for n in b c; do wait_until granted_by "$n"; done
	# what else it asks comes late, too
	for n in b c; do network "$n" silent; done
	sleep 1.0 # 2 T: what was granted is over
	# and somebody else's when the answers come
	helper "$REDLOCK" -q -u "$here" -k job -t 1s -- \
		witness "$T" --hold 700 --started "$T/started.2"
	wait_until exists "$T/started.2"
	network_all pass
	ends_with 0
	wait_until ran 3
	wait_until have 0
}

granted_by() { # NAME: since then
	local now

	now=$(counter "$1")
	[ "${now:-0}" -gt "${was[$1]:-0}" ]
}

@test "replies of two of three held during a hold for 0.4 T: no effect; longer: dead" {
	behind_proxies 3
	hold 1200
	network a hold
	network b hold
	sleep 0.4
	network_all pass
	ends_with 0
	lacks "$T/err" SIGTERM
	hold 600000 -t 3s
	network b hold
	network c drop-replies
	began=$(now_ms)
	wait_until gone "$worker"
	below "$(($(now_ms) - began))" 2550
	ends_with 125
	network_all pass
	wait_until have 0
}

@test "cut after the request on all, and before each reply: one run" {
	local k n

	behind_proxies 3
	redlock -k job -- true
	for k in 0 1 5 19; do
		network_all cut "$k"
		began=$(now_ms)
		start_hold 0 -t 10s
		for n in "${names[@]}"; do
			wait_until contains "$T/$n.done" cut
			: >"$T/$n.done"
		done
		network_all pass
		ends_with 0
		# nobody waits for what is one's own
		below "$(($(now_ms) - began))" 9000
		wait_until have 0
	done
	[ "$(holds)" = 4 ]
}

@test "every request runs twice on each, at once or later: each of four runs once" {
	local i pids=

	behind_proxies 3
	network a duplicate 0
	network b duplicate 40
	network c duplicate 40
	for i in 1 2 3 4; do
		helper "$REDLOCK" -q -u "$url" -k job -t 600ms -- witness "$T" \
			--hold 60
		pids="$pids $!"
	done
	for i in $pids; do wait "$i"; done
	[ "$(holds)" = 4 ]
}

@test "late answers and a late first connection of one server are released again" {
	behind_proxies 3
	network c delay 300
	run -0 redlock -k job -t 20s --node-timeout 50ms -- witness "$T"
	network c old delay 300
	run -0 redlock -k job -t 20s --node-timeout 50ms -- witness "$T"
	wait_until have 0
	[ "$(holds)" = 2 ]
}

@test "byte by byte on two of three" {
	behind_proxies 3
	network b dribble
	network c dribble
	hold 100 -t 2s --node-timeout 2s
	ends_with 0
}

@test "four contend, each server's network fails in turn: all get the lock" {
	local n mode

	behind_proxies 3
	contenders 4
	for mode in hold 'cut 0' 'duplicate 100' drop-replies reset silent; do
		n=${names[k++ % 3]}
		network "$n" "$mode"
		more_run 5
		network "$n" pass
	done
	if [ "$long" ]; then until_over bad_at_random; fi
	all_end
	tell "$(holds) holds by 4 clients through a bad network"
	wait_until have 0
	drop_line # a copy that comes late may stand in line for a minute
}
bad_at_random() { # one at a time, for up to a second
	local n=${names[RANDOM % 3]}
	local modes=(hold 'cut 0' "cut $((RANDOM % 40))" "delay $((RANDOM % 300))"
		'duplicate 0' "duplicate $((RANDOM % 1500))" drop-replies
		drop-requests reset refuse silent 'old silent' dribble)

	network "$n" "${modes[RANDOM % ${#modes[@]}]}"
	sleep 0.$((RANDOM % 10))
	network "$n" pass
	more_run 1
}
