#!/usr/bin/env bats
# The history of a lock: an entry for each hold, written with the release.

load lib/common
load lib/sentinel
load lib/cluster
load lib/masters

log='job:redlock:{job}:log'

# The entries of NAME, the oldest first: a line each, "token=... host=... fence=...",
# with the lines of who it was and of what became of it.
entries() { # NAME [KEY]
	stored_history "$1" "${2:-job}" | awk '
	function tell() { if (token) print "token=" token who hold }
	/^=/ { tell(); token = $2; who = hold = ""; next }
	/^[a-z_]+ / {
		name = $1
		word = " " name "=" substr($0, length(name) + 2)
		if (name ~ /^(host|pid|user|command|reason|ci_url|process)$/)
			who = who word
		else
			hold = hold word
	}
	END { tell() }'
}
written() { # N [NAME]: so many there are
	[ "$(entries "${2:-a}" | wc -l)" = "$1" ]
}
latest() { entries "${1:-a}" | tail -n 1; }
is() { # TEXT: the latest entry has it, as words of their own
	[[ " $(latest "${2:-a}") " = *" $1 "* ]] || {
		latest "${2:-a}" >&2
		return 1
	}
}
is_not() { [[ $(latest a) != *"$1"* ]]; }
of_each() { tr ' ' '\n' | sed -n "s/^$1=//p"; } # NAME: of the entries on stdin
value() { latest "${2:-a}" | of_each "$1"; }

@test "an entry has who, when, how long in line, for how long, and how it ended" {
	local before=$(now_ms) ended since

	CI_JOB_URL=https://ci/7 LOGNAME=joe redlock -k job --reason nightly -- \
		sh -c 'echo $REDLOCK_TOKEN $REDLOCK_FENCE; sleep 0.2' >"$T/given"
	read -r token fence <"$T/given"
	[[ $(latest) =~ ^"token=$token host=$(hostname) pid="[0-9]+\ \
user=joe\ command=sh\ reason=nightly\ ci_url=https://ci/7\ process=[0-9a-f]+\ fence=$fence\ \
waited_ms=[0-9]+\ held_ms=[0-9]+\ outcome=ran\ exit=0$ ]]
	# it ended when the entry was written
	ended=$(stored_history a | sed -n 's/^=\([0-9]*\).*/\1/p')
	since=$((${ended%-*} - $(value held_ms)))
	[ $since -ge "$before" ]
	[ $since -le $((before + 2000)) ]
	[ "$(value held_ms)" -ge 200 ]
	[ "$(value waited_ms)" -lt 2000 ]
	redlock -k job -n -- true
	written 2
	# it expires as the counter does
	[ "$(cli a pttl "$log")" -gt 2591000000 ]
}

@test "an entry has the time of the wait" {
	start -k job -- sleep 0.5
	wait_until held job
	redlock -q -k job -- true
	finish
	is outcome=ran
	[ "$(value waited_ms)" -ge 100 ]
}

@test "a command that fails: the entry has its status, or the signal that ended it" {
	run -3 redlock -k job -- sh -c 'exit 3'
	is 'outcome=failed exit=3'
	run -143 redlock -k job -- sh -c 'kill -TERM $$'
	is 'outcome=failed signal=15'
	is_not exit=
	run -127 redlock -k job -- /none/such
	is 'outcome=failed exit=127'
	written 3
}

@test "no entry for those who got nothing, waited, or ran without a lock" {
	hold open
	redlock -q -k job -n -- true && false
	redlock -q -k job -w 100ms -- true && false
	helper "$REDLOCK" -q -u "$url" -k job -- true
	wait_until in_line 1
	kill -TERM $!
	wait $! || true
	end_hold
	written 1
}

@test "a run without a lock says so in its result, and has no token" {
	unlocked() { # STATUS [OPTION...] -- COMMAND...
		local want=$1

		shift
		run "-$want" "$REDLOCK" -u "unix://$T/none.sock" -w 1ms -k job \
			--on-unavailable run --result-file "$T/result" "$@"
		[[ $output = *'; running WITHOUT the lock'* ]]
		as_in_manual "$(<"$T/result")" 'assert d["outcome"] == "ran-unlocked" \
and d["exit"] == '"$want"' and not {"token", "fence", "slot"} & d.keys()'
	}
	unlocked 0 -N 2 -- sh -c '[ -z "$REDLOCK_TOKEN$REDLOCK_FENCE$REDLOCK_HELD" ]'
	unlocked 3 -- sh -c 'exit 3'
	unlocked 137 -- sh -c 'kill -9 $$'
	unlocked 124 --max-hold 50ms -- sleep 5
	written 0
}

@test "a lease that was taken away is written as lost" {
	hold 20000
	cli a set job other px 300 >/dev/null
	ends_with 125
	is 'outcome=lost signal=9'
	written 1
	# the fence of what was lost
	[ "$(value fence)" = "$(cat "$T/fence")" ]
	wait_until lock_is_free
}

@test "a lease that ran out is written as lost once the server answers again" {
	start -k job -t 1s -- sleep 61.5
	wait_until held job
	node_freeze a
	wait_until contains "$T/err" 'not renewed'
	wait_until contains "$T/err" 'lost'
	node_thaw a
	finish
	[ "$status" = 125 ]
	is outcome=lost
	written 1
}

@test "--max-hold: the entry says that the time ended the command" {
	run -124 redlock -k job --max-hold 200ms -- sleep 61.5
	is 'outcome=max-hold signal=15'
	[ "$(value held_ms)" -ge 200 ]
}

