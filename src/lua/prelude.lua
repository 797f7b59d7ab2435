-- What every script begins with: what is stored, the counter that the fences
-- come from, and how the lock is granted. A counter that is no number below
-- 2^53 is `bad` and is never touched. The last argument is the database: the
-- script travels right behind a SELECT, and must not touch another one when
-- that was refused.
if ARGV[#ARGV] ~= '0' then
	redis.call('select', ARGV[#ARGV])
end
local lock, fence, holder = KEYS[1], KEYS[2], KEYS[3]
local token = ARGV[1]
local have = redis.call('mget', lock, fence, holder)
local v, raw, record = have[1], have[2], have[3]
-- MGET calls a key of another type missing; that of the lock shows when SET NX
-- fails
if not raw then
	raw = redis.pcall('get', fence)
	if raw and not string.find(raw.err, 'WRONGTYPE') then
		redis.call('get', fence)
	end
end
local c = type(raw) == 'string' and #raw <= 16
    and string.match(raw, '^%d+$') and tonumber(raw) or nil
if c and c > 9007199254740000 then
	c = nil
end
local bad = raw and not c
local function text(n) return string.format('%.0f', n or 0) end
-- A missing counter is born from the clock in microseconds: it is then ahead
-- of every fence a lost one ever gave out.
local function time()
	local t = redis.call('time')
	return t[1] * 1000000 + t[2]
end
local function fence_set(n)
	return redis.pcall('set', fence, text(n), 'px', 2592000000)
end
-- Who holds, for others to see: it counts only while its token is the lock's.
-- "lost": see grant() in queue.lua; that must outlive any lease.
local function record_set(who, ttl, about, at, lost)
	record = 'token ' .. who .. '\nttl ' .. ttl .. '\nsince '
	    .. text(math.floor(at / 1000)) .. '\n'
	    .. (lost and 'lost ' .. text(lost) .. '\n' or '') .. about
	return redis.pcall('set', holder, record, 'px', lost and 86400000 or ttl)
end
local function record_lost()
	return tonumber(string.match(record or '', '\nlost (%d+)\n'))
end
