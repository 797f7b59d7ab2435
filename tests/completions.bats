#!/usr/bin/env bats
# What the completions of bash, zsh and fish offer: verbs, the options of a verb,
# keys of locks that are held, and still what the command itself would.

load lib/common
eval "common_$(declare -f setup)"

setup() {
	common_setup
	mkdir "$T/bin" "$T/here"
	ln -s "$REDLOCK" "$T/bin/redlock"
	export REDLOCK_URL=$url PATH="$T/bin:$PATH" HOME=$T LC_ALL=C.UTF-8
	export DUMP=$BATS_FILE_TMPDIR/zcompdump
	cd "$T/here"
	! command -v zsh >/dev/null || start_zsh
}
start_zsh() { # one for all lines of a test: it takes long to start
	coproc timeout 120 zsh -f "$top/tests/lib/offers.zsh" "$from/zsh" 3>&-
	exec {to_zsh}>&"${COPROC[1]}" {from_zsh}<&"${COPROC[0]}"
}
from=$top/completions

# Prints what a shell offers at the end of a line.
in_bash() { timeout 30 bash --norc "$top/tests/lib/offers.bash" "$from/bash" "$1"; }
in_zsh() {
	local word

	printf '%s\n' "$1" >&"$to_zsh"
	while IFS= read -rt 30 -u "$from_zsh" word && [ "$word" != end ]; do
		printf '%s\n' "$word"
	done
	[ "$word" = end ]
}
in_fish() {
	# as in fish 4, where ? is no wildcard
	timeout 30 fish --features="${features:-qmark-noglob}" -N -c 'source $argv[1]/redlock.fish
		complete -C $argv[2]' "$from/fish" "$1" | cut -f 1
}
shells() { # those that are here
	local s

	for s in bash zsh fish; do ! command -v "$s" >/dev/null || echo "$s"; done
}
# LINE CANDIDATE...: just these, in every shell, in any order. --: and others.
offers() {
	local line=$1 more=all sh got want

	shift
	[ "${1-}" != -- ] || { more=some; shift; }
	for sh in $(shells); do
		got=$("in_$sh" "$line" 3>&- | sort -u)
		for want; do
			[[ $'\n'$got$'\n' != *$'\n'"$want"$'\n'* ]] || continue
			printf '%s, %s: lacks %s, offers:\n%s\n' \
				"$sh" "$line" "$want" "$got" >&2
			return 1
		done
		[ $more = some ] || [ "$(grep -c . <<<"$got")" = $# ] || {
			printf '%s, %s: offers:\n%s\n' "$sh" "$line" "$got" >&2
			return 1
		}
	done
}
none_offers() { # LINE WORD
	local sh

	for sh in $(shells); do
		! "in_$sh" "$1" 3>&- | grep -xF -- "$2" || return 1
	done
}
hold_all() { # KEY...: for a while
	for key; do "$REDLOCK" lock -t 5m -- "$key" >/dev/null; done
}
let_all_go() { cli a flushall >/dev/null; }

@test "the first word: a verb, or an option of the run form" {
	# shellcheck disable=SC2046 # words
	offers 'redlock ' -- $("$REDLOCK" --help |
		sed -n '/^By hand/,/^$/s/^  \([a-z-]*\) .*/\1/p')
	offers 'redlock for' force-release
	offers 'redlock --orp' --orphans
	none_offers 'redlock l' ls
	# verbs come before options
	[ "$(in_bash 'redlock ' | head -n 1)" = lock ]
}

@test "behind a verb: its options, and no others" {
	offers 'redlock list --he' --held --help
	offers 'redlock lock --keep' --keep-for
	offers 'redlock unlock --tok' --token
	offers 'redlock force-release --conf' --confirm
	offers 'redlock wait --orph'
	offers 'redlock inspect job --js' --json
	offers 'redlock -k job --js'
}

@test "values: words, signals, processes" {
	for at in 'redlock -k job' 'redlock inspect'; do
		offers "$at --color n" never
		offers "$at --tls-verify c" ca
	done
	offers 'redlock lock --on-lost ' TERM HUP INT KILL USR1 USR2 QUIT none
	offers 'redlock -k job --signal ' TERM INT HUP QUIT USR1 USR2
	helper sleep 61.3
	for sh in $(shells); do
		[ "$sh" != zsh ] || continue # those of its terminal
		"in_$sh" 'redlock lock --keep-for ' 3>&- | grep -x "${helpers##* }"
	done
}

