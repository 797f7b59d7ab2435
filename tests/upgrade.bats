#!/usr/bin/env bats
# Two versions on one key. `make check-upgrade` builds the last commit that kept
# a lock in several keys, and says where it is (OLD_REDLOCK); without that, the
# tests that need it are skipped.

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
