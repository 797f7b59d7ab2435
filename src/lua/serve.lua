-- SPDX-License-Identifier: MIT
-- How the lock goes to the first in line.
--
-- Whether the waiter gave no sign of life for three heartbeats. Its ticket is
-- the first sign. During a migration waiters give no signs, so none counts as
-- gone.
local function gone(who, ticket, at)
	return not moving and at - ticket > 3 * heartbeat and at
	    - tonumber(own('zscore', alive, who) or 0) > 3 * heartbeat
end
-- The first two in line, with their tickets. Drops members that are not ours:
-- they would block the line for ever.
local function first_two()
	while true do
		local line, odd = own('zrange', queue, 0, 1, 'withscores'), false
		for i = 1, #line, 2 do
			if not parsed(line[i]) then
				redis.call('zrem', queue, line[i])
				odd = true
			end
		end
		if not odd then
			return line
		end
	end
end
-- Hands the lock or a slot to the first live waiter in line, for as long as it
-- may take to claim it, then to the next, and so on. It stops at the first for
-- which there is no room: nobody may pass that one. `born`: see head.lua; nil
-- without slots and readers. `lost`: see grant(). `only`: the caller, if it is in
-- line, wants this slot. Returns for how long the lock was handed over, or nil;
-- whether a waiter is left; and whether one is left because its grant failed.
--
-- If the counter was just lost, the first in line may have claimed the lock
-- before that, and run by now: it gets a whole lease.
--
-- During a migration it may fail at any key that is not here, and what was
-- written by then stays. With a plain lock that is a complete grant, because
-- all its keys are in KEYS. Any other grant could stop half-way, before the
-- counter moves, or give away a slot that is held on the other node.
local function serve(at, alone, lost, born, only)
	local given
	while true do
		local line = first_two()
		for i = 1, #line, 2 do
			local who, words = parsed(line[i])
			local ticket = tonumber(line[i + 1])
			local ttl, slots, reads = standing(words)
			if moving and (reads or slots > 1 or slot > 0) then
				return given, true
			end
			-- a waiter that came after the counter started again
			-- need not wait for holders that were lost with the old
			-- one
			local n = room(slots, reads, born and ticket < born
			    and at - born < ttl * 1000, who == token and only)
			local dead = who == token and gives_up or gone(who, ticket, at)
			if not n and (given or not dead) then
				return given, true
			end
			redis.call('zrem', queue, line[i])
			local px = not dead and (lost == true and ttl
			    or math.min(grant_ms, math.floor(ttl / 2)))
			if px and not grant(n, who, words, px, at, alone, lost) then
				redis.call('zadd', queue, line[i + 1], line[i])
				redis.call('pexpire', queue, kept_ms)
				return given, true, true
			end
			if at - ticket > heartbeat then -- it may have given a sign
				try('zrem', alive, who)
			end
			if px then
				if who ~= token then
					wake(who, text(c), px)
				end
				given = px
			end
		end
		if #line < 4 then
			return given, false
		end
	end
end
