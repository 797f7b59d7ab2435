-- SPDX-License-Identifier: MIT
-- Tells who holds the lock and who waits for it. Changes nothing.
--
-- KEYS  lock, state, of slot 0
-- ARG
--   token    ""
--   waiters  list at most this many waiters
--   holders  and this many holders
-- Returns
--   view COUNTER NOW HOLDERS WAITERS IN_LINE ONCE MORE
--       COUNTER: 0 if there is none, "bad" if it is not a number. NOW: the
--       server's clock, in ms. IN_LINE: number of waiters. ONCE: ms left of
--       --once-per, or -1. MORE: number of holders that are not listed; those
--       whom the server has forgotten ("?", see share.lua) count as one
--   HOLDERS  {SLOT, TYPE, VALUE, PTTL, RECORD, SHARERS, LEFT} of each slot that
--       is taken. RECORD "": there is none, or it is another holder's. SHARERS:
--       {MEMBER, ENDS}, see share.lua; LEFT 1: the holder has ended and left
--       the lock to them
--   WAITERS  {MEMBER, TICKET, LIFE}, see queue.lua. LIFE: the last sign of
--       life, in us
-- Stored values may be of any length, and clients do not read a reply of more
-- than 1 MB.
local bytes = 400000
local function cut(words, n)
	words = type(words) == 'string' and string.sub(words, 1, n) or ''
	bytes = bytes - #words - 100
	return words
end
local function number(n, none) return type(n) == 'number' and n or none end
-- Turns a flat list into pairs {MEMBER, SCORE}, as far as there is room. Also
-- returns how many pairs were left out.
local function pairs_of(flat)
	local list = {}
	for i = 1, #flat, 2 do
		if bytes < 0 then
			return list, (#flat + 1 - i) / 2
		end
		list[#list + 1] = {cut(flat[i], 2048),
		    string.match(flat[i + 1], '^[^.]*')}
	end
	return list, 0
end
local holders, more, most = {}, 0, tonumber(ARG.holders)
-- The one that ends last comes first.
local function sharers_told(value)
	local sharers = sharers_of(value)
	local function score(word)
		local ends = ask('zscore', sharers, word)
		return type(ends) == 'string' and tonumber(ends)
	end
	local left, unknown = score('left'), score('?')
	local all = number(ask('zcard', sharers), 0) - (left and 1 or 0)
	    - (unknown and 1 or 0)
	-- and the numbers before it
	local kept = ask('zrank', sharers, 'kept')
	all = all - (type(kept) == 'number' and kept + 1 or 0)
	local n = math.min(all, math.max(most, 1))
	local list, rest = pairs_of(n == 0 and {}
	    or ask('zrevrange', sharers, 0, n - (unknown and 0 or 1), 'withscores'))
	most = most - math.max(n, 1)
	more = more + all - n + rest
	    + (unknown and unknown > time() / 1000 and 1 or 0)
	return list, left and 1 or 0
end
for _, n in ipairs(slots_known()) do
	local name = slot_key(n)
	local kind = ask('type', name).ok or 'none'
	if kind ~= 'none' and (most <= 0 or bytes < 0) then
		more = more + 1
	elseif kind ~= 'none' then
		local value = kind == 'string' and ask('get', name)
		value = type(value) == 'string' and value or ''
		record = record_seen(n, value)
		local times = record and ask('hget', state, field('renewed', n))
		record = type(times) == 'string' and times ~= '0' and record:gsub('\nsince %d+\n',
		    '%0renewed ' .. times .. '\n', 1) or record
		local list, left = sharers_told(value)
		holders[#holders + 1] = {n, kind, cut(value, 4096),
		    ask('pttl', name),
		    cut(record or '', 2048), list, left}
	end
end
most = tonumber(ARG.waiters)
local waiters = most > 0
    and pairs_of(ask('zrange', queue, 0, most - 1, 'withscores')) or {}
for _, waiter in ipairs(waiters) do
	local life = ask('zscore', alive, string.match(waiter[1], '^%S*'))
	waiter[3] = type(life) == 'string' and life or waiter[2]
end
return {'view', bad and 'bad' or text(c), text(math.floor(time() / 1000)),
    holders, waiters, number(ask('zcard', queue), 0),
    number(ask('pttl', once_key), -1), more}
