-- SPDX-License-Identifier: MIT
-- The plain and most frequent case: an exclusive lock, on one server that has lost
-- nothing and asks nobody to stop. It is recognized by its bytes, before anything is
-- parsed and before the rest is defined. It does what the rest would do;
-- tests/sim.bats compares both.
local at = t[1] .. ('00000' .. t[2]):sub(-6)
local ms, c, seen, slot0, hold = at:sub(1, 13), f[2], ARG.seen, f[6] or '', f[8]
local sound = ARG.plain == '1' and f[1] == '2' and #(c or '') == 16 and at > c
    and at:sub(1, 5) == c:sub(1, 5) and (f[4] or '0') < ms and not f[7] and f[3] and (f[5] or ''):sub(-16) == c
    and (seen == '0' or seen <= c and seen >= f[3] and f[5]:find(seen, 1, true))
local ours = sound and hold and slot0:sub(1, #token + 3) == token .. ' 1 '
    and hold:sub(-1) == ' ' and (f[9] or ''):sub(1, 2) == '0 ' and try('get', K) == token
local function ends_in(ttl) return str(ms + ttl) end
local function move_on(...)
	call('hset', S, 'fence', at, 'trail', (f[5] .. ' ' .. at):sub(-135), ...)
end