@test "redlock killed -9: the guard writes that it was lost, and after how long" {
	hold 20000
	sleep 0.2
	kill -KILL "$holder"
	ends_with 137
	wait_until written 1
	is outcome=lost
	is_not exit=
	is_not signal=
	is "fence=$(cat "$T/fence")"
	[ "$(value held_ms)" -ge 200 ]
	[ "$(value held_ms)" -lt 20000 ]
	wait_until lock_is_free
}

@test "readers and slots have an entry each; a slot says which" {
	start -k job -s -- sh -c "linger until '$T/go'"
	wait_until held job
	redlock -k job -s -- true
	: >"$T/go"
	finish
	written 2
	[ "$(entries a | cut -d' ' -f1 | sort -u | wc -l)" = 2 ]
	rm "$T/go"
	start -k job -N 2 -- sh -c "linger until '$T/go'"
	wait_until held job
	redlock -k job -N 2 -- true
	is slot=1
	: >"$T/go"
	finish
	is slot=0
	written 4
}

@test "a run that joins its parent's hold has no entry of its own" {
	run -1 redlock -k job -- sh -c "'$REDLOCK' -u '$url' -k job -- true
		'$REDLOCK' -u '$url' -k job -- false"
	written 1
	is 'outcome=failed exit=1'
	redlock -k job -s -- "$REDLOCK" -u "$url" -k job -s -- true
	written 2
}

@test "several keys: an entry for each" {
	redlock -k job -k other -- true
	written 1
	[ "$(entries a other | wc -l)" = 1 ]
}

@test "--min-hold and --once-per keep their entry" {
	redlock -k job --min-hold 50ms -- true
	redlock -k job --once-per 1m -- true
	redlock -q -k job --once-per 1m -- true
	wait_until lock_is_free
	written 2
}

@test "three servers each have an entry, with one token and fence" {
	several 3
	redlock -k job -- true
	for n in a b c; do
		written 1 "$n"
		is 'outcome=ran exit=0' "$n"
	done
	[ "$(for n in a b c; do latest $n; done | cut -d' ' -f1,2 |
		sort -u | wc -l)" = 1 ]
}

@test "two of three servers give the lock to another: lost, on all of them" {
	several 3
	hold 20000
	for n in a b; do cli $n set job other px 300 >/dev/null; done
	ends_with 125
	for n in a b c; do
		wait_until written 1 "$n"
		is outcome=lost "$n"
	done
	wait_until have 0
}

@test "a server that was frozen for a while has one entry for a hold" {
	several 3
	start -k job -t 2s -- sh -c "linger until '$T/go'"
	wait_until have 3
	node_freeze c
	: >"$T/go"
	finish
	node_thaw c
	wait_until written 1 c
	written 1 a
}

@test "what is left of a lock that was used once is small and keeps its history" {
	local before

	redlock -k job -- true
	[ "$(cli a keys '*job*')" = 'job:redlock:{job}:state' ]
	below "$(cli a memory usage 'job:redlock:{job}:state' samples 0)" 1200
	at_least "$(cli a pttl 'job:redlock:{job}:state')" 2591000000
	before=$(stored_history a)
	json "len(d) == 1 and d[0]['outcome'] == 'ran' and d[0]['command'] == 'true'"
	run -0 "$REDLOCK" list -u "$url" --prometheus
	[[ $output = *'redlock_last_success_timestamp_seconds{key="job"} '* ]]
	run -1 redlock -k job -- false
	written 2
	[ "$(cli a xlen "$log")" = 2 ]
	[ "$(stored_history a | head -n "$(wc -l <<<"$before")")" = "$before" ]
	json "[h['outcome'] for h in d] == ['ran', 'failed']"
	# nor if another program has begun the stream
	redlock -k third -- true
	cli a xadd 'third:redlock:{third}:log' '*' token t fence 1 outcome lost >/dev/null
	history 0 --json third
	as_in_manual "$output" 'assert [h["outcome"] for h in docs] == ["ran", "lost"], docs'
	# one that was never recorded is not told of
	redlock -k other --no-history -- true
	run -0 "$REDLOCK" list -u "$url" --prometheus
	[[ $output != *'"other"'* ]]
}

@test "--no-history, also in a file: no entry" {
	redlock -k job --no-history -- true
	written 0
	settings 'no-history = yes'
	redlock -k job -- true
	written 0
	# nor by the guard
	hold 20000
	kill -KILL "$holder"
	ends_with 137
	wait_until lock_is_free
	written 0
}

@test "--no-describe: the entry says how it ended, but not whose it was" {
	redlock -k job --no-describe -- true
	[[ $(latest) =~ ^token=[^\ ]+\ process=[0-9a-f]+\ fence=[0-9]+\ waited_ms=[0-9]+\ \
held_ms=[0-9]+\ outcome=ran\ exit=0$ ]]
}

@test "little more than 100 entries are kept, and the latest 100 are shown" {
	cli a eval "for i = 1, 250 do
		redis.call('xadd', KEYS[1], '*', 'token', i, 'fence', i) end" \
		1 "$log" >/dev/null
	redlock -k job -- true
	[ "$(cli a xlen "$log")" -ge 100 ]
	[ "$(cli a xlen "$log")" -lt 200 ]
	is 'outcome=ran'
	json "len(d) == 100 and min(h['fence'] for h in d) == 152 \
		and d[-1]['outcome'] == 'ran'"
}

