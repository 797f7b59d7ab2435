-- The rest of the start: a counter that is not a number below 2^53 is `bad`; no
-- script changes it. head.lua read the counter with MGET, which returns nil also
-- for a key of another type.
local function slot_key(name, n)
	return n == 0 and (name == '' and key or part(name))
	    or part('slot' .. (name == '' and '' or '-' .. name) .. ':' .. n)
end
-- A companion key of another type is not ours and would block every client.
-- Delete it.
local function own(command, name, ...)
	local answer = redis.pcall(command, name, ...)
	if type(answer) ~= 'table' or not answer.err then
		return answer
	end
	if not moving and string.find(answer.err, 'WRONGTYPE', 1, true) then
		redis.call('del', name)
	end
	return redis.call(command, name, ...)
end
local try = moving and redis.pcall or own
local function here(...)
	if moving then
		redis.call('exists', lock, ...)
	end
end
-- GET finds out for the counter; for the lock, SET NX will fail.
if not raw then
	raw = redis.pcall('get', fence)
	if raw and not string.find(raw.err, 'WRONGTYPE') then
		redis.call('get', fence)
	end
end
local bad = raw and not c
-- Other programs may have written there: accept only what is an exact number.
local function whole(words)
	local n = tonumber(string.match(words or '', '^%d+$'))
	return n and n <= 9007199254740000 and n or nil
end
local function fence_set(n)
	return bad and {} or redis.pcall('set', fence, text(n), 'px', month_ms)
end
-- The record counts only while its token is the value of the lock.
local function record_set(n, who, ttl, about, at, lost, given)
	local words = record_of(who, ttl, about, at, lost, given)
	if n == slot then
		record = words
	end
	return redis.pcall('set', slot_key('holder', n), words, 'px',
	    lost and 86400000 or ttl)
end
local function record_is_of(value)
	local ours = 'token ' .. value .. '\n'
	return string.sub(record or '', 1, #ours) == ours
end
local function number_in(words, name)
	return whole(string.match(words or '', '\n' .. name .. ' (%d+)\n'))
end
-- With slots or readers, the counter also moves when other clients come and go.
-- If a holder's lock vanishes, the holder must know whether its own slot
-- changed hands. So clients that use slots or share a lock keep a hash:
--   last  the counter after the last move that was noted
--   N     the counter after the last move of slot N
--   from  the hash has all moves since this counter
--   born  the value from which a lost counter started again
-- Other clients move slot 0 without a note; then `last` differs from the
-- counter. `back`: the counter before was an older one that came back after a
-- loss of data.
local function moved(n, before, back)
	local moves = part('moves')
	local last = own('hget', moves, 'last')
	local now = text(c)
	if not last then
		redis.pcall('hset', moves, 'from', text(before), 'last', now)
	elseif last ~= text(before) then
		redis.pcall('hset', moves, 'last', now, '0', text(before or c))
	else
		redis.pcall('hset', moves, 'last', now)
	end
	if n then
		redis.pcall('hset', moves, n, now)
	end
	if back or not before then
		redis.pcall('hset', moves, 'born', now)
	end
	redis.call('pexpire', moves, month_ms)
end
-- The value from which a lost counter started again: see moved().
local function born_as()
	return whole(own('hget', part('moves'), 'born'))
end
