-- Take the lock for ARGV[1], or a place in line, and say who has it. Asked
-- again by the same token it refreshes the lease, or the place, and answers the
-- same, so a lost reply costs nothing. It is how a waiter claims a grant, too.
--
-- KEYS  lock, fence, holder
-- ARGV  1 token  2 lease ms  3 the largest counter this client saw, or 0
--       4 "1" on one node: see grant()
--       5 ticket; 0: none yet; -1: do not get into line
--       6 do not get into a line of so many; -1: into any
--       7 how we stand in line: "TTL FLAGS\n" and what others may see of us;
--         FLAGS "-", or "s": take the place of older waiters with this flag
-- Returns
--   granted COUNTER LOST       LOST 1: the counter that this client saw has been
--       missing since: see grant()
--   busy COUNTER PTTL VALUE RECORD PLACE TICKET LOST
--       PTTL -1: no expiry; RECORD "": none, the lock is another program's;
--       PLACE: waiters before us, -1: we are not in line
--   type COUNTER PTTL TYPE "" PLACE TICKET 0     the key holds no string
--   loss COUNTER 0 "" "" PLACE TICKET 0    free, but the counter is behind what
--       this client saw: the server lost data, and a holder may be unaware
--   full COUNTER WAITERS
--   superseded COUNTER 0 "" RECORD        by whom
--   fence                      the counter is no number: nothing can be granted
local ttl, saw, alone = ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local ticket, most = tonumber(ARGV[5]), tonumber(ARGV[6])
local flags, about = string.match(ARGV[7], '^%d+ (%S+)\n(.*)$')
local marked = flags == 's'
local function told()
	local lost = record_lost()
	return lost and saw > 0 and saw < lost and 1 or 0
end
-- In line, with the ticket that we have; which place that is.
local member = token .. ' ' .. ARGV[7]
local function stand(at, new)
	local function add()
		if new then
			return redis.pcall('zadd', queue, 'nx', ticket, member)
		end
		return redis.pcall('zadd', queue, ticket, member)
	end
	local added = add()
	if type(added) == 'table' then -- memory is full: see release.lua
		redis.call('pexpire', queue, kept_ms)
		added = add()
	end
	-- what else is wrong may pass, but not that we have no right to wait
	if type(added) == 'table'
	    and string.find(added.err, 'The user executing', 1, true) then
		redis.call('zadd', queue, 'nx', ticket, member)
	end
	local place = redis.call('zrank', queue, member) or -1
	if place < 0 then
		return place
	end
	if new and added == 0 then
		ticket = tonumber(redis.call('zscore', queue, member))
	end
	if at - ticket > heartbeat then
		redis.call('zadd', alive, at, token)
		redis.call('pexpire', alive, kept_ms)
	end
	if not new or place == 0 then
		redis.call('pexpire', queue, kept_ms)
	end
	return place
end
if v == token then
	redis.call('pexpire', lock, ttl)
	if not raw then
		c = time()
		fence_set(c)
	end
	return {'granted', text(c), told()}
end
local at = time()
local newest, latest = part('newest'), nil
if marked then
	latest = redis.call('get', newest) or '0\n'
	local by = tonumber(string.match(latest, '^%d+') or 0)
	-- a first question that comes twice finds the word of what happened in
	-- between
	local word = ticket == 0 and redis.call('lindex', part('grant:' .. token), 0)
	if word == 'superseded' or (ticket > 0 and by > ticket) then
		return {'superseded', text(c), 0, '',
		    string.match(latest, '\n(.*)$') or ''}
	end
	latest = by
end
local lost = saw > 0 and (not c or c < saw)
local kind
if not v then
	if bad then
		return {'fence'}
	end
	-- whoever is first in line, be it the caller or not; who was skipped
	-- has its place still
	if ticket > 0 and not lost then
		stand(at)
	end
	local before = record_lost()
	if not lost and not (redis.call('exists', queue) == 1
	    and hand_over(at, alone, not c or before))
	    and not grant(token, ttl, ttl, about, at, alone, before) then
		kind = redis.call('type', lock).ok
		if kind == 'none' then -- memory is full
			redis.call('set', lock, token, 'nx', 'px', ttl)
		end
	end
	if v == token then
		redis.call('pexpire', lock, ttl)
		return {'granted', text(c), told()}
	end
end
local place = -1
if ticket == 0 and most >= 0 and not redis.call('zscore', queue, member) then
	local n = living(at)
	if n >= most then
		return {'full', text(c), n}
	end
end
local new = ticket == 0
if new then
	ticket = at
	if c and c > at then -- the clock was set back: stay behind
		local last = redis.call('zrevrange', queue, 0, 0, 'withscores')
		ticket = math.max(at, tonumber(last[2] or 0) + 1)
	end
	ticket = math.max(ticket, (latest or 0) + 1)
end
if ticket > 0 then
	place = stand(at, new)
end
if marked and place >= 0 and latest < ticket then
	redis.call('set', newest, text(ticket) .. '\n' .. about, 'px', 86400000)
	for _, other in ipairs(redis.call('zrange', queue, 0, place)) do
		local who = string.match(other, '^(%S+) %d+ s\n')
		if who and other ~= member then
			redis.call('zrem', queue, other)
			redis.call('zrem', alive, who)
			wake(who, 'superseded', 3 * grant_ms)
			place = place - 1
		end
	end
end
if place < 0 then
	ticket = math.max(ticket, 0)
end
if not v and not kind then
	return {'loss', text(c), 0, '', '', place, text(ticket), 0}
end
return {kind and 'type' or 'busy', text(c), redis.call('pttl', lock),
    kind or string.sub(v, 1, 128), string.sub(record or '', 1, 2048), place,
    text(ticket), kind and 0 or told()}
