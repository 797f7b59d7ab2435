#!/bin/sh
# SPDX-License-Identifier: MIT
# witness.sh NAME: the command under the lock. It learns from flock(2), not from
# a clock, whether another one is running. It stays until $W/NAME.go exists. If
# $W/NAME.stop exists, its last act is to stop the lock that it runs under.
exec 9>"$W/witness"
flock -n 9 || {
	echo "$1" >>"$W/two"
	exit 96
}
: >"$W/$1.in"
until [ -e "$W/$1.go" ]; do sleep 0.01; done
[ ! -e "$W/$1.stop" ] || kill -STOP "$(cat "$W/$1.pid")"
