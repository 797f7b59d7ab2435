-- A release on one node of a lock without slots and readers that nobody has
-- joined: nobody waits, or the first in line wants such a lock, too, and came a
-- moment ago. This does what release.lua would do, which has the arguments.
-- (A record may have lost its "joined 1" together with other data.)
local line = v == token and c and slot == 0 and not moving and record
    and ARG.alone == '1' and ARG.queued == '0' and ARG.outer == '' and ARG.least == '0'
    and ARG.once == '0' and record:find('token ' .. token .. '\n', 1, true) == 1
    and not record:find('\nlost ', 1, true)
    and not record:find('\nround ', 1, true)
    and redis.call('exists', part('sharers:' .. token)) == 0
    and redis.pcall('zrange', part('queue'), 0, 0, 'withscores')
local about = line and not line.err and ARG.stands:match('^%d+ 1 [-s]\n')
if about then
	local grant, px = part('grant:' .. token), 0
	if not line[1] then
		redis.call('del', lock, grant)
		c = math.max(c, tonumber(ARG.fence)) + 1
		redis.pcall('hset', state, 'fence', text(c), 'moved', text(c),
		    'holder', '')
	elseif ARG.withheld == '0' then
		local at = time()
		local who, ttl, its = line[1]:match('^(%S+) ([1-9]%d*) 1 [-s]\n(.*)$')
		px = ttl and who ~= token and at - line[2] <= heartbeat
		    and math.min(grant_ms, math.floor(ttl / 2))
		if px then
			redis.call('del', grant)
			redis.call('zrem', part('queue'), line[1])
			redis.call('set', lock, who, 'px', px)
			c = math.max(c + 1, tonumber(ARG.fence) + 1, at)
			redis.pcall('hset', state, 'fence', text(c), 'moved', text(c),
			    'holder', record_of(who, ttl, handed_line .. its, at, nil, c))
			grant = part('grant:' .. who)
			redis.pcall('rpush', grant, text(c))
			redis.pcall('pexpire', grant, px)
		end
	else
		px = nil
	end
	if px then
		note(token, nil, unpack(ARGV, AT.entry, #ARGV - 1))
		return {'yes', text(c), px}
	end
end
