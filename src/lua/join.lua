-- Joins the hold of the run around us, which we know from the environment:
-- REDLOCK_HELD. That may be out of date, so the script checks all of it.
--
-- KEYS  lock, state, of the slot that is held
-- ARGV  1 token  2 lease ms  3 how we stand in line: see standing()
--       4 the holder's token  5 the G of "shared:G" if it reads, else "0"
--       6 its fence  7 "1": this is the server on which it holds the lock
--       8 "1": not if the work was done already: --once-per
--       9 "1" on one node; on several, each node has its own G
--       10 the round: see round_line()
-- Returns
--   joined COUNTER LOST SLOT GROUP SERVER AT STOP BY     see acquire.lua
--   vanished COUNTER   the lock is gone, and the holder does not know it yet.
--       It will set the lock again with its next renewal; nobody else does
--   inside COUNTER     the holder reads and we want to write, which would block
--       for ever
--   done COUNTER MS "" RECORD     see acquire.lua
--   no COUNTER         it does not hold the lock
local ttl = tonumber(ARGV[2])
round = tonumber(ARGV[10])
local member = token .. ' ' .. ARGV[3]
lives_ms = math.max(lives_ms, ttl)
local outer, group, m = ARGV[4], ARGV[5], tonumber(ARGV[6])
local at = time()
local alone = ARGV[9] == '1'
if not alone and group ~= '0' and shared(v) then
	group = string.sub(v, 8)
end
local value = group == '0' and outer or 'shared:' .. group
local there = group == '0'
-- the same conditions under which the holder would heal: see confirm.lua
if not v and not bad and alone
    and ((not c or c < m) and ARGV[7] == '1'
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
if group ~= '0' and not select(3, standing(ARGV[3])) then
	return {'inside', text(c)}
end
local done = ARGV[8] == '1' and done_by()
if done then
	return done
end
leave_line(member)
share(v, member, at, ttl)
let_record_know(v, ttl)
if group == '0' and record_is_of(v) and not number_in(record, 'joined') then
	redis.call('hset', state, field('holder', slot), record .. joined_line)
end
keep(slot, v, at, group == '0' and redis.call('pttl', lock) or 0)
local stop, by = stop_word(token, at)
return {'joined', text(c), 0, slot, group, '', text(math.floor(at / 1000)),
    tostring(stop), by}
