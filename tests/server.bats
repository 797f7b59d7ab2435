#!/usr/bin/env bats
# What a server can do to a lease.
#
# Node a is the kit's; the server under fire is mostly b, with settings of its
# own. The command is the witness: it is ended by any SIGTERM, so status 0 means
# that nothing disturbed it.

load lib/common
load lib/namespace
load lib/proxy

counter() { cli "$1" hget 'job:redlock:{job}:state' fence; }

# ---- promises ----

fence_now() { redlock -q -k job -t 500ms "$@" -- sh -c 'echo $REDLOCK_FENCE'; }

@test "fences grow over a flush, a lost counter, an empty restart, a rollback" {
	local last=0 fence i

	node_b --dbfilename old.rdb
	for i in plain plain counter flush save plain restart rollback plain; do
		case $i in
		counter) cli b del 'job:redlock:{job}:state' ;;
		flush) cli b flushall ;;
		save) cli b save && mv "$T/old.rdb" "$T/kept.rdb" ;;
		restart) node_restart b ;;
		rollback) node_restart b --dbfilename kept.rdb ;;
		esac >/dev/null
		fence=$(fence_now)
		echo "$i: $fence"
		[ "$fence" -gt "$last" ]
		last=$fence
	done
}

@test "a fence is an exact number of microseconds, and only the environment has it" {
	fence=$(fence_now)
	[ "$fence" -lt "$(counter a)" ] # a release moves it
	at_least "$fence" "$((EPOCHSECONDS * 1000000 - 60000000))"
	below "$fence" 9007199254740992
}

# (of a T that a busy machine does not take up by itself)
@test "an outage of 0.45 T disturbs nothing, whenever it begins" {
	local i holders=

	node_b
	# they renew each half second, one after another
	for i in 1 2 3; do
		mkdir "$T/$i"
		helper redlock -k "job$i" -t 3s -- witness "$T/$i" \
			--until "$T/end" --started "$T/$i/started" 2>"$T/$i/err"
		holders="$holders $!"
		wait_until exists "$T/$i/started"
		pause 0.16
	done
	node_freeze b
	sleep 1.35
	node_thaw b
	for i in 1 2 3; do
		wait_until contains "$T/$i/err" 'renewed again'
		set_on b "job$i"
	done
	: >"$T/end"
	for i in $holders; do wait "$i"; done
	lacks "$T/1/err" SIGTERM
	lacks "$T/2/err" SIGTERM
	lacks "$T/3/err" SIGTERM
}

@test "a server that is away for 0.4 T, refusing, disturbs nothing" {
	node_b --appendonly yes --appendfsync always
	hold open -t 3s
	node_kill b
	sleep 1.2
	node_start b --appendonly yes --appendfsync always
	wait_until contains "$T/err" 'renewed again'
	end_hold
	lacks "$T/err" SIGTERM
}

# ---- crashes ----

@test "after an empty restart the holder heals its lock at once, with the same token" {
	node_b
	hold open -t 3s
	token=$(cli b get job)
	fence=$(counter b)
	node_restart b
	began=$(now_ms)
	wait_until set_on b job
	# not at the next renewal, which is up to 500 ms away
	below "$(($(now_ms) - began))" 300
	[ "$(cli b get job)" = "$token" ]
	at_least "$(counter b)" "$fence"
	wait_until contains "$T/err" 'was missing'
	end_hold
}

@test "a waiter that knew the holder takes no lock that an empty restart has freed" {
	node_b
	direct=$url
	proxy_start b
	hold open -t 2s
	url=$direct
	waiter 1 10
	px refuse
	node_restart b
	sleep 0.2
	unset_on b job
	px pass
	wait_until set_on b job
	end_hold
	all_waiters_ran
	[ "$(holds)" = 2 ]
}

@test "a second empty restart just before a waiter may take the lock is noticed" {
	node_b
	direct=$url
	proxy_start b
	hold open -t 3s
	url=$direct
	waiter 1 10 -t 500ms
	px refuse
	node_restart b
	wait_until contains "$T/px.log" refuse
	sleep 0.2 # two looks of the waiter: it has seen the loss
	px pass
	wait_until set_on b job
	sleep 2.2 # of the 3 s that the waiter lets pass
	px refuse
	node_restart b
	sleep 0.5
	px pass
	wait_until set_on b job
	end_hold
	all_waiters_ran
	[ "$(holds)" = 2 ]
}

@test "kill -9 and an empty restart again and again under 8 contenders: never two" {
	local i

	node_b
	hold open
	for i in 1 2 3 4 5 6 7; do waiter "$i" 20 -t 400ms & done
	wait_until seven_wait
	for i in 1 2 3; do
		wait_until set_on b job
		sleep 0.15 # every contender has looked once more
		node_restart b
	done
	wait_until set_on b job
	end_hold
	wait_until seven_ran
}
seven_wait() { [ "$(cat "$T"/err.? 2>/dev/null | grep -c waiting)" = 7 ]; }
seven_ran() { [ "$(holds)" = 8 ]; }

