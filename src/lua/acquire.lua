-- Take the lock for ARGV[1], or say who has it. Asked again by the same token
-- it refreshes the lease and answers the same, so a lost reply costs nothing.
--
-- KEYS  lock, fence, holder
-- ARGV  1 token  2 lease ms  3 the largest counter this client saw, or 0
--       4 "1" on one node: a grant is then at least TIME, because a counter
--         rolled back by a restart would hand out a fence twice; on several
--         nodes it is the counter + 1, so that their answers agree
--       5.. holder record as field, value, ...
-- Returns
--   granted COUNTER
--   busy COUNTER PTTL VALUE [holder field, value, ...]   PTTL -1: no expiry
--   loss COUNTER      free, but the counter is behind what this client saw:
--                     the server lost data, and a holder may be unaware
--   type COUNTER PTTL TYPE     the key holds no string
--   fence             the counter is no number: nothing can be granted
local ttl, saw = ARGV[2], tonumber(ARGV[3])
local v = redis.pcall('get', lock)
if v == token then
	redis.call('pexpire', lock, ttl)
	redis.call('pexpire', holder, ttl)
	if not raw then
		c = time()
		fence_set(c)
	end
	return {'granted', text(c)}
end
if type(v) == 'table' then
	return {'type', text(c), redis.call('pttl', lock),
	    redis.call('type', lock).ok}
end
if v then
	local answer = {'busy', text(c), redis.call('pttl', lock),
	    string.sub(v, 1, 128)}
	local who = redis.pcall('hgetall', holder)
	for i = 1, math.min(#who, 24) do
		answer[i + 4] = string.sub(who[i], 1, 256)
	end
	return answer
end
if bad then
	return {'fence'}
end
if saw > 0 and (not c or c < saw) then
	return {'loss', text(c)}
end
local at = time()
if not c then
	c = at
elseif ARGV[4] == '1' then
	c = math.max(c + 1, at)
else
	c = c + 1
end
redis.call('set', lock, token, 'px', ttl)
redis.call('set', fence, text(c), 'px', 2592000000)
redis.call('del', holder)
redis.call('hset', holder, 'token', token, 'ttl', ttl,
    'since', text(math.floor(at / 1000)), unpack(ARGV, 5, #ARGV - 1))
redis.call('pexpire', holder, ttl)
return {'granted', text(c)}
