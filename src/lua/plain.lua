-- SPDX-License-Identifier: MIT
-- The plain and most frequent cases: an exclusive lock, on one server that has lost
-- nothing and asks nobody to stop. It is recognized by its bytes, before anything is
-- parsed and before the rest is defined. It does what the rest would do;
-- tests/sim.bats compares both.
local c, trail, slot0, hold = f[2] or '', f[4] or '', f[5] or '', f[7]
local sound = ARG.plain == '1' and f[1] == '2' and at > c
    and at:sub(1, 5) == c:sub(1, 5) and (ARG.seen == c or ARG.seen == '0')
    and trail:sub(-16) == c and not f[6] and (f[3] or '0') < ms
