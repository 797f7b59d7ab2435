#!/bin/sh
# SPDX-License-Identifier: MIT
# buy.sh NAME: checks whether one is left, pays, takes it. This is correct as
# long as nobody else does the same at that time.
set -eu
. "$(dirname "$0")/../redis.sh"

stock=$(redis get sale:stock)
[ "$stock" -gt 0 ] || exit 0 # sold out
${PAY:-sleep 0.01}
redis set sale:stock $((stock - 1)) >/dev/null
redis rpush sale:sold "$1" >/dev/null
