-- SPDX-License-Identifier: MIT
-- Slots: entering one, staying in it, removing entries that have ended.
--
-- A slot holds a family. A client that fits may enter: a reader fits the readers, a
-- nested run fits the run around it, anybody fits an empty slot. Plain locks, slots,
-- readers and nested runs differ only in this.
--
-- Who changes what. The state as this call has read it, L with its slots s and their
-- entries e, is changed in memory; put() and drop() note what is to be written:
--   mark_moved(), sweep(), leave()   s: put_slot() is left to the caller
--   keep(), enter()                  s and e, and they put both
--   move(), shut(), data_lost()      of L the counter, and until when it is shut
-- None of them calls save(). The last part of a script does, once, just before its
-- answer. Written at once is what is outside the state: K (keep() and enter()) and the
-- history (note_end()).
local function reads(family) return family:sub(1, 7) == 'shared:' end
local function fits(L, s, family)
	local lives = s.ends > L.now
	local same = s.family == family or family == 'shared:' and reads(s.family)
	-- (a lock that outlives its entries was set before the clock was set back)
	if s.n == 0 and look(L) and L.value ~= s.family then
		-- who was there before a loss of data enters again
		return not lives
		    and (L.value == family or family == 'shared:' and reads(L.value))
	end
	return not lives or same
end
-- The counter when the last family other than readers came or left. MOVED says it,
-- unless readers have come and gone since.
local function quiet_since(L, s)
	local from, to = match(L.puts.readers or call('hget', S, 'readers') or '',
	    '^(%d+) (%d+)$')
	return to and to + 0 == s.moved and from + 0 or s.moved
end
-- A family has come or left.
local function mark_moved(L, s)
	if reads(s.family) then
		put(L, 'readers', str(quiet_since(L, s)) .. ' ' .. str(L.c))
	end
	s.moved = L.c
end
local function put_slot(L, s)
	put(L, 'slot:' .. s.n, s.family .. ' ' .. s.count .. ' ' .. str(s.moved) .. ' '
	    .. str(s.longest) .. ' ' .. s.last)
end
local function put_hold(L, who, e)
	put(L, 'hold:' .. who, str(e.ends) .. ' ' .. str(e.number) .. ' ' .. e.flag)
end
local function drop(L, who)
	local n = #L.drops
	L.drops[n + 1], L.drops[n + 2], L.drops[n + 3] = 'hold:' .. who, 'who:' .. who,
	    'stop:' .. who
end
-- What another client writes about a hold that it ends, or finds ended.
local function note_end(L, who, e, outcome)
	local about, name = match(e.identity, '\n(.*)$') or '', slot_name(e)
	if not e.identity:find('\nunrecorded 1\n') then
		note(who, true, 'outcome ' .. outcome .. '\n'
		    .. (L.alone and 'fence ' .. str(e.fence) .. '\n' or '')
		    .. ((e.n > 0 or name ~= '') and 'slot ' .. e.n .. '\n' or '')
		    .. (name ~= '' and 'slot_name ' .. name .. '\n' or '')
		    .. 'since '
		    .. e.since .. '\nheld_ms '
		    .. max(0, min(e.ends, L.now) - e.since) .. '\n', about)
	end
end
-- Counts the live entries of a slot except that of `but`, and drops the others; with
-- `outcome`, it drops all. The history gets as many of them as it has room for.
local NOTED_MOST = 100
local function sweep(L, s, but, outcome)
	local one = s.count == 1 and s.holder
	local found = one and {[s.last] = one} or {}
	if not one then
		local flat, who = call('hgetall', S), {}
		for i = 1, #flat, 2 do
			who[flat[i]] = flat[i + 1]
		end
		for _, name in ipairs(L.drops) do -- what is to be written
			who[name] = nil
		end
		for name, value in pairs(L.puts) do
			who[name] = value
		end
		for name, text in pairs(who) do
			local token = match(name, '^hold:(.*)$')
			if token and token ~= but then
				found[token] = read_entry(text, who['who:' .. token])
			end
		end
	end
	local noted = 0
	s.ends, s.count, s.last, s.holder = 0, 0, '-', nil
	for token, e in pairs(found) do
		local old = e.fence < s.moved
		if e.n == s.n and (outcome or old or e.ends <= L.now) then
			drop(L, token)
			noted = noted + 1
			if not old and e.flag == '' and noted <= NOTED_MOST then
				note_end(L, token, e, e.ends <= L.now and 'expired' or outcome)
			end
		elseif e.n == s.n then
			if e.cut then
				put_hold(L, token, e)
			end
			s.count = s.count + 1
			if e.ends > s.ends then
				s.ends, s.last, s.holder = e.ends, token, e
			end
		end
	end
end
-- One entry of a slot less. Its fields are the caller's to drop.
local function leave(L, s, who)
	s.count = s.count - 1
	if s.last == who then
		s.ends, s.last, s.holder = 0, '-', nil
		if s.count > 0 then
			sweep(L, s, who)
		end
	end
end
local function put_who(L, who, e)
	put(L, 'who:' .. who, e.n .. ' ' .. str(e.fence) .. ' ' .. str(e.since) .. ' '
	    .. str(e.ttl) .. '\n' .. e.identity)
end
-- The lease of `who` ends `ms` from now, also if that is sooner than before because
-- the clock was set back. `fresh`: its entry is new. `shown`: K shows it already.
local function keep(L, s, who, e, ms, fresh, shown)
	local last, longest = s.last, s.longest
	if e.ends > L.now + ms and s.last == who and s.count > 1 then
		sweep(L, s, who)
		s.count = s.count + 1
	end
	e.ends = L.now + ms
	if s.last == who or e.ends >= s.ends then
		s.ends, s.last, s.holder = e.ends, who, e
	end
	if s.n > 0 and not fresh then
		first_write()
	elseif s.n == 0 and not shown and call('pexpire', K, s.ends - L.now) == 0 then
		call('set', K, s.family, 'nx', 'px', s.ends - L.now)
	end
	put_hold(L, who, e)
	if fresh or e.ttl > s.longest then
		s.longest = max(s.longest, e.ttl)
		put_who(L, who, e)
	end
	if fresh or s.last ~= last or s.longest > longest then
		put_slot(L, s)
	end
end
-- Puts a client into a slot that fits. `again`: its family, if it was there
-- before data were lost. Returns its entry; nil: another program has the lock.
local function enter(L, s, who, client, ms, flag, again)
	local is_us, fresh, set = who == L.token, s.ends <= L.now, nil
	local family = again ~= 'shared:' and again or client.shared and 'shared:' .. str(L.us) or who
	if fresh and s.n == 0 and L.value ~= family then
		if L.value == s.family then
			call('del', K)
		end
		set = call('set', K, family, 'nx', 'px', str(ms))
		if not set then
			return nil
		end
		L.value = family
	end
	move(L)
	if fresh then
		if s.count > 0 then
			sweep(L, s, who, 'expired')
		end
		s.family, s.ends, s.count, s.longest = family, 0, 0, 0
		if not again then
			mark_moved(L, s)
		end
		if call('hexists', S, 'stop:' .. s.n) == 1 then
			L.drops[#L.drops + 1] = 'stop:' .. s.n
		end
	end
	s.count = s.count + 1
	local e = {n = s.n, ends = 0, number = is_us and L.number or 0, flag = flag,
	    fence = L.c, since = L.now, ttl = client.ttl, identity = client.text}
	keep(L, s, who, e, ms, true, set)
	return e
end
