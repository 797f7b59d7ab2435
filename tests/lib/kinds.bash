# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Clients of several kinds, and which of them may run together: for nesting, leases,
# keys, slots, readers, rollback, limits, once and orphans.

# How a client runs: alone, or together with others that say `together`; flock(2)
# notices if that is not so. It ends when its file $T/stay.NAME is gone.
stays=$'while [ -e "$T/stay.$1" ]; do sleep 0.05; done'
alone='flock -n -x "$T/rw" -c "$0" || echo "$1 is not alone" >>"$T/errors"'
together='flock -n -s "$T/rw" -c "$0" || echo "$1 is with a writer" >>"$T/errors"'
declare -gA pid # bats reads this file in a function
waiting=0
queue='job:redlock:{job}:queue'
state='job:redlock:{job}:state'
# may include expired ones
entries() { cli a hkeys "$state" | grep -c '^hold:' || true; }
has_slot() { [[ $(cli a hget "$state" "slot:$1") =~ ^[^-]. ]]; } # somebody
begun() { [ -e "$T/on.$1" ]; }
# Starts client NAME in the background, until let_go NAME: a reader, a writer, or as
# the options say. ${pid[NAME]} is redlock's pid.
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
running() { # CLIENT...: waits until they have the lock
	local n
	for n; do
		wait_until begun "$n" || { cat "$T/err.$n" >&2; return 1; }
	done
}

lines_up() { # KIND NAME [OPTION...]: waits last in line
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
# Its machine dies, the command last.
dies() { # NAME
	local tree

	wait_until has_guard "${pid[$1]}"
	tree=$(pgrep -P "$(guard_of "${pid[$1]}")" || true) # a waiter has none
	crash "${pid[$1]}"
	let_go "$1"
	kill -KILL $tree 2>/dev/null || true
}
gone_quiet() { ! pgrep -f "$T/stay.$1" >/dev/null; }
busy() { redlock -q -k job -n "$@" -- true && return 1 || [ $? = 75 ]; }
lock() { cli a get job; }
inner() { echo "'$REDLOCK' -u '$url' -k ${1-job}"; }
bare="env -i PATH=$PATH" # as after su -, or in cron
# Runs a script under the lock, in which `refused COMMAND...` means: it would wait for
# the run around it, and says so.
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
pttl() { cli a pttl job; }
# For how long nobody new gets the lock: a lease, or the pause after a loss of data.
kept_for() {
	local shut ms

	shut=$(cli a hget "$state" shut)
	shut=$((${shut:-0} - $(now_ms)))
	ms=$(pttl)
	echo $((ms > shut ? ms : shut))
}

frozen() { # CLIENT: cannot renew; its lease and its deadman go on
	kill -STOP "${pid[$1]}"
	wait_until stopped "${pid[$1]}"
}
thawed() { kill -CONT "${pid[$1]}"; }
renewals() {
	cli a hget 'job:redlock:{job}:state' "hold:$(cli a get job)" | cut -d ' ' -f 2
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
revision() { cli a --raw hget "$state" revision | head -n 1; }
