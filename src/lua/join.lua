-- Join the hold of the command that started us, as its environment tells:
-- REDLOCK_HELD. What is no longer so is not believed.
--
-- KEYS  lock, fence, holder, of the slot that is held
-- ARGV  1 token  2 lease ms  3 how we stand in line: see standing()
--       4 the token of the holder  5 the G of "shared:G" while it reads, or "0"
--       6 its fence  7 "1": this is the server that it has it on
--       8 "1": not if the work was done: --once-per
--       9 "1" on one node; on several, each has a G of its own
--       10 the round: see round_line()
-- Returns
--   joined COUNTER LOST SLOT GROUP SERVER AT STOP BY     see acquire.lua
--   vanished COUNTER   the lock is gone, and the holder does not know yet: it
--       sets it again when it renews, and nobody else does
--   inside COUNTER     it reads, and we want to write: that would never end
--   done COUNTER MS "" RECORD     see acquire.lua
--   no COUNTER         it does not hold the lock
local ttl = tonumber(ARGV[2])
round = tonumber(ARGV[10])
local member = token .. ' ' .. ARGV[3]
local outer, group, m = ARGV[4], ARGV[5], tonumber(ARGV[6])
local at = time()
local alone = ARGV[9] == '1'
if not alone and group ~= '0' and shared(v) then
	group = string.sub(v, 8)
end
local value = group == '0' and outer or 'shared:' .. group
local there = group == '0'
-- as the holder would find it: see confirm.lua
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
share(v, member, at, ttl)
let_record_know(v, ttl)
if group == '0' and record_is_of(v) and not number_in(record, 'joined') then
	redis.call('set', holder, record .. joined_line,
	    'px', math.max(1, redis.call('pttl', holder)))
end
keep(slot, v, at, group == '0' and redis.call('pttl', lock) or 0)
local stop, by = stop_word(token, at)
return {'joined', text(c), 0, slot, group, '', text(math.floor(at / 1000)),
    tostring(stop), by}
