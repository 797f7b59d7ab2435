-- Join the hold of the command that started us, as its environment tells:
-- REDLOCK_HELD. What is no longer so is not believed.
--
-- KEYS  lock, fence, holder, of the slot that is held
-- ARGV  1 token  2 lease ms  3 how we stand in line: see standing()
--       4 the token of the holder  5 the G of "shared:G" while it reads, or "0"
-- Returns
--   joined COUNTER LOST SLOT GROUP
--   inside COUNTER     it reads, and we want to write: that would never end
--   no COUNTER         it does not hold the lock
local ttl = tonumber(ARGV[2])
local member = token .. ' ' .. ARGV[3]
local outer, group = ARGV[4], ARGV[5]
local at = time()
if group == '0' then
	if v ~= outer then
		return {'no', text(c)}
	end
	share(v, member, at, ttl)
	keep(slot, v, at, redis.call('pttl', lock))
	return {'joined', text(c), 0, slot, '0'}
end
local there = false
sharers_end('shared:' .. group, at)
for _, other in ipairs(v == 'shared:' .. group
    and redis.call('zrange', sharers_of(v), 0, -1) or {}) do
	there = there or string.sub(other, 1, #outer + 1) == outer .. ' '
end
if not there then
	return {'no', text(c)}
end
if not select(3, standing(ARGV[3])) then
	return {'inside', text(c)}
end
share(v, member, at, ttl)
keep(slot, v, at, 0)
return {'joined', text(c), 0, slot, group}