@test "a crash that loses the grant from the AOF is healed, and no waiter profits" {
	node_b --appendonly yes --appendfsync everysec
	hold open -t 3s
	waiter 1 10 -t 3s
	node_kill b
	# of Redis 7, or of before
	for f in "$T"/appendonlydir/*.incr.aof "$T"/appendonly.aof; do
		[ ! -e "$f" ] || : >"$f"
	done
	node_start b --appendonly yes --appendfsync everysec
	unset_on b nothing
	wait_until contains "$T/err" 'was missing'
	end_hold
	all_waiters_ran
	[ "$(holds)" = 2 ]
}

# The server loses what came after the last fsync, and has an older counter.
forgets_the_rest() { # the names are those of Redis 7, or of before
	for f in "$T"/appendonlydir/*.incr.aof "$T"/appendonly.aof; do
		[ ! -e "$f" ] || truncate -s "$kept" "$f"
	done
}
kept_so_far() {
	cli b config set appendfsync always >/dev/null
	cli b config set appendfsync everysec >/dev/null
	kept=$(cat "$T"/appendonlydir/*.incr.aof "$T"/appendonly.aof 2>/dev/null | wc -c)
}

@test "a crash restores an older counter: healed if nobody had the lock meanwhile" {
	local old

	node_b --appendonly yes --appendfsync everysec
	fence_now
	kept_so_far
	old=$(counter b)
	hold open -t 3s
	fence=$(cat "$T/fence")
	token=$(cli b get job)
	waiter 1 10 -t 3s
	node_kill b
	forgets_the_rest
	node_start b --appendonly yes --appendfsync everysec
	wait_until contains "$T/err" 'was missing'
	[ "$(cli b get job)" = "$token" ]
	# as one that was lost: larger than any that it forgot
	[ "$old" -lt "$fence" ]
	at_least "$(counter b)" "$fence"
	end_hold
	all_waiters_ran
	[ "$(holds)" = 2 ]
}

@test "a crash restores an older counter: a later holder keeps the lock" {
	node_b --appendonly yes --appendfsync everysec
	direct=$url
	fence_now
	kept_so_far
	proxy_start b
	hold 9000 -t 3s
	url=$direct
	px refuse
	node_kill b
	forgets_the_rest
	node_start b --appendonly yes --appendfsync everysec
	fence_now # it has come and gone
	px pass
	wait_until gone "$worker"
	ends_with 125
	contains "$T/err" 'no longer ours'
}

@test "a clean restart with its data disturbs nothing and heals nothing" {
	node_b --appendonly yes --appendfsync always
	hold 700
	pid=$(node_pid b)
	cli b shutdown || true
	wait_until gone "$pid"
	node_start b --appendonly yes --appendfsync always
	ends_with 0
	lacks "$T/err" 'was missing'
}

# What the replica has: all but the grant that follows.
promoted_without() { # MS: how long it is held
	node_b --dbfilename replica.rdb
	fence_now
	cli b save
	ln -s "$T/b.sock" "$T/master.sock"
	url=unix://$T/master.sock
	hold "$1" -t 3s
	lost=$(cat "$T/fence")
	node_start c --dbfilename replica.rdb
}

@test "a promoted replica missed the grant: healed if nobody was granted it there" {
	promoted_without 600
	ln -sfn "$T/c.sock" "$T/master.sock"
	node_kill b
	wait_until contains "$T/err" 'was missing'
	at_least "$(counter c)" "$lost"
	ends_with 0
}

@test "a promoted replica missed the grant and granted it: killed, status 125" {
	promoted_without 9000
	url=unix://$T/c.sock fence_now
	ln -sfn "$T/c.sock" "$T/master.sock"
	node_kill b
	began=$(now_ms)
	wait_until gone "$worker"
	below "$(($(now_ms) - began))" 500
	ends_with 125
	contains "$T/err" 'no longer ours'
	[ "$(fence_now)" -gt "$lost" ]
}

# ---- slow servers ----

# The command starts only before s + T/3, and s is the send of what was answered.
# Replies come a little sooner than that here, or a little later.

@test "a reply after a tenth of T starts the command with a note on the short lease" {
	proxy_start a
	px delay 0 100
	run -0 --separate-stderr redlock -k job -t 1s -- \
		sh -c "redis-cli -s $T/a.sock pttl job"
	at_least "$output" 700
	[[ $stderr == *"short for a server that takes"* ]] # 20 round trips
}

@test "with each reply later than 0.28 T the command starts, with 2/3 T left or more" {
	proxy_start a
	px delay 0 850
	run -0 --separate-stderr timeout 15 "$REDLOCK" -u "$url" -k job -t 3s \
		--node-timeout 2s -- redis-cli -s "$T/a.sock" pttl job
	at_least "$output" 1950
}

@test "with each reply later than 0.38 T nothing runs, all is released" {
	proxy_start a
	px delay 0 570
	run timeout 8 "$REDLOCK" -u "$url" -k job -t 1500ms -w 2s -- witness "$T"
	[[ $status = 69 || $status = 75 ]]
	[[ $output = *'too slowly for a lease of 1.5s'* ]]
	[ "$(holds)" = 0 ]
}

@test "a grant that comes at 0.38 T is renewed before the command starts" {
	local began

	proxy_start a
	px delay 0 1150
	began=$(now_ms)
	helper "$REDLOCK" -u "$url" -k job -t 3s --node-timeout 3s -- \
		sh -c "date +%s%3N >$T/at" 2>"$T/err"
	holder=$!
	wait_until set_on a job
	px delay 0 700 # the grant is delayed for the whole time
	ends_with 0
	at_least "$(($(cat "$T/at") - began))" 1800
}

@test "validity counts from the request: a reply at 0.28 T makes no kill later" {
	local began

	proxy_start a
	px delay 0 850
	began=$(now_ms)
	helper "$REDLOCK" -u "$url" -k job -t 3s --node-timeout 2s -- \
		witness "$T" --hold 9000 --stubborn --started "$T/started" 2>"$T/err"
	holder=$!
	wait_until set_on a job
	node_freeze a # the grant is on its way, and is the last answer
	wait_until exists "$T/started"
	worker=$(cat "$T/started")
	wait_until gone "$worker"
	# 2400; 3250 if it counted from the reply
	below "$(($(now_ms) - began))" 2900
	ends_with 125
}

@test "replies later than the node time-out: unavailable, the late grant is undone" {
	proxy_start a
	px delay 0 400
	run -69 redlock -n -k job -t 60s --node-timeout 150ms -- witness "$T"
	wait_until unset_on a job
	[ "$(holds)" = 0 ]
}

@test "a grant older than T/3, and lost when it is seen, is asked for again" {
	cli a set job other px 60000
	helper "$REDLOCK" -u "$url" -k job -t 3s --node-timeout 10s -- \
		witness "$T" 2>"$T/err"
	holder=$!
	wait_until contains "$T/err" 'waiting.*: held by'
	# the next look, within 250 ms, finds nobody, and is answered when we are
	# stopped
	printf '%s\n' multi 'del job' 'client pause 1000' exec | cli a >/dev/null
	sleep 0.3
	kill -STOP "$holder"
	wait_until stopped "$holder"
	wait_until set_on a job
	sleep 1 # T/3, not T
	[ "$(cli a eval "
		if redis.call('get', 'job') == 'other' then return 'other' end
		redis.call('hset', 'job:redlock:{job}:state', 'moved',
			redis.call('hincrby', 'job:redlock:{job}:state', 'fence', 1))
		return redis.call('set', 'job', 'third', 'px', 500)" 0)" = OK ]
	kill -CONT "$holder"
	ends_with 0
	[ "$(holds)" = 1 ]
}

# The first answer comes after the lease has ended and another run has run; by
# then a second question of the first one has been granted the lock again.
@test "a fence older than that of a run in between starts nothing" {
	proxy_start a
	px delay 0 3600
	helper "$REDLOCK" -u "$url" -k job -t 3s --node-timeout 1s -- \
		sh -c "echo \$REDLOCK_FENCE >$T/first" 2>"$T/err"
	holder=$!
	wait_until set_on a job
	px delay 2300 3000 # the second question leaves after 1 s
	helper "$REDLOCK" -u "unix://$T/a.sock" -k job -w 5s -- \
		sh -c "echo \$REDLOCK_FENCE >$T/between"
	wait_until exists "$T/between"
	wait_until set_on a job # by the second question; its answer is on its way
	sleep 0.1
	px pass
	ends_with 0
	at_least "$(cat "$T/first")" "$(($(cat "$T/between") + 1))"
}

@test "a waiter says that the server went, and that it came back" {
	node_b
	cli b set job other px 60000
	helper "$REDLOCK" -u "$url" -k job -t 1s -- witness "$T" 2>"$T/err"
	holder=$!
	wait_until contains "$T/err" 'waiting.*: held by'
	node_kill b
	wait_until contains "$T/err" 'waiting.*: .*b.sock'
	node_restart b
	ends_with 0
}

@test "a holder says that a frozen server does not answer, and how it ended" {
	hold 9000 -t 900ms
	node_freeze a
	wait_until contains "$T/err" 'cannot renew: .*a.sock: no answer for'
	ends_with 125
	contains "$T/err" 'lease lost'
}

# thaws it: what it has run when it answers again
scripts_run_after() {
	node_thaw "$1"
	scripts_run "$1"
}
ran_more() { [ "$(scripts_run "$1")" -ge "$(($2 + 2))" ]; } # NODE THAN
@test "a server frozen for 0.3 T disturbs nothing" {
	may_need_another_try "a machine that stalls makes the outage longer than what is survived"
	node_b
	hold open
	node_freeze b
	sleep 0.3
	seen=$(scripts_run_after b)
	wait_until ran_more b "$seen"
	end_hold
	lacks "$T/err" SIGTERM
}

@test "a server frozen for good: TERM at 0.65 T, all dead before 0.85 T, status 125" {
	node_b
	helper "$REDLOCK" -u "$url" -k job -t 3s -- sh -c \
		"trap ': >$T/term' TERM; echo \$\$ >$T/pid
		while :; do sleep 0.02; done" 2>"$T/err"
	holder=$!
	wait_until exists "$T/pid"
	worker=$(cat "$T/pid")
	began=$(now_ms)
	node_freeze b
	wait_until gone "$worker"
	took=$(($(now_ms) - began))
	term=$(($(made_at "$T/term") - began))
	ends_with 125
	# the last renewal was up to T/6 before
	at_least "$term" 1350
	below "$term" 2100
	at_least "$took" 1800
	below "$took" 2550
	contains "$T/err" SIGTERM
}

@test "a late renewal that runs when the server thaws revives no lock" {
	node_b
	hold 9000 -t 500ms
	node_freeze b
	ends_with 125
	sleep 0.3
	node_thaw b
	wait_until unset_on b job
	# and stays away for longer than a retry
	sleep 0.3
	unset_on b job
	redlock -n -k job -t 500ms -- true
}

@test "an acquire given up on a frozen server is undone when it thaws" {
	node_b
	warm b
	node_freeze b
	run -69 redlock -n -k job -t 60s --node-timeout 150ms -- witness "$T"
	node_thaw b
	wait_until unset_on b job
	[ "$(holds)" = 0 ]
	# the server did run it
	wait_until set_on b 'job:redlock:{job}:state'
}

# ---- memory ----

# Fills node b until the given condition: fill_until COMMAND...
fill_until() {
	local i

	for ((i = 0; i < 400; i++)); do
		"$@" && return
		cli b eval "for i = 1, 20 do
			redis.pcall('set', 'fill:' .. ARGV[1] .. ':' .. i,
			    string.rep('x', 1024)) end" 0 "$i" >/dev/null || true
	done
	return 1
}
full() { case "$(cli b set probe 1 2>&1)" in *OOM*) ;; *) return 1 ;; esac; }
unfill() {
	cli b eval "for _, k in ipairs(redis.call('keys', 'fill:*')) do
		redis.call('del', k) end redis.call('del', 'probe')" 0 >/dev/null
}

@test "a lock evicted for memory is set again, with a line" {
	node_b --maxmemory 3mb --maxmemory-policy volatile-ttl
	hold 9000 -t 3s
	fill_until unset_on b job
	unfill
	wait_until set_on b job
	wait_until contains "$T/err" 'evicted'
	kill -KILL "$holder"
	ends_with 137
}

@test "a full server refuses a new lock as unavailable, and says OOM" {
	node_b --maxmemory 3mb --maxmemory-policy noeviction
	fill_until full
	run -69 redlock -k job -w 200ms -- witness "$T"
	[[ $output = *OOM* ]]
	unfill
	redlock -n -k job -- true
}

# A holder whose command runs until $T/end exists: hold_on [OPTION...]
hold_on() {
	helper "$REDLOCK" -u "$url" -k job "$@" -- sh -c \
		"echo \$\$ >$T/started; linger until $T/end" \
		2>"$T/err"
	holder=$!
	wait_until test -s "$T/started"
	worker=$(cat "$T/started")
}
renewals() { [ "$(scripts_run b)" -ge "$1" ]; } # that b has let through
no_script_failed() { # NODE: since its statistics began
	cli "$1" info commandstats | tr -d '\r' | awk -F '[=,]' '
		/^cmdstat_eval/ { n++ }
		/^cmdstat_eval.*failed_calls/ { failed += $NF } # from 6.2 on
		END { exit !(n && !failed) }'
}

@test "a full server lets a lease be renewed and released" {
	node_b --maxmemory-policy noeviction
	hold_on -t 500ms
	cli b config set maxmemory 1
	full
	cli b config resetstat
	# one every T/6: more than a lease has gone by
	wait_until renewals 10
	touch "$T/end"
	ends_with 0
	nothing_said "$T/err"
	unset_on b job
	full
}

@test "a full server hands the lock to those that were in line before" {
	node_b --maxmemory-policy noeviction
	warm b
	hold_on -t 500ms
	waiter 1 10
	cli b config set maxmemory 1
	cli b config resetstat
	touch "$T/end"
	ends_with 0
	all_waiters_ran
	[ "$(holds)" = 1 ]
	# at the first attempt, not by asking until it was free
	no_script_failed b
	cli b info commandstats | grep -q '^cmdstat_rpush:calls=1,'
	full
}

# ---- error replies ----

# Mid hold, the server answers every renewal with the error for 0.3 s; the
# command does not notice, the user does. errs_for_a_while TEXT ON OFF
errs_for_a_while() {
	hold 800
	eval "$2" >/dev/null
	wait_until contains "$T/err" "$1"
	sleep 0.1
	eval "$3" >/dev/null
	wait_until contains "$T/err" 'renewed again'
	ends_with 0
}

@test "a demoted master's READONLY says nothing about ownership" {
	errs_for_a_while READONLY 'cli a replicaof 127.0.0.1 1' \
		'cli a replicaof no one'
}

@test "a replica's READONLY while acquiring is waited for" {
	cli a replicaof 127.0.0.1 1
	run -78 redlock -k job -w 200ms -- witness "$T"
	[[ $output = *'is a replica'*redis-sentinel://*READONLY* ]]
	helper "$REDLOCK" -u "$url" -k job -- witness "$T" 2>"$T/err"
	holder=$!
	wait_until contains "$T/err" READONLY
	cli a replicaof no one
	ends_with 0
}

# Node b, known to be loading, with the keys it had.
load_slowly() {
	# it looks up from its file every 2 MB; few keys, because on a busy
	# machine each of its short sleeps is a long one
	cli b config set rdbcompression no
	cli b eval "local v = string.rep('x', 200000)
		for i = 1, 50 do redis.call('set', 'k' .. i, v) end" 0
	cli b save
	node_kill b
	env -u REDLOCK_TEST_ID redis-server --port 0 \
		--unixsocket "$T/b.sock" --save '' --dir "$T" \
		--dbfilename b.rdb --daemonize yes --pidfile "$T/b.pid" \
		--key-load-delay 8000 --loglevel warning >/dev/null 3>&-
	wait_until loading
}
loading() { case "$(cli b get k1 2>&1)" in LOADING*) ;; *) return 1 ;; esac; }
unload() {
	wait_until node_answers b
	cli b eval "for i = 1, 500 do redis.call('del', 'k' .. i) end" 0
}

@test "a server that is loading is waited for while acquiring" {
	node_b --dbfilename b.rdb
	load_slowly
	run -69 redlock -n -k job -- witness "$T"
	[[ $output = *LOADING* ]]
	redlock -k job -- witness "$T"
	unload
}

@test "a server that crashes and loads for 0.4 T disturbs no holder" {
	may_need_another_try "a machine that stalls makes the outage longer than what is survived"
	node_b --dbfilename b.rdb
	hold 1100 -t 1500ms -v
	load_slowly
	wait_until contains "$T/err" LOADING
	wait_until contains "$T/err" 'renewed again'
	ends_with 0
	unload
}

@test "a server busy with a script is waited for, and the script is left alone" {
	cli a config set lua-time-limit 20
	hold 800
	cli a eval 'while true do end' 0 >"$T/script" 2>&1 3>&- &
	wait_until contains "$T/err" BUSY
	[ ! -s "$T/script" ] # nobody but us ends it
	cli a script kill
	wait_until contains "$T/err" 'renewed again'
	ends_with 0
	contains "$T/script" 'killed by user'
}

# ---- more refusals ----

@test "NOREPLICAS is retried" {
	heeded_by_scripts
	errs_for_a_while NOREPLICAS 'cli a config set min-replicas-to-write 1' \
		'cli a config set min-replicas-to-write 0'
}

@test "MASTERDOWN is retried" {
	cli a config set replica-serve-stale-data no
	errs_for_a_while MASTERDOWN 'cli a replicaof 127.0.0.1 1' \
		'cli a replicaof no one'
}

# Node b, which refuses writes as soon as a BGSAVE has failed.
node_that_cannot_save() {
	mkdir "$T/gone"
	node_b --dir "$T/gone" --stop-writes-on-bgsave-error yes
	cli b config set save '3600 1'
	rmdir "$T/gone"
}
says() { case "$(cli "$1" set probe 1 2>&1)" in $2*) ;; *) return 1 ;; esac; }

@test "MISCONF, a server that cannot save, is retried" {
	node_that_cannot_save
	errs_for_a_while MISCONF 'cli b bgsave' \
		'cli b config set stop-writes-on-bgsave-error no'
	cli b config set save ''
}

# Who wants the lock meets such an error, which a short wait ends with; and who
# waits longer gets it when the error ends: waited_out TEXT OFF
waited_out() {
	run -69 redlock -k job -w 200ms -- witness "$T"
	[[ $output = *"$1"* ]]
	[ "$(holds)" = 0 ]
	helper "$REDLOCK" -u "$url" -k job -- witness "$T" 2>"$T/err"
	holder=$!
	wait_until contains "$T/err" "$1"
	eval "$2" >/dev/null
	ends_with 0
	[ "$(holds)" = 1 ]
}

@test "NOREPLICAS is waited out while acquiring, and named when the wait is over" {
	heeded_by_scripts
	cli a config set min-replicas-to-write 1
	waited_out NOREPLICAS 'cli a config set min-replicas-to-write 0'
}

@test "MASTERDOWN is waited out while acquiring, and named when the wait is over" {
	heeded_by_scripts
	cli a config set replica-serve-stale-data no
	cli a replicaof 127.0.0.1 1
	waited_out MASTERDOWN 'cli a replicaof no one'
}

@test "MISCONF is waited out while acquiring, and named when the wait is over" {
	heeded_by_scripts
	node_that_cannot_save
	cli b bgsave
	wait_until says b MISCONF
	waited_out MISCONF 'cli b config set stop-writes-on-bgsave-error no'
	cli b del probe
	cli b config set save ''
}

# ---- the disk ----

# Node b, whose append-only file is on a disk of 1 MB of its own.
node_on_a_small_disk() {
	local via

	private_mounts
	mkdir "$T/disk"
	"${within[@]}" mount -t tmpfs -o size=1m tmpfs "$T/disk"
	via=("${within[@]}")
	node_b --dir "$T/disk" --appendonly yes --appendfsync everysec
}
fill_disk() {
	"${within[@]}" dd if=/dev/zero of="$T/disk/fill" bs=1k status=none \
		2>/dev/null || true
	# what is left of its last page
	wait_until eval 'cli b set probe "$(printf %5000d 1)" 2>&1 | grep -q MISCONF'
}
# (the server looks again once a second)
empty_disk() { "${within[@]}" rm "$T/disk/fill"; }
settle_disk() {
	[ ! -e "/proc/$space/root$T/disk/fill" ] || empty_disk
	wait_until eval '[ "$(cli b del probe 2>&1)" -ge 0 ]'
}

@test "a full disk under the AOF: a hold outlives it if it ends within 0.45 T" {
	node_on_a_small_disk
	hold open -t 6s
	fill_disk
	wait_until contains "$T/err" 'cannot renew: .*MISCONF'
	empty_disk
	wait_until contains "$T/err" 'renewed again'
	end_hold
	lacks "$T/err" SIGTERM
	settle_disk
}

@test "a full disk under the AOF for good: ended by the deadline, not before" {
	local before full dead

	node_on_a_small_disk
	hold 9000 -t 1500ms
	before=$(now_ms)
	fill_disk
	full=$(now_ms)
	wait_until gone "$worker"
	dead=$(now_ms)
	ends_with 125
	contains "$T/err" 'not renewed for'
	at_least "$((dead - before))" 600
	below "$((dead - full))" 1275
	settle_disk
}

@test "a full disk under the AOF is waited for while acquiring, and then named" {
	heeded_by_scripts
	node_on_a_small_disk
	fill_disk
	waited_out MISCONF empty_disk
	settle_disk
}

@test "a full disk under the AOF at the end: the command's status, and a warning" {
	node_on_a_small_disk
	hold_on -t 1500ms
	fill_disk
	touch "$T/end"
	ends_with 0
	contains "$T/err" 'release was not confirmed: .*MISCONF'
	settle_disk
	wait_until unset_on b job
}

# ---- the server's clock ----

clock_b() { node_start_clock b; url=unix://$T/b.sock; }
step() { node_step b "$1"; }

@test "a server clock set past the lease: the lock is set again in one renewal" {
	clock_b
	hold open -t 3s # it is looked at before the next renewal
	step 3600000
	unset_on b job
	wait_until set_on b job
	wait_until contains "$T/err" 'was missing'
	end_hold
}

@test "a server clock set forward a little shortens the lease: noticed, with a line" {
	clock_b
	hold open
	step 300
	wait_until contains "$T/err" 'clock was set forward'
	# four times as often from now on: T/24
	before=$(scripts_run b)
	sleep 0.25
	at_least "$(($(scripts_run b) - before))" 4
	end_hold
}

@test "a second holder after a clock step: larger fence, the first is killed" {
	clock_b
	direct=$url
	proxy_start b
	helper "$REDLOCK" -u "$url" -k job -t 10s -- \
		sh -c "echo \$REDLOCK_FENCE >$T/first; exec sleep 60" 2>"$T/err"
	holder=$!
	wait_until exists "$T/first"
	px silent
	step 3600000
	url=$direct
	helper "$REDLOCK" -u "$url" -k job -t 5s -- sh -c \
		"echo \$REDLOCK_FENCE >$T/second; linger until $T/end" 2>"$T/err.2"
	second=$!
	wait_until exists "$T/second"
	px pass
	began=$(now_ms)
	ends_with 125
	# not by the deadline, which is 0.65 T
	below "$(($(now_ms) - began))" 4000
	contains "$T/err" 'no longer ours'
	[ "$(cat "$T/second")" -gt "$(cat "$T/first")" ]
	set_on b job
	touch "$T/end"
	wait "$second"
}

@test "a server clock set back: a renewal corrects the lease, a release frees it" {
	clock_b
	hold open -t 3s
	step -7200000
	at_least "$(cli b pttl job)" 7000000
	wait_until pinned
	end_hold
	unset_on b job
	[ "$(fence_now)" -gt "$(cat "$T/fence")" ]
}
pinned() {
	local left

	left=$(cli b pttl job)
	[ "$left" -ge 0 ] && [ "$left" -le 3000 ]
}

@test "a server clock set back to before its start: the restart guard still holds" {
	clock_b
	run -75 redlock -n -k job --restart-guard 1h -- true
	[[ $output = *'a server has just started'* ]]
	step -7200000
	[[ $(cli b info server) = *'uptime_in_seconds:-'* ]]
	run -75 redlock -n -k job --restart-guard 1h -- true
	# for as long as it says, and not for as long as the clock was set back
	[[ $output =~ 'a server has just started'.*' (--restart-guard); '(1h|59m) ]]
}

# ---- what others do to the key ----

@test "FLUSHALL during a hold is healed, with the same token" {
	hold open
	token=$(cli a get job)
	cli a flushall
	wait_until set_on a job
	[ "$(cli a get job)" = "$token" ]
	wait_until contains "$T/err" 'was missing'
	end_hold
}

@test "FLUSHDB and SWAPDB during a hold are healed" {
	hold open
	cli a flushdb
	wait_until set_on a job
	cli a swapdb 0 1
	wait_until set_on a job
	end_hold
	cli a -n 1 flushdb
}

@test "FLUSHALL at every hold under 5 contenders: never two" {
	local i last=0

	hold 600 -t 400ms
	for i in 1 2 3 4; do waiter "$i" 600 -t 400ms & done
	wait_until four_wait
	for i in 1 2; do
		wait_until new_holder "$last"
		last=$(cat "$T/fence")
		# every waiter has looked since
		seen=$(scripts_run a)
		wait_until looked "$((seen + 12))"
		cli a flushall
	done
	ends_with 0
	wait_until five_ran
}
four_wait() { [ "$(cat "$T"/err.? 2>/dev/null | grep -c waiting)" = 4 ]; }
new_holder() { [ "$(cat "$T/fence")" != "$1" ] && set_on a job; }
looked() { [ "$(scripts_run a)" -ge "$1" ] || unset_on a job; }
five_ran() { [ "$(holds)" = 5 ]; }

@test "a lock deleted by hand is set again: a plain DEL breaks no lock" {
	hold open
	cli a del job
	wait_until set_on a job
	wait_until contains "$T/err" 'deleted by hand'
	end_hold
}

@test "another client had the lock between two renewals: lost, the holder is killed" {
	hold 9000
	# as if somebody else had held it, and left
	cli a eval "redis.call('hincrby', KEYS[2], 'fence', 1)
		redis.call('hset', KEYS[2], 'slot:0',
			'- 0 ' .. redis.call('hget', KEYS[2], 'fence') .. ' 0 -')
		return redis.call('del', KEYS[1])" 2 job 'job:redlock:{job}:state'
	began=$(now_ms)
	wait_until gone "$worker"
	below "$(($(now_ms) - began))" 400
	ends_with 125
	unset_on a job
}

@test "a late copy of a renewal sets a lost lock only until its lease is over" {
	local copy over

	again() { printf '%s\n' "$1" | redis-cli -s "$T/a.sock" | head -n 1; }
	later() { [ "$(now_ms)" -gt "$1" ]; }
	cli a monitor >"$T/seen" &
	helpers="$helpers $!"
	wait_until contains "$T/seen" OK
	hold open -t 2s -v
	wait_until said_renewed 2 # the first sends the script
	end_hold
	wait_until contains "$T/seen" '"xadd"' # by the release
	# (in a script, Valkey 8.1 does not show a backslash as two)
	copy=$(sed -n 's/^[^"]* \("EVALSHA\)/\1/p' "$T/seen" | tail -n 2 | head -n 1)
	over=$(($(now_ms) + 2000))
	cli a del job 'job:redlock:{job}:state'
	[ "$(again "$copy")" = healed ]
	set_on a job
	cli a del job 'job:redlock:{job}:state'
	wait_until later "$over"
	[ "$(again "$copy")" = no ]
	unset_on a job
}

@test "an overwritten lock is lost at the next answer; the other's is not touched" {
	hold 9000
	cli a set job other
	began=$(now_ms)
	wait_until gone "$worker"
	below "$(($(now_ms) - began))" 400
	ends_with 125
	contains "$T/err" 'no longer ours'
	[ "$(cli a get job)" = other ]
	[ "$(cli a pttl job)" = -1 ]
	cli a del job
	[ "$(fence_now)" -gt "$(cat "$T/fence")" ]
}

@test "a key of another type without expiry is no lock: status 78, not touched" {
	cli a rpush job x
	run -78 redlock -k job -- witness "$T"
	[[ $output = *'holds a list'* ]]
	cli a del job
	cli a hset job f v
	run -78 redlock -k job -n -- witness "$T"
	[[ $output = *'holds a hash'* ]]
	[ "$(cli a hget job f)" = v ]
	cli a del job
	[ "$(holds)" = 0 ]
}

@test "a key of another type during a hold means lost" {
	hold 9000
	cli a multi >/dev/null
	cli a eval "redis.call('del', 'job') redis.call('rpush', 'job', 'x')" 0
	began=$(now_ms)
	wait_until gone "$worker"
	below "$(($(now_ms) - began))" 400
	ends_with 125
	[ "$(cli a type job)" = list ]
	cli a del job
}

@test "a lock without expiry is waited for, never stolen, with a line" {
	cli a set job foreign
	run -75 redlock -k job -w 300ms -- witness "$T"
	[[ $output = *'without expiry'* && $output = *foreign* ]]
	[ "$(cli a get job)" = foreign ]
	waiter 1 1
	contains "$T/err.1" 'without expiry'
	[ "$(cli a pttl job)" = -1 ]
	cli a del job
	all_waiters_ran
	[ "$(holds)" = 1 ]
}

@test "SCRIPT FLUSH in a loop disturbs nothing" {
	hold open -t 1s -v
	until said_renewed 3; do cli a script flush >/dev/null; done
	end_hold
	only_renewed
}

@test "a script is sent whole once, and called by its hash from then on" {
	node_b
	local i

	for i in 1 2 3; do redlock -k job -- witness "$T"; done
	[ "$(scripts_run b)" = 6 ]
	# the first acquire, and before it an EVAL that teaches the release
	cli b info commandstats | grep -q '^cmdstat_eval:calls=2,'
	[ "$(holds)" = 3 ]
}

@test "a holder that sent its scripts whole calls them by their hash, too" {
	node_b
	hold open -t 1s -v
	wait_until said_renewed 4
	end_hold
	cli b info commandstats | grep -q '^cmdstat_eval:calls=3,' # release, acquire, confirm
}

@test "a server without EVALSHA gets the scripts whole" {
	node_b --rename-command EVALSHA ''
	hold open -t 1s -v
	wait_until said_renewed 2
	end_hold
	only_renewed
}

@test "a server without EVAL: status 78 and a clear line, at once" {
	node_b --rename-command EVAL ''
	run -78 redlock -k job -- witness "$T"
	[[ $output = *EVAL* ]]
	[ "${#lines[@]}" = 1 ]
}

# ---- connections ----

@test "a server with all its client places taken is waited for" {
	node_b --maxclients 3
	for i in 1 2 3; do
		helper redis-cli -s "$T/b.sock" subscribe x >"$T/sub.$i"
		last=$!
		wait_until contains "$T/sub.$i" subscribe
	done
	run -69 redlock -k job -w 200ms -- witness "$T"
	[[ $output = *'max number of clients'* ]]
	helper "$REDLOCK" -u "$url" -k job -- witness "$T" 2>"$T/err"
	holder=$!
	wait_until contains "$T/err" 'max number of clients'
	kill "$last"
	ends_with 0
	[ "$(holds)" = 1 ]
	kill_helpers || true
	wait_until node_answers b
}

@test "a holder keeps its connection, so a full house does not hurt it" {
	node_b --maxclients 3
	local n

	hold open -t 1s -v
	for i in 1 2; do
		helper redis-cli -s "$T/b.sock" subscribe x >"$T/sub.$i"
		wait_until contains "$T/sub.$i" subscribe
	done
	run -69 redlock -n -k other -- true
	[[ $output = *'max number of clients'* ]]
	n=$(grep -c 'renewed$' "$T/err") || true
	wait_until said_renewed $((n + 3))
	end_hold
	only_renewed
	kill_helpers || true
	wait_until node_answers b
}

@test "clients killed all the time: holders and waiters reconnect, nothing is lost" {
	local i

	hold 500
	for i in 1 2 3; do waiter "$i" 100 & done
	wait_until three_wait
	while [ "$(holds)" -lt 4 ]; do
		cli a client kill type normal skipme yes >/dev/null
		sleep 0.05
	done
	ends_with 0
	lacks "$T/err" "lease lost"
}
three_wait() { [ "$(cat "$T"/err.? 2>/dev/null | grep -c waiting)" = 3 ]; }

@test "a killed connection is noticed and replaced at once, not at the next renewal" {
	hold 500 -t 6s
	cli a client kill type normal skipme yes
	began=$(now_ms)
	wait_until connected
	below "$(($(now_ms) - began))" 400
	ends_with 0
}
# our redis-cli and the holder
connected() { [ "$(cli a client list | wc -l)" -ge 2 ]; }

@test "CLIENT PAUSE WRITE for 0.4 T disturbs nothing" {
	hold 800
	[ "$(cli a client pause 400 WRITE)" = OK ] ||
		skip 'only pauses everything (before 6.2)'
	ends_with 0
	lacks "$T/err" SIGTERM
}

@test "CLIENT PAUSE ALL past the deadline: killed in time, nothing left afterwards" {
	node_b
	hold 9000 -t 2s
	began=$(now_ms)
	cli b client pause 3000 # ALL
	wait_until gone "$worker"
	below "$(($(now_ms) - began))" 1700
	ends_with 125
	wait_until unset_on b job
}

# ---- ports without a Redis server ----

# Servers of each kind at once, for giving up takes a second: rubbish BYTES...
# (as for printf); what redlock said of number N is in $T/said.N.
rubbish() {
	local i=0 bytes pids=

	for bytes; do
		i=$((i + 1))
		# shellcheck disable=SC2059
		printf "$bytes" >"$T/rubbish.$i"
		echo "answer $T/rubbish.$i" >"$T/px.$i"
		helper proxy "$T/$i.sock" "$T/a.sock" "$T/px.$i" >"$T/log.$i"
		wait_until exists "$T/$i.sock"
		{
			rc=0
			"$REDLOCK" -u "unix://$T/$i.sock" -k job -w 200ms \
				-- witness "$T" 2>"$T/said.$i" || rc=$?
			echo "status $rc" >>"$T/said.$i"
		} 3>&- &
		pids="$pids $!"
	done
	wait $pids
	i=0
	for bytes; do
		i=$((i + 1))
		echo "$bytes: $(cat "$T/said.$i")"
		contains "$T/log.$i" answer
		contains "$T/said.$i" "status 69"
		[ "$(wc -l <"$T/said.$i")" = 2 ]
	done
	[ "$(holds)" = 0 ]
}

@test "an HTTP server, a TLS port and other garbage: unavailable, said in one line" {
	rubbish 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n' \
		'\025\003\001\000\002\002\n' '\000\000\000\000' '$-7\r\n' \
		'*2\r\n+granted\r\n+12x\r\n' '*2\r\n+granted\r\n:-5\r\n' \
		'*1\r\n+granted\r\n' '+granted\r\n' '*0\r\n' '*-1\r\n' \
		'$-1\r\n' ':1\r\n'
	contains "$T/said.1" 'not a Redis server'
	contains "$T/said.2" 'the server uses TLS: write rediss://'
	contains "$T/said.7" "unexpected reply from redlock's script"
}

@test "half a reply, an endless one, a deep one: bounded in time and memory" {
	rubbish '*2\r\n+gran' '$1000000000\r\nx' '*2000000000\r\n' \
		'*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n' \
		"\$200000\\r\\n$(head -c 100000 /dev/zero | tr '\0' x)"
	contains "$T/said.5" 'too long'
}

@test "garbage during a hold is a failure like any other, and is survived" {
	proxy_start a
	hold 800
	echo 'HTTP/1.1 502 Bad Gateway' >"$T/rubbish"
	px answer "$T/rubbish"
	wait_until contains "$T/err" 'not a Redis server'
	px pass
	wait_until contains "$T/err" 'renewed again'
	ends_with 0
}

@test "a server that stalls for 0.4 T or rewrites its AOF disturbs nothing" {
	local debug=()

	! server_is_at_least 7.0 || debug=(--enable-debug-command yes)
	node_b "${debug[@]}" --appendonly yes
	cli b debug populate 20000 fill 100
	hold 1200
	cli b debug sleep 0.4
	cli b bgrewriteaof
	cli b debug sleep 0.2
	ends_with 0
	lacks "$T/err" SIGTERM
	cli b eval "for _, k in ipairs(redis.call('keys', 'fill:*')) do
		redis.call('del', k) end" 0
}

# ---- the counter ----

@test "a counter that is not a number is lost data: the next fence is larger" {
	local bad fence before

	before=$(redlock -k job -- sh -c 'echo "$REDLOCK_FENCE"')
	for bad in abc -1 1.5 1e3 '' ' 1' 9007199254740993 99999999999999999999; do
		cli a hset 'job:redlock:{job}:state' fence "$bad"
		fence=$(redlock -k job -n -- sh -c 'echo "$REDLOCK_FENCE"')
		[ "$fence" -gt "$before" ]
		[ "$fence" -le "$(counter a)" ]
		before=$fence
		unset_on a job
	done
}

@test "a counter damaged during a hold ends nothing; others wait for the lease" {
	hold open -t 1s
	cli a hset 'job:redlock:{job}:state' fence abc
	wait_until contains "$T/err" 'was missing'
	end_hold
	unset_on a job
	run -75 redlock -n -k job -- true
	[[ $output == *'lost data'* ]]
	redlock -w 5s -k job -- true
}

# ---- a newer redlock ----

# Prints a digest of all that the server has, or of the keys that match PATTERN. (The
# fields of a hash are in an order that changes while nobody writes.)
stored() { # [PATTERN]
	cli a eval "
		local all = {}
		for _, key in ipairs(redis.call('keys', ARGV[1])) do
			local what
			if redis.call('type', key).ok ~= 'hash' then
				what = redis.call('dump', key)
			else
				local flat, fields = redis.call('hgetall', key), {}
				for i = 1, #flat, 2 do
					fields[#fields + 1] = flat[i] .. '=' .. flat[i + 1]
				end
				table.sort(fields)
				what = table.concat(fields, '\n')
			end
			all[#all + 1] = key .. redis.sha1hex(what)
		end
		table.sort(all)
		return table.concat(all, ' ')" 0 "${1-*}"
}

@test "a lock that a newer redlock wrote: 78, one line, and nothing is touched" {
	local before

	redlock -k job -- true
	cli a hset 'job:redlock:{job}:state' v 3 >/dev/null
	before=$(stored)
	for verb in '-n -k job -- true' '-k job -s -w 1s -- true' 'inspect job' \
		'wait job' 'lock job' 'force-release job --confirm job' \
		'unlock job --token 11111111-1111-4111-8111-111111111111' \
		'extend job --token 11111111-1111-4111-8111-111111111111'; do
		verb=($verb)
		case ${verb[0]} in
		-*) run -78 --separate-stderr redlock "${verb[@]}" ;;
		*) run -78 --separate-stderr "$REDLOCK" "${verb[0]}" -u "$url" "${verb[@]:1}" ;;
		esac
		[ "${#stderr_lines[@]}" = 1 ]
		[[ $stderr == *'the lock was written by a newer redlock; use that one everywhere' ]]
	done
	[ "$(stored)" = "$before" ]
}

@test "a lock that a newer redlock takes over is lost by its deadline, not touched" {
	local before began

	hold 60000 -t 3s
	cli a hset "$(state_of job)" v 3 >/dev/null
	before=$(stored "$(state_of job)")
	began=$(now_ms)
	wait_until gone "$worker"
	below "$(($(now_ms) - began))" 2550
	ends_with 125
	contains "$T/err" 'written by a newer redlock'
	[ "$(stored "$(state_of job)")" = "$before" ]
	cli a flushall >/dev/null
}

# ---- what an outage says ----

@test "an outage says how long until the command is killed, or the hold ends" {
	local retry='cannot renew: .*; retrying' left='in [1-8]\.[0-9]s'

	node_b
	hold 20000 -t 9s
	helper "$REDLOCK" lock -u "$url" -k other -t 9s --hold >"$T/token" 2>"$T/err.2"
	local second=$!
	wait_until test -s "$T/token"
	node_kill b
	wait_until contains "$T/err" \
		"$retry; the command is killed $left unless the server answers$"
	wait_until contains "$T/err.2" \
		"$retry; the hold ends $left unless the server answers$"
	kill -KILL "$worker"
	kill "$second"
	node_start b # or their guards go on for the rest of the leases
	ends_with 137
}
