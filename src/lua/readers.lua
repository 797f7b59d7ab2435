-- SPDX-License-Identifier: MIT
-- The readers that hold the lock, for the history. The set of those who share it
-- forgets a reader when its lease ends, see share.lua. This one does not:
--   ...:readers   sorted set. A member is that of the other set, and
--       its score the time in ms at which the lease ends; or it is "since MEMBER",
--       with the time of the grant as a negative score, so that these come first
-- Nothing depends on it, as on the history: see log.lua.
local readers = part('readers')
local function score(set, member)
	local its = redis.pcall('zscore', set, member)
	return type(its) == 'string' and tonumber(its) or nil
end
-- We were granted the lock, or told so again.
local function note_reader(member, at, ttl)
	local ms = math.floor(at / 1000)
	if not moving and pcall(own, 'zadd', readers, 'nx', -ms, 'since ' .. member)
	    and pcall(own, 'zadd', readers, ms + ttl, member) then
		redis.pcall('pexpire', readers, month_ms)
	end
end
-- It has ended. During a migration it may still stand on the other node: "unheard"
-- says that how those before have ended is not known.
local function drop_reader(member, at)
	redis.pcall('zrem', readers, member, 'since ' .. member)
	if moving then
		redis.pcall('hset', state, 'unheard', text(at / 1000))
	end
end
-- What log.lua keeps of a reader whose lease ends, or ended, at `ends`, in ms; "":
-- nothing.
local function reader_story(member, ends, outcome)
	local _, words = parsed(member)
	local since = words and score(readers, 'since ' .. member)
	return since and recorded(select(4, standing(words)))
	    and 'outcome ' .. outcome .. '\nsince ' .. text(-since) .. '\nheld_ms '
	    .. text(math.max(0, ends + since)) .. '\n' or ''
end
-- Writes the entries of those whose leases ran out: of a few, as more would push
-- all others out of the history. The rest are written with the next grant.
local function note_readers(at)
	local ms = math.floor(at / 1000)
	local ran_out = not moving and redis.pcall('zrangebyscore', readers, '(0', ms,
	    'limit', 0, 20) or {}
	local unheard = ran_out[1] and whole(own('hget', state, 'unheard')) or 0
	for _, member in ipairs(ran_out) do
		local who, about = string.match(member, '^(%S*)[^\n]*\n?(.*)$')
		-- we ask again, or its last renewals came to the other node: renew.lua
		local lasts = shared(v) and score(sharers_of(v), member) or 0
		if lasts > ms and who ~= token then
			redis.pcall('zadd', readers, lasts, member)
		else
			local since = score(readers, 'since ' .. member) or 0
			if who ~= token and -since > unheard then
				note(who, true, reader_story(member,
				    score(readers, member), 'expired'), about)
			end
			drop_reader(member)
		end
	end
end
