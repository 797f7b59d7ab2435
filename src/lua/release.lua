-- SPDX-License-Identifier: MIT
-- Leaves the lock and the line. A free slot goes to the first in line.
--
-- ARG, besides those of start.lua:
--   raise     the counter becomes larger than that
--   least     --min-hold: keep it until so many ms after the grant, or 0
--   ran       "1": a command may have run under it
--   once      for how many ms nobody may repeat the work, or 0 (--once-per)
--   revision  the revision of the work that is done (--revision), or -1
--   label     its label (--once-for), or ""
--   mark      "": we did it; else the mark on another server
--   ending    how the work ended: "outcome failed\nexit 4\n"
--   withheld  "1": hand it to nobody
--   entry     its entry in the history: see history.lua
--   unlock    "0": we end it; "1": another client ends it with our token, with an
--             entry; "2": the same without an entry
-- Returns
--   yes COUNTER MS    MS: the lease of the next holder; 0: nobody got it
--   no COUNTER        we do not hold it, or the request is too late
local least, once, unlock = ARG.least + 0, ARG.once + 0, ARG.unlock ~= '0'
local e = L.mine
data_lost(L)
if e and (L.number < e.number or e.flag == 'r')
    or unlock and not (e and e.ends > L.now) then
	return no_writer() or {'no', L.c or 0}
end
-- (a missing right must show before anything is written)
local still = e and key_agrees(L, e)
call('hdel', S, 'hold:' .. L.token, 'who:' .. L.token, 'stop:' .. L.token)
L.identity = unlock and e.identity or L.identity
line('zrem', L.token .. ' ' .. L.identity, L.token)
if ARG.raise - (L.c or 0) > 0 then
	move_to(L, ARG.raise + 0)
end
-- Of several revisions in slots or of readers, the largest stays. The mark of another
-- server is written only where none is, or for a label, none of a later run.
local ours, revision = ARG.mark == '', ARG.revision + 0
local function marked(field) return num(match(call('hget', S, field) or '', '^%d+')) end
local function mark(field, value)
	put(L, field, value .. '\n' .. (ours and 'since ' .. (e and e.since or L.now)
	    .. match(L.identity, '\n.*$') .. ARG.ending or ARG.mark))
end
if once > 0 and (ours or marked('once') <= L.now) then
	mark('once', str(L.now + once))
end
if revision >= 0 and marked('revision') < revision + (ours and 1 or 0) then
	mark('revision', ARG.revision)
end
local function since(text) return num(match(text or '', '\nsince (%d+)')) end
if ARG.label ~= '' and (ours or since('\n' .. ARG.mark) > since(call('hget', S, 'label'))) then
	mark('label', ARG.label)
end
local handed = 0
local function pass_on(s)
	local rest = ARG.ran == '1' and least > 0 and least - max(0, L.now - e.since) or 0
	move(L)
	leave(L, s, L.token)
	if rest > 0 and still then
		s.count, s.ends = s.count + 1, s.count > 0 and s.ends or 0
		e.flag = 'r'
		keep(L, s, L.token, e, rest, true)
		-- the lease that the first in line knows of is longer
		local first = line('zrangebyscore', '(0', '+inf', 'limit', 0, 1)[1]
		if first then
			L.mail[match(first, '^%S*')] = {GRANT, str(GRANT)}
		end
	elseif s.count > 0 then
		if s.n == 0 and still then
			call('pexpire', K, s.ends - L.now)
		end
		put_slot(L, s)
	else
		if s.n == 0 and still then
			call('del', K)
			L.value = false
		end
		-- after a loss of data, the run around us may still register again
		if s.family == L.token or L.now >= L.shut then
			mark_moved(L, s)
		end
		s.family, s.ends, s.longest, s.last, s.holder = '-', 0, 0, '-', nil
		if s.n > 0 or L.stop then
			L.drops[#L.drops + 1] = 'stop:' .. s.n
			L.stop = s.n > 0 and L.stop
		end
		put_slot(L, s)
		if ARG.withheld ~= '1' then
			local _
			_, handed = serve(L)
		end
	end
end
if e then
	pass_on(slot(L, e.n))
end
if unlock then
	try('rpush', I, 'unlocked')
	try('pexpire', I, 60000)
else
	try('del', I)
end
if e or next(L.puts) or L.c ~= L.before then
	save(L)
end
if ARG.entry ~= '' and not L.identity:find('\nunrecorded 1\n') then
	note(L.token, not e, ARG.entry, match(L.identity, '\n(.*)$') or '')
elseif ARG.unlock == '1' and e.flag == '' then
	note_end(L, L.token, e, 'released')
end
return {e and 'yes' or 'no', L.c or 0, handed}
