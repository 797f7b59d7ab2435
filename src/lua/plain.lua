-- SPDX-License-Identifier: MIT
-- For what is plain and frequent: plain-acquire.lua and its like, which answer
-- before the rest of the script is begun.
--
-- Whether this is a counter that what is plain may use: see now().
local function sound(c) return c and #c == 16 and c:find('^[1-8]%d+$') end
-- The record of a grant at that time, in the form of record.lua.
local function granted_record(who, ttl, at, rest)
	return 'token ' .. who .. '\nttl ' .. ttl .. '\nfence ' .. at .. '\nsince '
	    .. at:sub(1, 13) .. '\n' .. rest
end
-- The value of the lock; nil if there is none, or it cannot be told.
local function value()
	local v = cluster and redis.pcall('mget', lock, none)[1]
	    or not cluster and redis.pcall('get', lock)
	return type(v) == 'string' and v or nil
end