@test "memory is full: the lock is still released" {
	start -k job -- sh -c "linger until '$T/go'"
	wait_until held job
	cli a config set maxmemory 1 >/dev/null
	: >"$T/go"
	finish
	[ "$status" = 0 ]
	[ "$(cat "$T/err")" = '' ]
	lock_is_free
	cli a config set maxmemory 0 >/dev/null
}

@test "a key of another type in its place is left alone" {
	cli a set "$log" mine >/dev/null
	run -0 redlock -k job -- true
	[ "$output" = '' ]
	[ "$(cli a get "$log")" = mine ]
	[ "$(cli a pttl "$log")" = -1 ]
	cli a del "$log" >/dev/null
}

@test "without the right to write history there is only the first entry, all else works" {
	cli a acl setuser default -xadd -xrevrange >/dev/null
	run -0 redlock -k job -- true
	run -0 redlock -k job -- true
	[ "$output" = '' ]
	cli a acl setuser default +@all >/dev/null
	written 1
	lock_is_free
}

@test "a release that arrives twice is written once" {
	several 3
	start -k job -t 2s -- sh -c "linger until '$T/go'"
	wait_until have 3
	# the answer to the release is lost, and it is asked for again
	for n in a b c; do node_freeze $n; done
	: >"$T/go"
	wait_until gone "$tool"
	finish
	for n in a b c; do node_thaw $n; done
	for n in a b c; do wait_until written 1 "$n"; done
	# whatever lies in its socket still has been read
	for n in a b c; do cli $n ping >/dev/null; written 1 $n; done
	wait_until have 0
}

@test "the history costs no extra question or answer" {
	warm a
	redlock -k job -- true
	[ "$(scripts_run a)" = 2 ]
}

# ---- redlock history ----

history() { # STATUS ARGUMENT...: $output, and $stderr
	local want=$1

	shift
	run "-$want" --separate-stderr "$REDLOCK" history -u "$url" "$@"
}
# EXPRESSION [ARGUMENT...]: `d` is the list of documents, each as the manual says
json() {
	local expression=$1

	shift
	history 0 --json job "$@"
	as_in_manual "$output" '
d = docs
assert '"$expression"', d'
}
# As others might write it: [NODE] FIELD VALUE...
entry() { cli a xadd "$log" '*' "$@" >/dev/null; }
# The picture is well-formed XML, and has so many elements of a name.
picture() { # [ARGUMENT...]
	history 0 --svg job "$@"
	printf '%s\n' "$output" >"$T/svg"
	/usr/bin/python3 -c 'import sys, xml.dom.minidom
xml.dom.minidom.parse(sys.argv[1])' "$T/svg"
}
bars() { # STYLE N: of holds, and one in the legend
	[ "$(grep -o "<rect class=\"$1\"" "$T/svg" | wc -l)" = $(($2 + 1)) ]
}

@test "history: prints oldest first: when, who, what, how long, how it ended, fence" {
	LOGNAME=joe redlock -k job -- sleep 0.1
	LOGNAME=ann run -3 redlock -k job -- sh -c 'exit 3'
	history 0 job
	[ -z "$stderr" ]
	[ "${#lines[@]}" = 3 ]
	[[ ${lines[0]} =~ ^WHEN\ +WHO\ +PID\ +COMMAND\ +WAITED\ +HELD\ +FENCE\ +OUTCOME$ ]]
	[[ ${lines[1]} =~ ^20[-0-9]+\ [0-9:]{8}\ [A-Z]+\ \ joe@"$(hostname)"\ +[0-9]+\ +\
sleep\ +[0-9.]+m?s\ +([1-9][0-9]{2}ms|[0-9.]+s)\ +[0-9]+\ +ran$ ]]
	[[ ${lines[2]} =~ \ ann@.*\ sh\ +.*\ $(value fence)\ +failed\ \(exit\ 3\)$ ]]
}

@test "history: columns as wide as needed; slot and reason only where there are any" {
	redlock -k job -N 3 -- true
	redlock -k job --reason 'the nightly dump' -- true
	history 0 job
	[[ ${lines[0]} = *'  SLOT  FENCE '*' REASON            OUTCOME' ]]
	[[ ${lines[1]} = *'  0     '*'  -                 ran' ]]
	[[ ${lines[2]} = *'  -     '*'  the nightly dump  ran' ]]
}

