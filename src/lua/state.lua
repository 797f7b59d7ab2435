-- SPDX-License-Identifier: MIT
-- The state as values, and how it is written: see start.lua.
local function put(L, name, value)
	local n = #L.puts
	L.puts[n + 1], L.puts[n + 2] = name, value
end
local function read_entry(hold, who)
	local ends, number, flag = match(hold or '', '^(%d+) (%d+) (%l?)$')
	local n, fence, since, ttl, stands =
	    match(who or '', '^(%d+) (%d+) (%d+) (%d+)\n(.*)$')
	return ends and n and {ends = num(ends), number = num(number), flag = flag,
	    n = num(n), fence = num(fence), since = num(since), ttl = num(ttl),
	    stands = stands} or nil
end
local function read_slot(L, n, text)
	local fam, count, moved, longest, last =
	    match(text or '', '^(%S+) (%d+) (%d+) (%d+) (%S+)$')
	local s = {n = n, fam = fam or '-', count = num(count), moved = num(moved),
	    longest = num(longest), last = last or '-', ends = 0}
	L.slots[n] = s
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
	return s and s.fam ~= '-' and e.fence >= s.moved and e or nil
end
-- What this call knows: see start.lua.
local function begin()
	local us = t[1] * 1000000 + t[2]
	local L = {token = token, number = num(ARG.number), seen = num(ARG.seen),
	    longest = num(ARG.longest), alone = ARG.alone == '1', stands = ARG.stands,
	    us = us, now = floor(us / 1000), born = num(f[3]), shut = num(f[4]),
	    trail = f[5] or '', stop = f[7], slots = {}, puts = {}, drops = {},
	    bells = {}, words = {}}
	local c = #(f[2] or '') <= 16 and match(f[2] or '', '^%d+$')
	L.c = c and num(c) < 9e15 and num(c) or nil
	L.before = L.c
	L.entry = read_entry(f[8], f[9])
	read_slot(L, 0, f[6])
	L.mine = counts(L, L.entry)
	return L
end
-- What K holds; false: nothing; " ": something of another type.
local function look(L)
	if L.face == nil then
		local face = try('get', K)
		if type(face) == 'table' then
			face = face.err:find('WRONGTYPE', 1, true) and ' ' or call('get', K)
		end
		L.face = face
	end
	return L.face
end
-- Whether nobody else has taken the lock of this entry by hand.
local function stands_still(L, e)
	return e.n > 0 or not look(L) or L.face == slot(L, 0).fam
end
-- The time that a request to stop leaves, or "-1"; and who asks.
local function stop_of(L, s)
	local deadline, by = match(s.n == 0 and L.stop
	    or s.n > 0 and call('hget', S, 'stop:' .. s.n) or '', '^(%d+)\n(.*)$')
	return deadline and str(max(0, deadline - L.now)) or '-1', by or ''
end
-- Asks a slot to stop within `ms`, unless it must stop sooner already. Returns the
-- time that is left.
local function ask_to_stop(L, s, ms, by)
	local left = stop_of(L, s)
	if left == '-1' or num(left) > ms + 1000 then
		left = str(ms)
		put(L, 'stop:' .. s.n, str(L.now + ms) .. '\n' .. by)
	end
	return left
end
local function ring(who, ms, word)
	local bell = S:sub(1, -6) .. 'grant:' .. who -- behind S: "state"
	try('rpush', bell, word or str(ms))
	try('pexpire', bell, ms)
end
-- An earlier version moved the counter without the trail.
local function is_whole(L)
	local c = ' ' .. str(L.c or 0)
	return L.trail:sub(-#c) == c
end
local function move_to(L, n)
	L.trail = ((is_whole(L) and L.trail or '') .. ' ' .. str(n)):sub(-135)
	L.c = n
	put(L, 'trail', L.trail)
end
-- Writes what has changed. If memory is full, the server refuses all writes of a
-- script until the script has made one that frees memory. So either the caller has
-- made one before, or there is one here.
local function save(L)
	for i = 1, #L.drops, 1000 do -- Lua cannot unpack them all
		call('hdel', S, unpack(L.drops, i, min(i + 999, #L.drops)))
	end
	if not f[1] then
		put(L, 'v', tostring(LAYOUT))
	end
	if not L.c then
		move_to(L, L.us)
	end
	if L.born == 0 then
		put(L, 'born', str(L.c))
	end
	call('hset', S, 'fence', str(L.c), unpack(L.puts))
	-- once a day or so
	if not L.before or floor(L.before / 1e11) ~= floor(L.us / 1e11) then
		call('pexpire', S, max(MONTH, 2 * L.longest))
		if try('type', H).ok == 'stream' then
			try('pexpire', H, MONTH)
		end
	end
	for who, ms in pairs(L.bells) do
		ring(who, ms, L.words[who])
	end
end
