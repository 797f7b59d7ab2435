#!/bin/sh
# SPDX-License-Identifier: MIT
# ci-job.sh: a CI job whose steps are each a shell of its own, as CI systems run
# them: all they share are files. The token is in one of these.
#
# FAIL=deploy ends that step with an error: the last one gives back all the same.
set -eu
. "$(dirname "$0")/../redis.sh"
need_redlock
own_server
export REDLOCK W FAIL="${FAIL-}"
status=0

step() { # NAME, with its commands at standard input
	case $status/$1 in 0/* | */always) ;; *) return 0 ;; esac
	echo "# $1"
	sh -eu >"$W/step.log" 2>&1 || status=$?
	cat "$W/step.log"
}

# ---- from here on, what one would write into the CI's file ----

# A lease for the longest step: nobody renews it in between.
step lock <<'SH'
	"$REDLOCK" lock -t 10m -w 30m --reason "release 1.2" deploy >"$W/token"
	echo "locked"
SH
step build <<'SH'
	echo "building"
	"$REDLOCK" extend --token "$(cat "$W/token")" deploy
SH
step deploy <<'SH'
	# 75, and the step fails, if the lease was over and somebody else has it
	"$REDLOCK" extend --token "$(cat "$W/token")" deploy
	[ "$FAIL" != deploy ] || { echo "deploying fails"; exit 3; }
	echo "deploying"
SH
step always <<'SH'
	"$REDLOCK" unlock --token "$(cat "$W/token")" deploy
	echo "unlocked"
SH
exit "$status"
