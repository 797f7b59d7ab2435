-- A renewal by the holder itself, whose record is there: nobody has joined it or
-- asks it to stop, and the counter need not be raised. This does what
-- confirm.lua would do, which has the arguments.
if v == token and ARG.value == token and c and c >= tonumber(ARG.fence)
    and not moving and record
    and record:find('token ' .. token .. '\n', 1, true) == 1
    and redis.call('exists', part('sharers:' .. token),
    part('grant:' .. token)) == 0 then
	local at, pttl = time(), redis.call('pttl', lock)
	redis.call('pexpire', lock, ARG.ttl)
	redis.pcall('hset', state, field('holder', slot), renewed())
	stay(at)
	return {'yes', raw, pttl, 0, 0, math.floor(at / 1000), -1, '', 0}
end
