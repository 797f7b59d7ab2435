#!/usr/bin/env bats
# Kinds of locks: nested, several keys, slots, readers and writers; and the
# rules of time and of what a command leaves behind.

load lib/common

# What two commands may do together, flock(2) says: alone RUNS, together RUNS.
# Each notes its name; both end when the file is gone.
stays=$'while [ -e "$T/stay.$1" ]; do sleep 0.05; done'
alone='flock -n -x "$T/rw" -c "$0" || echo "$1 is not alone" >>"$T/errors"'
together='flock -n -s "$T/rw" -c "$0" || echo "$1 is with a writer" >>"$T/errors"'
declare -gA pid # bats reads this file in a function
waiting=0
queue='job:redlock:{job}:queue'
in_line() { [ "$(cli a zcard "$queue")" = "$1" ]; }
state='job:redlock:{job}:state'
# those whose lease is over may be among them
entries() { cli a hkeys "$state" | grep -c '^hold:' || true; }
has_slot() { [[ $(cli a hget "$state" "slot:$1") =~ ^[^-]. ]]; } # somebody
begun() { [ -e "$T/on.$1" ]; }

# Client NAME in the background, until let_go NAME: reader, writer, or as the
# options say; ${pid[NAME]} is redlock's.
client() { # NAME HOW [OPTION...]
	local n=$1 how=$2

	shift 2
	: >"$T/stay.$n"
	launch --default all "$REDLOCK" -u "$url" -k job -t 2s "$@" -- sh -c "
		echo $n >>'$T/order'; echo \"\$REDLOCK_SLOT \$REDLOCK_FENCE\" \
			>'$T/on.$n.new'; mv '$T/on.$n.new' '$T/on.$n'
		$how" "while [ -e '$T/stay.$n' ]; do sleep 0.05; done" "$n" \
		2>"$T/err.$n" 3>&- &
	pid[$n]=$!
	helpers="$helpers $!"
}
reader() { client "$1" "$together" -s "${@:2}"; }
writer() { client "$1" "$alone" "${@:2}"; }
running() { # CLIENT...: they have it now
	local n
	for n; do
		wait_until begun "$n" || { cat "$T/err.$n" >&2; return 1; }
	done
}
lines_up() { # KIND NAME [OPTION...]: behind whoever waits already
	waiting=$((waiting + 1))
	"$@"
	wait_until in_line $waiting
}
let_go() { rm -f "$T/stay.$1"; }
ended() { # NAME [STATUS]
	local got=0
	wait "${pid[$1]}" || got=$?
	[ "$got" = "${2:-0}" ] || {
		echo "$1 ended with $got" >&2
		cat "$T/err.$1" >&2
		return 1
	}
}
not_yet() { ! begun "$1"; }
order() { [ "$(tr '\n' ' ' <"$T/order")" = "$* " ] || { cat "$T/order" >&2; return 1; }; }
slot_of() { cut -d' ' -f1 "$T/on.$1"; }
fence_of() { cut -d' ' -f2 "$T/on.$1"; }
# Redlock and its guard at once, as when a machine dies; then its command.
crash() { # NAME
	local guard tree
	guard=$(guard_of "${pid[$1]}")
	tree=$(pgrep -P "$guard" || true) # who waits has none yet
	kill -STOP "${pid[$1]}"
	wait_until stopped "${pid[$1]}"
	kill -KILL "$guard"
	kill -KILL "${pid[$1]}"
	wait_until gone "${pid[$1]}"
	let_go "$1"
	kill -KILL $tree 2>/dev/null || true
}
gone_quiet() { ! pgrep -f "$T/stay.$1" >/dev/null; }
busy() { redlock -q -k job -n "$@" -- true && return 1 || [ $? = 75 ]; }
lock() { cli a get job; }

# ---- nesting ----

inner() { echo "'$REDLOCK' -u '$url' -k ${1-job}"; }

@test "C33 nesting: who is started by the holder joins, with its token, fence and slot" {
	redlock -k job -- sh -c "env | grep ^REDLOCK_ | sort >'$T/outer'
		$(inner) -n -- sh -c 'env | grep ^REDLOCK_ | sort >\"$T/inner\"'"
	for v in TOKEN FENCE SLOT KEY FENCES; do
		[ "$(grep "^REDLOCK_$v=" "$T/outer")" = \
			"$(grep "^REDLOCK_$v=" "$T/inner")" ]
	done
	lock_is_free
}

@test "nesting: three deep, and the lock is given back once, by the outermost" {
	redlock -k job -- sh -c "redis-cli -s '$T/a.sock' get job >'$T/one'
		$(inner) -- sh -c \"$(inner) -- true; $(inner) -- true\"
		redis-cli -s '$T/a.sock' get job >'$T/two'"
	[ -s "$T/one" ]
	cmp "$T/one" "$T/two"
	lock_is_free
}

@test "nesting: the inner one outlives the outer one, and is protected; last one out releases" {
	: >"$T/stay.in"
	redlock -q -k job -t 600ms -- sh -c "$(inner) -t 600ms -- \
		sh -c 'echo on >\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do
		sleep 0.05; done' & while [ ! -e '$T/on.in' ]; do sleep 0.05; done"
	# longer than the outer one's lease
	for i in {1..10}; do busy; sleep 0.1; done
	let_go in
	wait_until lock_is_free
	redlock -k job -n -- true
}

@test "nesting: the server loses who has joined: the inner one is protected all the same" {
	for lost in "del $state" flushall; do
		: >"$T/stay.in"
		rm -f "$T/on.in"
		redlock -q -k job -t 3s -- sh -c "$(inner) -t 3s -- \
			sh -c 'echo on >\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do
			sleep 0.05; done' & while [ ! -e '$T/on.in' ]; do sleep 0.05; done
			sleep 1 # until the outer one has heard of it
			redis-cli -s '$T/a.sock' $lost >/dev/null"
		for i in {1..10}; do busy; sleep 0.1; done
		let_go in
		wait_until lock_is_free
	done
}

@test "nesting: whoever waits comes after the last inner one" {
	: >"$T/stay.in"
	redlock -q -k job -t 2s -- sh -c "$(inner) -t 2s -- \
		flock -n -x '$T/rw' sh -c 'echo on >\"$T/on.in\"; while [ -e \
		\"$T/stay.in\" ]; do sleep 0.05; done' &
		while [ ! -e '$T/on.in' ]; do sleep 0.05; done"
	lines_up writer after
	let_go in
	running after
	let_go after
	ended after
}

@test "nesting: a short inner lease does not shorten the outer one's, nor the other way" {
	redlock -k job -t 20s -- sh -c "$(inner) -t 300ms -- sleep 0.5
		redis-cli -s '$T/a.sock' pttl job >'$T/left'"
	[ "$(cat "$T/left")" -gt 10000 ]
	: >"$T/stay.in"
	redlock -q -k job -t 300ms -- sh -c "$(inner) -t 20s -- sh -c '
		echo on >\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do sleep 0.05
		done' & sleep 0.5"
	[ "$(cli a pttl job)" -gt 10000 ]
	let_go in
	wait_until lock_is_free
}

@test "nesting: another key, and the same key on another server, are not held" {
	node_start b
	redlock -k job -- sh -c "echo \$REDLOCK_TOKEN >'$T/outer'
		'$REDLOCK' -u '$url' -k other -- sh -c 'echo \$REDLOCK_TOKEN' >'$T/other'
		'$REDLOCK' -u 'unix://$T/b.sock' -k job -- sh -c 'echo \$REDLOCK_TOKEN;
			redis-cli -s $T/b.sock get job' >'$T/b'"
	[ "$(cat "$T/outer" "$T/other" "$T/b" | sort -u | wc -l)" = 3 ]
	[ "$(sort -u "$T/b" | wc -l)" = 1 ]
}

@test "nesting: inside another key, both holds are known further in" {
	redlock -k job -- sh -c "'$REDLOCK' -u '$url' -k other -- \
		$(inner) -n -- '$REDLOCK' -u '$url' -k other -n -- true"
	lock_is_free
}

@test "nesting: a forged or stale REDLOCK_HELD is not believed" {
	redlock -k job -- sh -c "echo \"\$REDLOCK_HELD\" >'$T/held'"
	writer w
	running w
	local stale=$(cat "$T/held") hashes
	hashes=$(echo "$stale" | cut -d: -f 5,6)
	for held in "$stale" "${stale/??/00}" "x" ":::::" "$stale $stale" \
		"a:b:c:d:$hashes" "$(uuidgen):1:0:0:$hashes" \
		"$(uuidgen):1:0:17:$hashes" "$(uuidgen):1:999:0:$hashes" \
		"$(printf '%100000s' '' | tr ' ' x)"; do
		REDLOCK_HELD=$held busy
	done
	let_go w
	ended w
	REDLOCK_HELD=$stale redlock -k job -n -- true
}

@test "nesting: a lost reply to the join, and to the leave, counts once" {
	echo pass >"$T/px"
	helper proxy "$T/px.sock" "$T/a.sock" "$T/px" >"$T/px.log"
	wait_until exists "$T/px.sock"
	redlock -k job -- sh -c "
		echo cut 0 >'$T/px'
		'$REDLOCK' -q -u 'unix://$T/px.sock' -k job -w 5s -- sh -c '
			redis-cli -s $T/a.sock --raw hkeys job:redlock:{job}:state |
			grep -c ^hold: >$T/count; echo cut 0 >$T/px
			echo ran >>$T/ran' &
		while ! grep -q cut '$T/px.log'; do sleep 0.05; done
		echo pass >'$T/px'; while [ ! -e '$T/ran' ]; do sleep 0.05; done
		sleep 0.05; echo pass >'$T/px'; wait"
	[ "$(cat "$T/count")" = 2 ] # this one, and the outer one
	[ "$(wc -l <"$T/ran")" = 1 ]
	wait_until lock_is_free
}

