#!/usr/bin/env bats
# The examples do what they say: without a lock it goes wrong, each wrong lock
# breaks, and redlock holds where they break. They test our tests, too: a witness
# that never saw two commands at once would prove nothing.

load lib/common
eval "common_$(declare -f setup)"
eval "common_$(declare -f teardown)"

setup() {
	common_setup
	export REDLOCK REDLOCK_URL=$url
	export TMPDIR=$T/tmp
	mkdir "$TMPDIR"
	# long enough for a slow build not to lose it
	[ -z "${SANITIZED:-}" ] || export LEASE=3000
}

# Nothing of the examples may be left: no process, whatever its name, no file.
teardown() {
	local failed=0

	wait_until nothing_runs || {
		marked >&2
		failed=1
	}
	[ -z "$(ls -A "$TMPDIR")" ] || {
		ls -lA "$TMPDIR" >&2
		failed=1
	}
	common_teardown || failed=1
	return $failed
}
marked() {
	local p

	for p in $(grep -lzx "REDLOCK_TEST_ID=$T" /proc/[0-9]*/environ \
		2>/dev/null); do
		p=${p%/environ}
		case "$(cat "$p/comm" 2>/dev/null)" in
		'' | grep) ;; # this one
		*) echo "${p#/proc/} $(tr '\0' ' ' <"$p/cmdline")" ;;
		esac
	done
}
nothing_runs() { [ -z "$(marked)" ]; }

examples=$top/examples
# not stderr: bash, where that is sh, tells there of each that is killed
sale() { timeout 60 "$examples/flash-sale/sale.sh" "$@" 3>&-; }
harness() { timeout 60 "$examples/wrong-locks/harness.sh" "$@" 3>&-; }
buyers=${SANITIZED:+40} # those builds are ten times slower
buyers=${buyers:-80}

row() { # WITHOUT|WITH: buyers, stock, sold, left, oversold
	sed -n "s/^$1 *redlock *//p" <<<"$output" | tr -s ' '
}
breaks() { # LOCK SCENARIO HOW
	run --separate-stderr harness "$1"
	echo "$output"
	[ "$status" = 1 ]
	[ "$(tr -s ' ' <<<"$output")" = "$1 $2 BROKEN: $3" ]
}
holds_in() { # LOCK SCENARIO
	run --separate-stderr harness "$1" "$2"
	echo "$output"
	[ "$status" = 0 ]
	[[ "$(tr -s ' ' <<<"$output")" = "$1 $2 kept"* ]]
}

@test "flash sale with redlock: all is sold, and no more than there was" {
	BUYERS=$buyers run -0 sale with
	echo "$output"
	[ "$(row with)" = "$buyers 20 20 0 0" ]
}

