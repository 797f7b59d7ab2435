-- SPDX-License-Identifier: MIT
-- A stream takes 4 kB for its first entry, and many locks are used only once: for
-- a build, an order, a user. So that entry is a field of the state, until there is
-- a second one:
--   first     "AT TOKEN N\n", then HOLD, of N bytes, and WHO; AT in ms. For the
--             others see log.lua
local function first_entry()
	local words = redis.pcall('hget', state, 'first')
	local at, who, n, rest = string.match(type(words) == 'string' and words or '',
	    '^(%d+) (%S+) (%d+)\n(.*)$')
	n = tonumber(n)
	return n and {at .. '-0', {'token', who, 'hold', rest:sub(1, n),
	    'who', rest:sub(n + 1)}}
end
local function put_first(who, hold, about)
	redis.pcall('hset', state, 'first', now():sub(1, 13) .. ' ' .. who .. ' '
	    .. #hold .. '\n' .. hold .. about)
	-- it was lost, and this is a new one
	if redis.pcall('pttl', state) == -1 then
		redis.pcall('pexpire', state, month_ms)
	end
end
