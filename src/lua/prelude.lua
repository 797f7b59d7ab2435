-- What every script begins with: what is stored, the counter that the fences
-- come from, and who shares a lock. A counter that is no number below 2^53 is
-- `bad` and is never touched. The last argument is the database: the script
-- travels right behind a SELECT, and must not touch another one when that was
-- refused.
--
-- KEYS are those of one slot. Slot 0 is the user's key itself, and all there is
-- without --slots:
--   KEY, or redlock:{TAG}:slot:N:KEY                 string: whose it is: the
--       holder's token, or "shared:G" while readers hold; G is the counter as
--       the first of them came
--   redlock:{TAG}:fence:KEY                          the counter, for all slots
--   redlock:{TAG}:holder:KEY, ...:slot-holder:N:KEY  the record: who it is
--   redlock:{TAG}:sharers:VALUE:KEY                  who else holds what the
--       lock says; see share.lua
--   redlock:{TAG}:moves:KEY                          hash; see moved()
if ARGV[#ARGV] ~= '0' then
	redis.call('select', ARGV[#ARGV])
end
local lock, fence, holder = KEYS[1], KEYS[2], KEYS[3]
local token = ARGV[1]
local base, key = string.match(fence, '^(redlock:{[^}]*}:)fence:(.*)$')
local slot = 0
if lock ~= key then
	slot = tonumber(string.match(lock, '^slot:(%d+):', #base + 1))
end
local function part(name) return base .. name .. ':' .. key end
local function slot_key(name, n)
	return n == 0 and (name == '' and key or part(name))
	    or part('slot' .. (name == '' and '' or '-' .. name) .. ':' .. n)
end
-- A slot of a Cluster may be on the move, for minutes if that was broken off.
-- Each of its keys is on one of two nodes then, and neither knows what the
-- other has. A script is let run where all KEYS are: the lock is held. Of a key
-- that is not here, though it may be there, a command fails on the old node; on
-- the new one it finds nothing, or makes a second key of that name, which the
-- move will run into. A command on several keys fails on both. No key is called
-- "none": MGET tells whether the slot is on the move.
--   What a script will need beside KEYS must then be here(), before the first
-- write; what it may do without, it may try().
local have = redis.pcall('mget', lock, fence, holder, part('none'))
local moving = have.err
if moving then
	have = redis.call('mget', lock, fence, holder)
	if not (have[1] and have[2] and have[3]) then
		return {err = moving}
	end
end
-- A companion key of another type is not ours, and is in the way of everybody:
-- it is dropped.
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
-- Anybody may have written there: what is no number that is exact is none.
local function whole(words)
	local n = tonumber(string.match(words or '', '^%d+$'))
	return n and n <= 9007199254740000 and n or nil
end
local month_ms = 2592000000
-- A missing counter is born from the clock in microseconds: it is then ahead
-- of every fence a lost one ever gave out.
local function time()
	local t = redis.call('time')
	return t[1] * 1000000 + t[2]
end
local function fence_set(n)
	return bad and {} or redis.pcall('set', fence, text(n), 'px', month_ms)
end
-- A release may arrive late, after this client has asked for the lock anew: each
-- acquire after a release is of another round, and a release of an earlier one
-- does not undo it. The record says of which round the grant is.
local round = 0
local function round_line(who)
	return who == token and round > 0 and 'round ' .. round .. '\n' or ''
end
-- "fence": the counter as it was granted. "lost": see grant() in queue.lua; that
-- must outlive any lease.
local function record_of(who, ttl, about, since, lost, given)
	return 'token ' .. who .. '\nttl ' .. ttl
	    .. (given and '\nfence ' .. text(given) or '') .. '\nsince '
	    .. text(math.floor(since / 1000)) .. '\n'
	    .. (lost and 'lost ' .. text(lost) .. '\n' or '')
	    .. round_line(who) .. about
end
-- It counts only while its token is what the lock holds.
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
-- Where several hold at a time, the counter moves without a lock having changed
-- hands, and a holder whose lock vanished must know whether its own did. Who
-- uses slots or shares says so in a hash:
--   last  the counter as it then was     N  the same, of the last move of slot N
--   from  the hash knows all moves since   born  what a lost counter was born as
-- A move of slot 0 by those who know nothing of slots is seen by `last`. `back`:
-- what was there before is an older counter, that came back.
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
-- What a lost counter was born as: see moved().
local function born_as()
	return whole(own('hget', part('moves'), 'born'))
end
