-- Give up what ARGV[1] has: its place in line, and the lock, which then goes to
-- the first in line. The counter moves: a renewal that comes late must not find
-- the counter it saw, and heal.
--
-- KEYS  lock, fence, holder, of our slot, if we know it, else of slot 0
-- ARGV  1 token  2 fence m, or 0  3 "1" on one node
--       4 how we stand in line: see standing()
--       5 "1": we may be in it; "2": somebody else gives it back in our name,
--         and leaves word: see confirm.lua
--       6 "1": we have held the lock: see grant()
--       7 the token of the holder whom we joined, or ""
--       8 keep the lock for so many ms since it was granted, or 0: --min-hold
--       9 we held it for so many, as our clock has it
--       10 for so many nobody else is to do the same, or 0: --once-per
--       11 "1": hand it to nobody: see `withheld` in lease.h
--       12 the round: see round_line()
--       13 what became of the hold: see log.lua; "": nothing to tell
-- Returns
--   yes COUNTER MS    released; handed over for so long, 0: to nobody
--   no COUNTER     it was not ours (any more): nothing changed
-- When memory is full a script may write more only after it has written
-- something: taking the head from the line, or DEL, comes first.
local ttl, slots, reads, about = standing(ARGV[4])
local member = token .. ' ' .. ARGV[4]
local alone, joined = ARGV[3] == '1', ARGV[7]
local least, once = tonumber(ARGV[8]), tonumber(ARGV[10])
-- an answer that never came does not say which slot it is, or that it is not
-- the outer one's
if (slots > 1 or slot > 0) and v ~= token then
	for n, value in ipairs(values_of(slots)) do
		if value == token then
			slot, lock, holder = n - 1, slot_key('', n - 1),
			    slot_key('holder', n - 1)
			v, record = token, own('get', holder)
			break
		end
	end
end
local at = time()
local function told(reply, again)
	note(token, ARGV[13], about, at, again)
	return reply
end
local sharers = sharers_of(v or '')
-- On the move, a plain lock is freed whatever else is here. Who has joined it,
-- or reads, is not forgotten; and a counter that moves is noted where it must
-- be.
local theirs = v == token and may_be_joined()
local shares = reads and shared(v) or joined ~= '' and v == joined
if theirs or shares then
	here(sharers)
	shares = shares and own('zscore', sharers, member)
end
-- it was sent before the acquire that this is ours by
local since_round = shares and math.floor(shares % 1 * 1000 + 0.5)
    or v == token and number_in(record, 'round') or 0
if since_round > tonumber(ARGV[12]) then
	return {'no', text(c)}
end
-- we joined, and others have it still, or we ourselves for as long as we said
local outer = shares and not shared(v)
    and not own('zscore', sharers, 'left')
if shares and not outer or v == token and slots > 1 then
	here(part('moves'))
end
-- it was done, whoever has the lock by now
if once > 0 then
	try('zrem', queue, '') -- a first write: see above
	local noted = redis.pcall('set', part('once'),
	    record_of('', ttl, about, at), 'px', once)
	if moving and noted.err then
		return noted
	end
end
if ARGV[5] == '1' then
	try('zrem', queue, member)
	try('zrem', alive, token)
end
try('del', part('grant:' .. token)) -- of a waiter, or who was asked to stop
if ARGV[5] == '2' and not moving then
	redis.pcall('rpush', part('grant:' .. token), 'unlocked')
	-- what is shared still stands there: nothing else says that one is out
	redis.pcall('pexpire', part('grant:' .. token),
	    v == token and math.min(ttl, kept_ms) or ttl)
end
if v ~= token and not shares then
	return told({'no', text(c)}, true)
end
local least_c = not alone and c and rolled_back() and at or 0
-- the record tells when the lock was granted, but not when it was joined
local since = not shares and number_in(record, 'since')
local rest = least > 0 and math.ceil(least - (since
    and math.max(at / 1000 - since, 0) or tonumber(ARGV[9]))) or 0
-- Whoever is first in line knows of a lease that is longer.
local function look()
	local first = rest > 0 and try('zrange', queue, 0, 0)[1]
	if first then
		wake(string.match(first, '^%S*'), 'look', grant_ms)
	end
end
if shares or theirs then
	own('zrem', sharers, '') -- a first write: see above
	if rest > 0 then
		redis.call('zadd', sharers, math.floor(at / 1000) + rest,
		    'rest ' .. member)
	end
	if shares then -- the last: on the move, what is empty cannot be filled
		redis.call('zrem', sharers, member)
	else
		redis.call('zadd', sharers, 0, 'left')
	end
	if outer or sharers_end(v, at) then
		if shared(v) then
			local before = c
			c = c and c + 1 or at
			fence_set(c)
			moved(nil, before)
		end
		keep(slot, v, at, outer and redis.call('pttl', lock) or 0)
		look()
		return told({'yes', text(c), 0})
	end
	redis.call('del', lock)
	try('del', sharers)
	v = false
elseif rest > 0 then
	-- under another name, for a renewal that comes late would prolong it
	redis.call('pexpire', lock, rest)
	local before, name = c, token .. ' rest'
	if redis.pcall('set', lock, name, 'xx', 'px', rest).ok then
		record_set(slot, name, rest, about, since and since * 1000 or at)
	end
	c = math.max(c or at, least_c, tonumber(ARGV[2])) + 1
	fence_set(c)
	if slots > 1 then
		moved(slot, before)
	end
	look()
	return told({'yes', text(c), 0})
end
if bad then
	redis.call('del', lock, holder)
	return told({'yes', '0'})
end
local several = reads or slots > 1 or shares
local before = c
c = math.max(c or at, least_c, tonumber(ARGV[2]))
if not before or several and before < c then
	moved(slot, before)
end
leaving = v
-- a line that is out of order must not keep the lock
local born = several and born_as() or nil
local done, px
if ARGV[11] ~= '1' then
	done, px = pcall(serve, at, alone, ARGV[6] ~= '1'
	    and number_in(record, 'lost'), born)
end
if not v or leaving then
	redis.call('del', leaving and lock or holder, holder)
	c = c + 1
	fence_set(c)
	if several then
		moved(slot, c - 1)
	end
end
return told({'yes', text(c), done and px or 0})
