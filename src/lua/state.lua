-- SPDX-License-Identifier: MIT
-- The state as values: see start.lua.
--
-- A number becomes text by itself: with 17 digits as an argument of a command, but
-- with 14 in a concatenation, which is too short for microseconds and the counter.
-- Making it takes long, so what was read as text is kept.
-- num() is for text that may be missing; text that must be a number is added to.
local function num(text) return tonumber(text) or 0 end
local texts = {[0] = '0', [at + 0] = at, [ms + 0] = ms}
local function str(n)
	texts[n] = texts[n] or string.format('%.0f', n)
	return texts[n]
end
if f.err and f.err:find('WRONGTYPE') then -- a lost state
	if token ~= '' then -- not for a verb that only looks
		call('del', S)
	end
elseif f.err then
	return f
elseif num(f[1]) > LAYOUT then
	return {'newer', f[1]}
end
local function read_entry(hold, who)
	local ends, number, flag = match(hold or '', '^(%d+) (%d+) (%l?)$')
	local n, fence, since, ttl, rest =
	    match(who or '', '^(%d+) (%d+) (%d+) (%d+)\n()')
	if not ends or not n then
		return nil
	end
	-- if the clock was set back, it lasts for T from now
	local latest = ms + (flag == 'r' and ends - since or ttl)
	return {ends = min(ends + 0, latest), cut = ends - latest > 0,
	    number = number + 0, flag = flag, n = n + 0, fence = fence + 0,
	    since = since + 0, ttl = ttl + 0, identity = who:sub(rest)}
end
local function read_slot(L, n, text)
	local family, count, moved, longest, last =
	    match(text or '', '^(%S+) (%d+) (%d+) (%d+) (%S+)$')
	if not family then
		family, count, moved, longest, last = '-', 0, '0', 0, '-'
	end
	local s = {n = n, family = family, count = count + 0, moved = moved + 0,
	    longest = longest + 0, last = last, ends = 0}
	L.slots[n], texts[s.moved] = s, moved
	if s.count > 0 then
		local e = s.last == L.token and L.entry or read_entry(unpack(
		    call('hmget', S, 'hold:' .. s.last, 'who:' .. s.last)))
		s.ends, s.holder = e and e.ends or 0, e
	end
	return s
end
local function slot(L, n)
	return L.slots[n] or read_slot(L, n, call('hget', S, 'slot:' .. n))
end
-- An entry older than the family in the slot does not count.
local function counts(L, e)
	local s = e and slot(L, e.n)
	return s and s.family ~= '-' and e.fence >= s.moved and e
end
-- The name of the slot that an entry is in; "": it has none. The client has a line with
-- the names of all, in their order.
local function slot_name(e)
	local n = 0
	for name in (match(e.identity, '\nnames ([^\n]*)\n') or ''):gmatch('[^,]+') do
		if n == e.n then
			return name
		end
		n = n + 1
	end
	return ''
end
-- What K holds, the first 128 bytes; false: nothing; " ": something of another type.
local function look(L)
	if L.value == nil then
		local value = try('getrange', K, 0, 127)
		if type(value) == 'table' then
			value = value.err:find('WRONGTYPE') and ' '
			    or call('getrange', K, 0, 127)
		elseif value == '' then
			value = call('exists', K) == 1 and value
		end
		L.value = value
	end
	return L.value
end
-- Whether K does not show that another program has the lock of this entry, or slot.
local function key_agrees(L, e)
	return e.n > 0 or not look(L) or L.value == slot(L, 0).family
end
-- The longest lease that somebody may have: a client who was forgotten, too.
local function longest_lease(L, s)
	return max(s.ends > L.now and s.longest or 0, L.shut - L.now)
end
-- The time that a request to stop leaves to `who`, or -1; and who asks. Of several in
-- a family, one may be asked alone. The family itself for `who`: what all were asked.
local function stop_of(L, s, who)
	local text = s.n == 0 and L.stop or s.n > 0 and call('hget', S, 'stop:' .. s.n)
	local deadline, by = match(text or who ~= s.family and call('hget', S, 'stop:' .. who)
	    or '', '^(%d+)\n(.*)$')
	return deadline and max(0, deadline - L.now) or -1, by or ''
end
-- What this call knows: see start.lua.
local c, trail, MOST = f[2] or '', f[4] or '', 9e15
if not match(c, '^%d+$') or c + 0 > MOST then
	c, trail = nil, ''
elseif trail:sub(-#c - 1) ~= ' ' .. c then
	-- an earlier version moved the counter without the trail, which begins anew
	trail = ''
end
local L = {token = token, number = ARG.number + 0, seen = ARG.seen + 0,
    longest = ARG.longest + 0, alone = ARG.alone == '1', identity = ARG.identity,
    us = at + 0, now = ms + 0, c = c and c + 0, before = c and c + 0, shut = num(f[3]),
    trail = trail, stop = f[6], slots = {}, puts = {}, drops = {}, mail = {},
    value = value, entry = f[7] and read_entry(f[7], call('hget', S, 'who:' .. token))}
texts[L.c or 0] = c
if L.seen > MOST then -- it was never a counter of ours
	L.seen = 0
end
local lost = L.shut > L.now and num(call('hget', S, 'lost')) or 0
if lost > L.now then -- the clock was set back since
	L.shut = L.now + L.shut - lost
	L.puts.shut, L.puts.lost = L.shut, L.now
end
read_slot(L, 0, f[5])
L.mine = counts(L, L.entry)