@test "history: the present hold has a row without an end, and an open bar" {
	redlock -k job -- true
	start -k job --reason 'release 1.4' -- sleep 61.3
	wait_until eval '[ "$(cli a exists job)" = 1 ]'
	history 0 job
	[ "${#lines[@]}" = 3 ]
	[[ ${lines[2]} =~ \ sleep\ +-\ +[0-9.]+m?s\ +[0-9]+\ +release\ 1.4\ +held$ ]]
	[[ ${lines[2]} = *" $(redlock inspect --json job | sed 's/.*"fence":\([0-9]*\).*/\1/') "* ]]
	history 0 job --since 1ms
	[ "${#lines[@]}" = 2 ]
	json "len(d) == 2 and d[1]['outcome'] == 'held' and d[1]['waited_ms'] is None \
and d[1]['held_ms'] >= 0 and d[1]['exit'] is None and d[1]['reason'] == 'release 1.4' \
and d[1]['token'] == '$(cli a get job)'"
	picture
	# an arrow, not a bar with an end; what is known is beside the mouse, too
	grep -Eq '<path class="held" d="M[0-9.]+,[0-9.]+ H[0-9.]+ L[0-9.]+,[0-9.]+ L' "$T/svg"
	grep -q '^from 20.* on, held for [0-9.a-z]* so far, fence ' "$T/svg"
	grep -q '<desc>2 holds on 1 host: 1 ran, 1 held' "$T/svg"
	not grep -q '<rect class="held" x="[^"]*" y="[^6]' "$T/svg" # but for the legend
	kill "$tool"
	finish
	history 0 job
	[[ ${lines[2]} != *held ]]
	# a nested run has no row, nor has what is kept
	start -k both -N 2 -- sh -c 'touch "$0"; exec sleep 62.3' "$T/in"
	wait_until exists "$T/in"
	redlock -k both -N 2 -- "$REDLOCK" -n -u "$url" -k both -N 2 -- \
		"$REDLOCK" history -u "$url" both >"$T/rows"
	[ "$(grep -c ' held$' "$T/rows")" = 2 ]
	[ "$(awk '$NF == "held" { print $9 }' "$T/rows" | sort | tr '\n' ' ')" = '- 1 ' ]
	redlock -k reading -s -- "$REDLOCK" history -u "$url" reading >"$T/rows"
	[ "$(grep -c ' held$' "$T/rows")" = 1 ]
	redlock -k kept --min-hold 9s -- true
	history 0 kept
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[1]} = *' ran' ]]
	# another program's: nothing is known
	cli a set foreign x >/dev/null
	history 0 foreign
	[ "$stderr" = 'redlock: foreign: no history' ]
	cli a del foreign kept >/dev/null
}

@test "history: a lock held by hand: released, or ended with its process" {
	local token

	token=$(redlock lock job)
	redlock unlock job --token "$token"
	is outcome=released
	start_by_hand() {
		"$REDLOCK" lock -u "$url" --hold -t 3s job >"$T/token" 3>&- &
		tool=$!
		helpers="$helpers $tool"
		wait_until eval '[ "$(cli a exists job)" = 1 ] && [ -s "$T/token" ]'
	}
	start_by_hand
	kill -TERM "$tool"
	finish
	[ "$status" = 143 ]
	is outcome=released
	is_not signal=
	start_by_hand
	redlock unlock job --token "$(cli a get job)"
	finish
	is outcome=released
	sh -c 'eval "$("$0" lock -u "$1" --keep-for $$ --export job)"' "$REDLOCK" "$url"
	wait_until written 4
	is outcome=ended
	is_not exit=
	history 0 job
	[[ ${lines[4]} = *' ended' && ${lines[3]} = *' released' ]]
}

@test "history: without entries it prints an empty answer, with status 0" {
	history 0 job
	[ -z "$output" ]
	[[ $stderr = *'no history'* ]]
	history 0 -q --json job
	[ -z "$output$stderr" ]
	# a key that was mistyped is not an empty file
	picture
	grep -q '<text x="16" y="35">no holds in the history of job</text>' "$T/svg"
	[[ $stderr = *'no history'* ]]
}

@test "history: --json prints a document for each hold, as in the manual" {
	local before=$(date -u +%Y-%m-%dT%H:%M)

	CI_JOB_URL=https://ci/7 LOGNAME=joe redlock -k job -- \
		sh -c 'echo $REDLOCK_TOKEN $REDLOCK_FENCE' >"$T/given"
	run -3 redlock -k job -N 2 -- sh -c 'exit 3'
	run -143 redlock -k job --no-describe -- sh -c 'kill -TERM $$'
	read -r token fence <"$T/given"
	json "len(d) == 3 and d[0]['token'] == '$token' and d[0]['fence'] == $fence \
and d[0]['outcome'] == 'ran' and d[0]['exit'] == 0 and d[0]['signal'] is None \
and d[0]['user'] == 'joe' and d[0]['ci_url'] == 'https://ci/7' \
and d[0]['since'] >= '$before' and d[0]['since'] <= d[1]['since'] \
and d[1]['slot'] == 0 and d[1]['exit'] == 3 and d[1]['outcome'] == 'failed' \
and d[2]['exit'] is None and d[2]['signal'] == 15 and 'host' not in d[2]"
}

@test "history: --since selects by the end of a hold" {
	local now=$(now_ms)

	entry token old fence 1 since $((now - 7200000)) held_ms 1000 outcome ran
	entry token long fence 2 since $((now - 7200000)) held_ms 7190000 outcome ran
	entry token new fence 3 since $((now - 60000)) held_ms 1000 outcome ran
	json "[h['token'] for h in d] == ['old', 'long', 'new']"
	json "[h['token'] for h in d] == ['long', 'new']" --since 1h
	history 0 job --since 1ms
	[ -z "$output" ]
	history 64 job --since 0
	history 64 job --since yesterday
}

@test "history: three servers: each hold once, in the order of time" {
	several 3
	redlock -k job -- true
	redlock -k job -- true
	node_kill c
	redlock -k job -- true
	json "len(d) == 3 and d == sorted(d, key=lambda h: h['since'])"
	# too few of them: what there is, and that it may not be all
	node_kill b
	history 69 job --json
	[ "${#lines[@]}" -ge 1 ]
	[[ $stderr = *'1 of 3 servers answered'* ]]
}

