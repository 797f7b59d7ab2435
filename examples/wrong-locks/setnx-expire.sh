#!/bin/sh
# SPDX-License-Identifier: MIT
# WRONG: SETNX and EXPIRE are two requests. A client that dies between them
# leaves a lock that never expires: nobody ever gets it again.
. "$(dirname "$0")/../redis.sh"
key=$1
shift
until [ "$(redis setnx "$key" locked)" = 1 ]; do busy; done
redis pexpire "$key" "$lease" >/dev/null
"$@"
status=$?
redis del "$key" >/dev/null
exit $status
