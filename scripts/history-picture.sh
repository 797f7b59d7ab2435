#!/bin/sh
# SPDX-License-Identifier: MIT
# history-picture.sh REDLOCK, in the top source directory: makes docs/history.svg from
# real runs. Three "machines", host names made by unshare(1), share a lock in a
# private server for some seconds.
set -eu
redlock=$(realpath "${1:?usage: scripts/history-picture.sh REDLOCK}")
dir=$(mktemp -d)
redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --dir "$dir" \
	--daemonize yes --pidfile "$dir/pid" --logfile "$dir/log" >/dev/null
trap 'kill "$(cat "$dir/pid")"; rm -rf "$dir"' EXIT
until redis-cli -s "$dir/redis.sock" ping >/dev/null 2>&1; do :; done
export REDLOCK_URL="unix://$dir/redis.sock" LOGNAME=deploy redlock

on() { # HOST ARGUMENT...
	# shellcheck disable=SC2016 # expanded there
	unshare --map-root-user --uts sh -c \
		'hostname "$1"; shift; exec "$redlock" "$@"' on "$@" 2>/dev/null
}
on web1 -k deploy -- sleep 2 &
sleep 0.3
on web2 -k deploy -- sleep 1.5 &
sleep 0.3
on web3 -k deploy -t 2s -- sleep 4 &
sleep 0.9
on web1 -k deploy -- sh -c 'sleep 1.2; exit 3' &
sleep 5
on ops force-release --confirm deploy --reason 'wrong branch' deploy
on web2 -k deploy -- sleep 1.4 &
sleep 0.6
on web3 -k deploy --max-hold 1s -- sleep 9 &
wait
"$redlock" history --svg deploy >docs/history.svg
"$redlock" history deploy