@test "history: no bytes control the terminal or break the picture" {
	local odd

	for odd in $'e\e[31mvil\x01\r' '<script>&"]]><!--' $'\xff\xfe\xc3' \
		$'\xef\xbf\xbe\xef\xbf\xbf' $'a\u202eb' '%s%n%d' ''; do
		entry token "t$odd" fence "$odd" host "$odd" pid "$odd" user "$odd" \
			command "$odd" reason "$odd" since "$odd" held_ms "$odd" \
			waited_ms "$odd" outcome "$odd" exit "$odd" by "$odd"
	done
	entry token huge fence 9007199254740993 since 4611686018427387000 \
		held_ms 4611686018427387000 waited_ms 4611686018427387000 slot \
		99999999999 exit 99999999999 signal 99999999999
	entry only one
	entry token twice token none
	history 0 job
	[ "${#lines[@]}" = 10 ]
	LC_ALL=C not grep -q $'[\x01-\x09\x0b-\x1f\x7f]' <<<"$output"
	json 'len(d) == 9'
	picture
	LC_ALL=C not grep -q $'[\x01-\x09\x0b-\x1f\x7f]' "$T/svg"
	not grep -q '<script>' "$T/svg"
}

@test "history: --svg, a bar for each hold in the colour of how it ended, with words" {
	local now=$(now_ms) i=0 how

	for how in ran 'ran' 'failed exit 3' 'lost signal 9' 'max-hold signal 15' \
		forced odd released ended; do
		i=$((i + 1))
		entry token t$i fence $i host web$((i % 2)) pid 7 user joe command \
			backup since $((now + 60000 * i)) waited_ms $((i * 1000)) \
			held_ms 50000 outcome $how
	done
	picture
	bars ran 2
	for how in failed lost max forced other; do bars $how 1; done
	bars hand 3 # two in the legend
	# the waits, and one in the legend
	[ "$(grep -o '<line class="wait"' "$T/svg" | wc -l)" = 10 ]
	grep -q '<title>web1 (pid 7, user joe), backup: failed (exit 3)' "$T/svg"
	grep -q '<title>History of the lock job</title>' "$T/svg"
	grep -q '<desc>9 holds on 2 hosts: 2 ran, 1 failed, 1 lost, 1 max-hold, 1 forced, 1 released, 1 ended, 1 unknown' \
		"$T/svg"
	grep -q 'prefers-color-scheme: dark' "$T/svg"
	grep -q 'width="960"' "$T/svg"
	# short: each time stands there once
	[ "$(grep -c 'class="dim time"' "$T/svg")" = \
		"$(grep 'class="dim time"' "$T/svg" | sort -u | wc -l)" ]
	[ "$(grep -c '<line class="grid"' "$T/svg")" -le "$(grep -c 'class="dim time"' "$T/svg")" ]
	[ "$(grep -o '>[0-9:]*</text>' "$T/svg" | sort | uniq -d | wc -l)" = 0 ]
	# who did it, and with what status, without a mouse
	cli a del "$log" >/dev/null
	entry token a fence 1 since 1763726400000 held_ms 60000 outcome failed exit 3
	entry token b fence 2 since 1763729400000 held_ms 60000 outcome forced by 'ann: stuck'
	entry token c fence 3 since 1763733480000 held_ms 60000 outcome ran
	picture
	grep -Eq '<text class="dim" x="[0-9.]+" y="[0-9.]+">failed \(exit 3\)</text>' "$T/svg"
	grep -Eq '<text class="loud" x="[0-9.]+" y="[0-9.]+">forced by ann: stuck</text>' "$T/svg"
	[ "$(grep -c '<text class="dim" x="[0-9.]*" y="[0-9.]*">ran' "$T/svg")" = 0 ]
	not grep -Eiq '<script|href|@import|url\(' "$T/svg"
}

@test "history: --svg: what went wrong stands beside the bar, or in a numbered line" {
	local t=1763726400000 why='the migration failed and left the tables of two customers half way'

	entry token a fence 1 host web1 command deploy.sh since $t held_ms 600000 \
		outcome forced signal 15 by 'ann on ops: wrong branch'
	entry token b fence 2 host web1 since $((t + 601000)) held_ms 600000 outcome failed exit 3
	TZ=UTC picture
	# though the next bar follows at once, and the last one ends the picture
	grep -Eq '<text class="loud" x="[0-9.]+" y="[0-9.]+">forced \(signal 15\) by ann on ops: wrong branch</text>' "$T/svg"
	grep -Eq '<text class="dim" x="[0-9.]+" y="[0-9.]+">failed \(exit 3\)</text>' "$T/svg"
	/usr/bin/python3 - "$T/svg" <<'END'
import sys, xml.dom.minidom
svg = xml.dom.minidom.parse(sys.argv[1])
bars = [[float(r.getAttribute(a)) for a in ('x', 'y', 'width', 'height')]
        for r in svg.getElementsByTagName('rect')
        if r.parentNode.tagName == 'g']
told = [(float(t.getAttribute('x')), float(t.getAttribute('y')), len(t.firstChild.data))
        for t in svg.getElementsByTagName('text')
        if t.getAttribute('class') in ('loud', 'dim') and t.firstChild.data[:2] in ('fo', 'fa')]
assert len(bars) == 2 and len(told) == 2, (bars, told)
for x, y, n in told:
    assert x + n * 6.5 < 960, (x, n)
    for left, top, width, height in bars: # none is written over
        assert not (top < y < top + height + 8 and left < x + n * 6.5 and x < left + width)
END
	entry token c fence 3 host web1 command deploy.sh since $((t + 1202000)) held_ms 600000 \
		outcome forced by "ann on ops: $why"
	TZ=UTC picture
	grep -Eq "<text class=\"loud\" x=\"16\" y=\"[0-9]+\">X1  forced by ann on ops: $why; web1, deploy.sh" "$T/svg"
	grep -Eq '<text class="mark" x="[0-9.]+" y="[0-9.]+">X1</text>' "$T/svg"
	# the picture is high enough for the last line
	[ "$(sed -n 's/.*width="960" height="\([0-9]*\)".*/\1/p' "$T/svg" | head -n 1)" -gt \
		"$(sed -n 's/.* y="\([0-9]*\)">X1  .*/\1/p' "$T/svg")" ]
}

