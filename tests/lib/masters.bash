# SPDX-License-Identifier: MIT
# Several independent servers: `load lib/masters` after lib/common.
#
#	several 3		a, b and c; each votes at once
#	several 3 off		the same, started just now
#	several 3 auto		the same, but each votes only two seconds after its start
#	proxied			each behind a proxy: network b hold
#
# Use node_freeze b, node_kill b, node_restart b (empty) and so on, as in lib/common;
# every run of redlock finds the servers in $url.

load lib/servers
load lib/namespace

names=()
several() { # N [--restart-guard]
	local n all=(a b c d e f g h i)

	names=("${all[@]:0:$1}")
	urls=()
	for n in "${names[@]}"; do
		urls+=("unix://$T/$n.sock")
		if [ -z "${2-}" ] && can_borrow "$n"; then
			borrow "$n"
		# a lent one may be up for long
		elif ! node_runs "$n" || { [ -n "${2-}" ] && [ -L "$T/$n.sock" ]; }; then
			node_launch "$n"
		fi
	done
	for n in "${names[@]}"; do kit await "$T/$n" PONG ping; done
	url=${urls[*]} # for functions that say -u "$url"
	settings "restart-guard = ${2:-off}"
	if [ "${2:-off}" = auto ]; then wait_until all_vote; fi
}
settings() { # LINE...
	mkdir -p "$XDG_CONFIG_HOME/redlock"
	printf '%s\n' "$@" >"$XDG_CONFIG_HOME/redlock/config"
}

# ---- what each of them says ----

on_all() { # COMMAND...
	local n

	for n in "${names[@]}"; do cli "$n" "$@"; done
}
find_up() { # sets the caller's `up`
	local n

	up=()
	for n in "${names[@]}"; do ! node_runs "$n" || up+=("$n"); done
}
are_up() { # prints how many
	local up

	find_up
	echo ${#up[@]}
}
# Only those are asked: a frozen one would not answer.
have() { # N: N servers have the lock
	local has

	read -ra has <<<"$(holding job)"
	[ ${#has[@]} = "$1" ]
}
has_holds() { # NODE N: of readers, or of a run and those inside
	[ "$(cli "$1" hkeys 'job:redlock:{job}:state' | grep -c '^hold:')" = "$2" ]
}
# N: the same, all for the same client
hold_alike() { # N
	local first= is n=0 up

	find_up
	while read -r is; do
		case $is in
		'' | end) continue ;;
		"${first:=$is}") ((n += 1)) ;;
		*) return 1 ;;
		esac
	done < <(kit each "${up[@]/#/$T/}" <<<"get job")
	[ "$n" = "$1" ]
}
holding() { # KEY: prints which
	local i=0 is up

	find_up
	while read -r is; do
		case $is in
		1) printf '%s ' "${up[i]}" ;;
		end) ((i += 1)) ;;
		esac
	done < <(kit each "${up[@]/#/$T/}" <<<"exists $1")
}
counter() { cli "$1" hget 'job:redlock:{job}:state' fence; } # NAME
in_line() { # N: N wait on each server that is up, or on the one there is
	local n

	for n in "${names[@]:-a}"; do
		! node_runs "$n" ||
			[ "$(cli "$n" zcount 'job:redlock:{job}:queue' 0 +inf)" = "$1" ] ||
			return 1
	done
}
up_for() { # NAME SECONDS
	[ "$(cli "$1" info server | sed -n 's/^uptime_in_seconds:\([0-9]*\).*/\1/p')" \
		-ge "$2" ]
}
all_vote() { # at T = 1s
	local n

	for n in "${names[@]}"; do up_for "$n" 2 || return; done
}

# ---- a holder ----

# Starts a holder, $holder, on all servers that are up. let_go ends its command, the
# witness $worker.
keep() { # [OPTION...]
	rm -f "$T/started"
	helper ${within:+"${within[@]}"} "$REDLOCK" -u "$url" -k job -t 1s "$@" -- \
		witness "$T" --hold 600000 --started "$T/started" 2>"$T/err"
	holder=$!
	wait_until exists "$T/started"
	worker=$(cat "$T/started")
	wait_until have "$(are_up)"
}
let_go() {
	kill -TERM "$worker"
	ends_with 143
}

# ---- the network ----

# Puts proxies (lib/proxy.c) before the servers: at $T/NAME.px or, in the namespace
# `within`, at 127.0.0.1, 127.0.0.2 ...
proxied() {
	local n i=0 at

	urls=()
	for n in "${names[@]}"; do
		i=$((i + 1))
		network "$n" pass
		at=$T/$n.px
		urls+=("unix://$at")
		[ -z "$within" ] || {
			at=127.0.0.$i:6379
			urls[i - 1]=redis://127.0.0.$i
		}
		helper ${within:+"${within[@]}"} proxy "$at" "$T/$n.sock" \
			"$T/$n.net" >"$T/$n.done"
	done
	for n in "${urls[@]}"; do wait_until proxy_answers "$n"; done
	url=${urls[*]}
}
proxy_answers() {
	local at=(-s "${1#unix://}")

	[ -z "$within" ] || at=(-h "${1#redis://}")
	[ "$(${within:+"${within[@]}"} redis-cli "${at[@]}" ping 2>/dev/null)" = PONG ]
}
network() { # NAME MODE...: see lib/proxy.c
	echo "${*:2}" >"$T/$1.net.new" && mv "$T/$1.net.new" "$T/$1.net"
}
network_all() { # MODE...
	local n

	for n in "${names[@]}"; do network "$n" "$@"; done
}
