-- force-release: asks the clients that hold a lock, or one of its slots, to
-- stop; or takes the lock away and hands it to the first in line.
--
-- KEYS  lock, state, of the slot
-- ARG
--   token  of one that holds it; for a lock that is not ours, its value, up to
--          4096 bytes, or its type; "shared:*": all readers
--   step   "ask", "take", or "foreign": take the lock even if it is not ours
--   grace  ask: the holder must be gone within this many ms
--   by     who asks: see stop.lua
--   alone  "1" on one node: see grant()
--   entry  take: the end of the history entry: see log.lua
--   seen   the counter when the client was seen to hold the lock; 0: it was not,
--          or the lock is not ours
-- Returns
--   yes COUNTER LEFT ASKED  asked. LEFT: the time left to the one that has
--       most. ASKED: number of clients asked, with all that share the lock
--   yes COUNTER MS          taken, and handed to the next client for MS; 0: to
--       nobody. If several share the lock, only that one loses it, because
--       those that came since may not know yet
--   foreign COUNTER         the lock is not ours
--   no COUNTER              it is gone, or another client's: nothing changed
-- If asked again, it tells how much time is left, and asks the clients that
-- came since or whose word was lost. A taken lock does not come back: the
-- counter moves, so a late renewal does not heal. A lock that is gone while the
-- counter has not moved may still be healed, so it can be asked for and taken
-- as well.
local step, grace, alone = ARG.step, tonumber(ARG.grace), ARG.alone == '1'
local seen = tonumber(ARG.seen)
local at = time()
local now_ms = math.floor(at / 1000)
if token == 'shared:*' and shared(v) then
	token = v
end
local value, sharers = v or '', sharers_of(v or '')
local kind = v and 'string' or redis.call('type', lock).ok
if v and v ~= token then
	here(sharers)
end
-- The members whose leases have not ended.
local members, all = {}, try('zrange', sharers, 0, -1, 'withscores')
for i = 1, #all, 2 do
	if tonumber(all[i + 1]) > now_ms then
		members[#members + 1] = all[i]
	end
end
-- Whether this member is the client of ARG.token, or what --min-hold keeps of it.
local function is_its(member)
	local name = string.gsub(member, '^rest ', '')
	return string.sub(name, 1, #token + 1) == token .. ' '
end
-- Whether the holder has ended and left the lock to those who joined it.
local left = v and not shared(v) and tonumber(try('zscore', sharers, 'left'))
-- The tokens of those who hold it. What --min-hold keeps is held by nobody.
local function holders()
	local tokens = {}
	for _, member in ipairs(members) do
		tokens[#tokens + 1] = string.match(member, '^(%S+) %d+ %d+ ')
	end
	if not shared(v) and not left and string.find(value, '^%S+$') then
		tokens[#tokens + 1] = v
	end
	return tokens
end
local function is_there()
	local found = kind ~= 'none'
	    and token == (v and string.sub(v, 1, 4096) or kind)
	    and not (left and #holders() > 0)
	for _, member in ipairs(members) do
		found = found or is_its(member)
	end
	return found
end
-- Leaves the word. A renewal comes within 5 s and finds it.
local function tell(who, ms)
	local list = part('grant:' .. who)
	redis.call('del', list) -- a first write: see release.lua
	redis.call('rpush', list, 'stop ' .. text(now_ms + ms) .. '\n' .. ARG.by)
	redis.call('pexpire', list, ms + 15000)
end
-- Writes the history entry of a hold. A nested run has none.
local function note_it(who, about, before)
	-- a hold that --min-hold keeps has its entry already, under the bare
	-- token
	note((string.gsub(who, ' rest$', '')), true,
	    story_of(before, at, about, 'outcome forced\n' .. ARG.entry))
end
-- The record describes the holder alone. Of the readers, a hundred get an
-- entry: the history has room for no more.
local function note_all(before)
	if not shared(v) then
		note_it(token, about_of(record), before)
		return
	end
	for i = 1, math.min(#members, 100) do
		local who, about = string.match(members[i], '^(%S+) %d+ [^\n]*\n(.*)$')
		if who then
			note_it(who, about)
		end
	end
end
-- The lock vanished, and its holder will set it again, as in confirm.lua: data
-- were lost, or the key was deleted by hand.
local function vanished()
	return kind == 'none' and seen > 0 and not bad
	    and (not c or c <= seen or untouched(seen))
end
local function ask()
	local most, tokens = 0, holders()
	for _, who in ipairs(tokens) do
		local left = stop_word(who, at)
		if left < 0 or left > grace + 1000 then
			left = grace
			if not moving then
				tell(who, grace)
			end
		end
		most = math.max(most, left)
	end
	return {'yes', text(c), most, #tokens}
end
if vanished() then
	if step == 'ask' then
		if not moving and stop_word(token, at) < 0 then
			tell(token, grace)
		end
		return {'yes', text(c), math.max(stop_word(token, at), 0), 1}
	end
	redis.call('del', lock) -- a first write
	move(math.max(c or at, seen) + 1, slot, nil, field('holder', slot), '')
	return {'yes', text(c), 0}
end
if not is_there() then
	return {'no', text(c)}
elseif step ~= 'foreign' and not record_is_of(value)
    and redis.call('exists', sharers) == 0 then
	return {'foreign', text(c)}
end
if step == 'ask' then
	return ask()
end
if step == 'foreign' then -- it may be longer than what was sent
	token = v or token
end
if shared(v) then
	here(sharers)
end
if step == 'take' and not moving then
	for _, who in ipairs(v == token and holders() or {token}) do
		tell(who, 0)
	end
end
-- one of the clients that share it
if v and v ~= token then
	redis.call('zrem', sharers, '') -- a first write
	for i = 1, #all, 2 do
		if is_its(all[i]) then
			redis.call('zrem', sharers, all[i])
		end
		if is_its(all[i]) and shared(v) then
			pcall(note_it, token, string.match(all[i], '\n(.*)$'))
		end
	end
	local outer = not shared(v) and not left
	if outer or sharers_end(v, at) then
		if shared(v) and not bad then
			move(c and c + 1 or at)
		end
		keep(slot, v, at, outer and redis.call('pttl', lock) or 0)
		return {'yes', text(c), 0}
	end
end
local lost = number_in(v and record, 'lost')
-- with several holders it matters whose fence the counter is
local several = slot > 0 or shared(v) or own('hget', state, 'moved:1')
redis.call('del', lock)
try('del', sharers)
if v == token and record_is_of(v) then
	pcall(note_all, not several and c)
end
v, record = nil, nil
local ms = free(at, alone, not alone and rolled_back() and at or 0, lost,
    several and born or nil)
return {'yes', text(c), ms}