@test "history: --svg: lost and forced stand out, on a light and on a dark ground" {
	entry token a fence 1 since 1763726400000 held_ms 600000 outcome lost
	picture
	/usr/bin/python3 - "$T/svg" <<'END'
import re, sys
style = re.search('<style>(.*)</style>', open(sys.argv[1]).read(), re.S).group(1)
light, dark = style.split('@media')
def fills(text, base):
    return base | {m[1]: m[2] for m in re.finditer(r'^\.(\w+) { fill: #([0-9a-f]+)', text, re.M)}
def lum(c):
    c = c if len(c) == 6 else ''.join(x * 2 for x in c)
    v = [int(c[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    v = [x / 12.92 if x <= .03928 else ((x + .055) / 1.055) ** 2.4 for x in v]
    return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]
def contrast(a, b):
    a, b = sorted((lum(a), lum(b)))
    return (b + .05) / (a + .05)
day = fills(light, {})
for f in day, fills(dark, day):
    c = {k: contrast(f[k], f['ground']) for k in
         'ran failed max hand held other lost forced'.split()}
    quiet = max(v for k, v in c.items() if k not in ('lost', 'forced'))
    assert min(c.values()) >= 3, c
    assert min(c['lost'], c['forced']) >= 1.4 * quiet, c
assert len(re.findall(r'^\.(?:lost|forced) { .*stroke-width: 1.5', style, re.M)) == 2
END
}

@test "history: --svg of 100 holds of 100 hosts, and of 100 at a time" {
	cli a eval "for i = 1, 100 do redis.call('xadd', KEYS[1], '*', 'token', i,
		'fence', i, 'host', 'web' .. i, 'since', 1700000000000 + i * 60000,
		'waited_ms', 1000, 'held_ms', 1, 'outcome', 'ran') end" 1 "$log" \
		>/dev/null
	picture
	bars ran 100
	cli a del "$log" >/dev/null
	cli a eval "for i = 1, 100 do redis.call('xadd', KEYS[1], '*', 'token', i,
		'fence', i, 'host', 'web', 'since', 1700000000000,
		'waited_ms', 1000, 'held_ms', 60000, 'outcome', 'lost') end" 1 "$log" \
		>/dev/null
	picture
	bars lost 100
}

@test "history: times are local times" {
	# two holds, from noon UTC to 13:59:00
	entry token a fence 1 since 1763726400000 held_ms 60000 outcome ran
	entry token b fence 2 since 1763733480000 held_ms 60000 outcome ran
	TZ=Asia/Kolkata picture
	grep -q '2025-11-21 17:30:00 to 19:29:00, UTC+05:30' "$T/svg"
	grep -q '>18:00</text>' "$T/svg"
	TZ=UTC picture
	grep -q '2025-11-21 12:00:00 to 13:59:00, UTC</text>' "$T/svg"
	TZ=America/St_Johns history 0 job
	[[ ${lines[1]} = '2025-11-21 08:30:00 NST'* ]]
}

@test "history: a key of another type, no right to read it, nobody there: one line" {
	cli a set "$log" mine >/dev/null
	history 78 job
	[[ $stderr = *WRONGTYPE* ]]
	cli a del "$log" >/dev/null
	redlock -k job -- true
	cli a acl setuser default -xrevrange >/dev/null
	history 77 job
	[ "$(wc -l <<<"$stderr")" = 1 ]
	cli a acl setuser default +@all >/dev/null
	run -69 "$REDLOCK" history -u "unix://$T/none.sock" job
	run -64 "$REDLOCK" history -u "$url"
	run -64 "$REDLOCK" history -u "$url" job --svg --json
	run -64 "$REDLOCK" history -u "$url" a b
}

@test "history: shows that a lock was taken by force, and by whom" {
	hold 20000
	"$REDLOCK" force-release -q -u "$url" --confirm job --now job
	ends_with 125
	json "len(d) == 1 and d[0]['outcome'] == 'forced' and d[0]['by'] != ''"
	picture
	bars forced 1
}

@test "history: changes nothing, and says when it cannot answer" {
	redlock -k job -- true
	cli a acl setuser default -@write >/dev/null
	history 0 job
	cli a acl setuser default +@all >/dev/null
	run -70 bash -c "'$REDLOCK' history -u '$url' job >/dev/full"
	[[ $output = *'standard output'* ]]
}

@test "history: keys of any bytes, and each database separately" {
	local odd=$'a}b{c \xff'

	url=unix://$T/a.sock?db=3
	redlock -k "$odd" -- true
	run -0 --separate-stderr "$REDLOCK" history -u "$url" --json "$odd"
	as_in_manual "$output"
	[[ $output = *'"key_b64":"YX1ie2Mg/w=="'* ]]
	run -0 "$REDLOCK" history -u "unix://$T/a.sock" "$odd"
	[[ $output = *'no history'* ]]
}

