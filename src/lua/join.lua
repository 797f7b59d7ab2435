-- SPDX-License-Identifier: MIT
-- Joins the hold of the run around us, which we know from the environment:
-- REDLOCK_HELD. That may be out of date, so the script checks all of it.
--
-- KEYS  lock, state, of the slot that is held
-- ARG
--   token, ttl   ours, in ms
--   stands       how we stand in line: see standing()
--   outer        the holder's token
--   group        the G of "shared:G" if it reads, else "0"
--   fence        its fence
--   here         "1": this is the server on which it holds the lock
--   once         "1": not if the work was done already: --once-per
--   alone        "1" on one node; on several, each node has its own G
--   number       see share.lua
-- Returns
--   joined COUNTER LOST SLOT GROUP SERVER AT STOP BY LONGEST     see acquire.lua
--   vanished COUNTER   the lock is gone, and the holder does not know it yet.
--       It will set the lock again with its next renewal; nobody else does
--   inside COUNTER     the holder reads and we want to write, which would block
--       for ever
--   done COUNTER MS "" RECORD     see acquire.lua
--   no COUNTER         it does not hold the lock
local ttl = tonumber(ARG.ttl)
number = tonumber(ARG.number)
local member = token .. ' ' .. ARG.stands
lives_ms = math.max(lives_ms, ttl)
local outer, group, m = ARG.outer, ARG.group, tonumber(ARG.fence)
local at = time()
local alone = ARG.alone == '1'
if not alone and group ~= '0' then
	local its = v or string.match(record or '', '^token (shared:%d+)\n')
	group = shared(its) and string.sub(its, 8) or group
end
local value = group == '0' and outer or 'shared:' .. group
local there = group == '0'
-- The holder may heal it: see confirm.lua, which also asks for how long. (The
-- record is that of the last one who had it. A release removes it, unless others
-- share the lock.)
if not v and not bad and (is_of(record, value)
    or (not c or c < m) and ARG.here == '1'
    or c and (c == m or untouched(m))) then
	return {'vanished', text(c)}
end
if v ~= value then
	return {'no', text(c)}
end
here(sharers_of(v))
if not there then
	sharers_end(v, at)
	for _, other in ipairs(own('zrange', sharers_of(v), 0, -1)) do
		there = there or string.sub(other, 1, #outer + 1) == outer .. ' '
	end
end
if not there then
	return {'no', text(c)}
end
if group ~= '0' and not select(3, standing(ARG.stands)) then
	return {'inside', text(c)}
end
local done = ARG.once == '1' and done_by()
if done then
	return done
end
leave_line(member)
if group == '0' then
	may_be_shared(slot, v, record, at, not record)
end
share(v, member, at, ttl)
let_record_know(v, ttl)
if group == '0' and record_is_of(v) and not number_in(record, 'joined') then
	redis.call('hset', state, field('holder', slot), record .. joined_line)
end
keep(slot, v, at, group == '0' and redis.call('pttl', lock) or 0)
local stop, by = stop_word(token, at)
-- force-release has asked those it found here: who comes later hears it now, as
-- its first renewal may be too late. If the holder has ended, it left another word
local function hear(who)
	if stop < 0 then
		stop, by = stop_word(who, at)
	end
end
hear(outer)
if stop < 0 and group == '0' and own('zscore', sharers_of(v), 'left') then
	for _, other in ipairs(own('zrange', sharers_of(v), 0, -1)) do
		hear(string.match(other, '^%S*'))
	end
end
return {'joined', text(c), 0, slot, group, '', text(math.floor(at / 1000)),
    tostring(stop), by, redis.call('pttl', lock)}
