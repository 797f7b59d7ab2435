# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The proxy of lib/proxy.c before one server: `load lib/proxy`.

# proxy_start NODE [ADDRESS:PORT]: at $url, which is $T/px.sock or, in the namespace
# `within`, that address.
proxy_start() {
	px pass
	warm "$1"
	helper ${within:+"${within[@]}"} proxy "${2:-$T/px.sock}" "$T/$1.sock" \
		"$T/px" >"$T/px.log"
	url=unix://$T/px.sock
	[ -z "${2-}" ] || url=redis://$2
	wait_until proxy_answers
}
proxy_answers() { ${within:+"${within[@]}"} redis-cli -u "$url" ping >/dev/null 2>&1 || [ -e "$T/px.sock" ]; }
px() { echo "$*" >"$T/px.new" && mv "$T/px.new" "$T/px"; } # MODE...
did() { grep -c -- "$1" "$T/px.log" || true; } # WHAT: how often
