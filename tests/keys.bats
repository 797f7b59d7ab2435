#!/usr/bin/env bats
# Several keys at once.

load lib/common
load lib/kinds

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

@test "several keys: none is acquired while one is missing, and none is kept meanwhile" {
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

@test "several keys: a message about one key names it" {
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
	# a is acquired, and released again for job: then with new tokens
	start -k a -k job -t 2s -- true
	wait_until in_line 1
	wait_until free a
	kill -KILL "$tool"
	wait_until in_line 0
	let_go h
	ended h
}

@test "several keys: kill -9 releases all of them" {
	start -k a -k b -- sh -c "echo on >'$T/on.x'; sleep 30"
	wait_until begun x
	kill -KILL "$tool"
	wait_until free a
	wait_until free b
}
