#!/bin/sh
# SPDX-License-Identifier: MIT
# How long a command lives on once it must die: from the decision to the death
# of its whole tree (10 processes in sessions of their own, deaf to signals).
#
#   bench/kill.sh [PATH-OF-REDLOCK] [ROUNDS]
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${2:-20}

start_redis
compile tree
machine
echo "milliseconds until the last of 10 processes is dead"
printf 'kill -9 of redlock:       '
"$W/tree" "$rounds" kill "$sock" "$redlock" | summary
printf 'the server says not ours: '
"$W/tree" "$rounds" lose "$sock" "$redlock" | summary
