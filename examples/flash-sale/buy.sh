#!/bin/sh
# SPDX-License-Identifier: MIT
# buy.sh NAME: looks whether one is left, pays, takes it. That is right as long
# as nobody else does the same meanwhile.
set -eu
. "$(dirname "$0")/../redis.sh"

stock=$(redis get sale:stock)
[ "$stock" -gt 0 ] || exit 0 # sold out
${PAY:-sleep 0.01}
redis set sale:stock $((stock - 1)) >/dev/null
redis rpush sale:sold "$1" >/dev/null
