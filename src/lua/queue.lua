-- The line of waiters, in the order of their tickets. All slots share one line:
--   redlock:{TAG}:queue:KEY        sorted set, ticket -> member. A ticket is
--       the server's TIME in microseconds at which the waiter came. A member is
--       "TOKEN TTL SLOTS FLAGS\n" and what others may see of the waiter
--   redlock:{TAG}:alive:KEY        sorted set, last sign of life -> token, of
--       waiters that have waited for more than a heartbeat
--   redlock:{TAG}:grant:TOKEN:KEY  list; a push wakes the waiter. It expires,
--       so that a dead waiter leaves nothing behind
-- A waiter asks again once per heartbeat. If it was skipped or the data were
-- lost, it gets back into line with its old ticket.
local heartbeat, kept_ms, grant_ms = 5000000, 60000, 2000
local queue, alive = part('queue'), part('alive')
local granted -- the slot that the caller was given
local leaving -- what the caller's slot holds, which it gives back
local function wake(who, word, ms)
	local list = part('grant:' .. who)
	if not moving then -- it will ask
		own('rpush', list, word)
		redis.call('pexpire', list, ms)
	end
end
-- The value of a lock; nil if the key is missing or of another type.
local function words_at(name)
	local words = redis.pcall('get', name)
	if type(words) == 'table'
	    and not string.find(words.err, 'WRONGTYPE', 1, true) then
		redis.call('get', name)
	end
	return type(words) == 'string' and words or nil
end
-- The values of slots 0 to slots - 1.
local function values_of(slots)
	local names = {}
	for n = 0, slots - 1 do
		names[n + 1] = slot_key(n)
	end
	return redis.call('mget', unpack(names))
end
-- Returns a slot that this client may have now, or nil. If data were lost a
-- moment ago (`fresh`), an empty slot is not free: its holder may not have
-- renewed yet. `only`: look at this slot alone, unless it is negative or nil.
local function room(slots, reads, fresh, only)
	local values = {v}
	if slots > 1 or slot > 0 then
		values = values_of(slots)
	end
	for n = 1, slots do
		local value = values[n]
		if (only or -1) >= 0 and n ~= only + 1 then
			value = nil
		elseif not value and not fresh
		    or value and value == leaving and n == slot + 1
		    or reads and shared(value) then
			return n - 1
		end
	end
end
-- Every grant moves the counter. On one node (`alone`) it becomes at least
-- TIME, because a counter that a restart rolled back would give out a fence
-- twice. On several nodes it grows by 1, so that their answers agree.
local function next_fence(at, alone)
	local next = c and c + 1 or at
	return alone and next < at and at or next
end
-- Gives slot n to `who` for `px` ms. Returns false if the key is of another
-- type or memory is full.
--
-- If the counter is missing while clients wait, it was lost. A client that
-- remembers a smaller counter remembers a holder that may not know of the loss,
-- and must be told. So the record keeps the value from which the counter
-- started again, as `lost`, until a client has held the lock.
local function grant(n, who, stands, px, at, alone, lost)
	local name = slot_key(n)
	local ttl, slots, reads, about = standing(stands)
	lives_ms = math.max(lives_ms, ttl)
	local next = next_fence(at, alone)
	local value = n == slot and v
	    or n ~= slot and reads and words_at(name)
	local joins = reads and shared(value)
	local becomes = reads and 'shared:' .. text(next) or who
	if not joins then
		local how = n == slot and v and 'xx' or 'nx'
		local set = redis.pcall('set', name, becomes, how, 'px', px)
		if not set and n > 0 and not moving
		    and redis.call('type', name).ok ~= 'string' then -- see own()
			redis.call('del', name)
			set = redis.pcall('set', name, becomes, how, 'px', px)
		end
		if not set or set.err then
			return false
		end
		value = becomes
	end
	if n == slot then
		v, leaving = value, nil
	end
	if who == token then
		granted = n
	end
	-- a reader that joins writes here first: see release.lua on full memory
	if reads then
		share(value, who .. ' ' .. stands, at, px)
	end
	local words = joins and record_at(n, value)
	if ttl > (words and number_in(words, 'ttl') or 0) then
		words = record_of(value, ttl, (who == token and '' or handed_line) .. about,
		    (words and number_in(words, 'since') or at / 1000) * 1000,
		    lost == true and next or lost, next)
	end
	if n == slot then
		record = words
	end
	move(next, not joins and n, nil, field('holder', n), words)
	if reads then
		keep(n, value, at, 0)
	end
	return true
end
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
-- which there is no room: nobody may pass that one. `born`: see moved(); nil
-- without slots and readers. `lost`: see grant(). Returns for how long the lock
-- was handed over, or nil; whether a waiter is left; and whether one is left
-- because its grant failed.
--
-- If the counter was just lost, the first in line may have claimed the lock
-- before that, and run by now: it gets a whole lease.
--
-- During a migration it may fail at any key that is not here, and what was
-- written by then stays. With a plain lock that is a complete grant, because
-- all its keys are in KEYS. Any other grant could stop half-way, before the
-- counter moves, or give away a slot that is held on the other node.
local function serve(at, alone, lost, born)
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
			    and at - born < ttl * 1000)
			local dead = gone(who, ticket, at)
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
