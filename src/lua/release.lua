-- SPDX-License-Identifier: MIT
-- Gives up what a client has: its place in line, and the lock, which then goes
-- to the first in line. The counter moves, so that a late renewal does not find
-- the counter it saw, and heal. It does not move for the slot while others hold
-- the lock, who may have to heal it, nor if the lock was gone already: then such
-- a renewal finds a word.
--
-- KEYS  lock, state, of our slot if we know it, else of slot 0
-- ARG
--   token     ours
--   fence     m, or what we saw of the counter if that is larger; or 0
--   alone     "1" on one node
--   stands    how we stand in line: see standing()
--   queued    "1": we may be in line; "2": unlock.lua releases the lock in our
--             name, and leaves word
--   ran       "1": a command may have run under it: see warn() and grant()
--   outer     the token of the holder that we joined, or ""
--   joined    "1": an earlier answer said that another client has joined us
--   longest   see confirm.lua
--   least     keep the lock until this many ms after the grant, or 0: --min-hold
--   held      for how many ms we held it, by our clock
--   once      for how many ms nobody may repeat the work, or 0: --once-per
--   mark      "": we did the work; else the mark that another server has of it
--   withheld  "1": do not hand it to a waiter: see lock/core/ask.h
--   number    see share.lua
--   entry     what became of the hold: see log.lua
--   plain     "1": see plain-release.lua
-- Returns
--   yes COUNTER MS    released; handed to the next client for MS; 0: to nobody
--   no COUNTER     it was not ours, or no longer: the lock stays as it was
-- When memory is full, the server refuses the writes of a script until the
-- script has made one that is always allowed. So a ZREM of the head of the
-- line, or a DEL, comes first.
local ttl, slots, reads, about = standing(ARG.stands)
local member = token .. ' ' .. ARG.stands
local alone, around = ARG.alone == '1', ARG.outer
local once = tonumber(ARG.once)
longest_ms = tonumber(ARG.longest)
-- if an answer was lost, we do not know our slot, or that the hold is ours and
-- not the outer one's
if (slots > 1 or slot > 0) and v ~= token then
	for n, value in ipairs(values_of(slots)) do
		if value == token or reads and shared(value) and v ~= around then
			record = record_at(n - 1, value)
			slot, lock, v = n - 1, slot_key(n - 1), value
			break
		end
	end
end
local at = time()
local function told(said, ms, again)
	note(token, again, ARG.entry, ARG.stands)
	return {said, text(c), ms}
end
local sharers = sharers_of(v or '')
-- During a migration, a plain lock is freed even if its other keys are not
-- here. But those who joined it, or read, must not be forgotten.
local theirs = v == token and may_be_shared(slot, v, record, at, ARG.joined == '1')
local shares = reads and shared(v) or v == around
if theirs or shares then
	here(sharers)
	shares = shares and own('zscore', sharers, member)
end
-- we have asked for the lock again since this release was sent
number = tonumber(ARG.number)
if (shares or v == token) and number_at(slot, shares and sharers) > number then
	return {'no', text(c)}
end
-- we joined, and the holder that we joined has not ended
local outer = shares and not shared(v)
    and not own('zscore', sharers, 'left')
-- the work was done, even if another client has the lock by now
if once > 0 then
	try('zrem', queue, '') -- a first write: see above
	local noted
	if ARG.mark == '' then
		noted = redis.pcall('set', once_key, record_of('', ttl, about,
		    at - tonumber(ARG.held) * 1000), 'px', once)
	else
		noted = redis.pcall('set', once_key, ARG.mark, 'px', once, 'nx')
	end
	if moving and noted and noted.err then
		return noted
	end
end
if ARG.queued == '1' then
	try('zrem', queue, member)
	try('zrem', alive, token)
end
try('del', inbox) -- what woke a waiter, or a request to stop
if reads then
	drop_reader(member, at)
end
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