@test "nesting: all of it ended by force, the lock is free at once" {
	run redlock -k job -t 60s --max-hold 300ms -K 200ms -- sh -c "trap '' TERM
		$(inner) -t 60s -- sh -c 'trap \"\" TERM; sleep 60'"
	[ "$status" = 124 ]
	lock_is_free
	run redlock -k job -t 60s --orphans kill -- sh -c "$(inner) -t 60s -- \
		sh -c 'echo on >\"$T/on.i\"; sleep 60' &
		while [ ! -e '$T/on.i' ]; do sleep 0.05; done"
	lock_is_free
	rm "$T/on.i"
	start -k job -t 60s -- sh -c "$(inner) -t 60s -- \
		sh -c 'echo on >\"$T/on.i\"; sleep 60'"
	wait_until begun i
	kill -KILL "$tool"
	wait_until lock_is_free
}

@test "nesting: lost with the outer one: both commands are killed" {
	: >"$T/stay.in"
	helper "$REDLOCK" -u "$url" -k job -t 1s -- sh -c "
		$(inner) -t 1s -- sh -c 'echo on >\"$T/on.in\"; while [ -e \
		\"$T/stay.in\" ]; do sleep 0.05; done'" 2>"$T/err"
	local outer=$! status=0
	wait_until begun in
	cli a set job thief px 3000 >/dev/null
	wait "$outer" || status=$?
	[ "$status" = 125 ]
	wait_until gone_quiet in
	cli a del job >/dev/null
}

@test "nesting: healed by whoever asks first, and still the last one out releases" {
	: >"$T/stay.in"
	redlock -k job -t 1s -- sh -c "$(inner) -t 1s -- sh -c 'echo on \
		>\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do sleep 0.05; done' &
		while [ ! -e '$T/on.in' ]; do sleep 0.05; done
		# both renew as often: in four renewals the outer one has heard of it
		n=0 was=99999; while [ \$n -lt 4 ]; do
			is=\$(redis-cli -s '$T/a.sock' pttl job)
			[ \$is -le \$was ] || n=\$((n + 1)); was=\$is; sleep 0.01
		done
		redis-cli -s '$T/a.sock' flushall
		while ! redis-cli -s '$T/a.sock' exists job | grep -q 1; do
		sleep 0.05; done" >/dev/null 2>&1
	busy
	busy
	let_go in
	wait_until lock_is_free
}

@test "nesting: healed by the outer one, which does not know yet that somebody has joined" {
	: >"$T/stay.in"
	redlock -q -k job -t 1s -- sh -c "$(inner) -q -t 9s -- sh -c 'echo on \
		>\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do sleep 0.05; done' &
		while [ ! -e '$T/on.in' ]; do sleep 0.01; done
		redis-cli -s '$T/a.sock' flushall
		# until the inner one has renewed
		while [ \$(redis-cli -s '$T/a.sock' hkeys '$state' | grep -c ^hold:) -lt 2 ]; do
		sleep 0.05; done" >/dev/null 2>&1
	busy
	let_go in
	wait_until lock_is_free
}

@test "nesting: a reader inside a reader does not wait for a waiting writer; a writer is refused" {
	client out "while [ -e '$T/stay.out' ]; do sleep 0.05; done
		$(inner) -s -n -- sh -c 'echo r >>\"$T/order\"'" -s
	running out
	lines_up writer w
	let_go out
	ended out
	running w
	let_go w
	ended w
	order out r w
	run redlock -s -k job -- sh -c "$(inner) -w 5s -- touch '$T/ran'"
	[ "$status" = 64 ]
	[[ $output = *'deadlock: already held shared (-s) by'* ]]
	[ ! -e "$T/ran" ]
	# a reader inside a writer is in its hold
	redlock -k job -- sh -c "$(inner) -s -n -- true"
}

bare="env -i PATH=$PATH" # what is left of it by su -, or cron
# In a script that runs under the lock, `refused COMMAND...`: it would wait for the
# run around it, and says so.
around() { # reads that script, for $T/body
	export REDLOCK url T bare
	{ cat <<-'END'
		refused() {
			local status=0
			timeout 15 "$@" >/dev/null 2>"$T/said" || status=$?
			[ $status = 64 ] && grep -q \
				': deadlock: the run around this one has the lock: held by ' "$T/said" ||
				{ echo "$*: $status"; cat "$T/said"; } >>"$T/errors"
		}
		inner=("$REDLOCK" -u "$url" -k job)
	END
	cat; } >"$T/body"
}

@test "nesting: without the environment of the outer run, it is refused at once: 64" {
	around <<-'END'
		for how in "$bare" "setsid $bare" "$bare timeout 10"; do
			refused $how "${inner[@]}" -w 1h -- touch "$T/ran"
			refused $how "${inner[@]}" -n -- touch "$T/ran"
			refused $how "${inner[@]}" -w 1h -E 0 -q -- touch "$T/ran"
			refused $how "${inner[@]}" -s -w 1h -- touch "$T/ran"
			refused $how "$REDLOCK" lock -w 1h -u "$url" job
			refused $how "$REDLOCK" wait -u "$url" job
		done
		# this waits for the same, whatever it knows
		refused "$REDLOCK" wait -u "$url" job
		$bare "$REDLOCK" -u "$url" -k other -n -- touch "$T/other"
	END
	redlock -k job -- bash "$T/body"
	[ ! -e "$T/ran" ] && [ -e "$T/other" ]
	[ "$(cli a exists "$queue")" = 0 ]
	contains "$T/said" "held by .*@$(hostname) since .*, bash"
	# nothing else is told of it
	redlock -k job --no-describe -- bash "$T/body"
	contains "$T/said" 'held by an anonymous holder'
	# a writer waits for every reader
	around <<-'END'
		refused $bare "${inner[@]}" -w 1h -- touch "$T/ran"
		$bare "${inner[@]}" -s -n -- touch "$T/read"
	END
	redlock -k job -s -- bash "$T/body"
	[ ! -e "$T/ran" ] && [ -e "$T/read" ]
	# but who wants one of several slots can have another
	redlock -k job -N 2 -- $bare "$REDLOCK" -u "$url" -k job -n -N 2 -- true
}

@test "nesting: a holder on this host that is no ancestor is waited for, whatever its record says" {
	start -k job -- linger until "$T/go"
	wait_until held job
	run -75 $bare "$REDLOCK" -u "$url" -k job -n -- true
	run -75 "$REDLOCK" wait -u "$url" -w 100ms job
	# as if this test were the holder: its number, but another start
	cli a hset 'job:redlock:{job}:state' holder "$(cli a --raw hget \
		'job:redlock:{job}:state' holder | sed "s/^pid .*/pid $$/")" >/dev/null
	run -75 $bare "$REDLOCK" -u "$url" -k job -n -- true
	touch "$T/go"
	finish
	[ "$status" = 0 ]
}

@test "nesting: in another PID namespace nothing is known of the run around it" {
	unshare -fp --mount-proc true 2>/dev/null || skip "no PID namespaces"
	redlock -k job -- sh -c "unshare -fp --mount-proc $bare $(inner) -n -- true ||
		echo \$?" >"$T/new"
	# with the numbers of this one
	redlock -k job -- sh -c "unshare -fp $bare '$REDLOCK' wait -u '$url' -w 100ms job ||
		echo \$?" >"$T/old"
	[ "$(cat "$T/new" "$T/old" | tr '\n' ' ')" = '75 75 ' ]
}

@test "nesting: the key is lost, with all data and alone, in turn: joined each time" {
	redlock -k job -t 3s -- sh -c "echo \$REDLOCK_FENCE
		for lost in flushall 'del job' flushall 'del job'; do
			redis-cli -s '$T/a.sock' \$lost >/dev/null
			$(inner) -w 1m -- sh -c 'echo \$REDLOCK_FENCE'
		done" >"$T/fences"
	[ "$(wc -l <"$T/fences")" = 5 ]
	[ "$(sort -u "$T/fences" | wc -l)" = 1 ]
}

@test "nesting: the key has vanished and the outer one does not know yet: joined all the same" {
	redlock -k job -t 3s -- sh -c "redis-cli -s '$T/a.sock' del job
		$(inner) -w 1m -- sh -c 'echo ran >\"$T/ran.1\"'
		redis-cli -s '$T/a.sock' flushall
		$(inner) -w 1m -- sh -c 'echo ran >\"$T/ran.2\"'" >/dev/null
	[ -e "$T/ran.1" ]
	[ -e "$T/ran.2" ]
	redlock -s -k job -t 3s -- sh -c "redis-cli -s '$T/a.sock' flushall
		$(inner) -s -w 1m -- touch '$T/ran.3'" >/dev/null
	[ -e "$T/ran.3" ]
	cli a flushall >/dev/null
}

@test "nesting: all data have vanished: -n and -w end that wait, too, and say what for; also where nobody renews" {
	local give_up

	for give_up in -n '-w 300ms'; do
		cli a flushall >/dev/null # data that were lost are remembered for T
		run -75 redlock -k job -t 1h -- sh -c "redis-cli -s '$T/a.sock' flushall >'$T/out'
			$(inner) $give_up -- touch '$T/never'"
		[[ $output == *'not acquired'*': the hold of the run around this one (REDLOCK_HELD) has vanished'* ]]
	done
	for give_up in -n '-w 300ms'; do
		cli a flushall >/dev/null
		run -75 sh -c "eval \"\$('$REDLOCK' lock -u '$url' left -t 1h --export)\"
			redis-cli -s '$T/a.sock' flushall >'$T/out'
			exec $(inner left) $give_up -- touch '$T/never'"
		[[ $output == *'the server lost data'* ]]
	done
	[ ! -e "$T/never" ]
	cli a flushall >/dev/null
}

