#!/bin/sh
# SPDX-License-Identifier: MIT
# sale.sh [without|with]: 200 buyers at once, 20 items; without a lock, with
# redlock, or both in turn. Exits with 1 if redlock does not sell exactly 20.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../redis.sh"
buyers=${BUYERS:-200} stock=${STOCK:-20}

buyer() { # without|with NAME
	case $1 in
	without) exec "$here/buy.sh" "$2" ;;
	with) exec "$REDLOCK" -q -k sale:lock -- "$here/buy.sh" "$2" ;;
	esac
}

sale() { # without|with
	redis del sale:sold >/dev/null
	redis set sale:stock "$stock" >/dev/null
	pids=
	for name in $(seq "$buyers"); do
		buyer "$1" "$name" 2>>"$W/errors" &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086 # words
	wait $pids || :
	cat "$W/errors" >&2
	left=$(redis get sale:stock)
	sold=$(redis llen sale:sold)
	over=$((sold > stock ? sold - stock : 0))
	printf '%-7s redlock %8d %8d %8d %8d %12d\n' "$1" "$buyers" "$stock" \
		"$sold" "$left" "$over"
	[ "$1" = without ] ||
		[ "$sold" = $((buyers < stock ? buyers : stock)) ]
}

tidy() { redis del sale:stock sale:sold >/dev/null; }

case ${1-both} in
both | with | without) ;;
*) echo "usage: $0 [without|with]" >&2; exit 64 ;;
esac
at_exit=tidy
need_redlock
own_server
echo '                  buyers    stock     sold     left  oversold by'
[ "${1-}" = with ] || sale without
[ "${1-}" = without ] || sale with
