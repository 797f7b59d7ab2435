-- SPDX-License-Identifier: MIT
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
--   seen   the counter when we last saw this client hold the lock; 0: we never
--          did, or the lock is not redlock's
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
if shared(v) and (seen > 0 or record_is_of(v)) then
	may_be_shared(slot, v, nil, at, true)
end
local several = slot > 0 or shared(v) or own('hget', state, 'moved:1')
if v and not moving and is_behind(seen, several, at,
    math.max(longest(v, 1), redis.call('pttl', lock))) then
	move(math.max(seen, at), nil, true)
end
-- The members whose leases have not ended. `unknown`: the time left to "?".
local members, all = {}, try('zrange', sharers, 0, -1, 'withscores')
local unknown
for i = 1, #all, 2 do
	local ms = tonumber(all[i + 1]) - now_ms
	if ms > 0 then
		members[#members + 1] = all[i]
		unknown = all[i] == '?' and ms or unknown
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
-- While "?" lasts, the client may be one of the forgotten ones, and counts as there.
local function is_there()
	local found = unknown or kind ~= 'none'
	    and token == (v and string.sub(v, 1, 4096) or kind)
	    and not (left and #holders() > 0)
	for _, member in ipairs(members) do
		found = found or is_its(member)
	end
	return found
end
