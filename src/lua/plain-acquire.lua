-- An acquire on one node of a lock without slots and readers, by a client that
-- asks for nothing more: the lock is free and nobody waits; or it is the
-- client's own, nobody has joined it or asks its holder to stop, and the counter
-- has not moved since the grant; or the client has its ticket, and another one
-- holds the lock. This does what acquire.lua would do, which has the arguments.
local ttl, about, given, at
if c and slot == 0 and not moving and ARG.alone == '1' and ARG.once == '0'
    and ARG.embargo == '0' and ARG.newcomer == '0' and ARG.guard == '-1'
    and ARG.only == '-1' and ARG.round == '0' then
	ttl, about = ARG.stands:match('^(%d+) 1 %-\n(.*)$')
	ttl = ttl and #ttl < 10 and ttl -- the state lives longer
end
if ttl and v == token then
	local who, its = (record or ''):match(
	    '^token (%S+)\nttl %d+\nfence (%d+)\nsince %d+\n')
	given = who == token and tonumber(its) == c
	    and not record:find('\nlost ', 1, true)
	    and redis.call('exists', part('sharers:' .. token),
	    part('grant:' .. token)) == 0
	    and redis.call('pexpire', lock, ttl)
	at = given and time()
elseif ttl and not v and not record and ARG.seen == '0' and ARG.ticket < '1'
    and redis.call('exists', part('queue')) == 0 then
	at = time()
	-- it fails if the key is of another type, or memory is full
	local set = redis.pcall('set', lock, token, 'nx', 'px', ttl)
	given = set and set.ok
	if given then
		stay(at)
		c = math.max(c + 1, at)
		redis.pcall('hset', state, 'fence', text(c), 'moved', text(c),
		    'holder', record_of(token, ttl, about, at, nil, c))
	end
elseif ttl and v and tonumber(ARG.ticket) > 0 and record
    and record:find('token ' .. v .. '\n', 1, true) == 1
    and not record:find('\nlost ', 1, true) and v:sub(1, 7) ~= 'shared:' then
	local line, member = part('queue'), token .. ' ' .. ARG.stands
	local place = type(redis.pcall('zadd', line, ARG.ticket, member)) == 'number'
	    and redis.call('zrank', line, member)
	at = time()
	-- a sign of life: see stand() in stand.lua
	if place and (at - ARG.ticket <= heartbeat or type(redis.pcall('zadd',
	    part('alive'), at, token)) == 'number'
	    and redis.call('pexpire', part('alive'), kept_ms)) then
		redis.call('pexpire', line, kept_ms)
		return {'busy', raw, redis.call('pttl', lock), v:sub(1, 128),
		    record:sub(1, 2048), place, ARG.ticket, 0, '-1'}
	end
end
if given then
	return {'granted', text(c), 0, 0, '0', '', text(math.floor(at / 1000)),
	    '-1', ''}
end
