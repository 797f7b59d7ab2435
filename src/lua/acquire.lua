-- Takes the lock for a client, or a place in line, and tells who holds it. If
-- the same token asks again, the script refreshes the lease or the place and
-- gives the same answer, so a lost reply costs nothing. A waiter also claims
-- its grant this way.
--
-- KEYS  lock, state, of slot 0
-- ARG
--   token     ours
--   seen      the largest counter that this client saw, or 0
--   alone     "1" on one node: see grant()
--   ticket    0: none yet; -1: do not get into line; on several nodes the client
--             chooses a new one
--   most      do not get into a line of this many waiters; -1: no limit
--   stands    how we stand in line: see standing()
--   once      "1": not if the work was done already: --once-per
--   embargo   "1": data were lost, and a holder may not know it: take nothing yet
--   newcomer  "1": the ticket is new, and we chose it
--   guard     the restart guard: a server that has been up for less than this
--             many ms grants nothing; -1: do not ask which server it is
--   only      take this slot only; -1: any
--   round     see round_line()
-- Returns
--   granted COUNTER LOST SLOT GROUP SERVER AT STOP BY
--       LOST 1: the counter that this client saw was lost since: see grant().
--       GROUP: the G of "shared:G", or 0. With readers or slots, COUNTER is a
--       new one each time. SERVER: see server.lua. AT: its clock, in ms. STOP,
--       BY: for a lock that was ours already, as in confirm.lua
--   busy COUNTER PTTL VALUE RECORD PLACE TICKET LOST AGE
--       PTTL -1: no expiry. RECORD "": there is none, the lock is another
--       program's. PLACE: number of waiters before us; -1: we are not in line.
--       AGE: ms since the grant, or -1. With several slots this is the one that
--       is free first.
--   type COUNTER PTTL TYPE "" PLACE TICKET 0     the key is not a string
--   loss COUNTER 0 "" "" PLACE TICKET LOST    free, but the counter is behind
--       what this client saw: data were lost, and a holder may not know it
--   guarded COUNTER MS "" "" PLACE TICKET 0    free, but the server has not
--       been up for long enough; it will have been in MS
--   full COUNTER WAITERS
--   superseded COUNTER 0 "" RECORD        by the client in RECORD
--   done COUNTER MS "" RECORD             by the client in RECORD; the work may
--       not be repeated for MS
--   fence                      the counter is not a number: no grant is
--       possible
local saw, alone = tonumber(ARG.seen), ARG.alone == '1'
local ticket, most = tonumber(ARG.ticket), tonumber(ARG.most)
local newcomer, guard, only = ARG.newcomer == '1', tonumber(ARG.guard), tonumber(ARG.only)
local ttl, slots, reads, about, marked = standing(ARG.stands)
round = tonumber(ARG.round)
local member = token .. ' ' .. ARG.stands
local several = reads or slots > 1
-- Whether a counter was lost and started again after this client saw it. (A
-- start above the counter proves nothing: the clock was set back since.)
local function reborn()
	return saw > 0 and (several or not v) and born and saw < born
	    and born <= (c or born)
end
local function told()
	local lost = number_in(record, 'lost')
	return (lost and saw > 0 and saw < lost or reborn()) and 1 or 0
end
-- Counts the waiters that are alive. The others leave the line, and so do
-- members that are not ours.
local function living(at)
	local line, n = own('zrange', queue, 0, -1, 'withscores'), 0
	for i = 1, #line, 2 do
		local who = parsed(line[i])
		if not who or gone(who, tonumber(line[i + 1]), at) then
			redis.call('zrem', queue, line[i])
			try('zrem', alive, who or '')
		else
			n = n + 1
		end
	end
	return n
end
-- Puts us in line with our ticket, and returns our place; -1: we are not in
-- line.
local function stand(at, new)
	local function add()
		if new then
			return redis.pcall('zadd', queue, 'nx', ticket, member)
		end
		return redis.pcall('zadd', queue, ticket, member)
	end
	local added = add()
	if type(added) == 'table' then -- memory is full: see release.lua
		own('zcard', queue)
		redis.call('pexpire', queue, kept_ms)
		added = add()
	end
	-- other errors may go away, but a missing right does not: repeat the
	-- command, so that the script fails with it
	if type(added) == 'table'
	    and (string.find(added.err, 'The user executing', 1, true)
	    or string.find(added.err, 'ACL failure', 1, true)
	    or string.find(added.err, 'NOPERM', 1, true)
	    or string.find(added.err, 'called from', 1, true)) then
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
		own('zadd', alive, at, token)
		redis.call('pexpire', alive, kept_ms)
	end
	if not new or place == 0 then
		redis.call('pexpire', queue, kept_ms)
	end
	return place
end
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
-- Moves a hold that we have already to this round.
local function note_round(n)
	local words = round > 0 and record_at(n, token)
	if not words or (number_in(words, 'round') or 0) >= round then
		return
	end
	words = with(words, 'round', round)
	put(field('holder', n), words)
	record = n == slot and words or record
end
local function ours(n, at, fresh)
	if reads then
		share(v, member, at, ttl)
		keep(n, v, at, 0)
	elseif not fresh then
		-- nested runs may have longer leases than ours, even if we have
		-- ended
		if (n > 0 or not may_be_joined())
		    and (moving or redis.call('exists', sharers_of(token)) == 0) then
			redis.call('pexpire', slot_key(n), ttl)
		else
			keep(n, token, at or time(), ttl)
		end
	end
	if not fresh and not reads then
		note_round(n)
	end
	-- the counter may have moved for another client since our grant; then
	-- we need a new fence
	if not granted and not bad and (several or moving
	    or not record_is_of(token) or number_in(record, 'fence') ~= c) then
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
	    tostring(stop), by}