# Nobody writes before one more than there are to sell has looked.
@test "flash sale without a lock: more is sold than there was" {
	mkdir "$T/looked"
	cat >"$T/pay" <<-'SH'
		#!/bin/sh
		: >"$T/looked/$$"
		until set -- "$T/looked/"*; [ $# -gt 20 ]; do sleep 0.05; done
	SH
	chmod 755 "$T/pay"
	PAY=$T/pay BUYERS=30 run -0 sale without
	echo "$output"
	read -r all stock sold left over <<<"$(row without)"
	[ "$all $stock" = '30 20' ]
	[ "$over" -ge 1 ]
	[ "$over" = $((sold - stock)) ]
}

@test "flash sale by itself: both, on a server of its own, which is then gone" {
	unset REDLOCK_URL
	BUYERS=30 run -0 sale
	echo "$output"
	[ "$(row with)" = '30 20 20 0 0' ]
	[ "$(row without | cut -d' ' -f1,2)" = '30 20' ]
}

@test "deploy.sh: one after the other, each under a fence of its own" {
	for n in 1 2 3; do
		timeout 60 "$examples/scripts/deploy.sh" web >>"$T/log" 3>&- &
	done
	wait
	cat "$T/log"
	[ "$(grep -o 'begins\|checked\|ends' "$T/log" | tr '\n' ' ')" = \
		"$(printf 'begins checked ends %.0s' 1 2 3)" ]
	[ "$(grep -o 'fence .*' "$T/log" | sort -u | wc -l)" = 3 ]
}
@test "deploy.sh killed with -9: the next one begins at once" {
	WORK="sleep 60" "$examples/scripts/deploy.sh" web >"$T/log" 3>&- &
	deploy=$!
	wait_until grep -qs begins "$T/log"
	wait_until pgrep -P "$deploy" -x sleep
	kill -9 "$deploy" "$(pgrep -P "$deploy" -x sleep)"
	timeout 60 "$examples/scripts/deploy.sh" web 3>&-
}
@test "deploy.sh stops when it loses the lock" {
	WORK="sleep 60" "$examples/scripts/deploy.sh" web >"$T/log" 2>&1 3>&- &
	deploy=$!
	wait_until grep -qs begins "$T/log"
	"$REDLOCK" force-release -q --confirm deploy:web deploy:web
	ended_as "$deploy" 1
	grep -x 'web: stopped' "$T/log"
}
@test "ci-job.sh: each step is a shell, and the lock is released" {
	run -0 --separate-stderr timeout 60 "$examples/scripts/ci-job.sh" 3>&-
	[ "$(grep -v '^#' <<<"$output" | tr '\n' ' ')" = \
		'locked building deploying unlocked ' ]
	FAIL=deploy run -3 timeout 60 "$examples/scripts/ci-job.sh" 3>&-
	[[ $output = *unlocked ]]
	run -1 "$REDLOCK" inspect deploy
}

@test "SETNX, then EXPIRE: a holder that dies in between blocks for ever" {
	breaks setnx-expire crash 'A is dead, and its lock has no end'
}
@test "a constant value as token: a late holder deletes another one's lock" {
	breaks constant-value slow \
		"B and C ran at once, after A deleted B's lock"
}
@test "GET, compare, DEL: the lease ends in between, another one's lock is deleted" {
	breaks get-compare-del stopped \
		"B and C ran at once, after A deleted B's lock"
}
@test "a time of day as the value: clocks an hour apart both hold" {
	breaks getset-timestamp clocks \
		"A and B ran at once, B's clock being ahead"
}
@test "a lease that is not renewed: the command outlives it" {
	breaks fixed-lease long "A and B ran at once, A's lease being over"
}

@test "redlock holds where a holder is killed" {
	holds_in redlock crash
}
@test "redlock holds where a holder stands still past its lease" {
	holds_in redlock slow
}
@test "redlock holds where a holder stands still before it releases" {
	holds_in redlock stopped
}
@test "redlock holds where clocks are an hour apart" {
	holds_in redlock clocks
}
@test "redlock holds where its own time of day is an hour ahead" {
	local shim=$(shim wallclock.so)

	preloading wallclock.so
	wallclock "$T/clock" 3600000
	export AHEAD="env LD_PRELOAD=$shim WALLCLOCK=$T/clock"
	[ $(($($AHEAD date +%s) - $(date +%s))) -ge 3599 ]
	holds_in redlock clocks
}
@test "redlock holds where a command takes longer than its lease" {
	holds_in redlock long
}

# No lock is said to be broken where it is not.
@test "a wrong lock holds where nothing goes wrong" {
	holds_in setnx-expire clocks
	holds_in get-compare-del slow
}

# ---- fence ----

# For each example and each shell: `tries FENCE` runs it, and writes what it wrote.
switch_tries() {
	WEB=$T/fenced $sh "$examples/fence/switch" "$1" "$1"
}
publish_tries() (
	cd "$T/fenced"
	[ -n "${many-}" ] || echo "$1" >site.new
	REDLOCK_FENCE=$1 $sh "$examples/fence/publish"
)
switch_wrote() { readlink "$T/fenced/current"; }
publish_wrote() { cat "$T/fenced/site.conf"; }
of_example() { # COMMAND...: for each example and each shell, in an empty directory
	for example in switch publish; do
		memory=fence
		[ $example = switch ] || memory=site.fence
		for sh in sh dash bash 'bash --posix' 'busybox sh'; do
			command -v ${sh%% *} >/dev/null || continue
			# the same program by another name
			[ "$sh" = sh ] || ! [ "$(command -v "$sh")" -ef "$(command -v sh)" ] || continue
			rm -rf "$T/fenced"
			mkdir "$T/fenced"
			(cd "$T/fenced" && mkdir 5 999 1000 1001 1100 9007199254740991)
			echo "# $example, $sh"
			"$@"
		done
	done
}
lets_in() { # FENCE
	${example}_tries "$1"
	[ "$(${example}_wrote)" = "$1" ]
	[ "$(cat "$T/fenced/$memory")" = "$1" ]
}
fenced_now() { cd "$T/fenced" && ls -l "$memory" current site.conf 2>/dev/null; cat "$memory"; }
refuse() { # WHY FENCE...: nothing changes
	local before after told f

	before=$(fenced_now)
	for f in "${@:2}"; do
		told=$(not ${example}_tries "$f" 2>&1)
		[[ $told = *"$1"* ]]
	done
	after=$(fenced_now)
	[ "$after" = "$before" ] || { diff <(echo "$before") <(echo "$after") >&2; false; }
}

no_fences=('' ' ' 12a a12 -5 +2000 1e9 2000.5 0x7ff ' 2000' '2000 ' $'2000\n' $'1\n2000' '*'
	99999999999999999999 12345678901234567)
check_fences() {
	local f

	for f in "${no_fences[@]}"; do # nobody has been here
		not ${example}_tries "$f" 2>/dev/null
		[ ! -e "$T/fenced/$memory" ]
	done
	lets_in 1000
	refuse ' is no fence' "${no_fences[@]}"
	refuse 'fence 999 is behind 1000' 999
	refuse 'fence 5 is behind 1000' 5
	lets_in 1000
	lets_in 1001
	refuse ' is behind 1001' 1000
	lets_in 9007199254740991
	refuse ' is behind 9007199254740991' 1100
	# what it remembers is no longer a number
	for f in '' x $'1000\n1001' 1e3; do
		printf %s "$f" >"$T/fenced/$memory"
		refuse 'is damaged' 1100
	done
}
@test "fence: empty, odd and older fences are refused; equal and newer ones write" {
	of_example check_fences
}

check_unset() {
	lets_in 1000
	case $example in
	switch)
		not env WEB="$T/fenced" $sh "$examples/fence/switch" 1001
		not env WEB="$T/fenced" $sh "$examples/fence/switch"
		not env WEB="$T/fenced" $sh "$examples/fence/switch" 1002 1002
		not env WEB="$T/elsewhere" $sh "$examples/fence/switch" 1001 1001
		;;
	publish)
		# as a run without a lock leaves it
		run -1 env -C "$T/fenced" "$REDLOCK" -u "unix://$T/none" -q -w 0 -k job \
			--on-unavailable run -- $sh "$examples/fence/publish"
		[[ $output = *"refused: '' is no fence"* ]]
		;;
	esac 2>/dev/null
	refuse 'refused: ' 999
}
@test "fence: without a fence, a version or a place nothing is written" {
	of_example check_unset
}

