-- SPDX-License-Identifier: MIT
-- A release on one node of a lock without slots and readers that nobody has
-- joined (`plain`): nobody waits, or the first in line wants such a lock, too.
-- Does what the rest of the script would do, but that it looks at the first in
-- line alone: one behind it that wants another slot finds it with its next
-- question. The arguments are those of release.lua.
--
-- The record tells whether others have joined, or the client was asked to stop:
-- see share.lua. If data were lost since, it is told again by the next renewal of
-- one that has joined, or the record was made anew, and has no line "fence".
local got = ARG.plain == '1' and value() == token
    and redis.pcall('hmget', state, 'fence', 'holder') or {}
local c, record = got[1], got[2] or ''
local who, line = record:match('^token (%S+)\nttl %d+\nfence %d+\nsince %d+\n(%l*)')
local first = who == token and line ~= 'lost'
    and not record:find('\njoined 1\n', 1, true)
    and not record:find('\nasked 1\n', 1, true)
    and sound(c) and tonumber(c) >= tonumber(ARG.fence)
    and redis.pcall('zpopmin', queue)
if first and not first.err then
	local member, ticket, px = first[1], first[2], 0
	if not member then
		redis.call('del', lock, inbox)
		c = string.format('%.0f', c + 1)
		redis.pcall('hset', state, 'fence', c, 'moved', c, 'holder', '')
	else
		local at = now()
		local ttl, its
		who, ttl, its = member:match('^(%S+) ([1-9]%d*) 1 [-s]\n(.*)$')
		local life = who and at - ticket > heartbeat
		    and redis.pcall('zscore', alive, who) or ticket
		px = who and who ~= token and #ttl < 10 and ARG.withheld == '0'
		    and tonumber(at) > tonumber(c) and at:sub(1, 5) == c:sub(1, 5)
		    and tonumber(life) and at - life <= 3 * heartbeat
		    and math.min(grant_ms, math.floor(ttl / 2))
		local set = px and redis.pcall('set', lock, who, 'px', px)
		if set and set.ok then
			c = at
			redis.pcall('hset', state, 'fence', c, 'moved', c, 'renewed',
			    '0', 'holder', granted_record(who, ttl, c,
			    'handed 1\n' .. its))
			local list = state:sub(1, -6) .. 'grant:' .. who
			redis.pcall('rpush', list, c)
			redis.pcall('pexpire', list, px)
			if life ~= ticket then
				redis.pcall('zrem', alive, who)
			end
		else
			px = nil
			redis.call('zadd', queue, ticket, member)
			redis.call('pexpire', queue, kept_ms)
		end
	end
	if px then
		note(token, nil, ARG.entry, ARG.stands)
		return {'yes', c, px}
	end
end
