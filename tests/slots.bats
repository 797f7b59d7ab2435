#!/usr/bin/env bats
# Slots.

load lib/common
load lib/kinds

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

@test "slots: another program finds slot 0 taken" {
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

@test "slots: an overwritten key is the loss of slot 0 alone" {
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

@test "slots: a killed holder keeps its slot for --min-hold, from its own grant on" {
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

@test "slots: a killed holder's slot is released, a dead machine's slot expires" {
	client a "$stays" -N 2
	client b "$stays" -N 2
	running a b
	lines_up client c "$stays" -N 2
	kill -KILL "${pid[a]}"
	running c
	waiting=0
	lines_up client d "$stays" -N 2
	dies b
	running d
	let_go c
	let_go d
	ended c
	ended d
}

@test "slots: -N with names: one for each slot, also for nested runs and lock --export" {
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
	for list in a,,b ,a a,, , a,a a,b,a "$(printf 'x%.0s' {1..128}),b" 0 2x \
		"$(seq -s, 1001)"; do
		run -64 redlock -n -k job -N "$list" -- true
	done
	# one name is a list, too; and a variable stays as it is
	for list in gpu0 gpu0, 7,; do
		REDLOCK_SLOTS=$list run -0 redlock -n -k job -- \
			sh -c 'echo "$REDLOCK_SLOT $REDLOCK_SLOT_NAME $REDLOCK_SLOTS"'
		[ "$output" = "0 ${list%,} $list" ]
	done
	run -0 redlock -n -k job -N "$(seq -s, 1000)" -- sh -c 'echo $REDLOCK_SLOT_NAME'
	[ "$output" = 1 ]
	# a number that is typed has no names, whatever the file says
	REDLOCK_SLOTS=a,b run -0 redlock -k job -N 2 -- \
		sh -c 'echo "${REDLOCK_SLOT_NAME-none}"'
	[ "$output" = none ]
}

@test "slots: each verb that shows a slot shows its name" {
	local names='gpu0,g p\x1b[1m,last' i
	names=$(printf "$names")
	for i in 0 1; do
		helper "$REDLOCK" -q -u "$url" -k job -t 20s -N "$names" -- linger
		wait_until eval '[ "$(cli a hget "$state" slot:'$i')" ]'
	done
	run -0 redlock inspect job
	[[ $output = *$'\n  slot      0 (gpu0)\n'*$'\n  slot      1 (g p\\x1b[1m)\n'* ]]
	as_in_manual "$(redlock inspect job --json)" 'assert d["slot_name"] == "gpu0" \
and d["others"][0]["slot_name"] == "g p\\x1b[1m" and d["others"][0]["slot"] == 1'
	as_in_manual "$(redlock list --json)" \
		'assert d["locks"][0]["slot_name"] == "gpu0"'
	run -0 redlock list
	[[ $output = *"$(hostname) (gpu0) +1 "* ]]
	# of a run without names in it, too; and of the holds that have ended
	redlock -q -k job -N "$names" --result-file "$T/result" -- sh -c "
		'$REDLOCK' -u '$url' -k job -- '$REDLOCK' inspect -u '$url' job --json >'$T/inner'"
	as_in_manual "$(<"$T/result")" \
		'assert d["slot"] == 2 and d["slot_name"] == "last"'
	as_in_manual "$(<"$T/inner")" 'assert [h["slot_name"] for h in d["others"] \
if h["role"] == "inside"] == ["last"]'
	redlock -q force-release job --confirm job --now
	kill_helpers || true
	as_in_manual "$(redlock history job --json)" 'assert sorted((h["outcome"], \
h["slot_name"]) for h in docs) == [("forced", "g p\\x1b[1m"), ("forced", "gpu0"), \
("ran", "last")]'
	run -0 redlock history job
	[[ $output = *" 0 (gpu0) "*forced* && $output != *names* ]]
	redlock history job --svg | grep -q 'slot 0 (gpu0)'
	# one name is a list; and a thousand of them
	redlock -q -k one -N only, --result-file "$T/result" -- true
	as_in_manual "$(<"$T/result")" \
		'assert d["slot"] == 0 and d["slot_name"] == "only"'
	as_in_manual "$(redlock history one --json)" 'assert d["slot_name"] == "only"'
	redlock -q -k one -N "$(seq -s, 1000)" -- "$REDLOCK" inspect -u "$url" one >"$T/seen"
	grep -q '^  slot      0 (1)' "$T/seen"
	redlock -q -k one -N "$(seq -s, 10000 10900)" -- "$REDLOCK" inspect -u "$url" one \
		>"$T/seen"
	not grep -q '^  slot' "$T/seen"
	wait_until no_process_left
	cli a flushall >/dev/null
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

# A lock for the machine around the slot, as the manual shows it; $HOST stands for
# "$(hostname)".
on_host() { # HOST NAME
	: >"$T/stay.$2"
	HOST=$1 helper "$REDLOCK" -u "$url" -k ingest@"$1" -t 2s -- \
		"$REDLOCK" -u "$url" -k ingest -N 2 -t 2s -- sh -c "
		flock -n '$T/alone.$1' sh -c \"echo \\\$REDLOCK_SLOT >>'$T/on.$2'
			$stays\" '$1' '$2' || echo '$1: two' >>'$T/errors'"
	pid[$2]=$!
}
waiting_for() { [ "$(cli a zcount "$1:redlock:{$1}:queue" 0 +inf)" = "$2" ]; }
@test "slots: a lock of the machine around the slot: one on each, and nobody in vain" {
	stays="while [ -e '$T/stay.'\\\$1 ]; do sleep 0.05; done"
	on_host web1 a
	running a
	# the second of a machine waits for that machine only: not in line for a slot
	on_host web1 b
	wait_until waiting_for ingest@web1 1
	on_host web2 c
	running c
	waiting_for ingest 0
	# another machine comes later, and gets the next slot
	on_host web3 d
	wait_until waiting_for ingest 1
	not_yet b
	let_go a
	running d
	wait "${pid[a]}"
	# now b stands in line, behind nobody of its own machine
	wait_until waiting_for ingest 1
	let_go c
	running b
	for n in d b; do let_go $n; done
	for n in b c d; do wait "${pid[$n]}"; done
	# one that waits for a slot is killed: its machine is free at once
	on_host web1 a
	on_host web2 c
	running a c
	on_host web3 d
	wait_until waiting_for ingest 1
	kill -TERM "${pid[d]}"
	wait "${pid[d]}" || :
	wait_until free ingest@web3
	waiting_for ingest 0
	for n in a c; do let_go $n; wait "${pid[$n]}"; done
}