@test "keys: those of locks, for verbs that take one, and for -k" {
	hold_all deploy:web deploy:db nightly
	for at in 'redlock inspect ' 'redlock unlock ' 'redlock wait -w 3s ' \
		'redlock force-release --now ' 'redlock history --since 1h ' \
		'redlock doctor job ' 'redlock lock -- ' 'redlock wait -k ' \
		'redlock -n -k ' 'redlock force-release --confirm '; do
		offers "$at" deploy:web deploy:db nightly
	done
	offers 'redlock inspect ni' nightly
	none_offers 'redlock list ' nightly
	none_offers 'redlock -k job echo ' nightly
	# readline replaces what is behind the : only
	[ "$(in_bash 'redlock inspect deploy:w')" = web ]
	let_all_go
}

@test "keys: of the servers of the line, and none if they do not answer" {
	node_start b
	hold_all here
	REDLOCK_URL=unix://$T/b.sock hold_all there
	for u in "-u unix://$T/b.sock" "-uunix://$T/b.sock" "--url unix://$T/b.sock"; do
		offers "redlock inspect $u " there
	done
	offers "redlock inspect -u unix://$T/none.sock "
	node_freeze a
	offers 'redlock inspect '
	node_thaw a
	let_all_go
	cli b flushall >/dev/null
}

@test "keys: no bytes in them are run, and each is one word" {
	local odd='x$(touch pwned)`touch pwned`;touch pwned'

	hold_all "$odd" 'a b' "it's"
	for sh in $(shells); do
		"in_$sh" 'redlock inspect ' >/dev/null 3>&-
		"in_$sh" 'redlock inspect x' >"$T/$sh" 3>&-
		"in_$sh" 'redlock wait -k a' >>"$T/$sh" 3>&-
		[ ! -e pwned ]
	done
	# as these two insert it; fish quotes when it does
	for sh in bash zsh; do
		[ -s "$T/$sh" ] || continue
		eval "words=($(tr '\n' ' ' <"$T/$sh"))"
		[ "${#words[@]}" = 2 ]
		[ "${words[0]}" = "$odd" ]
		[ "${words[1]}" = 'a b' ]
	done
	[ ! -e pwned ]
	let_all_go
}

@test "the command: its name, then its own words" {
	touch 'one file'
	offers 'redlock -k job ec' -- echo
	offers 'redlock -k job -- ec' -- echo
	for sh in $(shells); do
		"in_$sh" 'redlock -k job cat on' 3>&- | grep '^one'
	done
	offers 'redlock -k job cat --js'
}

@test "fish: the run form, where ? is a wildcard (3) and where it is not (4)" {
	command -v fish >/dev/null || skip "no fish"
	local features
	for features in no-qmark-noglob qmark-noglob; do
		[ "$(in_fish 'redlock -k job --color n' 2>&1)" = never ]
		[ "$(in_fish 'redlock -nkjob --color n' 2>&1)" = never ]
	done
}

@test "install puts completions where each shell looks; uninstall leaves nothing" {
	local build=${REDLOCK%/*} prefix at
	[ -e "$build/Makefile" ] || skip "no Makefile beside the program"
	[ -e /etc/debian_version ] || skip "those of Debian's shells are known"
	for prefix in /usr /usr/local; do
		make -s -C "$build" install DESTDIR="$T/d" prefix=$prefix
		at=$(cd "$T/d" && find . -name _redlock -printf '%h\n')
		! command -v zsh >/dev/null ||
			env -i PATH="$PATH" zsh -f -c 'print -l $fpath' |
			grep -qxF "${at#.}"
		at=$(cd "$T/d" && find . -name redlock.fish -printf '%h\n')
		! command -v fish >/dev/null ||
			env -i PATH="$PATH" HOME="$T" fish -c \
				'string join \n $fish_complete_path' |
			grep -qxF "${at#.}"
		# the README has no link to what is not there
		at=$(find "$T/d" -path '*/doc/redlock/README.md' -printf '%h')
		grep -o ']([^):#]*[):#]' "$at/README.md" | tr -d '])(:#' | while read -r link; do
			[ -z "$link" ] || [ "$link" = http ] || [ "$link" = https ] ||
				[ -e "$at/$link" ] || echo "no $link"
		done >"$T/missing"
		[ ! -s "$T/missing" ]
		make -s -C "$build" uninstall DESTDIR="$T/d" prefix=$prefix
		[ -z "$(find "$T/d" -type f -o -path '*/doc/redlock')" ]
		rm -r "$T/d"
	done
}
