-- Gives up what a client has: its place in line, and the lock, which then goes
-- to the first in line. The counter moves, so that a late renewal does not find
-- the counter it saw, and heal. It does not move for the slot while others hold
-- the lock, who may have to heal it, nor if the lock was gone already: then such
-- a renewal finds a word.
--
-- KEYS  lock, state, of our slot if we know it, else of slot 0
-- ARG
--   token     ours
--   fence     m, or 0
--   alone     "1" on one node
--   stands    how we stand in line: see standing()
--   queued    "1": we may be in line; "2": unlock.lua releases the lock in our
--             name, and leaves word
--   ran       "1": a command may have run under it: see warn() and grant()
--   outer     the token of the holder that we joined, or ""
--   least     keep the lock until this many ms after the grant, or 0: --min-hold
--   held      for how many ms we held it, by our clock
--   once      for how many ms nobody may repeat the work, or 0: --once-per
--   withheld  "1": do not hand it to a waiter: see lock/core/ask.h
--   round     see round_line()
--   entry     and the arguments after it: what became of the hold, see log.lua.
--             If only the database follows `round`, no entry is written
-- Returns
--   yes COUNTER MS    released; handed to the next client for MS; 0: to nobody
--   no COUNTER     it was not ours, or no longer: the lock stays as it was
-- When memory is full, the server refuses the writes of a script until the
-- script has made one that is always allowed. So a ZREM of the head of the
-- line, or a DEL, comes first.
local ttl, slots, reads, about = standing(ARG.stands)
local member = token .. ' ' .. ARG.stands
local alone, joined = ARG.alone == '1', ARG.outer
local once = tonumber(ARG.once)
-- if an answer was lost, we do not know our slot, or that the hold is ours and
-- not the outer one's
if (slots > 1 or slot > 0) and v ~= token then
	for n, value in ipairs(values_of(slots)) do
		if value == token or reads and shared(value) and v ~= joined then
			record = record_at(n - 1, value)
			slot, lock, v = n - 1, slot_key(n - 1), value
			break
		end
	end
end
local at = time()
local function told(said, ms, again)
	note(token, again, unpack(ARGV, AT.entry, #ARGV - 1))
	return {said, text(c), ms}
end
local sharers = sharers_of(v or '')
-- During a migration, a plain lock is freed even if its other keys are not
-- here. But those who joined it, or read, must not be forgotten.
local theirs = v == token and may_be_joined()
local shares = reads and shared(v) or v == joined
if theirs or shares then
	here(sharers)
	shares = shares and own('zscore', sharers, member)
end
-- this release was sent before the acquire to which we owe the grant
local its = shares and round_of(shares) or v == token
    and number_in(record, 'round') or 0
if its > tonumber(ARG.round) then
	return {'no', text(c)}
end
-- we joined, and the holder that we joined has not ended
local outer = shares and not shared(v)
    and not own('zscore', sharers, 'left')
-- the work was done, even if another client has the lock by now
if once > 0 then
	try('zrem', queue, '') -- a first write: see above
	local noted = redis.pcall('set', part('once'),
	    record_of('', ttl, about, at), 'px', once)
	if moving and noted.err then
		return noted
	end
end
if ARG.queued == '1' then
	try('zrem', queue, member)
	try('zrem', alive, token)
end
try('del', part('grant:' .. token)) -- of a waiter, or who was asked to stop
if ARG.queued == '2' then
	-- the client that has the hold finds it with its next renewal, see
	-- confirm.lua. A shared lock stays: then only this tells it that it is out
	wake(token, 'unlocked', v == token and kept_ms or math.max(ttl, kept_ms))
end
-- Tells a renewal that comes late, see stop.lua.
local function warn()
	if ARG.ran == '1' and ARG.queued ~= '2' then
		wake(token, 'unlocked', kept_ms)
	end
end
if v ~= token and not shares then
	warn()
	return told('no', nil, true)
end
-- the counter becomes at least that
local low = math.max(tonumber(ARG.fence),
    not alone and c and rolled_back() and at or 0)
-- the record says when the lock was granted, but not when we joined
local since = not shares and number_in(record, 'since')
local rest = math.ceil(tonumber(ARG.least) - (since
    and math.max(at / 1000 - since, 0) or tonumber(ARG.held)))
-- The answer if the lock stays. Wakes the first in line: the lease it knows of
-- is longer.
local function stays()
	local first = rest > 0 and try('zrange', queue, 0, 0)[1]
	if first then
		wake(first:match('^%S*'), 'look', grant_ms)
	end
	return told('yes', 0)
end
if shares or theirs then
	own('zrem', sharers, '') -- a first write: see above
	if rest > 0 then
		own('zadd', sharers, math.floor(at / 1000) + rest,
		    'rest ' .. member)
	end
	if shares then -- the last: on the move, what is empty cannot be filled
		own('zrem', sharers, member)
	else
		own('zadd', sharers, 0, 'left')
	end
	if outer or sharers_end(v, at) then
		-- others hold it still, or it stays for --min-hold
		if shared(v) then
			move(math.max(c or at, low) + 1)
		end
		keep(slot, v, at, outer and redis.call('pttl', lock) or 0)
		warn()
		return stays()
	end
	redis.call('del', lock)
	try('del', sharers)
	v = false
elseif rest > 0 then
	lives_ms = math.max(lives_ms, rest)
	-- under another name, because a late renewal would prolong it
	redis.call('pexpire', lock, rest)
	local name = token .. ' rest'
	if redis.pcall('set', lock, name, 'xx', 'px', rest).ok then
		record_set(slot, name, rest, about, since and since * 1000 or at)
	end
	move(math.max(c or at, low) + 1, slot)
	return stays()
end
local ms = free(at, alone, low, ARG.ran ~= '1' and number_in(record, 'lost'),
    (reads or slots > 1 or shares) and born or nil, ARG.withheld == '1')
return told('yes', ms)
