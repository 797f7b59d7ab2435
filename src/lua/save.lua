-- SPDX-License-Identifier: MIT
-- How the state is changed and written: see start.lua.
local function put(L, name, value)
	L.puts[name] = value
end
-- If memory is full, the server refuses all writes of a script until the script has
-- made one that frees memory. This one changes nothing. Who must get through then (a
-- renewal, a release, a word to others) makes it before anything else is written; a
-- newcomer does not. A real deletion does as well.
local function first_write() call('hdel', S, '') end
-- A replica may be behind, so it must not say no. Returns what it says instead.
local function no_writer()
	local said = try('hdel', S, '')
	return type(said) == 'table' and match(said.err, 'READONLY') and said
end
-- Asks a slot, or `who` in it alone, to stop within `ms`, unless it must stop sooner
-- already. Returns the time that is left.
local function ask_to_stop(L, s, ms, by, who)
	local left = stop_of(L, s, who or s.family)
	if left < 0 or left > ms + 1000 then
		left = ms
		put(L, 'stop:' .. (who or s.n), str(L.now + ms) .. '\n' .. by)
	end
	return left
end
-- The counter when this state began; 0: unknown.
local function born(L)
	return L.born or num(call('hget', S, 'born'))
end
local function move_to(L, n)
	L.trail = (L.trail .. ' ' .. str(n)):sub(-135)
	L.c = n
end
-- Writes what has changed.
local function save(L)
	for i = 1, #L.drops, 1000 do -- Lua cannot unpack them all
		call('hdel', S, unpack(L.drops, i, min(i + 999, #L.drops)))
	end
	if not L.c then
		move_to(L, L.us)
	end
	if not f[1] then
		put(L, 'v', LAYOUT)
	end
	if not (f[1] and L.before) and born(L) == 0 then
		put(L, 'born', str(L.c))
	end
	if L.c ~= L.before then
		put(L, 'trail', L.trail)
		put(L, 'fence', str(L.c))
	end
	local flat = {}
	for name, value in pairs(L.puts) do
		flat[#flat + 1], flat[#flat + 2] = name, value
		if #flat == 1000 then
			call('hset', S, unpack(flat))
			flat = {}
		end
	end
	if #flat > 0 then
		call('hset', S, unpack(flat))
	end
	-- once a day or so
	if not L.before or floor(L.before / 1e11) ~= floor(L.us / 1e11) then
		call('pexpire', S, max(MONTH, 2 * L.longest))
		if try('type', H).ok == 'stream' then
			try('pexpire', H, MONTH)
		end
	end
	for who, words in pairs(L.mail) do
		local inbox = S:sub(1, -6) .. 'grant:' .. who -- behind S: "state"
		try('rpush', inbox, unpack(words, 2))
		try('pexpire', inbox, str(words[1]))
	end
end