@test "history: works on a Cluster, with keys on several nodes" {
	cluster_start
	url=$(cluster_url)
	redlock -k job -- true
	redlock -k a -- true
	redlock -k b -- true
	for key in job a b; do
		history 0 "$key"
		[ "${#lines[@]}" = 2 ]
	done
}

@test "history: works behind Sentinels, and with local:" {
	group_start g
	url=$(group_url g)
	redlock -k job -- true
	json 'len(d) == 1'
	# (longer than it takes to ask, on a busy machine)
	url="local:?dir=$T/mine&idle=2s"
	redlock -k job -- true
	json 'len(d) == 1'
	wait_until eval '! exists "$T/mine/redis.sock"'
}

# ---- for monitoring ----

@test "--last-success: one line and 0, 1 or 2, for Nagios" {
	check() { run "-$1" --separate-stderr "$REDLOCK" history -u "$url" "${@:2}" job; }

	check 2 --last-success 25h
	[ "$output$stderr" = 'CRITICAL: job: no success in the history' ]
	# how the work went under a lock held by hand is not known
	redlock unlock job --token "$(redlock lock job)"
	check 2 --last-success 25h
	[ "$output$stderr" = 'CRITICAL: job: no success in the history' ]
	run redlock -k job -- false
	check 2 --last-success 25h
	[ "$output" = 'CRITICAL: job: no success in the history; the last run: failed (exit 1)' ]
	redlock -k job -- true
	check 0 --last-success 25h
	[[ $output =~ ^'OK: job: last success '[0-9]+'s ago ('[0-9:]+\ [A-Z]+')'$ ]]
	run redlock -k job -- sh -c 'exit 3'
	check 1 --last-success 25h
	[[ $output =~ ^'WARNING: job: last success '[0-9]+'s ago ('[^\)]+'); the last run: failed (exit 3)'$ ]]
	sleep 0.1
	check 2 --last-success 50ms
	[[ $output =~ ^'CRITICAL: job: last success '[0-9]+'s ago ('[^\)]+'), more than 50ms; the last run: failed (exit 3)'$ ]]
	[ -z "$stderr" ]
	# neither a hold by hand nor the present hold is good or bad
	redlock -k job -- true
	redlock unlock job --token "$(redlock lock job)"
	start -k job -- sleep 61.3
	wait_until eval '[ "$(cli a exists job)" = 1 ]'
	check 0 --last-success 25h
	[[ $output = 'OK: job: last success '* ]]
	kill "$tool"
	finish
	check 3 --last-success 1h --svg
	run -3 "$REDLOCK" history -u "unix://$T/none" --last-success 1h job
	[[ $output != *CRITICAL* ]]
}

# ---- what nobody ended ----

expired() { entries a | grep -w outcome=expired; }

@test "a manual lock that expired, and a killed run: the next client writes both" {
	local since

	since=$(now_ms)
	"$REDLOCK" -u "$url" lock job -t 400ms --reason 'by hand' >/dev/null
	wait_until lock_is_free
	start -k job -t 900ms -- sleep 61.7
	wait_until held job
	written 1
	is 'outcome=expired'
	is 'reason=by hand'
	[ "$(value held_ms)" = 400 ]
	at_least "$(value since)" "$since"
	crash "$tool"
	wait_until lock_is_free
	written 1
	redlock -k job -- true
	written 3
	is outcome=ran
	[ "$("$REDLOCK" history -u "$url" job | grep -cw expired)" = 2 ]
}

@test "a lock that expired while somebody waits: the waiter's next question writes it" {
	"$REDLOCK" -u "$url" lock job -t 700ms >/dev/null
	redlock -k job -- true
	written 2
	[[ $(entries a | head -n 1) = *' outcome=expired '* ]]
}

@test "a waiter's lock that ran out before its first renewal is written, too" {
	local n

	for n in 1 2; do
		hold 300
		if [ $n = 2 ]; then set -- --supersede; fi # another path
		"$REDLOCK" -u "$url" lock job -w 10s -t 700ms "$@" >/dev/null
		ends_with 0
		wait_until lock_is_free
		redlock -k job -- true
		written $((3 * n))
		[ "$(entries a | grep -c outcome=expired)" = $n ]
	done
}

# [OPTION...]: a waiter that is handed the lock while it is frozen.
never_claims() {
	hold open
	start -k job -t 600ms "$@" -- true
	wait_until in_line 1
	kill -STOP "$tool"
	end_hold
	wait_until lock_is_free
	redlock -k job -- true
	written 2
}
wakes_in_vain() {
	kill -CONT "$tool"
	finish
	written 3
	not expired
}

@test "a waiter that was handed the lock and never claimed it did not hold it" {
	never_claims
	wakes_in_vain
}

# The entries of "job", see src/lua/start.lua: the ends of the leases.
ends() { cli a --raw hgetall 'job:redlock:{job}:state' | sed -n '/^hold:/{n;s/ .*//p}'; }
reads() { cli a --raw hvals 'job:redlock:{job}:state' | grep -q "^pid $1$"; }
nobody_reads() { [ -z "$(ends)" ]; }
one_lapses() { # waits for it
	kit await "$T/a" 1 eval "local n, held = 0, redis.call('hgetall', KEYS[1])
		local t = redis.call('time')
		for i = 1, #held, 2 do
			if held[i]:find('^hold:') and
			    tonumber(held[i + 1]:match('%d+')) <= t[1] * 1000 + t[2] / 1000 then
				n = n + 1
			end
		end
		return n" 1 'job:redlock:{job}:state'
}
is_past() { [ "$(now_ms)" -gt "$1" ]; }

