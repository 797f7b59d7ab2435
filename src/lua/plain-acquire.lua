-- SPDX-License-Identifier: MIT
-- An acquire on one node of a lock without slots and readers, by a client that
-- asks for nothing more (`plain`): the lock is free and nobody waits; or it was
-- handed to us, and we claim it; or we are in line, and another client has it. (If
-- we were asked to stop, our inbox exists: then this is not plain.)
-- Does what the rest of the script would do. The arguments are those of
-- acquire.lua.
if ARG.plain == '1' and ARG.ticket == '0' and ARG.seen == '0'
    and redis.pcall('exists', lock, queue, inbox) == 0 then
	local got = redis.pcall('hmget', state, 'fence', 'holder')
	local c = got[2] == '' and got[1]
	local at = sound(c) and now()
	-- SET fails if memory is full
	local set = at and tonumber(at) > tonumber(c) and at:sub(1, 5) == c:sub(1, 5)
	    and redis.pcall('set', lock, token, 'nx', 'px', ARG.ttl)
	if set and set.ok then
		redis.pcall('hset', state, 'fence', at, 'moved', at, 'renewed', '0',
		    'holder', granted_record(token, ARG.ttl, at,
		    ARG.stands:sub(#ARG.ttl + 6)))
		return {'granted', at, 0, 0, '0', '', at:sub(1, 13), '-1', ''}
	end
elseif ARG.plain == '1' and #ARG.ticket == 16 then
	local v = value()
	local got = v and redis.pcall('hmget', state, 'fence', 'holder') or {}
	local c, record = got[1], got[2] or ''
	local claimed = 'token ' .. token .. '\nttl ' .. ARG.ttl .. '\nfence '
	    .. (c or '') .. '\nsince '
	local about = ARG.stands:sub(#ARG.ttl + 6)
	if not sound(c) then
		v = nil
	elseif v == token and record:sub(1, #claimed) == claimed
	    and record:sub(#claimed + 14) == '\nhanded 1\n' .. about then
		redis.call('pexpire', lock, ARG.ttl)
		redis.pcall('hset', state, 'holder',
		    record:sub(1, #claimed + 14) .. about)
		return {'granted', c, 0, 0, '0', '', now():sub(1, 13), '-1', ''}
	end
	if v and v ~= token and record:find('token ' .. v .. '\n', 1, true) == 1
	    and not record:find('\nlost ', 1, true) and v:sub(1, 7) ~= 'shared:' then
		local member = token .. ' ' .. ARG.stands
		local place = type(redis.pcall('zadd', queue, ARG.ticket, member)) == 'number'
		    and redis.call('zrank', queue, member)
		local at = now()
		-- a sign of life: see stand() in stand.lua
		if place and (at - ARG.ticket <= heartbeat
		    or type(redis.pcall('zadd', alive, at, token)) == 'number'
		    and redis.call('pexpire', alive, kept_ms)) then
			redis.call('pexpire', queue, kept_ms)
			return {'busy', c, redis.call('pttl', lock), v:sub(1, 128),
			    record:sub(1, 2048), place, ARG.ticket, 0, '-1'}
		end
	end
end
