#!/usr/bin/env bats
# Two versions on one key. `make check-upgrade` builds the last commit that kept
# a lock in several keys, and says where it is (OLD_REDLOCK); without that, the
# tests that need it are skipped.

load lib/common

state='job:redlock:{job}:state'
need_old() { [ -x "${OLD_REDLOCK-}" ] || skip "no OLD_REDLOCK: see make check-upgrade"; }
old() { "$OLD_REDLOCK" -u "$url" "$@"; }
fence_of() { # COMMAND...
	"$@" -k job -- sh -c 'echo "$REDLOCK_FENCE"'
}
# whatever KEYS match, as bytes
stored() { cli a eval "
	local all = {}
	for _, key in ipairs(redis.call('keys', '*')) do
		all[#all + 1] = key .. redis.sha1hex(redis.call('dump', key))
	end
	table.sort(all)
	return table.concat(all, ' ')" 0; }

@test "while the old one holds, the new one waits, and gets it when that one ends" {
	need_old
	for kind in '' -s '-N 1'; do
		helper "$OLD_REDLOCK" -u "$url" -k job $kind -- witness "$T" --until "$T/end" \
			--started "$T/started"
		holder=$!
		wait_until exists "$T/started"
		run -75 redlock -k job -n -- witness "$T"
		helper "$REDLOCK" -u "$url" -k job -w 20s -- witness "$T"
		waiter=$!
		wait_until eval '[ "$(cli a zcard "job:redlock:{job}:queue")" = 1 ]'
		end_hold
		wait "$waiter"
		rm "$T/started" "$T/end"
	done
	[ "$(holds)" = 6 ]
}

@test "while the new one holds, the old one does not get it" {
	need_old
	for kind in '' -s '-N 1'; do
		hold open $kind
		run -75 old -k job -n -- witness "$T"
		run -75 old -k job -w 300ms -- witness "$T"
		end_hold
	done
	[ "$(holds)" = 3 ]
}

@test "the new one takes a free lock whose old companions are there, and its fence is larger" {
	local kind before

	need_old
	for kind in '' -s '-N 3' '--min-hold 10ms' '--once-per 10ms' --supersede; do
		before=$(fence_of old $kind)
		helper "$OLD_REDLOCK" -q -u "$url" -k job -- true
		wait "$!"
		[ "$(fence_of redlock -w 5s)" -gt "$before" ]
	done
	"$REDLOCK" history -u "$url" job >"$T/history"
	"$REDLOCK" doctor -u "$url" job >"$T/doctor" || cat "$T/doctor"
}

@test "a lock that a newer redlock wrote: 78, one line, and nothing is touched" {
	local before

	redlock -k job -- true
	cli a hset "$state" v 3 >/dev/null
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

@test "a lock that a newer redlock takes over in mid hold is lost by its deadline, and not touched" {
	hold 60000 -t 1s
	cli a hset "$state" v 3 >/dev/null
	ends_with 125
	contains "$T/err" 'written by a newer redlock'
	cli a flushall >/dev/null
}
