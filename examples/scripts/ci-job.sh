#!/bin/sh
# SPDX-License-Identifier: MIT
# ci-job.sh: a CI job. CI systems run each step in its own shell, and the steps
# share nothing but files. One of these holds the token.
#
# FAIL=deploy makes that step fail: the last one still releases the lock.
set -eu
. "$(dirname "$0")/../redis.sh"
need_redlock
own_server
export REDLOCK W FAIL="${FAIL-}"
status=0

step() { # NAME, with its commands on standard input
	case $status/$1 in 0/* | */always) ;; *) return 0 ;; esac
	echo "# $1"
	sh -eu >"$W/step.log" 2>&1 || status=$?
	cat "$W/step.log"
}

# ---- from here on, what you would put into the CI configuration ----

# The lease must cover the longest step: nobody renews it in between.
step lock <<'SH'
	"$REDLOCK" lock -t 10m -w 30m --reason "release 1.2" deploy >"$W/token"
	echo "locked"
SH
step build <<'SH'
	echo "building"
	"$REDLOCK" extend --token "$(cat "$W/token")" deploy
SH
step deploy <<'SH'
	# fails with 75 if the lease has expired and somebody else has the lock
	"$REDLOCK" extend --token "$(cat "$W/token")" deploy
	[ "$FAIL" != deploy ] || { echo "deploying fails"; exit 3; }
	echo "deploying"
SH
step always <<'SH'
	"$REDLOCK" unlock --token "$(cat "$W/token")" deploy
	echo "unlocked"
SH
exit "$status"
