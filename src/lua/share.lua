-- Those who hold a lock together: readers, or those whom the holder's command
-- started, and who joined it. Each has a lease of its own: a live one never
-- renews that of a dead one.
--   redlock:{TAG}:sharers:VALUE:KEY  sorted set, by the server time in ms at
--       which the lease of each ends; its thousandths are the round: see
--       round_line(). A member is "TOKEN TTL SLOTS FLAGS\nABOUT", as in the
--       line of waiters; also
--       left        the holder that the others joined has ended (its time is 0)
--       ?           whoever else it may have been: data were lost
--       rest ...    a member that has ended, but holds for a while: --min-hold
-- Whom others have joined has a "joined 1" in its record: on the move, that set
-- may be on the other node, or nowhere.
-- "TTL SLOTS FLAGS\nABOUT": how a client stands in line. Flags: "-" none,
-- "s" --supersede, "r" --shared. nil: those are no words of ours.
local function standing(words)
	local ttl, slots, flags, about =
	    string.match(words or '', '^([1-9]%d*) ([1-9]%d*) (%S+)\n(.*)$')
	ttl, slots = whole(ttl), whole(slots)
	if not ttl or ttl > 1000000000000 or not slots or slots > 1000 then
		return nil
	end
	return ttl, slots, string.find(flags, 'r') and true, about,
	    string.find(flags, 's') and true
end
-- A member: its token, and how that stands; nil: it is none of ours.
local function parsed(member)
	local who, words = string.match(member, '^(%S+) (.*)$')
	if who and standing(words) then
		return who, words
	end
end
local function shared(value)
	return string.sub(value or '', 1, 7) == 'shared:'
end
local function sharers_of(value) return part('sharers:' .. value) end
-- When the last of them ends; nil: none is left. A member that is none of ours
-- is dropped. (Nobody's time is more than 30 years.)
local function sharers_end(value, at)
	local sharers, now = sharers_of(value), math.floor(at / 1000)
	-- it was here; on the move it may be nowhere once we took the last away
	local last = try('zrevrange', sharers, 0, 0, 'withscores')
	while last[1] and last[1] ~= '?' and last[1] ~= 'left'
	    and not parsed((string.gsub(last[1], '^rest ', ''))) do
		redis.call('zrem', sharers, last[1])
		last = try('zrevrange', sharers, 0, 0, 'withscores')
	end
	local ends = math.floor(math.min(tonumber(last[2] or 0),
	    now + 1000000000000))
	try('zremrangebyscore', sharers, '(0', now)
	return ends > now and ends or nil
end
local joined_line = 'joined 1\n'
-- Whether anybody may have joined whoever holds the lock.
local function may_be_joined()
	if moving then
		return not record_is_of(v) or number_in(record, 'joined') == 1
	end
	return redis.call('exists', sharers_of(v)) == 1
end
-- The lock lives as long as the last of them, but no shorter than `least` ms.
local function keep(n, value, at, least)
	local last = sharers_end(value, at)
	local ms = math.max(least, last and last - math.floor(at / 1000) or 0)
	redis.call('pexpire', slot_key('', n), ms)
	try('pexpire', sharers_of(value), ms)
	-- the record of a loss must not end sooner than it was meant to
	if redis.call('pttl', slot_key('holder', n)) < ms then
		redis.call('pexpire', slot_key('holder', n), ms)
	end
end
-- The longest lease of those who hold `value`, as the record knows it: what was
-- lost and is set again lasts for as long, and so do waiters wait for whoever is
-- unaware.
local function longest(value, ttl)
	return math.max(ttl, record_is_of(value) and number_in(record, 'ttl') or 0)
end
-- Join, or renew. Who is `known` to be in there and is not was forgotten, and so
-- may others have been: each of them is heard of within the longest lease.
local function share(value, member, at, ttl, known)
	local ends = math.floor(at / 1000) + ttl
	redis.call('pexpire', sharers_of(value), ttl) -- memory may be full
	local is_us = string.sub(member, 1, #token + 1) == token .. ' '
	-- what comes late does not set the round back
	local its = is_us and own('zscore', sharers_of(value), member)
	local of = is_us and math.max(round,
	    its and math.floor(its % 1 * 1000 + 0.5) or 0) or 0
	if own('zadd', sharers_of(value), ends + of / 1000, member) == 1
	    and known then
		ends = ends - ttl + longest(value, ttl)
		redis.call('zadd', sharers_of(value), ends, '?')
	end
end
-- --once-per: the answer when somebody did it already, or nil.
local function done_by()
	here(part('once'))
	local by = own('get', part('once'))
	return by and {'done', text(c), redis.call('pttl', part('once')), '', by}
end
