-- SPDX-License-Identifier: MIT
-- Whether a slot is free, and how it is granted.
--
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
-- renewed yet. `only`: look at this slot alone, unless that is negative, nil or
-- false.
local function room(slots, reads, fresh, only)
	local values = (slots > 1 or slot > 0) and values_of(slots) or {v}
	for n = 1, slots do
		local value = values[n]
		if (not only or only < 0 or n == only + 1)
		    and (not value and not fresh
		    or value and value == leaving and n == slot + 1
		    or reads and shared(value)) then
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
	local new = reads and 'shared:' .. text(next) or who
	if not joins then
		local how = n == slot and v and 'xx' or 'nx'
		local set = redis.pcall('set', name, new, how, 'px', px)
		if not set and n > 0 and not moving
		    and redis.call('type', name).ok ~= 'string' then -- see own()
			redis.call('del', name)
			set = redis.pcall('set', name, new, how, 'px', px)
		end
		if not set or set.err then
			return false
		end
		value = new
	end
	if n == slot then
		v, leaving = value, nil
	end
	if who == token then
		granted, its_fence = n, next
	end
	-- a reader that joins writes here first: see release.lua on full memory
	if joins then
		may_be_shared(n, value, nil, at, true)
	end
	if reads then
		share(value, who .. ' ' .. stands, at, px)
	end
	local words = joins and record_at(n, value)
	if ttl > (words and number_in(words, 'ttl') or 0) then
		-- a late question of one that others have joined, or that was
		-- asked to stop
		about = about .. (not reads and not moving and redis.pcall('exists',
		    sharers_of(value)) == 1 and joined_line or '')
		    .. (who == token and not moving and redis.pcall('exists',
		    inbox) == 1 and asked_line or '')
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
