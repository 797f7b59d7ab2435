-- The line of waiters, in the order of their tickets:
--   redlock:{TAG}:queue:KEY        sorted set, ticket -> member. A ticket is
--       the server's TIME in microseconds at which the waiter came; a member
--       is "TOKEN TTL FLAGS\n" and what others may see of the waiter
--   redlock:{TAG}:alive:KEY        sorted set, last sign of life -> token, of
--       whoever has waited for more than a heartbeat
--   redlock:{TAG}:grant:TOKEN:KEY  list: what wakes the waiter. It expires, so
--       that a waiter that died leaves nothing
-- A waiter asks again once per heartbeat, and gets into line with the ticket it
-- has, should it have been skipped or the data be lost.
local heartbeat, kept_ms, grant_ms = 5000000, 60000, 2000
local base = string.sub(holder, 1, #holder - #lock - 7)
local function part(name) return base .. name .. ':' .. lock end
local queue, alive = part('queue'), part('alive')
local function wake(who, word, ms)
	local list = part('grant:' .. who)
	redis.call('rpush', list, word)
	redis.call('pexpire', list, ms)
end
-- The lock becomes `who`'s for `px` ms. False: it is of another type, or memory
-- is full. The counter moves with every grant; on one node it becomes TIME at
-- least, because a counter rolled back by a restart would hand out a fence
-- twice; on several it grows by 1, so that their answers agree.
--   The counter may be missing though somebody waits: then whoever remembers a
-- smaller one remembers a holder that may be unaware, and must be told. What the
-- counter was born as stands in the record as `lost`, until somebody has held.
local function grant(who, ttl, px, about, at, alone, lost)
	local set = redis.pcall('set', lock, who, v and 'xx' or 'nx', 'px', px)
	if not set or set.err then
		return false
	end
	c = c and c + 1 or at
	if alone and c < at then
		c = at
	end
	v = who
	fence_set(c)
	record_set(who, ttl, about, at, lost == true and c or lost)
	return true
end
-- No sign of life for three heartbeats. The ticket is the first sign.
local function gone(who, ticket, at)
	return at - ticket > 3 * heartbeat and at
	    - tonumber(redis.call('zscore', alive, who) or 0) > 3 * heartbeat
end
-- How many wait and live; the others leave the line.
local function living(at)
	local line, n = redis.call('zrange', queue, 0, -1, 'withscores'), 0
	for i = 1, #line, 2 do
		local who = string.match(line[i], '^%S+')
		if gone(who, tonumber(line[i + 1]), at) then
			redis.call('zrem', queue, line[i])
			redis.call('zrem', alive, who)
		else
			n = n + 1
		end
	end
	return n
end
-- The first in line that lives gets the lock, for as long as it may take to
-- claim it. Called while the lock is free or the caller's own.
local function hand_over(at, alone, lost)
	while true do
		local head = redis.call('zpopmin', queue)
		if not head[1] then
			return false
		end
		local who, ttl, about =
		    string.match(head[1], '^(%S+) (%d+) %S+\n(.*)$')
		local ticket = tonumber(head[2])
		local dead = gone(who, ticket, at)
		if at - ticket > heartbeat then -- it may have given a sign
			redis.call('zrem', alive, who)
		end
		if not dead then
			local px = math.min(grant_ms, math.floor(ttl / 2))
			if not grant(who, ttl, px, about, at, alone, lost) then
				redis.call('zadd', queue, head[2], head[1])
				return false
			end
			if who ~= token then
				wake(who, text(c), px)
			end
			return px
		end
	end
end
