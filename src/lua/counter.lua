-- What every script begins with: the names, and the counter the fences come
-- from. A counter that is no number below 2^53 is `bad` and is never touched.
-- The last argument is the database: the script travels right behind a SELECT,
-- and must not touch another one when that was refused.
if ARGV[#ARGV] ~= '0' then
	redis.call('select', ARGV[#ARGV])
end
local lock, fence, holder = KEYS[1], KEYS[2], KEYS[3]
local token = ARGV[1]
local raw = redis.pcall('get', fence)
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
