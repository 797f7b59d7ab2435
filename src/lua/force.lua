-- SPDX-License-Identifier: MIT
-- force-release: asks all who are in a slot to stop, or puts them out.
--
-- ARG, besides those of start.lua (`token` is the client that forces):
--   step    "ask"; "take"; "foreign": delete another program's lock; "open": nobody
--           holds it, but data were lost: do not wait for those who may have held it;
--           "marks": forget what work was done
--   slot    its number
--   family  its family: "ask" and "take" do nothing if it has another. "shared:*":
--           any readers. For "foreign", the value of K, or its type
--   member  the token of one of several in the family, who alone is meant; or ""
--   grace   ask: they must be gone within so many ms
--   by      "NAME VALUE" lines about the client that asks
--   entry   take: the rest of the entries of the history
-- Returns
--   yes COUNTER MS COUNT    asked: the time that is left to them, and their number
--   yes COUNTER MS          taken, and handed over for MS; 0: to nobody
--   foreign COUNTER         it is another program's
--   no COUNTER              it is gone, or another client's: nothing has changed
local step, grace = ARG.step, ARG.grace + 0
local lost, s, v = data_lost(L), slot(L, ARG.slot + 0), look(L)
local shown = v == ' ' and call('type', K).ok or v and call('getrange', K, 0, 4095)
local family = ARG.family == 'shared:*' and reads(s.family) and s.family or ARG.family
local function answer(said, ...)
	return {said, L.c or 0, ...}
end
local function to_stop(count, who)
	local left = ask_to_stop(L, s, grace, ARG.by, who)
	first_write()
	save(L)
	return answer('yes', left, count)
end
local function freed()
	L.value = false
	local _, ms = serve(L)
	save(L)
	return answer('yes', ms)
end
if step == 'marks' then
	return answer(call('hdel', S, 'once', 'revision', 'label') > 0 and 'yes' or 'no', 0)
end
if ARG.member ~= '' then
	local who = ARG.member
	local e = counts(L, read_entry(unpack(call('hmget', S, 'hold:' .. who, 'who:' .. who))))
	if not e or e.n ~= s.n or e.ends <= L.now then
		return answer('no')
	elseif s.count > 1 and step == 'ask' then
		return to_stop(1, who)
	elseif s.count > 1 then
		first_write()
		drop(L, who)
		note_end(L, who, e, 'forced\n' .. ARG.entry)
		L.mail[who] = {60000, 'taken\n' .. ARG.by}
		leave(L, s, who)
		if s.n == 0 and v == s.family then
			call('pexpire', K, max(1, s.ends - L.now))
		end
		move(L)
		put_slot(L, s)
		save(L)
		return answer('yes', 0)
	end
	family = s.family -- it is alone there
end
if step == 'open' then
	first_write()
	L.shut = 0
	put(L, 'shut', '0')
	return freed()
end
if step == 'foreign' then
	if shown ~= family or v == s.family then
		return answer('no')
	end
	call('del', K)
	return freed()
end
if s.family ~= family or s.ends <= L.now then
	if shown == family and not lost and s.family ~= v then
		return answer('foreign')
	elseif s.ends <= L.now and s.moved > born(L) and shown ~= family then
		return answer('no') -- it has left since the loss
	elseif step == 'take' and s.ends <= L.now and (lost or shown == family) then
		first_write()
		if shown == family or v and reads(v) and family == 'shared:*' then
			call('del', K)
		end
		-- and it must not register again
		move(L)
		s.moved = L.c
		put_slot(L, s)
		save(L)
		return answer('yes', 0)
	elseif lost then
		first_write()
		save(L)
	end
	-- whom the server has forgotten is asked once it has registered again
	local may_return = s.ends <= L.now and (lost or L.now < L.shut)
	return answer(may_return and step == 'ask' and 'yes' or 'no', grace, 1)
end
if step == 'ask' and s.count == 1 and s.holder.flag == 'r' then
	return answer('yes', 0, 0) -- --min-hold keeps it for nobody
elseif step == 'ask' then
	return to_stop(s.count)
end
call('hdel', S, 'stop:' .. s.n)
L.stop = s.n > 0 and L.stop
sweep(L, s, nil, 'forced\n' .. ARG.entry)
for _, name in ipairs(L.drops) do
	local who = match(name, '^hold:(.*)$')
	if who then
		L.mail[who] = {60000, 'taken\n' .. ARG.by}
	end
end
if s.n == 0 and v == s.family then
	call('del', K)
end
move(L)
s.family, s.ends, s.count, s.longest, s.moved, s.last, s.holder = '-', 0, 0, 0, L.c, '-', nil
put_slot(L, s)
return freed()
