-- Give the lock of ARGV[1] back, if it still has it, and move the counter: a
-- renewal that comes late must not find the counter it saw, and heal.
--
-- KEYS  lock, fence, holder
-- ARGV  1 token  2 fence m, or 0
-- Returns
--   yes COUNTER    released
--   no COUNTER     it was not ours (any more): nothing changed
-- DEL comes first: when memory is full a script may write more only after it
-- has written something.
if redis.pcall('get', lock) ~= token then
	return {'no', text(c)}
end
redis.call('del', lock, holder)
if not bad then
	c = math.max(c or time(), tonumber(ARGV[2])) + 1
	fence_set(c)
end
return {'yes', text(c)}