# reader_dies [OPTION...]: killed, guard and all.
reader_dies() {
	start -s -k job -t 2s "$@" -- sleep 61.7
	wait_until reads "$tool"
	crash "$tool"
}

@test "readers killed with their guards: the next client writes that they expired" {
	local since

	since=$(now_ms)
	reader_dies --reason first
	reader_dies --reason second
	wait_until lock_is_free
	written 0
	redlock -k job -- true
	written 3
	is outcome=ran
	[ "$(expired | wc -l)" = 2 ]
	expired | grep -qw reason=first
	expired | grep -qw reason=second
	at_least "$(expired | head -n 1 | of_each since)" "$since"
	at_least "$(expired | head -n 1 | of_each held_ms)" 2000
	nobody_reads
}

held_for() { # MS: the reader has renewed its lease
	local since

	since=$(cli a --raw hvals 'job:redlock:{job}:state' |
		sed -n 's/^0 [0-9]* \([0-9]*\) [0-9]*$/\1/p')
	[ -n "$since" ] && [ $(($(ends) - since)) -gt "$1" ]
}

@test "a reader that was killed held the lock until its last lease ended" {
	start -s -k job -t 1s -- sleep 61.7
	wait_until reads "$tool"
	wait_until held_for 1000
	crash "$tool"
	wait_until lock_is_free
	redlock -k job -- true
	written 2
	at_least "$(expired | of_each held_ms)" 1001
}

@test "a killed reader beside a live one is written when the lock is granted or freed" {
	reader_dies --reason killed
	start -s -k job -- sleep 61.8
	wait_until reads "$tool"
	local lives=$tool
	one_lapses
	redlock -s -k job -- true
	written 2
	expired | grep -qw reason=killed
	reader_dies --reason another
	one_lapses
	tool=$lives
	kill -TERM "$tool"
	finish
	[ "$status" = 143 ]
	written 4
	expired | grep -qw reason=another
	nobody_reads
}

@test "readers asked to stop, one expired before: written as forced, and as expired" {
	reader_dies --reason killed
	start -s -k job -t 3s -- sleep 61.8
	wait_until reads "$tool"
	one_lapses
	"$REDLOCK" -u "$url" force-release --now --confirm job job
	finish
	[ "$status" = 125 ]
	written 2
	expired | grep -qw reason=killed
	[ "$(entries a | grep -cw outcome=forced)" = 1 ]
	nobody_reads
}

@test "readers by hand that were put out have not run out" {
	"$REDLOCK" -u "$url" lock -s job -t 1s >/dev/null
	"$REDLOCK" -u "$url" force-release --now --confirm job job
	nobody_reads
	written 1
	is outcome=forced
}

@test "a reader whose first grant came too late, and that asks again, has not run out" {
	redlock -s -k warm -- true # the server knows the script
	echo 'delay 0 900' >"$T/px"
	helper proxy "$T/px.sock" "$T/a.sock" "$T/px" >"$T/px.log"
	wait_until exists "$T/px.sock"
	"$REDLOCK" -u "unix://$T/px.sock" -s -k job -t 600ms -w 10s -- true &
	tool=$!
	helpers="$helpers $tool"
	one_lapses
	echo pass >"$T/px.new"
	mv "$T/px.new" "$T/px"
	finish
	[ "$status" = 0 ]
	wait_until written 1
	is outcome=ran
}

@test "a reader that was handed the lock and never claimed it did not hold it" {
	never_claims -s
	nobody_reads
	wakes_in_vain
}

@test "a reader that lives on has not run out" {
	local ends

	start -s -k job -t 2s -- sleep 61.7
	wait_until reads "$tool"
	ends=$(ends)
	wait_until is_past "$ends"
	redlock -s -k job -- true
	written 1
	kill -TERM "$tool"
	finish
	[ "$status" = 143 ]
	written 2
	not expired
}

@test "a reader by hand: released by unlock, or it runs out" {
	local token since

	since=$(now_ms)
	token=$("$REDLOCK" -u "$url" lock -s job --reason 'by hand')
	redlock unlock job --token "$token"
	written 1
	is outcome=released
	is 'reason=by hand'
	at_least "$(value since)" "$since"
	token=$("$REDLOCK" -u "$url" lock -s job --no-history)
	redlock unlock job --no-history --token "$token"
	written 1
	nobody_reads
	"$REDLOCK" -u "$url" lock -s job -t 400ms >/dev/null
	wait_until lock_is_free
	redlock -s -k job -- true
	written 3
	[ "$(expired | of_each held_ms)" = 400 ]
}

@test "readers: their entries are removed when they end, and expire" {
	start -s -k job -- sleep 61.7
	wait_until reads "$tool"
	redlock -s -k job --no-history -- true
	kill -TERM "$tool"
	finish
	[ "$status" = 143 ]
	nobody_reads
	written 1
	reader_dies --no-history
	wait_until lock_is_free
	redlock -k job --no-history -- true
	written 1
	nobody_reads
}

@test "what expired is written once, not with --no-history, not for a holder that lived" {
	"$REDLOCK" -u "$url" lock job -t 600ms --no-history >/dev/null
	wait_until lock_is_free
	redlock -k job --no-history -- true
	written 0
	hold 20000 -t 1s
	cli a set job other px 200 >/dev/null
	ends_with 125
	wait_until lock_is_free
	redlock -k job --no-history -- true
	redlock -k job --no-history -- true
	written 1
	is outcome=lost
}