check_full() {
	local f

	lets_in 1000
	f=$T/fenced/filler
	dd if=/dev/zero of="$f" bs=4k 2>/dev/null || :
	not ${example}_tries 1001 2>/dev/null
	[ "$(cat "$T/fenced/$memory")" = 1000 ]
	[ "$(${example}_wrote)" = 1000 ]
	rm "$f"
	refuse 'refused: ' 999
	lets_in 1001
}
@test "fence: a full disk erases nothing that was remembered or written" {
	unshare -Urm true 2>/dev/null || skip 'may not make a mount namespace'
	export -f check_full {switch,publish}_{tries,wrote} lets_in fenced_now refuse not
	export examples sh example memory
	of_example unshare -Urm bash -euc 'mount -t tmpfs -o size=64k none "$T/fenced"
		mkdir "$T/fenced/"{999,1000,1001}
		check_full'
}

check_two() {
	local i n pids= many=yes

	(cd "$T/fenced" && mkdir $(seq 13) 2>/dev/null) || :
	echo 13 >"$T/fenced/site.new"
	for i in $(seq 6); do
		for n in $((2 * i + 1)) $((2 * i)); do
			${example}_tries "$n" 2>/dev/null 3>&- &
			pids="$pids $!"
		done
	done
	# each of them ends, and the largest was let in
	for i in $pids; do wait "$i" || :; done
	[ "$(${example}_wrote)" = 13 ]
	[ "$(cat "$T/fenced/$memory")" = 13 ]
}
@test "fence: of many writers at once the one with the largest fence is the last" {
	of_example check_two
}

@test "fence: a late deploy is refused on the machine that it deploys to" {
	mkdir -p "$T/bin" "$T/build" "$T/web/v1" "$T/web/v2"
	printf '%s\n' '#!/bin/sh' 'echo "$*" >>"$T/copied"' >"$T/bin/rsync"
	# as ssh does, in one line for a shell
	printf '%s\n' '#!/bin/sh' 'shift' \
		'WEB=$T/web sh -c "$(echo "$*" | sed "s|/srv/web/switch|$examples/fence/switch|")"' >"$T/bin/ssh"
	chmod +x "$T/bin/"*
	export examples PATH=$T/bin:$PATH
	cd "$T"
	REDLOCK_FENCE=$("$REDLOCK" -k web sh -c 'echo $REDLOCK_FENCE')
	export REDLOCK_FENCE
	"$REDLOCK" -k web "$examples/fence/deploy" v2
	run -1 "$examples/fence/deploy" v1
	[[ $output = "refused: fence $REDLOCK_FENCE is behind "* ]]
	REDLOCK_FENCE= run -1 "$examples/fence/deploy" v1
	[ "$(readlink web/current)" = v2 ]
	[ "$(sort -u copied)" = $'-a build/ web1:/srv/web/v1/\n-a build/ web1:/srv/web/v2/' ]
}

@test "the demonstration works, ends with 0, and leaves nothing" {
	run -0 "$top/scripts/demo.sh" "$REDLOCK"
	[[ $output == *'[Bob, fence '*'[Carol] exit status 75'*'Done: the lock is free'* ]]
}
