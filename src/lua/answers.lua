-- SPDX-License-Identifier: MIT
-- For decide.lua: what it tells of a lock that is ours, or another client's.
--
-- The slot that we have already, if any.
local function mine()
	if shared(v) then
		here(sharers_of(v))
	end
	if reads then
		return shared(v) and own('zscore', sharers_of(v), member)
		    and 0
	end
	if slots == 1 then
		return v == token and 0
	end
	for n, value in ipairs(values_of(slots)) do
		if value == token then
			return n - 1
		end
	end
end
-- Notes that we have claimed the lock that was handed to us: see expired.lua.
local function claim(n)
	local words, found = (record_at(n, token) or ''):gsub('\n' .. handed_line, '\n', 1)
	if found > 0 then
		record_put(n, words)
	end
end
local function ours(n, at, fresh)
	if reads then
		share(v, member, at, ttl)
		keep(n, v, at, 0)
		note_reader(member, at, ttl)
		-- the lock was lost, and another reader has set it again while
		-- we waited: a holder leaves the line
		if not fresh then
			try('zrem', queue, member)
		end
	elseif not fresh then
		-- nested runs may have longer leases than ours, even if we have
		-- ended
		at = at or time()
		if may_be_shared(n, token, record_at(n, token), at) then
			keep(n, token, at, ttl)
		else
			redis.call('pexpire', slot_key(n), ttl)
		end
	end
	if not reads then
		note_number(n, member)
		if not fresh then
			claim(n)
		end
	end
	-- the counter may have moved for another client since our grant, even in
	-- this script; then we need a new fence
	local old = granted and its_fence ~= c or not granted and (several or moving
	    or not record_is_of(token) or number_in(record, 'fence') ~= c)
	if old and not bad then
		local next = next_fence(at or time(), alone)
		local words = not reads and record_at(n, token)
		if words then
			move(next, n, nil, field('holder', n),
			    with(words, 'fence', next))
		else
			move(next, not reads and n or nil)
		end
	end
	local who = guard >= 0 and server()
	local stop, by = -1, ''
	if not fresh then
		stop, by = stop_word(token, at or time())
	end
	return {'granted', text(c), told(), n,
	    reads and string.sub(v, 8) or '0', who or '',
	    text(math.floor((at or time()) / 1000)),
	    tostring(stop), by, reads and redis.call('pttl', lock) or 0}
end
-- The end of a record of readers: how many there are, and the one whose lease
-- ends last.
local function readers_now()
	local sharers = sharers_of(v)
	local last = try('zrevrange', sharers, 0, 0)[1] or ''
	local n = (tonumber(try('zcard', sharers)) or 1)
	    - (tonumber(try('zrank', sharers, 'kept')) or 0)
	return 'readers ' .. math.max(n, 1) - 1 .. '\n'
	    .. (string.match(last, '\n(.*)$') or '')
end
-- Tells who has the lock: with several slots, who has the one that the client
-- wants, else the one that is free first.
local function busy(place, kind)
	local left, first = nil, slot
	local function seek(from, to)
		for n = from, to do
			local ms = redis.call('pttl', slot_key(n))
			if ms >= -1 and (not left or left < 0
			    or ms >= 0 and ms < left) then
				left, first = ms, n
			end
		end
	end
	if slots == 1 then
		left = redis.call('pttl', lock)
	else
		if only >= 0 then
			seek(only, only)
		end
		if not left then
			seek(0, slots - 1)
		end
		v = words_at(slot_key(first))
		record = v and record_at(first, v)
	end
	local since = guard >= 0 and number_in(record, 'since')
	if shared(v) then
		record = string.gsub(record or '',
		    '^(.-\nsince %d+\n).*$', '%1') .. readers_now()
	end
	return {kind and 'type' or 'busy', text(c), left or -2,
	    kind or string.sub(v or '', 1, 128),
	    string.sub(not kind and record or '', 1, 2048), place,
	    text(math.max(ticket, 0)), (kind or moving) and 0 or told(),
	    text(since and math.max(0, math.floor(time() / 1000) - since) or -1)}
end