@test "nesting: by way of the same key on another server" {
	node_start b
	redlock -k job -- "$REDLOCK" -u "unix://$T/b.sock" -k job -- \
		"$REDLOCK" -u "$url" -k job -n -- touch "$T/ran"
	[ -e "$T/ran" ]
}

@test "nesting: past a run without a lock" {
	redlock -k job -- "$REDLOCK" -q -u "unix://$T/nobody" -n \
		--on-unavailable run -k other -- "$REDLOCK" -u "$url" -k job -n \
		-- touch "$T/ran"
	[ -e "$T/ran" ]
}

@test "nesting: inside a slot it is the same slot" {
	client a "$alone" -N 2
	running a
	redlock -k job -N 2 -- sh -c "echo \$REDLOCK_SLOT >'$T/out'
		$(inner) -N 2 -n -- sh -c 'echo \$REDLOCK_SLOT >\"$T/in\"'
		$(inner) -n -- sh -c 'echo \$REDLOCK_SLOT >>\"$T/in\"'"
	[ "$(cat "$T/out" "$T/in" | sort -u)" = 1 ]
	let_go a
	ended a
}

# ---- U9: leases of different length under one key ----

pttl() { cli a pttl job; }
# For so long nobody new gets the lock: the lease, or data were lost.
kept_for() {
	local shut ms

	shut=$(cli a hget "$state" shut)
	shut=$((${shut:-0} - $(now_ms)))
	ms=$(pttl)
	echo $((ms > shut ? ms : shut))
}
not_beside() { # CLIENT HOW [OPTION...]: it comes, and waits in vain
	"$2" "$1" -t 300ms -w 1s "${@:3}"
	ended "$1" 75
	not_yet "$1"
}
frozen() { # CLIENT: cannot renew; its lease goes on, and its deadman
	kill -STOP "${pid[$1]}"
	wait_until stopped "${pid[$1]}"
}
thawed() { kill -CONT "${pid[$1]}"; }
# Client out, in whose command another one joins it as soon as there is $T/go,
# and leaves it: out_and_in T_OUT T_IN
out_and_in() {
	: >"$T/stay.in"
	client out "$together & while [ ! -e '$T/go' ]; do sleep 0.01; done
		$(inner) -t $2 -- sh -c 'echo on >\"$T/on.in\"
		while [ -e \"$T/stay.in\" ]; do sleep 0.01; done'
		echo over >'$T/over.in'; wait" -t "$1"
	running out
}
# All data are lost, and who waits looks at once what became of them.
lose_all() {
	cli a flushall >/dev/null
	cli a client kill type normal skipme yes >/dev/null
}
in_leaves() {
	let_go in
	wait_until exists "$T/over.in"
}

@test "U9 a short lease does not start beside a long one, nor the reverse, and each has its own length" {
	client long "$alone" -t 6s
	running long
	not_beside short writer
	at_least "$(pttl)" 4500
	lines_up writer short -t 400ms
	let_go long
	ended long
	running short
	below "$(pttl)" 401
	client long "$alone" -t 6s -w 1s
	ended long 75
	below "$(pttl)" 401
	let_go short
	ended short
}

@test "U9 a long lease deleted by hand is healed as one: a short one does not start beside it" {
	client long "$alone" -t 3s
	running long
	cli a del job >/dev/null
	wait_until held job
	at_least "$(pttl)" 2500
	not_beside short writer
	let_go long
	ended long
	client short "$alone" -t 400ms
	running short
	cli a del job >/dev/null
	wait_until held job
	below "$(pttl)" 401
	client long "$alone" -t 6s -w 1s
	ended long 75
	let_go short
	ended short
}

lasts_for_the_long_one_outside() { # HOW the lock goes
	out_and_in 8s 300ms
	: >"$T/go"
	running in
	frozen out
	"$@" >/dev/null
	wait_until held job
	at_least "$(kept_for)" 7000
	in_leaves
	not_beside short writer
	thawed out
	let_go out
	ended out
}

@test "U9 deleted by hand and healed by a short one inside, it lasts for the long one's lease" {
	lasts_for_the_long_one_outside cli a del job
}

@test "lost with all data and healed by a short one inside, it lasts for the long one's lease" {
	lasts_for_the_long_one_outside lose_all
}

@test "U9 lost with all data, a short one joins once the long one has set it again, for its own lease" {
	out_and_in 8s 300ms
	frozen out
	cli a flushall >/dev/null
	: >"$T/go"
	sleep 1 # it looks 50 times a second
	not_yet in
	free job
	thawed out
	running in
	at_least "$(pttl)" 6000
	in_leaves
	let_go out
	ended out
}

lasts_for_the_long_one_inside() { # HOW the lock goes
	local was

	out_and_in 400ms 8s
	: >"$T/go"
	running in
	# two renewals later the outer one has heard of it
	was=$(renewals)
	wait_until eval '[ "$(renewals)" -ge $((was + 2)) ]'
	pid[in]=$(pgrep -f "^$REDLOCK -u $url -k job -t 8s")
	frozen in
	"$1"
	wait_until held job
	at_least "$(kept_for)" 7000
	thawed in
	in_leaves
	let_go out
	ended out
	forgotten_in 8000
}
@test "U9 deleted by hand with who shares it and healed by a short one, it lasts for the long one inside" {
	lasts_for_the_long_one_inside delete_shared
}

@test "lost with all data and healed by a short one, it lasts for the long one inside" {
	lasts_for_the_long_one_inside lose_all
}

forgotten_in() { # MS, at most; who lost it may be unaware of it till then
	held job || return 0
	below "$(pttl)" $(($1 + 1))
	cli a flushall >/dev/null
}
renewals() {
	cli a hget 'job:redlock:{job}:state' "hold:$(cli a get job)" | cut -d ' ' -f 2
}
delete_shared() { # the lock, and who shares it
	cli a del job "$state"
}

heals_for_a_long_reader() { # HOW the lock goes
	reader long -t 8s
	running long
	reader short -t 300ms
	running short
	frozen long
	"$1"
	wait_until held job
	let_go short
	ended short
	at_least "$(kept_for)" 6000
	not_beside other writer
	thawed long
	let_go long
	ended long
	forgotten_in 8000
}
@test "U9 a short reader heals for as long as a long one may read" {
	heals_for_a_long_reader delete_shared
}

@test "a short reader that heals after a loss of all data, too" {
	heals_for_a_long_reader lose_all
}

# Whoever waits knows how long a holder may go on without knowing of a loss.
@test "U9 after a loss of data a short one waits for as long as a long one may be unaware" {
	client long "$alone" -t 4s
	running long
	lines_up writer short -t 300ms
	frozen long
	lose_all
	sleep 1.2 # four of its own leases
	not_yet short
	thawed long
	wait_until held job
	let_go long
	ended long
	running short
	let_go short
	ended short
}

@test "U9 after a loss of data as well, if the long one had joined a short one, which has ended" {
	: >"$T/stay.in"
	redlock -q -k job -t 400ms -- sh -c "$(inner) -t 8s -- sh -c '
		echo on >\"$T/on.in\"; while [ -e \"$T/stay.in\" ]; do sleep 0.01
		done' & while [ ! -e '$T/on.in' ]; do sleep 0.01; done"
	lines_up writer short -t 300ms
	pid[in]=$(pgrep -f "^$REDLOCK -u $url -k job -t 8s")
	frozen in
	lose_all
	sleep 1.2
	not_yet short
	thawed in
	wait_until held job
	let_go in
	running short
	let_go short
	ended short
}

@test "readers: the last one leaves a key that is new, and the writer in line has it at once" {
	local from

	cli a flushall >/dev/null
	reader r -t 30s
	running r
	lines_up writer w -t 30s
	from=$(now_ms)
	let_go r
	running w
	below $(($(now_ms) - from)) 4000 # not when it looks by itself
	let_go w
	ended r
	ended w
}

# Who is handed the lock claims it when it looks; meanwhile the counter moves on.
@test "S38 the state is lost between a hand-over and its claim: no fence is given twice" {
	client h "$together" -t 10s
	running h
	client first "$together" -N 2 -t 10s
	running first
	lines_up client w "$together" -t 10s
	frozen w
	let_go h
	ended h
	wait_until eval '[ "$(lock)" != "" ]'
	let_go first
	ended first
	client x "$together" -N 2 -t 10s
	running x
	cli a del 'job:redlock:{job}:state' >/dev/null
	thawed w
	running w
	[ "$(fence_of w)" != "$(fence_of x)" ]
	let_go w
	let_go x
	ended w
	ended x
}

# ---- several keys ----

@test "several keys: all are held, one fence each, in the order given" {
	redlock -k b -k a -k b -- sh -c "echo \$REDLOCK_KEY \$REDLOCK_FENCE \
		\$REDLOCK_FENCES >'$T/env'; redis-cli -s '$T/a.sock' mget a b \
		>'$T/tokens'"
	read -r key fence one two rest <"$T/env"
	[ "$key" = b ]
	[ "$fence" = "$one" ]
	[ "$one" -lt "$(cli a hget 'b:redlock:{b}:state' fence)" ]
	[ "$two" -lt "$(cli a hget 'a:redlock:{a}:state' fence)" ]
	[ "$rest" = '' ]
	[ "$(sort -u "$T/tokens" | grep -c .)" = 2 ]
	free a
	free b
}

@test "several keys: none is had while another is missing, and none is kept while waiting" {
	client h "$alone"
	running h
	run -75 redlock -k a -k job -n -- true
	[[ $output = *'job is held by'* ]]
	free a
	start -k a -k job -k z -- sh -c "echo ran >>'$T/order'"
	wait_until in_line 1
	wait_until free a
	redlock -k a -n -- true
	redlock -k z -n -- true
	wait_until contains "$T/err" 'waiting for job'
	let_go h
	ended h
	finish
	[ "$status" = 0 ]
	order h ran
}

@test "several keys: one wait for all of them" {
	client h "$alone"
	running h
	helper "$REDLOCK" -u "$url" -k a -t 2s -- sleep 0.4
	wait_until held a
	local t0=$(now_ms)
	run -75 redlock -k a -k job -w 800ms -- true
	[ $(($(now_ms) - t0)) -ge 750 ]
	[ $(($(now_ms) - t0)) -lt 1150 ] # not 800 ms for each
	[[ $output = *'not acquired within '*': job is held'* ]]
	free a
	let_go h
	ended h
}

@test "several keys: opposite orders do not wait for each other" {
	local i p=
	for i in 1 2 3 4; do
		local keys='-k a -k b -k c'
		[ $((i % 2)) = 0 ] || keys='-k c -k b -k a'
		helper sh -c "for i in 1 2 3 4 5; do '$REDLOCK' -q -u '$url' \
			$keys -w 30s -- witness '$T' --hold 2 || exit; done"
		p="$p $!"
	done
	for i in $p; do wait "$i"; done
	[ "$(holds)" = 20 ]
}

@test "several keys: where the lines never end, it still gets its turn" {
	local k p=
	: >"$T/stay.more"
	for k in a a b b; do
		helper sh -c "while [ -e '$T/stay.more' ]; do '$REDLOCK' -q -u \
			'$url' -k $k -- sleep 0.02; done"
		p="$p $!"
	done
	redlock -q -k a -k b -w 20s -- witness "$T"
	let_go more
	for k in $p; do wait "$k"; done
	[ "$(holds)" = 1 ]
}

@test "several keys: what is said of one says which" {
	cli a rpush b x >/dev/null
	run -78 redlock -k a -k b -n -- true
	[[ $output = *' b: the key holds a list'* ]]
	cli a del b >/dev/null
	redlock -k b --once-per 60s -- true
	run -0 redlock -k a -k b --once-per 60s -- touch "$T/ran"
	[[ $output = *' b: already ran on '* ]]
	[ ! -e "$T/ran" ]
}

@test "several keys: loss of one is loss of all" {
	start -k a -k b -t 1s -- sh -c "echo on >'$T/on.x'; sleep 30"
	wait_until begun x
	cli a set b thief px 3000 >/dev/null
	finish
	[ "$status" = 125 ]
	free a
	[ "$(cli a get b)" = thief ]
	cli a del b >/dev/null
}

@test "several keys: all are renewed, and healed" {
	start -k a -k b -t 600ms -- sh -c "echo on >'$T/on.x'; sleep 1.5"
	wait_until begun x
	cli a flushall >/dev/null
	wait_until held a
	wait_until held b
	finish
	[ "$status" = 0 ]
	contains "$T/err" ' a: the lock was missing and was restored'
	contains "$T/err" ' b: the lock was missing and was restored'
}

@test "several keys: killed while waiting, after another attempt, it leaves the line" {
	client h "$alone"
	running h
	# a is had, and given back for job: under new tokens, then
	start -k a -k job -t 2s -- true
	wait_until in_line 1
	wait_until free a
	kill -KILL "$tool"
	wait_until in_line 0
	let_go h
	ended h
}

@test "several keys: kill -9 gives all of them back" {
	start -k a -k b -- sh -c "echo on >'$T/on.x'; sleep 30"
	wait_until begun x
	kill -KILL "$tool"
	wait_until free a
	wait_until free b
}

# ---- slots ----

@test "slots: N at a time and no more, each in a slot of its own, with rising fences" {
	local n
	for n in a b c; do client $n "$stays" -N 3; done
	running a b c
	[ "$(for n in a b c; do slot_of $n; done | sort | tr -d '\n')" = 012 ]
	[ "$(for n in a b c; do fence_of $n; done | sort -u | wc -l)" = 3 ]
	busy -N 3
	lines_up client d "$stays" -N 3
	[ -s "$T/err.d" ] || wait_until contains "$T/err.d" 'all slots are taken'
	let_go b
	running d
	[ "$(slot_of d)" = "$(slot_of b)" ]
	[ "$(fence_of d)" -gt "$(fence_of a)" ]
	[ "$(fence_of d)" -gt "$(fence_of c)" ]
	for n in a c d; do let_go $n; done
	for n in a b c d; do ended $n; done
}

@test "slots: many contenders, each slot exclusive by the witness" {
	local i p=
	for i in {1..12}; do
		helper sh -c "for i in 1 2 3 4; do '$REDLOCK' -q -u '$url' -k job \
			-N 3 -- sh -c 'mkdir -p $T/s\$REDLOCK_SLOT
			exec witness $T/s\$REDLOCK_SLOT --hold 3' || exit; done"
		p="$p $!"
	done
	for i in $p; do wait "$i"; done
	cat "$T"/s?/errors 2>/dev/null >"$T/errors" || true
	[ $(($(cat "$T"/s?/counter | tr '\n' '+')0)) = 48 ]
	[ ! -e "$T/s3" ]
}

@test "slots: one line for all of them, in order" {
	local n
	client a "$stays" -N 2
	client b "$stays" -N 2
	running a b
	: >"$T/order"
	for n in 1 2 3 4; do lines_up client $n "$stays" -N 2; done
	let_go a
	running 1
	let_go 1
	running 2
	let_go b
	running 3
	let_go 2
	running 4
	order 1 2 3 4
	let_go 3
	let_go 4
	for n in a b 1 2 3 4; do ended $n; done
}

@test "slots: another program is in slot 0, and finds it taken" {
	[ "$(cli a set job other nx px 60000)" = OK ]
	client a "$stays" -N 3
	client b "$stays" -N 3
	running a b
	[ "$(for n in a b; do slot_of $n; done | sort | tr -d '\n')" = 12 ]
	busy -N 3
	cli a del job >/dev/null
	client c "$stays" -N 3
	running c
	[ "$(slot_of c)" = 0 ]
	[ "$(cli a set job other nx px 60000)" = '' ]
	for n in a b c; do let_go $n; done
	for n in a b c; do ended $n; done
}

@test "slots: different N on one key: each takes one of its own first N" {
	client a "$stays"
	running a
	client b "$stays" -N 2
	running b
	[ "$(slot_of b)" = 1 ]
	busy
	busy -N 2
	redlock -k job -N 3 -n -- sh -c '[ "$REDLOCK_SLOT" = 2 ]'
	let_go a
	ended a
	redlock -k job -n -- sh -c '[ "$REDLOCK_SLOT" = 0 ]'
	let_go b
	ended b
}

@test "slots: FLUSHALL under three holders: all heal, nobody is killed" {
	local n
	for n in a b c; do client $n "$stays" -N 3; done
	running a b c
	cli a flushall >/dev/null
	for n in 0 1 2; do wait_until has_slot $n; done
	busy -N 3
	for n in a b c; do let_go $n; done
	for n in a b c; do ended $n; contains "$T/err.$n" 'was restored'; done
}

@test "slots: the key overwritten is the loss of who has slot 0 alone" {
	client a "$stays" -N 2
	running a
	client b "$stays" -N 2
	running b
	cli a set job thief px 3000 >/dev/null
	ended a 125
	let_go b
	ended b
	cli a del job >/dev/null
}

@test "slots: a holder that is killed keeps its slot for --min-hold, counted from its own grant" {
	local other
	other=$(redlock lock -n -N 2 -t 1h job)
	sleep 1.2 # longer than the other one's --min-hold
	client a "$stays" -N 2 --min-hold 1s
	running a
	kill -KILL "${pid[a]}"
	wait_until rests
	at_least 1000 "$(($(entry_in 1 | cut -d ' ' -f 1) - $(now_ms)))"
	redlock unlock job --token "$other"
}
rests() { [[ $(entry_in 1) = *' r' ]]; }
entry_in() { # SLOT: the one that ends last
	cli a hget "$state" "hold:$(cli a hget "$state" "slot:$1" | cut -d ' ' -f 5)"
}

@test "slots: a killed holder's slot is given back, a dead machine's ends" {
	client a "$stays" -N 2
	client b "$stays" -N 2
	running a b
	lines_up client c "$stays" -N 2
	kill -KILL "${pid[a]}"
	running c
	waiting=0
	lines_up client d "$stays" -N 2
	crash b
	running d
	let_go c
	let_go d
	ended c
	ended d
}

# ---- readers and writers ----

@test "readers hold together, a writer waits for all of them, and they for it" {
	reader r1
	reader r2
	running r1 r2
	busy
	redlock -s -k job -n -- true
	lines_up writer w
	not_yet w
	busy -s
	lines_up reader r3
	lines_up reader r4
	let_go r1
	ended r1
	not_yet w
	let_go r2
	running w
	not_yet r3
	let_go w
	running r3 r4
	let_go r3
	let_go r4
	for n in r2 w r3 r4; do ended $n; done
	[ "$(for n in r1 r2 w r3 r4; do fence_of $n; done | sort -un | wc -l)" = 5 ]
	[ "$(fence_of w)" -gt "$(fence_of r1)" ]
	[ "$(fence_of w)" -gt "$(fence_of r2)" ]
	[ "$(fence_of r3)" -gt "$(fence_of w)" ]
}

@test "readers and writers: first come, first served; leading readers start together" {
	writer w0
	running w0
	: >"$T/order"
	lines_up reader r1
	lines_up reader r2
	lines_up writer w1
	lines_up reader r3
	let_go w0
	running r1 r2
	not_yet w1
	not_yet r3
	let_go r1
	let_go r2
	running w1
	not_yet r3
	let_go w1
	running r3
	let_go r3
	for n in w0 r1 r2 w1 r3; do ended $n; done
	[ "$(sed 's/r[12]/r/' "$T/order" | tr '\n' ' ')" = 'r r w1 r3 ' ]
}

@test "readers and writers: a stream of readers does not keep a writer out, nor the other way" {
	local i p=
	: >"$T/stay.more"
	for i in 1 2 3; do
		helper sh -c "while [ -e '$T/stay.more' ]; do '$REDLOCK' -q -u \
			'$url' -s -k job -- flock -n -s '$T/rw' sleep 0.02 ||
			echo not together >>'$T/errors'; done"
		p="$p $!"
	done
	for i in 1 2 3 4 5; do
		redlock -q -k job -w 20s -- flock -n -x "$T/rw" true
	done
	for i in 1 2 3; do
		helper sh -c "while [ -e '$T/stay.more' ]; do '$REDLOCK' -q -u \
			'$url' -k job -- flock -n -x '$T/rw' sleep 0.01 ||
			echo not alone >>'$T/errors'; done"
		p="$p $!"
	done
	for i in 1 2 3 4 5; do
		redlock -q -s -k job -w 20s -- flock -n -s "$T/rw" true
	done
	let_go more
	for i in $p; do wait "$i"; done
}

@test "readers: a dead writer at the head of the line keeps nobody out for long" {
	reader r
	running r
	lines_up writer w
	crash w
	# as if it had come a minute ago
	cli a eval "local h = redis.call('zrange', KEYS[1], 0, 0)[1]
		redis.call('zincrby', KEYS[1], -60000000, h)" 1 "$queue" >/dev/null
	redlock -s -k job -n -- true
	let_go r
	ended r
}

@test "readers: another program finds the key taken while they hold" {
	reader r1
	reader r2
	running r1 r2
	[ "$(cli a set job other nx px 60000)" = '' ]
	let_go r1
	ended r1
	[ "$(cli a set job other nx px 60000)" = '' ]
	let_go r2
	ended r2
	[ "$(cli a set job other nx px 60000)" = OK ]
	busy -s
	cli a del job >/dev/null
}

@test "readers: a live one does not keep a dead one's lease alive" {
	reader dead
	running dead
	reader live
	running live
	lines_up writer w
	crash dead
	# for longer than the dead one's lease
	for i in {1..25}; do held job; sleep 0.1; done
	"$REDLOCK" inspect -u "$url" --json job | grep -q '"holders":1,'
	let_go live
	local t0=$(now_ms)
	running w
	[ $(($(now_ms) - t0)) -lt 1500 ]
	let_go w
	ended live
	ended w
}

@test "readers: the writer waits out the lease of a dead one, though the live ones have left" {
	reader dead -t 3s
	running dead
	reader live
	running live
	lines_up writer w
	crash dead
	let_go live
	ended live
	held job
	[ "$(cli a pttl job)" -le 3000 ]
	running w
	let_go w
	ended w
}

@test "readers: FLUSHALL under three of them: all heal, a writer stays out, nobody is killed" {
	local n
	for n in r1 r2 r3; do reader $n; done
	running r1 r2 r3
	lines_up writer w
	cli a flushall >/dev/null
	wait_until held job
	for n in r1 r2; do let_go $n; ended $n; done
	not_yet w
	let_go r3
	ended r3
	running w
	let_go w
	ended w
}

@test "readers: the key deleted by hand is set again, though others came and went" {
	reader r1
	running r1
	reader r2
	running r2
	cli a del job >/dev/null
	wait_until held job
	let_go r2
	ended r2
	let_go r1
	ended r1
}

# A reader cannot renew while a writer comes. COMMAND...: what the server loses
forgets_readers() {
	reader r1 -t 2500ms
	running r1
	frozen r1
	"$@"
	lines_up writer w
	held job
	not_yet w
	thawed r1
	wait_until contains "$T/err.r1" 'was missing'
	not_yet w
	let_go r1
	ended r1
	running w
	let_go w
	ended w
	order r1 w
}

@test "readers: the server loses who they are: no writer starts beside the one that has not renewed" {
	forgets_readers eval 'cli a del "$state" >/dev/null'
}

@test "readers: so it is of a lock without expiry" {
	forgets_readers eval 'cli a del "$state" >/dev/null; cli a persist job >/dev/null'
}

@test "readers: the state is of another type: no writer starts beside the one that has not renewed" {
	forgets_readers eval 'cli a del "$state" >/dev/null; cli a lpush "$state" x >/dev/null'
}

keep_old_state() {
	cli a save >/dev/null
	mv "$BATS_FILE_TMPDIR/dump.rdb" "$T/old.rdb"
}
old_state_returns() {
	node_kill a
	node_start a --dbfilename old.rdb
}
next_renewal() { # CLIENT, which logs it
	renewals=$(times_renewed "$1")
	wait_until renewed_since "$1"
}

# Two hold together, and KIND... wait. The server comes back as it was before the
# second one started, which is stopped and hears of it last. The first one knows
# better, and ends; by then it has renewed, or not. HOW FIRST[,SECOND] KIND...
comes_back_without_r2() {
	local how=$1 one=${2%,*} two=${2#*,} n=0 kind

	shift 2
	"$one" r1 -t 2500ms -v
	running r1
	if [ -n "${pid[r0]-}" ]; then # r1 has slot 1, and r2 will have slot 0
		let_go r0
		ended r0
	fi
	keep_old_state
	"$two" r2 -t "${of_r2:-2500ms}"
	running r2
	for kind; do
		n=$((n + 1))
		lines_up "$kind" w$n
	done
	for _ in 1 2; do # the first may have been sent before r2 came
		next_renewal r1
	done
	kill -STOP "${pid[r1]}" "${pid[r2]}"
	wait_until stopped "${pid[r1]}"
	wait_until stopped "${pid[r2]}"
	old_state_returns
	wait_until in_line $n # they are back
	[ "$how" = renews ] || let_go r1
	[ "$how" = renews ] || wait_until has_no_command r1
	renewals=$(times_renewed r1)
	kill -CONT "${pid[r1]}"
	[ "$how" = ends ] || wait_until renewed_since r1
	let_go r1
	ended r1
}
times_renewed() { grep -c 'job: renewed' "$T/err.$1" || true; }
renewed_since() { [ "$(times_renewed "$1")" -gt "$renewals" ]; }
has_no_command() { ! pgrep -P "$(guard_of "${pid[$1]}")" >/dev/null; }
slot_taker() { client "$1" "$in_slot" -N 2 "${@:2}"; }
in_slot='flock -n -x "$T/slot.$REDLOCK_SLOT" -c "$0" || echo "$1 is not alone" >>"$T/errors"'

slot_is_kept() { # HOW [FIRST,SECOND]
	comes_back_without_r2 "$1" "${2:-slot_taker}" slot_taker slot_taker
	kill -CONT "${pid[r2]}"
	wait_until contains "$T/err.r2" 'was missing'
	wait_until in_line 1 # one has that of the first
	not_yet w2
	let_go r2
	ended r2
	let_go w1
	let_go w2
	ended w1
	ended w2
}

@test "slots: an older counter comes back, and one ends: the slot that is forgotten is given to nobody" {
	slot_taker r0
	running r0
	slot_is_kept ends
}

@test "slots: an older counter comes back, one renews and ends: the slot that is forgotten is given to nobody" {
	slot_taker r0
	running r0
	slot_is_kept renews
}

for_nobody() { # HOW
	comes_back_without_r2 "$1" reader writer
	in_line 1
	kill -CONT "${pid[r2]}"
	let_go r2
	wait "${pid[r2]}" || true # it may have been killed
	not_yet w1
	running w1
	let_go w1
	ended w1
}

one_of_one() { client "$1" "$in_slot" "${@:2}"; }
mixed() { # HOW: the first one wants the only slot
	slot_taker s0
	slot_taker s1
	running s0 s1 # somebody had slot 1 before
	let_go s0
	let_go s1
	ended s0
	ended s1
	slot_is_kept "$1" one_of_one,slot_taker
}

@test "slots and -N 1: an older counter comes back, and -N 1 ends: the slot that is forgotten is given to nobody" {
	mixed ends
}

@test "slots and -N 1: an older counter comes back, -N 1 renews and ends: the slot that is forgotten is given to nobody" {
	mixed renews
}

@test "readers and slots: an older counter comes back, one with slot 1 renews: the reader that is forgotten goes on" {
	reader r1 -t 2500ms
	running r1
	slot_taker s1 -t 2500ms -v
	running s1
	keep_old_state
	reader r2 -t 2500ms
	running r2
	lines_up writer w1
	next_renewal s1
	kill -STOP "${pid[r1]}" "${pid[r2]}" "${pid[s1]}"
	for n in r1 r2 s1; do wait_until stopped "${pid[$n]}"; done
	old_state_returns
	wait_until in_line 1
	renewals=$(times_renewed s1)
	kill -CONT "${pid[s1]}"
	wait_until renewed_since s1
	kill -CONT "${pid[r1]}"
	let_go r1
	ended r1
	not_yet w1
	kill -CONT "${pid[r2]}"
	wait_until renewed_by_now
	let_go r2
	ended r2
	running w1
	let_go w1
	let_go s1
	ended w1
	ended s1
}

@test "readers: an older counter comes back, and one ends: the lock is handed to no writer" {
	for_nobody ends
}

@test "readers: an older counter comes back, one renews and ends: the lock is handed to no writer" {
	for_nobody renews
}

goes_on() { # HOW KIND...
	comes_back_without_r2 "$1" reader "${@:2}"
	kill -CONT "${pid[r2]}"
	wait_until renewed_by_now
	let_go r2
	ended r2
	[ $# = 1 ] || running w1
	let_go w1
	[ $# = 1 ] || ended w1
}
renewed_by_now() {
	gone "${pid[r2]}" || contains "$T/err.r2" 'was missing'
}

@test "readers: an older counter comes back, and one ends: the one that is forgotten goes on" {
	goes_on ends writer
}

@test "readers: an older counter comes back, one renews and ends: the one that is forgotten goes on" {
	goes_on renews writer
}

@test "readers: an older counter comes back, and one ends, where nobody waits: the other goes on" {
	goes_on ends
}

long_one_goes_on() { # HOW
	of_r2=8s comes_back_without_r2 "$1" reader writer
	at_least "$(kept_for)" 5000 # r1 knew of it
	kill -CONT "${pid[r2]}"
	let_go r2
	ended r2
	running w1
	let_go w1
	ended w1
}

@test "readers: an older counter comes back, and one ends: the forgotten one with a longer lease goes on" {
	long_one_goes_on ends
}

@test "readers: an older counter comes back, one renews and ends: the forgotten one with a longer lease goes on" {
	long_one_goes_on renews
}

# The server comes back as it was before a nested run joined, of which the outer
# one has heard. That one ends; by then it has renewed, or not.
forgets_the_join() { # HOW T_IN LEAST
	: >"$T/stay.in"
	client out "(while [ ! -e '$T/go' ]; do sleep 0.01; done
		exec $(inner) -t $2 -- sh -c 'echo on >\"$T/on.in\"
		while [ -e \"$T/stay.in\" ]; do sleep 0.01; done') & $together" -t 4s -v
	running out
	keep_old_state
	: >"$T/go"
	running in
	for _ in 1 2; do
		next_renewal out
	done
	pid[in]=$(pgrep -f "^$REDLOCK -u $url -k job -t $2")
	frozen in
	if [ "$1" = renews ]; then
		old_state_returns
		next_renewal out
		let_go out
	else # the server is away when it ends: there is no renewal in between
		node_kill a
		let_go out
		node_start a --dbfilename old.rdb
	fi
	ended out
	at_least "$(kept_for)" "$3"
	client w "$alone"
	not_yet w
	thawed in
	let_go in
	running w
	let_go w
	ended w
}

@test "an older state comes back, and the outer run ends: the nested run that is forgotten goes on" {
	forgets_the_join ends 4100ms 1000
}

@test "an older state comes back, and the outer run ends: so it is of one with a longer lease" {
	forgets_the_join ends 8s 5000
}

@test "an older state comes back, the outer run renews and ends: the nested run that is forgotten goes on" {
	forgets_the_join renews 4100ms 1000
}

@test "slots: an older counter comes back, one with slot 0 renews and ends: slot 1 is given to nobody" {
	slot_is_kept renews
}

@test "readers: the key overwritten is every reader's loss" {
	reader r1
	reader r2
	running r1 r2
	cli a set job thief px 3000 >/dev/null
	ended r1 125
	ended r2 125
	[ "$(lock)" = thief ]
	cli a del job >/dev/null
}

@test "readers: what is waited for is said, with how many they are" {
	reader r1
	reader r2
	running r1 r2
	run -75 redlock -k job -n -- true
	[[ $output = *"held by "*"@$(hostname) and 1 other reader since "* ]]
	let_go r1
	let_go r2
	ended r1
	ended r2
}

@test "readers: a signal while waiting leaves the line" {
	writer w
	running w
	lines_up reader r
	kill -TERM "${pid[r]}"
	ended r 143
	[ "$(cli a zcard "$queue")" = 0 ]
	let_go w
	ended w
}

@test "readers: memory full in the middle of it: renewals and releases go on" {
	node_start m --maxmemory 3mb --maxmemory-policy noeviction
	url=unix://$T/m.sock
	: >"$T/stay.r"
	helper "$REDLOCK" -u "$url" -s -k job -t 1s -- sh -c "echo on >'$T/on.r'
		while [ -e '$T/stay.r' ]; do sleep 0.05; done"
	local r=$! i=0
	wait_until begun r
	while [ "$(cli m set "fill$i" "$(printf '%20000s' x)" 2>&1)" = OK ]; do
		i=$((i + 1))
	done
	sleep 1.5 # longer than the lease: only renewals keep it
	[ "$(cli m exists job)" = 1 ]
	let_go r
	wait "$r"
	[ "$(cli m exists job)" = 0 ]
	cli m flushall >/dev/null
}

@test "slots: memory is full: the message says so" {
	: >"$T/stay.r"
	helper "$REDLOCK" -u "$url" -N 2 -k job -t 2s -- sh -c "echo on >'$T/on.r'
		while [ -e '$T/stay.r' ]; do sleep 0.05; done"
	local r=$!
	wait_until begun r
	cli a config set maxmemory 1 >/dev/null
	run -69 redlock -N 2 -w 200ms -k job -- touch "$T/ran"
	cli a config set maxmemory 0 >/dev/null
	[ ! -e "$T/ran" ]
	[[ $output == *maxmemory* ]]
	let_go r
	wait "$r"
}

# ---- time ----

@test "--max-hold: TERM, then KILL after -K, status 124, and the lock is free when all are dead" {
	start -k job --max-hold 300ms -K 200ms --result-file "$T/result" -- \
		witness "$T" --hold 60000 --spawn --stubborn --started "$T/started"
	wait_until exists "$T/started"
	local t0=$(now_ms)
	redlock -q -k job -w 20s -- witness "$T" # the oracle
	finish
	[ "$status" = 124 ]
	[ $(($(now_ms) - t0)) -ge 400 ]
	contains "$T/err" 'held for 300ms (--max-hold)'
	contains "$T/result" '"outcome":"max-hold","exit":124'
	[ "$(holds)" -ge 1 ]
}

@test "--max-hold: 124 also when the command then ends well, or is stopped" {
	run redlock -q -k job --max-hold 200ms -- \
		sh -c 'trap "exit 0" TERM; while :; do sleep 0.05; done'
	[ "$status" = 124 ]
	run redlock -q -k job --max-hold 200ms -- sh -c 'kill -STOP $$'
	[ "$status" = 124 ]
	run redlock -q -k job --max-hold 10s -- sh -c 'exit 3'
	[ "$status" = 3 ]
	lock_is_free
}

@test "--max-hold: the command has all of -K to clean up, the lease is renewed meanwhile" {
	run redlock -q -k job -t 600ms --max-hold 200ms -K 10s -- \
		sh -c "trap 'sleep 1; touch $T/clean; exit' TERM
			while :; do sleep 0.05; done"
	[ "$status" = 124 ]
	[ -e "$T/clean" ]
}

@test "--max-hold: what the command leaves when it ends at once has all of -K, too" {
	run redlock -q -k job --max-hold 1s -K 10s -- sh -c "
		sh -c 'trap \"sleep 0.5; touch $T/clean; exit\" TERM
		while :; do sleep 0.05; done' & wait"
	[ "$status" = 124 ]
	[ -e "$T/clean" ]
	lock_is_free
	run redlock -q -k job --max-hold 200ms -K 10s -- sh -c "$(inner) -q -- sleep 60"
	[ "$status" = 124 ]
	lock_is_free
}

@test "--max-renewals: ends as the lease does, with status 124" {
	may_need_another_try "a machine that stalls for a twentieth of a second is late itself"
	local t0=$(now_ms)
	run redlock -k job -t 600ms --max-renewals 2 -- sleep 30
	[ "$status" = 124 ]
	[[ $output = *'--max-renewals'* ]]
	# two renewals at T/6 each, then TERM at 0.65 T
	[ $(($(now_ms) - t0)) -ge 500 ]
	[ $(($(now_ms) - t0)) -lt 1500 ]
	t0=$(now_ms)
	run redlock -q -k job -t 600ms --max-renewals 0 -- \
		sh -c 'trap "" TERM; sleep 30'
	[ "$status" = 124 ]
	[ $(($(now_ms) - t0)) -lt 900 ]
	redlock -k job -t 600ms --max-renewals 0 -- true
	lock_is_free
}

@test "--max-hold, --max-renewals: a redlock that is stopped is woken when it must act" {
	local how

	for how in "--max-hold 1s -K 1s" "--max-renewals 0 -K 10s"; do
		rm -f "$T/started" "$T/clean"
		# shellcheck disable=SC2086 # two words each
		start -k job -t 20s $how -- sh -c "
			trap 'touch $T/clean; exit' TERM
			touch $T/started
			while :; do sleep 0.05; done"
		wait_until exists "$T/started"
		kill -STOP "$tool"
		finish
		[ "$status" = 124 ]
		[ -e "$T/clean" ] # there was time for TERM
	done
	lock_is_free
}

@test "--max-renewals: a first answer too old to start on is renewed before it counts" {
	node_start f
	node_freeze f
	helper "$REDLOCK" -u "unix://$T/f.sock" -t 3s --node-timeout 10s \
		--max-renewals 0 -k job -- touch "$T/ran"
	local tool=$!
	sleep 1.2 # a third of the lease
	node_thaw f
	wait "$tool"
	[ -e "$T/ran" ]
}

@test "--min-hold: redlock ends at once, with the command's status, and the key at the right moment" {
	local t0=$(now_ms) left
	run redlock -k job -t 60s --min-hold 1500ms -- sh -c 'exit 3'
	[ "$status" = 3 ]
	[ $(($(now_ms) - t0)) -lt 1000 ]
	left=$(cli a pttl job)
	[ "$left" -gt 500 ]
	[ "$left" -le 1500 ]
	run -75 redlock -k job -n -- true
	[[ $output =~ :\ kept\ \(--min-hold\)\ by\ [a-z0-9]+@$(hostname)\ since\ [0-9:]+\ [A-Z]+\ \([01]s\),\ lease\ left\ [0-9.]+m?s,\ sh\;\ see ]]
	redlock -q -k job -- true
	[ $(($(now_ms) - t0)) -ge 1500 ]
	[ $(($(now_ms) - t0)) -lt 2500 ]
}

@test "--min-hold: longer than the lease, too, and no longer than asked for" {
	redlock -k job -t 300ms --min-hold 1200ms -- true
	sleep 0.7
	held job
	wait_until lock_is_free
	redlock -k job -t 300ms --min-hold 400ms -- sleep 0.5
	lock_is_free
}

@test "--min-hold: who waits in line gets it then, not at its next look" {
	start -k job -t 60s --min-hold 800ms -- sh -c "echo on >'$T/on.h'
		while [ -e '$T/stay.h' ]; do sleep 0.05; done"
	: >"$T/stay.h"
	wait_until begun h
	lines_up writer w
	let_go h
	finish
	[ "$status" = 0 ]
	local t0=$(now_ms)
	running w
	[ $(($(now_ms) - t0)) -lt 1500 ]
	let_go w
	ended w
}

@test "--min-hold: who waits for a reader gets it then, too" {
	reader r -t 60s --min-hold 800ms
	running r
	lines_up writer w
	let_go r
	ended r
	local t0=$(now_ms)
	running w
	[ $(($(now_ms) - t0)) -lt 1500 ]
	let_go w
	ended w
}

@test "--min-hold: goes by the server's clock, whatever the client's says" {
	TZ=UTC+12 redlock -k job --min-hold 1s -- true
	[ "$(cli a pttl job)" -gt 300 ]
	wait_until lock_is_free
}

@test "--min-hold: of readers, slots and nested ones" {
	redlock -s -k job --min-hold 700ms -- true
	redlock -s -k job -n -- true
	busy
	wait_until lock_is_free
	redlock -k job -N 2 --min-hold 700ms -- true
	redlock -k job -N 2 -n -- sh -c '[ "$REDLOCK_SLOT" = 1 ]'
	busy
	wait_until lock_is_free
	redlock -k job -t 2s -- sh -c "$(inner) -t 2s --min-hold 700ms -- true"
	busy
	wait_until lock_is_free
}

@test "--once-per: after a success nobody runs it within the time, on any machine" {
	redlock -k job --once-per 1500ms -- sh -c "echo 1 >>'$T/runs'"
	run -0 redlock -k job --once-per 1500ms --result-file "$T/result" -- \
		sh -c "echo 2 >>'$T/runs'"
	[[ $output = *"already ran on $(hostname) at 20"* ]]
	contains "$T/result" '"outcome":"already-ran","exit":0'
	redlock -k job -- sh -c "echo plain >>'$T/runs'"
	[ "$(cat "$T/runs" | tr '\n' ' ')" = '1 plain ' ]
	wait_until eval '[ "$(marks)" = 0 ]'
	redlock -k job --once-per 1500ms -- sh -c "echo 3 >>'$T/runs'"
	contains "$T/runs" 3
}

# how many ms the mark lasts
mark_lasts() {
	local ends

	ends=$(cli a hget "$state" once | head -n 1)
	echo $((${ends:-0} - $(now_ms)))
}
marks() { echo $(($(mark_lasts) > 0)); }

@test "--once-per counts from the start of the run, and a longer run leaves no mark" {
	redlock -k job --once-per 60s -- sleep 1.1
	below "$(mark_lasts)" 58900
	at_least "$(mark_lasts)" 40000
	began=$(date +%s)
	run redlock -k job --once-per 60s -- true
	at=$(date -d "$(sed -n 's/.* at \(20[^;]*\);.*/\1/p' <<<"$output")" +%s)
	below "$at" "$began"
	cli a hdel "$state" once >/dev/null
	redlock -k job --once-per 200ms -- sleep 0.3
	[ "$(marks)" = 0 ]
}

@test "--once-counts any: whatever became of a run that began, nobody repeats it" {
	once() { # STATUS MARKS [OPTION...] -- COMMAND...
		local want=$1 marks=$2

		shift 2
		run "-$want" redlock -q -k job --once-per 60s --once-counts any "$@"
		[ "$(marks)" = "$marks" ]
		[ "$marks" = 0 ] ||
			run -0 redlock -k job --once-per 60s -- touch "$T/again"
		[ ! -e "$T/again" ]
		cli a flushall >/dev/null
	}
	once 0 1 -- true
	once 1 1 -- false
	once 137 1 -- sh -c 'kill -9 $$'
	once 124 1 --max-hold 50ms -- sleep 5
	once 127 0 -- /no/such
	once 125 1 -t 1s -- sh -c 'redis-cli -s "$T/a.sock" set job other >/dev/null
		exec sleep 60'
	# redlock itself is killed: its guard releases the lock
	start -q -k job --once-per 60s --once-counts any -- \
		sh -c ': >"$T/on"; exec linger'
	wait_until exists "$T/on"
	kill -9 "$tool"
	wait_until lock_is_free
	[ "$(marks)" = 1 ]
}

@test "--once-per: a failure, a kill and a loss leave no mark" {
	run redlock -q -k job --once-per 60s -- false
	run redlock -q -k job --once-per 60s -- sh -c 'kill -9 $$'
	run -127 redlock -q -k job --once-per 60s -- /no/such
	run redlock -q -k job --once-per 60s --max-hold 50ms -- sleep 5
	[ "$(marks)" = 0 ]
	redlock -k job --once-per 60s -- touch "$T/ran"
	[ -e "$T/ran" ]
}

@test "--once-per: done is done, though the lock has vanished, or memory is full" {
	redlock -k job --once-per 60s -- redis-cli -s "$T/a.sock" flushall >/dev/null
	run redlock -k job --once-per 60s -- touch "$T/ran.1"
	redlock -k other --once-per 60s -- redis-cli -s "$T/a.sock" config set \
		maxmemory 1 >/dev/null
	cli a config set maxmemory 0 >/dev/null
	run redlock -k other --once-per 60s -- touch "$T/ran.2"
	[ ! -e "$T/ran.1" ]
	[ ! -e "$T/ran.2" ]
}

@test "--once-per: inside a run that holds the lock, too" {
	for i in 1 2; do
		redlock -q -k job -- sh -c "$(inner) -q --once-per 60s -- sh -c \
			'echo ran >>\"$T/runs\"'"
	done
	[ "$(grep -c ran "$T/runs")" = 1 ]
}

@test "--once-per: those who waited meanwhile do not run it either, and pass the lock on" {
	client first "$alone" --once-per 60s
	running first
	lines_up client second "$alone" --once-per 60s
	lines_up client third "$alone" --once-per 60s
	lines_up writer plain
	let_go first
	running plain
	ended second
	ended third
	let_go plain
	ended plain
	order first plain
	contains "$T/err.second" 'already ran'
}

older() { # N NEWEST OPTION...: a run of revision N does not start
	local n=$1 newest=$2

	shift 2
	run -75 redlock -k job --revision "$n" "$@" -- touch "$T/older"
	[[ $output = *"not run: revision $n is older than $newest, which ran on $(hostname) at 20"* ]]
	[ "$(wc -l <<<"$output")" = 1 ]
	[ ! -e "$T/older" ]
	lock_is_free
}
newer() { # N [OPTION...]: it runs
	local n=$1

	shift
	redlock -q -k job --revision "$n" "$@" -- touch "$T/newer"
	rm "$T/newer"
}
revision() { cli a --raw hget "$state" revision | head -n 1; }

@test "--revision: an older one does not run after a newer one, an equal or larger one does" {
	newer 17
	older 16 17
	older 0 17
	newer 17
	newer 21
	older 17 21 --result-file "$T/result"
	contains "$T/result" '"outcome":"older","exit":75'
	run -0 redlock -q -k job --revision 17 -E 0 -- touch "$T/older"
	[ -z "$output" ]
	run -9 redlock -q -k job --revision 17 -E 9 -- touch "$T/older"
	[ ! -e "$T/older" ]
	# as numbers, and exactly, up to the largest
	newer 100
	older 99 100
	newer 9007199254740990
	older 9007199254740989 9007199254740990
	newer 9007199254740991
	older 9007199254740990 9007199254740991
	# who has no number runs, and leaves the mark
	redlock -k job -- true
	redlock unlock job --token "$(redlock lock job)"
	[ "$(revision)" = 9007199254740991 ]
	cli a del "$state" >/dev/null
	newer 0
	[ "$(revision)" = 0 ]
}

@test "--revision: what is no number is refused, in one line" {
	for n in -1 1.5 x '' 0x10 9007199254740992 99999999999999999999 '1 2'; do
		run -64 redlock -k job --revision "$n" -- touch "$T/ran"
		[ "${#lines[@]}" = 1 ]
		[[ $output = *"--revision '"*"must be a number from 0 to 9007199254740991" ]]
	done
	run -64 redlock lock job --revision 1
	[ ! -e "$T/ran" ]
}

@test "--revision: a failure, a kill and a loss leave no mark, unless --once-counts any" {
	newer 5
	run -1 redlock -q -k job --revision 9 -- false
	run -137 redlock -q -k job --revision 9 -- sh -c 'kill -9 $$'
	run -127 redlock -q -k job --revision 9 -- /no/such
	run -124 redlock -q -k job --revision 9 --max-hold 50ms -- sleep 5
	run -125 redlock -q -k job --revision 9 -t 1s -- \
		sh -c 'redis-cli -s "$T/a.sock" set job other >/dev/null; exec sleep 60'
	cli a del job >/dev/null
	[ "$(revision)" = 5 ]
	newer 6
	run -127 redlock -q -k job --revision 9 --once-counts any -- /no/such
	[ "$(revision)" = 6 ]
	run -1 redlock -q -k job --revision 7 --once-counts any -- false
	older 6 7
	run -124 redlock -q -k job --revision 8 --once-counts any --max-hold 50ms -- sleep 5
	older 7 8
	# redlock itself is killed: its guard releases the lock
	start -q -k job --revision 9 --once-counts any -- sh -c ': >"$T/on"; exec linger'
	wait_until exists "$T/on"
	kill -9 "$tool"
	wait_until lock_is_free
	older 8 9
}

@test "--revision: done is done, though the lock has vanished" {
	redlock -q -k job --revision 5 -- redis-cli -s "$T/a.sock" flushall >/dev/null
	wait_until eval '[ "$(revision)" = 5 ]'
	run -75 redlock -k job --revision 4 -- touch "$T/older"
	[ ! -e "$T/older" ]
}

@test "--revision: who waited meanwhile finds out, and passes the lock on" {
	client first "$alone" --revision 21
	running first
	lines_up client second "$alone" --revision 17
	lines_up client third "$alone" --revision 20
	lines_up client fourth "$alone" --revision 22
	lines_up writer plain
	let_go first
	running fourth
	ended second 75
	ended third 75
	contains "$T/err.second" 'revision 17 is older than 21'
	let_go fourth
	running plain
	let_go plain
	ended plain
	order first fourth plain
	older 21 22
}

@test "--revision: of several who hold it together, the largest stays" {
	client new 'eval "$0"' --revision 21 -N 2
	running new
	client old 'eval "$0"' --revision 17 -N 2
	running old
	let_go new
	ended new
	let_go old
	ended old
	older 20 21 -N 2
}

@test "--revision: inside a run that holds the lock, and beside one" {
	redlock -q -k job --revision 21 -- sh -c "$(inner) -q --revision 17 -- \
		touch '$T/inner' && $(inner) -q --revision 16 -- touch '$T/older' || [ \$? = 75 ]"
	[ -e "$T/inner" ]
	[ ! -e "$T/older" ]
	older 20 21
	redlock -q -k other -- sh -c "$(inner) -q --revision 20 -- touch '$T/older' || [ \$? = 75 ]"
	[ ! -e "$T/older" ]
}

@test "--revision: of several keys one is enough, and none is kept" {
	redlock -k b --revision 9 -- true
	run -75 redlock -k a -k b -k c --revision 8 -- touch "$T/older"
	[[ $output = *' b: not run: revision 8 is older than 9, '* ]]
	[ ! -e "$T/older" ]
	for k in a b c; do free "$k"; done
	redlock -k a -k b -k c --revision 10 -- true
	for k in a b c; do
		run -75 redlock -q -k $k --revision 9 -- touch "$T/older"
	done
	[ ! -e "$T/older" ]
}

@test "--revision with --once-per: each says no by itself, and older is said first" {
	newer 5 --once-per 60s
	run -0 redlock -k job --revision 6 --once-per 60s -- touch "$T/ran"
	[[ $output = *'already ran on '* ]]
	older 4 5 --once-per 60s
	newer 6
	run -0 redlock -k job --once-per 60s -- touch "$T/ran" # and keeps its mark
	[[ $output = *'already ran on '* ]]
	cli a hdel "$state" once >/dev/null
	redlock -q -k job --once-per 60s --reason second -- true
	older 5 6
	[ ! -e "$T/ran" ]
}

@test "--revision: inspect shows the newest, and history only what ran" {
	redlock -q -k job --revision 17 -- true
	redlock inspect job --json | grep -q '"revision":{"number":17,"since":"20[^"]*Z","host":"'"$(hostname)"'","pid":'
	redlock inspect job | grep -q "^  revision  17, by $(hostname)"
	run -75 redlock -q -k job --revision 16 -- true
	[ "$(redlock history job --json | grep -c '"outcome":"ran"')" = 1 ]
	redlock history job --last-success 1m
	redlock -q doctor job
	start -k job --revision 18 --no-describe -- sh -c ': >"$T/on"; exec linger'
	wait_until exists "$T/on"
	redlock inspect job | grep -q '^  revision  17, by '
	redlock list --json | grep -q '"key":"job","state":"held"'
	kill "$tool"
	finish
	redlock -q -k plain -- true
	run -1 redlock inspect plain --json
	[[ $output != *revision* ]]
}

# ---- what a command leaves behind ----

@test "--orphans wait: the lock is held until the last process has ended" {
	start -k job -t 600ms --orphans wait -- sh -c "setsid sh -c 'while [ -e \
		\"$T/stay.o\" ]; do sleep 0.05; done' & echo on >'$T/on.o'; exit 7"
	: >"$T/stay.o"
	wait_until begun o
	for i in {1..10}; do busy; sleep 0.1; done
	let_go o
	finish
	[ "$status" = 7 ]
	lock_is_free
}

@test "--orphans wait: lost, or held too long, they are killed" {
	start -k job -t 1s --orphans wait -- sh -c "(echo on >'$T/on.o'; sleep 60) & :"
	wait_until begun o
	cli a set job thief px 2000 >/dev/null
	finish
	[ "$status" = 125 ]
	cli a del job >/dev/null
	start -k job --orphans wait --max-hold 300ms -K 100ms -- sh -c '(trap "" TERM
		sleep 60) & :'
	finish
	[ "$status" = 124 ]
}

@test "--orphans kill: they are dead before the lock is free" {
	redlock -k job --orphans kill -- sh -c "setsid sh -c 'trap \"\" TERM HUP
		exec flock -x \"$T/rw\" sleep 60' & while flock -n \"$T/rw\" true; do
		sleep 0.05; done"
	redlock -k job -n -- flock -n "$T/rw" true
}

@test "--orphans leave: they are left, and that is said" {
	run redlock -k job -- sh -c 'sleep 0.3 & :'
	[ "$status" = 0 ]
	[[ $output = *'left processes running; the lock does not cover them'* ]]
	lock_is_free
}

@test "S2 a loss of the last second forgets that a nested run has joined: its next renewal is enough" {
	helper "$REDLOCK" -q -u "$url" -k job -t 3s -- sh -c '
		: >"$1/outer"; linger until "$1/go"
		"$0" -q -k job -t 3s -- witness "$1" --hold 60000 --started "$1/inner" &
		linger until "$1/end"' "$REDLOCK" "$T"
	tool=$!
	wait_until exists "$T/outer"
	cli a eval "return redis.call('set', 'saved', redis.call('dump', KEYS[1]))" \
		1 "$state" >/dev/null
	: >"$T/go"
	wait_until exists "$T/inner"
	# as if the server had come back without the join
	cli a eval "redis.call('restore', KEYS[1], 0, redis.call('get', 'saved'), 'replace')
		return redis.call('del', 'saved')" 1 "$state" >/dev/null
	[ "$(entries)" = 1 ]
	wait_until eval '[ "$(entries)" = 2 ]'
	: >"$T/end"
	wait "$tool"
	run -75 redlock -k job -n -- witness "$T"
	pkill -KILL -f "^witness $T" || pkill -KILL -f "witness $T"
	wait_until lock_is_free
}

@test "-N with names: one for each slot, also for a nested run and for lock --export" {
	local n names=(gpu0 'b c' 2)

	list=$(IFS=,; echo "${names[*]}")
	for n in 0 1 2; do
		rm -f "$T/on"
		helper "$REDLOCK" -q -u "$url" -k job -N "$list" -- sh -c '
			echo "$REDLOCK_SLOT $REDLOCK_SLOT_NAME" >>"$T/slots"
			"$0" -k job -- sh -c "echo \"nested \$REDLOCK_SLOT_NAME\"" >>"$T/slots"
			: >"$T/on"; exec linger until "$T/end"' "$REDLOCK"
		wait_until exists "$T/on"
	done
	[ "$(cat "$T/slots")" = $'0 gpu0\nnested gpu0\n1 b c\nnested b c\n2 2\nnested 2' ]
	run -75 redlock -n -k job -N "$list" -- true
	: >"$T/end"
	wait_until free job
	eval "$(redlock lock job --export --slots a,b)"
	[ "$REDLOCK_SLOT $REDLOCK_SLOT_NAME" = "0 a" ]
	# a lock without names has none, whatever runs around it
	run -0 redlock -k other -- sh -c 'echo "${REDLOCK_SLOT_NAME-none}"'
	[ "$output" = none ]
	redlock unlock job
	for list in a,,b ,a a, , a,a a,b,a "$(printf 'x%.0s' {1..128}),b" 0 gpu \
		"$(seq -s, 1001)"; do
		run -64 redlock -n -k job -N "$list" -- true
	done
	run -0 redlock -n -k job -N "$(seq -s, 1000)" -- sh -c 'echo $REDLOCK_SLOT_NAME'
	[ "$output" = 1 ]
	# a number that is typed has no names, whatever the file says
	REDLOCK_SLOTS=a,b run -0 redlock -k job -N 2 -- \
		sh -c 'echo "${REDLOCK_SLOT_NAME-none}"'
	[ "$output" = none ]
}
