-- Give up what ARGV[1] has: its place in line, and the lock, which then goes to
-- the first in line. The counter moves: a renewal that comes late must not find
-- the counter it saw, and heal.
--
-- KEYS  lock, fence, holder
-- ARGV  1 token  2 fence m, or 0  3 "1" on one node
--       4 how it stands in line, as "TTL FLAGS\nABOUT"; "": it does not
--       5 "1": it has held the lock: see grant()
-- Returns
--   yes COUNTER MS    released; handed over for so long, 0: to nobody
--   no COUNTER     it was not ours (any more): nothing changed
-- When memory is full a script may write more only after it has written
-- something: taking the head from the line, or DEL, comes first.
if ARGV[4] ~= '' then
	redis.call('zrem', queue, token .. ' ' .. ARGV[4])
	redis.call('zrem', alive, token)
	redis.call('del', part('grant:' .. token))
end
if v ~= token then
	return {'no', text(c)}
end
if bad then
	redis.call('del', lock, holder)
	return {'yes', '0'}
end
local at = time()
c = math.max(c or at, tonumber(ARGV[2]))
-- a line that is out of order must not keep the lock
local done, px = pcall(hand_over, at, ARGV[3] == '1',
    ARGV[5] ~= '1' and record_lost())
if not (done and px) and v == token then
	redis.call('del', lock, holder)
	c = c + 1
	fence_set(c)
end
return {'yes', text(c), done and px or 0}
