-- Renews the lease of a client of which only the token is known. confirm.lua
-- does the rest, and has the same arguments, except:
-- ARGV  2 may be 0: as long as before  3, 4 and 7 "0"  5 and 6 are filled in
--       here  8 and 9 -1
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
local lasts = math.max(tonumber(ARGV[2]) > 0 and tonumber(ARGV[2]) or its,
    ends and math.floor(ends) - math.floor(now_us / 1000) or redis.call('pttl', lock))
ARGV[2] = text(lasts)
if lasts > its and record_is_of(token) then
	-- a waiter that finds data lost waits as long as the lease may be
	record = with(record, 'ttl', lasts)
end
ARGV[5], ARGV[6] = stands, value
