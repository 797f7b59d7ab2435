#!/usr/bin/env bats
# Programs other than redlock that use the same key.

load lib/common
load lib/line

# The other program's lock is there for as long as we look, and then we wait for it.
ends_soon() { cli a pexpire job 300 >/dev/null; }

@test "foreign: a plain key with any token is waited for, shown escaped, never touched" {
	cli a eval 'return redis.call("set", KEYS[1], "a\nb\27[31m\255", "px", 60000)' \
		1 job
	run -75 redlock -k job -n -- witness "$T"
	[[ $output = *'another program'* && $output != *$'\033'* ]]
	[ "${#lines[@]}" = 1 ]
	ends_soon
	redlock -q -k job -- witness "$T"
	[ "$(holds)" = 1 ]
}

@test "foreign: an empty token, and one of 100 kB, count as holders" {
	cli a set job '' px 60000
	run -75 redlock -k job -n -- witness "$T"
	head -c 100000 /dev/zero | tr '\0' x | cli a -x set job
	[ "$(cli a pexpire job 60000)" = 1 ]
	[ "$(cli a strlen job)" = 100000 ]
	run -75 redlock -k job -n -- witness "$T"
	ends_soon
	redlock -q -k job -- witness "$T"
	[ "$(holds)" = 1 ]
}

@test "foreign: another program's SET NX fails while we hold, and works afterwards" {
	hold open
	[ "$(cli a set job theirs nx px 60000)" = "" ]
	end_hold
	[ "$(cli a set job theirs nx px 60000)" = OK ]
	run -75 redlock -k job -n -- witness "$T"
	[ "$(cli a get job)" = theirs ]
	ends_soon
	redlock -q -k job -- witness "$T"
}

@test "foreign: a plain release of another program frees its lock for us" {
	cli a set job theirs px 60000
	start_hold 10
	wait_until contains "$T/err" 'another program'
	cli a eval "if redis.call('get', KEYS[1]) == ARGV[1] then
		return redis.call('del', KEYS[1]) end" 1 job theirs
	ends_with 0
	[ "$(holds)" = 1 ]
}

@test "foreign: a hash or zset with an expiry is waited for, never deleted" {
	cli a hset job uuid:1 1
	cli a pexpire job 60000
	run -75 redlock -k job -n -- witness "$T"
	[[ $output = *'the key holds a hash'* ]]
	[ "$(cli a type job)" = hash ]
	ends_soon
	redlock -q -k job -- witness "$T"
	cli a zadd job 1 token
	cli a pexpire job 60000
	run -75 redlock -k job -n -- witness "$T"
	[[ $output = *'the key holds a zset'* ]]
	ends_soon
	redlock -q -k job -- witness "$T"
	[ "$(holds)" = 2 ]
}

@test "foreign: the record of a holder that is gone does not describe the next" {
	hold 100
	ends_with 0
	forge_holder a job elsewhere
	run -75 redlock -k job -n -- witness "$T"
	[[ $output = *elsewhere* ]] # a record that is read
	forge_holder a job elsewhere 1 1
	cli a set job theirs px 60000
	run -75 redlock -k job -n -- witness "$T"
	[[ $output = *'another program'* && $output != *elsewhere* ]]
	ends_soon
	redlock -q -k job -- witness "$T"
}

@test "foreign: a lock without expiry is waited for, with a warning" {
	cli a set job theirs >/dev/null
	line 1
	wait_until contains "$T/err.1" \
		'held by another program, token theirs, without expiry'
	run -75 redlock -k job -w 400ms -- true
	cli a del job >/dev/null
	all_ran 1
}

@test "foreign: waiters behind another program's lock are served in order" {
	cli a set job theirs px 60000 >/dev/null
	for i in 1 2 3 4; do line "$i"; done
	cli a del job >/dev/null
	all_ran 1 2 3 4
}
