-- SPDX-License-Identifier: MIT
-- Renews the lease of a client of which only the token is known. confirm.lua
-- does the rest, and has the same arguments, except:
-- ARG
--   ttl            may be 0: as long as before
--   stands, value  are filled in here
--   fence, seen, joined, longest, number, plain  0
--   ends, guard    -1: nothing is healed
-- The answers are those of confirm.lua.
--
-- It never shortens a lease, because the client that renews it relies on the
-- time it has.
local now_us = time()
local value, stands = find(now_us)
if not value then
	return {'no', text(c), v and 1 or 0}
end
local its = standing(stands)
local ends = value ~= token
    and redis.call('zscore', sharers_of(value), token .. ' ' .. stands)
local lasts = math.max(tonumber(ARG.ttl) > 0 and tonumber(ARG.ttl) or its,
    ends and ends - math.floor(now_us / 1000) or redis.call('pttl', lock))
ARG.ttl = text(lasts)
if lasts > its and record_is_of(token) then
	-- a waiter that finds data lost waits as long as the lease may be
	record_put(slot, with(record, 'ttl', lasts))
end
ARG.stands, ARG.value = stands, value
