#!/bin/sh
# SPDX-License-Identifier: MIT
# service.sh KEY [OPTION...] -- COMMAND...: a service on one of several machines. Run
# it on each: one runs COMMAND, and the others stand in line. Where COMMAND ends or
# loses the lease, it stands in line again, until TERM.
#
# systemd does this better: systemd/redlock@.service. runit, s6 and supervisord start
# a program again by themselves, so that `exec redlock -k KEY -- COMMAND` is enough.
REDLOCK=${REDLOCK:-redlock}

stop() {
	trap '' TERM INT HUP
	kill "$!" 2>/dev/null
	wait "$!"
	exit 143
}
trap stop TERM INT HUP

while :; do
	"$REDLOCK" -k "$@" &
	wait "$!"
	status=$?
	# the line itself is wrong
	case $status in 64 | 78 | 126 | 127) exit "$status" ;; esac
	# in the background, so that a signal does not wait for it
	sleep "${PAUSE:-1}" &
	wait "$!"
done
