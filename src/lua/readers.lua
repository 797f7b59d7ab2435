-- The readers that hold the lock, for the history. The set of those who share it
-- forgets a reader when its lease ends, see share.lua. This one does not:
--   redlock:{TAG}:readers:KEY   sorted set. A member is that of the other set, and
--       its score the time in ms at which the lease ends; or "since MEMBER", with
--       the time of the grant as a negative score, so that these come first
-- Nothing depends on it, as on the history: see log.lua.
local readers = part('readers')
-- We were granted the lock, or told so again.
local function note_reader(member, at, ttl)
	if not moving then
		local ms = math.floor(at / 1000)
		redis.pcall('zadd', readers, 'nx', -ms, 'since ' .. member)
		redis.pcall('zadd', readers, ms + ttl, member)
		redis.pcall('pexpire', readers, month_ms)
	end
end
-- It has ended, and somebody has written its entry, or will.
local function drop_reader(member)
	redis.pcall('zrem', readers, member, 'since ' .. member)
end
-- What log.lua keeps of a reader whose lease ends, or ended, at `ends`, in ms; "":
-- nothing.
local function reader_story(member, ends, outcome)
	local _, words = parsed(member)
	local since = words and redis.pcall('zscore', readers, 'since ' .. member)
	return type(since) == 'string' and recorded(select(4, standing(words)))
	    and 'outcome ' .. outcome .. '\nsince ' .. text(-since) .. '\nheld_ms '
	    .. text(math.max(0, ends + since)) .. '\n' or ''
end
-- Writes the entries of those whose leases ran out. More than a hundred at a time
-- would push each other out of the history.
local function note_readers(at)
	local ran_out = redis.pcall('zrangebyscore', readers, '(0',
	    math.floor(at / 1000), 'limit', 0, 100)
	for _, member in ipairs(ran_out) do
		local ends = redis.pcall('zscore', readers, member)
		local who, about = string.match(member, '^(%S*)[^\n]*\n?(.*)$')
		note(who, true, reader_story(member, ends, 'expired'), about)
		drop_reader(member)
	end
end
