-- SPDX-License-Identifier: MIT
-- Clients that share a lock: readers, or nested runs that joined the hold of
-- the command that started them. Each has its own lease: a live client never
-- renews the lease of a dead one.
--   ...:sharers:VALUE  sorted set. The score is the server time
--       in ms at which the lease ends. A member is "TOKEN TTL SLOTS FLAGS\nABOUT",
--       as in the line of waiters, or one of these:
--       kept        there as long as the set has not been lost (score 0)
--       left        the holder that the others joined has ended (its score is
--                   0)
--       ?           members that we do not know: data were lost
--       TOKEN       the score is the negative number of a question, see below
--       rest ...    a member that has ended but keeps the lock for a while:
--                   --min-hold
-- If others have joined a hold, its record has a line "joined 1", and if
-- force-release has asked the holder to stop, a line "asked 1". The plain scripts
-- look at these lines alone. So does everybody during a migration, when the set
-- or the word may be on the other node, or on neither.
local function shared(value)
	return string.sub(value or '', 1, 7) == 'shared:'
end
local function sharers_of(value) return part('sharers:' .. value) end
-- Returns when the last of their leases ends, or nil if none is left. Drops
-- members that are not ours. (A lease ends within 30 years at most.)
local function sharers_end(value, at)
	local sharers, now = sharers_of(value), math.floor(at / 1000)
	-- the set was here; during a migration it may be on neither node after
	-- we have removed the last member
	local last = try('zrevrange', sharers, 0, 0, 'withscores')
	local first = last[1]
	if first and first ~= '?' and first ~= 'left' and first ~= 'kept'
	    and not parsed((first:gsub('^rest ', ''))) then
		redis.call('zrem', sharers, first)
		return sharers_end(value, at)
	end
	local ends = math.floor(math.min(tonumber(last[2] or 0),
	    now + 1000000000000))
	try('zremrangebyscore', sharers, '(0', now)
	return ends > now and ends or nil
end
local joined_line, asked_line = 'joined 1\n', 'asked 1\n'
-- The lock expires with the last of their leases, but not in less than `least`
-- ms. Returns when that lease ends, or nil.
local function keep(n, value, at, least)
	local last = sharers_end(value, at)
	local ms = math.max(least, last and last - math.floor(at / 1000) or 0)
	redis.call('pexpire', slot_key(n), ms)
	try('pexpire', sharers_of(value), ms)
	return last
end
-- The longest lease of those who hold `value`, as far as the record and we know.
-- A lost lock is set again for that long, because waiters wait that long for a
-- holder that does not know of the loss.
local longest_ms = 0 -- see confirm.lua
local function longest(value, ttl)
	return math.max(ttl, longest_ms, record_is_of(value) and number_in(record, 'ttl') or 0)
end
-- A release may arrive late, after this client has asked for the lock again. So
-- releases are numbered, and a later question has a number that is larger than that
-- of the last release before it. A node keeps the largest number of a question
-- that found that we have the lock, and a release with a smaller one does not undo
-- that. 0: a question before any release; a release that is compared with nothing,
-- as that of `unlock`, and as on one node, where nothing is asked after it.
--   number:N   field of the state: "TOKEN NUMBER". It counts for this client alone
local number = 0
local function number_at(n, sharers)
	if number == 0 then
		return 0
	elseif sharers then
		return -(tonumber(own('zscore', sharers, token)) or 0)
	end
	local words = own('hget', state, field('number', n)) or ''
	return words:sub(1, #token + 1) == token .. ' '
	    and whole(words:sub(#token + 2)) or 0
end
local function put_number(n)
	if number > 0 then
		redis.pcall('hset', state, field('number', n), token .. ' ' .. text(number))
	end
end
-- Joins, or renews. `known`: the member should be in the set. If it is not, the
-- server has forgotten it, and perhaps others too. "?" stands for those until
-- the longest lease is over; by then each of them has asked again. A waiter that
-- is handed the lock, and has it already, keeps its lease if that is longer.
local function share(value, member, at, ttl, known)
	local ends = math.floor(at / 1000) + ttl
	redis.call('pexpire', sharers_of(value), ttl) -- memory may be full
	local is_us = member:find(token .. ' ', 1, true) == 1
	local its = not is_us and own('zscore', sharers_of(value), member)
	ends = math.max(ends, its or 0)
	if is_us and number > number_at(nil, sharers_of(value)) then
		own('zadd', sharers_of(value), -number, token)
	end
	if own('zadd', sharers_of(value), ends, member) == 1 then
		redis.call('zadd', sharers_of(value), 0, 'kept')
		if known then
			share(value, '?', at, longest(value, ttl))
		end
	end
end
-- Whether another client may have joined the hold of slot n. `words`: its record, or
-- nil; `told`: the caller knows that others share it. If the set was lost, adds "?"
-- for its members, until the lock would expire, or for as long as we know of.
local function may_be_shared(n, value, words, at, told)
	local joined = told or words and number_in(words, 'joined') == 1
	if moving then
		return joined or not words
	end
	if own('zscore', sharers_of(value), 'kept') then
		return true
	elseif joined then
		local ms = math.max(redis.call('pttl', slot_key(n)), longest_ms)
		ms = ms > 0 and ms or longest(value, 1)
		share(value, '?', at, ms)
		redis.call('pexpire', sharers_of(value), ms)
	end
	return joined
end
