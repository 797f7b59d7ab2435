#!/usr/bin/env bats
# --once-per, --once-for and --revision.

load lib/common
load lib/kinds

@test "--once-per: after a success nobody runs it within the time, on any machine" {
	redlock -k job --once-per 1500ms -- sh -c "echo 1 >>'$T/runs'"
	run -0 redlock -k job --once-per 1500ms --result-file "$T/result" -- \
		sh -c "echo 2 >>'$T/runs'"
	[[ $output = *"already ran on $(hostname) at 20"*" UTC; not again for "*"s \
(--once-per); without --once-per it runs; to forget it: redlock force-release job \
--marks" ]]
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
	run -0 redlock -k job --once-per 60s -- true
	at=$(sed -n 's/.* at \(20[^;]*\);.*/\1/p' <<<"$output")
	[ -n "$at" ]
	at=$(date -d "$at" +%s)
	below "$at" "$began"
	cli a hdel "$state" once >/dev/null
	redlock -k job --once-per 200ms -- sleep 0.3
	[ "$(marks)" = 0 ]
}

@test "--once-counts any: a run that began is not repeated, whatever became of it" {
	vforks
	local how= json='"outcome" not in d["once"]'
	# STATUS MARKS [OPTION...] -- COMMAND...; then others are told `how` it ended
	once() {
		local want=$1 marks=$2

		shift 2
		run "-$want" redlock -q -k job --once-per 60s --once-counts any "$@"
		[ "$(marks)" = "$marks" ]
		[ "$marks" = 0 ] || {
			run -0 redlock -k job --once-per 60s -- touch "$T/again"
			[[ $output = *" UTC$how; not again for "* ]]
			run redlock inspect job
			[[ $output = *$'\n  once      ran on '"$(hostname) at 20"*" UTC$how; not \
again for "*"s; a run without --once-per runs"* ]]
			as_in_manual "$(redlock inspect job --json)" 'assert '"$json"
		}
		[ ! -e "$T/again" ]
		cli a flushall >/dev/null
	}
	once 0 1 -- true
	json='d["once"]["outcome"] == "failed" and d["once"]["exit"] == 4 and \
0 < d["once"]["left_ms"] < 60000 and d["once"]["command"] == "sh"'
	how=' (failed, exit 4)' once 4 1 -- sh -c 'exit 4'
	how=' (failed, exit 4)' once 4 1 --no-history -- sh -c 'exit 4'
	json=True
	how=' (failed, signal 9)' once 137 1 -- sh -c 'kill -9 $$'
	how=' (max-hold, signal 15)' once 124 1 --max-hold 50ms -- sleep 5
	once 127 0 -- /no/such
	how=' (lost, signal 9)' once 125 1 -t 1s -- sh -c 'redis-cli -s "$T/a.sock" set job other >/dev/null
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

@test "--once-per: a success counts though the lock vanished or memory is full" {
	redlock -k job --once-per 60s -- redis-cli -s "$T/a.sock" flushall >/dev/null
	run redlock -k job --once-per 60s -- touch "$T/ran.1"
	redlock -k other --once-per 60s -- redis-cli -s "$T/a.sock" config set \
		maxmemory 1 >/dev/null
	cli a config set maxmemory 0 >/dev/null
	run redlock -k other --once-per 60s -- touch "$T/ran.2"
	[ ! -e "$T/ran.1" ]
	[ ! -e "$T/ran.2" ]
}

@test "--once-per: works inside a run that holds the lock" {
	for i in 1 2; do
		redlock -q -k job -- sh -c "$(inner) -q --once-per 60s -- sh -c \
			'echo ran >>\"$T/runs\"'"
	done
	[ "$(grep -c ran "$T/runs")" = 1 ]
}

@test "--once-per: runs that waited meanwhile do not repeat it, and pass the lock on" {
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

labels() { # LABEL [OPTION...]: it runs
	redlock -q -k job --once-for "$@" -- sh -c "echo '$1' >>'$T/runs'"
}
skips() { # LABEL [OPTION...]: it does not run
	run -0 redlock -k job --once-for "$@" -- sh -c "echo 'again $1' >>'$T/runs'"
	[ "${#lines[@]}" = 1 ]
	[[ $output = *"already ran for $1 on $(hostname) at 20"* ]]
}
runs() { tr '\n' ' ' <"$T/runs"; }
label() { cli a --raw hget "$state" label | head -n 1; }

@test "--once-for: not again for the label of the last success; any other one runs" {
	labels v1
	skips v1 --result-file "$T/result"
	contains "$T/result" '"outcome":"already-ran","exit":0'
	[[ $output = *" UTC; to run it again: redlock force-release job --marks" ]]
	labels v1.1
	skips v1.1
	labels v1 # the last success had another
	redlock -k job -- true
	skips v1
	run -0 env REDLOCK_ONCE_FOR=v1 "$REDLOCK" -q -u "$url" -k job -- touch "$T/ran"
	[ ! -e "$T/ran" ]
	# any text, as it is
	for l in ' a  b ' '100% of 2026-11-28 *' 'größe' "it's \\n" "$(printf '%0255d' 7)"; do
		redlock -q -k job --once-for "$l" -- touch "$T/ran"
		rm "$T/ran"
		redlock -q -k job --once-for "$l" -- touch "$T/ran"
		[ ! -e "$T/ran" ]
		[ "$(label)" = "$l" ]
	done
	[ "$(runs)" = 'v1 v1.1 v1 ' ]
	redlock force-release job --marks --confirm job 2>"$T/err"
	contains "$T/err" 'forgotten what --once-per, --once-for and --revision remembered'
	labels v1
}

@test "--once-for: an empty label, control characters and 256 bytes are refused" {
	for l in '' $'a\nb' $'\t' $'\177' "$(printf '%0256d' 7)"; do
		run -64 redlock -k job --once-for "$l" -- touch "$T/ran"
		[ "${#lines[@]}" = 1 ]
		[[ $output = *'--once-for'* ]]
	done
	# shellcheck disable=SC2086
	run -64 redlock -k job --once-for $none -- touch "$T/ran"
	[[ $output = *"is a variable empty?"* ]]
	run -64 redlock lock job --once-for v1
	[ ! -e "$T/ran" ]
}

@test "--once-for: a failure, a kill and a loss leave the mark of the last success" {
	vforks
	labels v1
	run -1 redlock -q -k job --once-for v2 -- false
	run -137 redlock -q -k job --once-for v2 -- sh -c 'kill -9 $$'
	run -127 redlock -q -k job --once-for v2 -- /no/such
	run -124 redlock -q -k job --once-for v2 --max-hold 50ms -- sleep 5
	run -125 redlock -q -k job --once-for v2 -t 1s -- \
		sh -c 'redis-cli -s "$T/a.sock" set job other >/dev/null; exec sleep 60'
	cli a del job >/dev/null
	[ "$(label)" = v1 ]
	skips v1
	labels v2
	run -127 redlock -q -k job --once-for v3 --once-counts any -- /no/such
	[ "$(label)" = v2 ]
	# a success counts though the lock vanished
	redlock -q -k job --once-for v3 -- redis-cli -s "$T/a.sock" flushall >/dev/null
	wait_until eval '[ "$(label)" = v3 ]'
	skips v3
}

@test "--once-for, --once-counts any: a failure counts, and others are told of it" {
	run -4 redlock -q -k job --once-for v1 --once-counts any -- sh -c 'exit 4'
	skips v1
	[[ $output = *' UTC (failed, exit 4); to run it again'* ]]
	redlock inspect job | grep -Eq "^  label     v1 at 20[-0-9: ]* UTC \(failed, exit 4\) by .*, sh\$"
	as_in_manual "$(redlock inspect job --json)" 'assert d["label"]["name"] == "v1" and \
d["label"]["outcome"] == "failed" and d["label"]["exit"] == 4 and d["label"]["command"] == "sh"'
	run -124 redlock -q -k job --once-for v2 --once-counts any --max-hold 50ms -- sleep 5
	skips v2
	[[ $output = *' UTC (max-hold, signal 15)'* ]]
	# redlock itself is killed: its guard releases the lock
	start -q -k job --once-for v3 --once-counts any -- sh -c ': >"$T/on"; exec linger'
	wait_until exists "$T/on"
	kill -9 "$tool"
	wait_until lock_is_free
	[ "$(label)" = v3 ]
	skips v3
}

@test "--once-for: who comes meanwhile waits; if the first is killed, the next one runs" {
	client first "$alone" --once-for v1
	running first
	lines_up client second "$alone" --once-for v1
	lines_up client third "$alone" --once-for v1
	lines_up client other "$alone" --once-for v2
	lines_up client fifth "$alone" --once-for v1
	kill -9 "${pid[first]}"
	running second
	not begun third
	let_go second
	running other
	ended second
	ended third
	contains "$T/err.third" 'already ran for v1 on '
	ended fifth # it heard of the label when it woke, or asked again
	let_go other
	ended other
	order first second other
	redlock -q -k job -- sh -c "$(inner) -q --once-for v2 -- touch '$T/ran'"
	redlock -q -k job -- sh -c "$(inner) -q --once-for v3 -- touch '$T/inner'"
	[ ! -e "$T/ran" ]
	[ -e "$T/inner" ]
}

@test "--once-for with --once-per, --revision and several keys: each refuses by itself" {
	labels v1 --once-per 60s
	skips v1 --once-per 60s
	run -0 redlock -k job --once-for v2 --once-per 60s -- touch "$T/ran"
	[[ $output = *' already ran on '*'(--once-per)'* ]]
	cli a hdel "$state" once >/dev/null
	skips v1 --once-per 60s
	labels v2 --once-per 60s
	labels v3
	run -0 redlock -k job --once-for v4 --once-per 60s -- touch "$T/ran"
	redlock -q -k job --revision 5 -- true
	older 4 5 --once-for v3
	run -0 redlock -k a -k job -k b --once-for v3 -- touch "$T/ran"
	[[ $output = *' job: already ran for v3 on '*' redlock force-release job --marks' ]]
	[ ! -e "$T/ran" ]
	for k in a job b; do free "$k"; done
	redlock -q -k a -k job -k b --once-for v5 -- true
	for k in a job b; do
		redlock -q -k "$k" --once-for v5 -- touch "$T/ran"
	done
	[ ! -e "$T/ran" ]
	# together in slots: the last one that ends stays
	client one 'eval "$0"' --once-for v6 -N 2
	running one
	client two 'eval "$0"' --once-for v7 -N 2
	running two
	let_go two
	ended two
	let_go one
	ended one
	skips v6 -N 2
}

newer() { # N [OPTION...]: it runs
	local n=$1

	shift
	redlock -q -k job --revision "$n" "$@" -- touch "$T/newer"
	rm "$T/newer"
}

@test "--revision: an older one does not run after a newer one; equal or larger does" {
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
	# a run without a number runs, and leaves the mark
	redlock -k job -- true
	redlock unlock job --token "$(redlock lock job)"
	[ "$(revision)" = 9007199254740991 ]
	cli a del "$state" >/dev/null
	newer 0
	[ "$(revision)" = 0 ]
}

@test "--revision: a value that is not a number is refused, in one line" {
	for n in -1 1.5 x '' 0x10 9007199254740992 99999999999999999999 '1 2'; do
		run -64 redlock -k job --revision "$n" -- touch "$T/ran"
		[ "${#lines[@]}" = 1 ]
		[[ $output = *"--revision '"*"must be a number from 0 to 9007199254740991" ]]
	done
	run -64 redlock lock job --revision 1
	[ ! -e "$T/ran" ]
}

@test "--revision: a failure, a kill and a loss leave no mark, unless --once-counts any" {
	vforks
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
	run -75 redlock -k job --revision 6 -- true
	[[ $output = *" UTC (failed, exit 1); if that number was a mistake: redlock \
force-release job --marks" ]]
	run -124 redlock -q -k job --revision 8 --once-counts any --max-hold 50ms -- sleep 5
	older 7 8
	# redlock itself is killed: its guard releases the lock
	start -q -k job --revision 9 --once-counts any -- sh -c ': >"$T/on"; exec linger'
	wait_until exists "$T/on"
	kill -9 "$tool"
	wait_until lock_is_free
	older 8 9
}

@test "--revision: a success counts though the lock vanished" {
	redlock -q -k job --revision 5 -- redis-cli -s "$T/a.sock" flushall >/dev/null
	wait_until eval '[ "$(revision)" = 5 ]'
	run -75 redlock -k job --revision 4 -- touch "$T/older"
	[ ! -e "$T/older" ]
}

@test "--revision: a waiter finds out, and passes the lock on" {
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

@test "--revision: of several that hold it together, the largest stays" {
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

@test "--revision: works inside a run that holds the lock, and beside one" {
	redlock -q -k job --revision 21 -- sh -c "$(inner) -q --revision 17 -- \
		touch '$T/inner' && $(inner) -q --revision 16 -- touch '$T/older' || [ \$? = 75 ]"
	[ -e "$T/inner" ]
	[ ! -e "$T/older" ]
	older 20 21
	redlock -q -k other -- sh -c "$(inner) -q --revision 20 -- touch '$T/older' || [ \$? = 75 ]"
	[ ! -e "$T/older" ]
}

@test "--revision: one of several keys is enough to refuse, and none is kept" {
	redlock -k b --revision 9 -- true
	run -75 redlock -k a -k b -k c --revision 8 -- touch "$T/older"
	[[ $output = *' b: not run: revision 8 is older than 9, which ran on '*' UTC; '*\
' redlock force-release b --marks' ]]
	[ ! -e "$T/older" ]
	for k in a b c; do free "$k"; done
	redlock -k a -k b -k c --revision 10 -- true
	for k in a b c; do
		run -75 redlock -q -k $k --revision 9 -- touch "$T/older"
	done
	[ ! -e "$T/older" ]
}

@test "--revision with --once-per: each refuses by itself, older is said first" {
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
	redlock inspect job | grep -Eq "^  revision  17 at 20[-0-9: ]* UTC by $(id -un)@$(hostname), true\$"
	run -75 redlock -q -k job --revision 16 -- true
	[ "$(redlock history job --json | grep -c '"outcome":"ran"')" = 1 ]
	redlock history job --last-success 1m
	redlock -q doctor job
	start -k job --revision 18 --no-describe -- sh -c ': >"$T/on"; exec linger'
	wait_until exists "$T/on"
	redlock inspect job | grep -q '^  revision  17 at .* by .*, true'
	redlock list --json | grep -q '"key":"job","state":"held"'
	kill "$tool"
	finish
	redlock -q -k plain -- true
	run -1 redlock inspect plain --json
	[[ $output != *revision* ]]
}
