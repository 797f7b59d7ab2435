#!/bin/sh
# SPDX-License-Identifier: MIT
# witness.sh NAME: the command under the lock. Whether another one is there the
# kernel knows, by flock(2), and no clock is asked. Stays until $W/NAME.go; its
# last act, if there is $W/NAME.stop, is to stop the lock that it runs under.
exec 9>"$W/witness"
flock -n 9 || {
	echo "$1" >>"$W/two"
	exit 96
}
: >"$W/$1.in"
until [ -e "$W/$1.go" ]; do sleep 0.01; done
[ ! -e "$W/$1.stop" ] || kill -STOP "$(cat "$W/$1.pid")"