end
-- The end of a record of readers: how many there are, and the one whose lease
-- ends last.
local function readers_now()
	local sharers = sharers_of(v)
	local last = own('zrevrange', sharers, 0, 0)[1] or ''
	return 'readers ' .. redis.call('zcard', sharers) .. '\n'
	    .. (string.match(last, '\n(.*)$') or '')
end
-- Tells who has the lock: with several slots, the one that is free first.
local function busy(place, kind)
	local left, first = nil, slot
	if slots == 1 then
		left = redis.call('pttl', lock)
	else
		for n = 0, slots - 1 do
			local ms = redis.call('pttl', slot_key(n))
			if ms >= -1 and (not left or left < 0
			    or ms >= 0 and ms < left) then
				left, first = ms, n
			end
		end
		v = words_at(slot_key(first))
		record = v and record_at(first, v)
	end
	local since = guard >= 0 and number_in(record, 'since')
	if shared(v) then
		record = string.gsub(record or '',
		    '^(.-\nsince %d+\n).*$', '%1') .. readers_now()
	end
	return {kind and 'type' or 'busy', text(c), left or -1,
	    kind or string.sub(v or '', 1, 128),
	    string.sub(not kind and record or '', 1, 2048), place,
	    text(math.max(ticket, 0)), (kind or moving) and 0 or told(),
	    text(since and math.max(0, math.floor(time() / 1000) - since) or -1)}
end
-- On several nodes the counters grow by 1, except where one was rolled back.
if not alone and not moving then
	alone = rolled_back()
end
local n = mine()
local done = (n or not moving) and ARG.once == '1' and done_by()
if done then
	return done
end
-- a server that was set back may not know that we released the lock
local guarded = n and guard > 0 and young(guard)
if guarded then
	return {'guarded', text(c), guarded, '', '', -1, 0, 0}
end
if n then
	return ours(n, several and time())
end
-- During a migration nobody gets into line or past it: the line may be on the
-- other node. A waiter keeps its ticket and asks again soon.
if moving then
	return busy(-1)
end
local at = time()
-- A wrong clock must not put a waiter ahead of all others, or behind them.
if newcomer and ticket > 0 then
	ticket = math.min(math.max(ticket, at - 1000000), at + 1000000)
end
local latest
if marked then
	latest = own('hget', state, 'newest') or '0\n'
	local by = whole(string.match(latest, '^%d+')) or 0
	by = by <= math.max(at, c or 0) + 86400000000 and by or 0
	-- if a first question comes twice, the second copy finds the word of
	-- what happened in between
	local word = ticket == 0 and own('lindex', part('grant:' .. token), 0)
	if word == 'superseded' or (ticket > 0 and by > ticket) then
		return {'superseded', text(c), 0, '',
		    string.match(latest, '\n(.*)$') or ''}
	end
	latest = by
end
local free = room(slots, reads, nil, only)
local lost = ARG.embargo == '1'
    or saw > 0 and (not c or c < saw or free and reborn())
local kind
guarded = free and guard > 0 and young(guard)
lost = lost or guarded
if free then
	if bad then
		return {'fence'}
	end
	-- serve the first in line, which may be the caller; if the caller was
	-- skipped, it still has its place
	if ticket > 0 and not newcomer and not lost then
		stand(at)
	end
	local taken, last = free, record
	if free ~= slot then
		last = own('hget', state, field('holder', free))
	end
	local before, waits, failed, _ = number_in(record, 'lost')
	if not lost and redis.call('exists', queue) == 1 then
		_, waits, failed = serve(at, alone, not c or before)
		free = not granted and not waits and room(slots, reads, nil, only)
	end
	local served = granted
	if not lost and (failed or free and not granted
	    and not grant(free, token, ARG.stands, ttl, at, alone, before)) then
		kind = redis.call('type', lock).ok
		if kind == 'none' then -- memory is full
			redis.call('set', lock, token, 'nx', 'px', ttl)
		end
	end
	if not lost and not failed and not kind then
		pcall(note_expired, taken, last, at)
	end
	if granted then
		return ours(granted, at, not served)
	end
end
local place = -1
local new = ticket == 0 or ticket > 0 and newcomer
if new and most >= 0 and not own('zscore', queue, member) then
	local n = living(at)
	if n >= most then
		return {'full', text(c), n}
	end
end
if ticket == 0 then
	ticket = at
	if c and c > at then -- the clock was set back: stay behind
		local last = own('zrevrange', queue, 0, 0, 'withscores')
		local behind = whole(last[2]) or at
		ticket = math.max(at, math.min(behind, c + 86400000000) + 1)
	end
	ticket = math.max(ticket, (latest or 0) + 1)
end
if ticket > 0 then
	place = stand(at, new)
end
if marked and place >= 0 and latest < ticket then
	put('newest', text(ticket) .. '\n' .. about)
	for _, other in ipairs(redis.call('zrange', queue, 0, place)) do
		local who, words = parsed(other)
		if who and select(5, standing(words)) and other ~= member then
			redis.call('zrem', queue, other)
			try('zrem', alive, who)
			wake(who, 'superseded', 3 * grant_ms)
			place = place - 1
		end
	end
end
if free and lost then
	return {guarded and 'guarded' or 'loss', text(c), guarded or 0, '', '',
	    place, text(math.max(ticket, 0)), reborn() and 1 or 0}
end
return busy(place, kind)
