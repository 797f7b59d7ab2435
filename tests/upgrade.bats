#!/usr/bin/env bats
# Two versions on one key. `make check-upgrade` builds the last commit that kept
# a lock in several keys, and an older one with the layout of today, and says where
# they are (OLD_REDLOCK, WITHIN_REDLOCK); without that, the tests that need them are
# skipped.

load lib/common

need_old() { [ -x "${OLD_REDLOCK-}" ] || skip "no OLD_REDLOCK: see make check-upgrade"; }
old() { "$OLD_REDLOCK" -u "$url" "$@"; }
fence_of() { # COMMAND...
	"$@" -k job -- sh -c 'echo "$REDLOCK_FENCE"'
}

@test "while the old one holds, the new one waits, and gets the lock then" {
	need_old
	for kind in '' -s '-N 1'; do
		helper "$OLD_REDLOCK" -u "$url" -k job $kind -- witness "$T" --until "$T/end" \
			--started "$T/started"
		holder=$!
		wait_until exists "$T/started"
		run -75 redlock -k job -n -- witness "$T"
		helper "$REDLOCK" -u "$url" -k job -w 20s -- witness "$T"
		waiter=$!
		wait_until in_line 1
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

@test "the new one takes a free lock with old companions, with a larger fence" {
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

# ---- of one layout: see docs/compatibility.md ----

need_within() { [ -x "${WITHIN_REDLOCK-}" ] || skip "no WITHIN_REDLOCK: see make check-upgrade"; }
# Four clients of each version, five runs each, with these options.
mixed() { # OPTION...
	local clients='' client i

	for client in "$REDLOCK" "$WITHIN_REDLOCK" "$REDLOCK" "$WITHIN_REDLOCK" \
		"$REDLOCK" "$WITHIN_REDLOCK" "$REDLOCK" "$WITHIN_REDLOCK"; do
		take_turns() {
			for i in 1 2 3 4 5; do
				"$client" -u "$url" -k job -t 2s -w 20s "$@" 2>>"$T/said" || return
			done
		}
		helper take_turns "$@"
		clients="$clients $!"
	done
	for client in $clients; do ended_as "$client" 0; done
}
@test "two versions of one layout take turns on one lock: one at a time, fences grow" {
	need_within
	mixed -- witness "$T" --hold 5
	[ "$(holds)" = 40 ]
	mixed -s -- true
	mixed -N 3 -- true
	mixed --priority high -- sh -c '"$0" -q -u "$1" -k job -- true' "$REDLOCK" "$url"
	"$WITHIN_REDLOCK" doctor -u "$url" job
	redlock -k job -- true
	"$REDLOCK" doctor -u "$url" job
}

@test "a version reads, stops and hands on what another of its layout holds" {
	local one two token

	need_within
	for one in "$REDLOCK" "$WITHIN_REDLOCK"; do
		two=$WITHIN_REDLOCK
		[ "$one" = "$REDLOCK" ] || two=$REDLOCK
		token=$("$one" lock -u "$url" -t 30s --reason 'a reason' job)
		run -0 "$two" inspect -u "$url" job --json
		[[ $output == *"\"token\":\"$token\""*'"reason":"a reason"'* ]]
		helper "$one" -q -u "$url" -k job -- witness "$T"
		wait_until in_line 1
		run -0 "$two" list -u "$url"
		[[ $output == *job* ]]
		"$two" extend -u "$url" -t 20s --token "$token" job
		"$two" unlock -u "$url" --token "$token" job
		ended_as "$!" 0
		hold 60000
		"$WITHIN_REDLOCK" force-release -u "$url" job --confirm job --grace 1s
		ends_with 125
		run -0 "$two" history -u "$url" job
		[[ $output == *forced* ]]
	done
}
