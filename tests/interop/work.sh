#!/bin/sh
# SPDX-License-Identifier: MIT
# work.sh DIR NAME: the work of the other programs under the lock. Like the witness
# (tests/lib/witness.c), whose files it uses, but without a fence: they have none.
set -eu
cd "$1"
exec 9>>witness
flock -n 9 || echo "exclusion violated by $2, pid $$" >>errors
count=$(cat counter 2>/dev/null || echo 0)
sleep 0.005
echo "$2" >>log
echo $((count + 1)) >counter
