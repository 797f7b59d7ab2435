-- SPDX-License-Identifier: MIT
-- Takes the lock, or a place in line, and returns who holds it. With it a waiter
-- also claims a grant, and a client refreshes its lease until the command starts.
-- The same token gets the same answer, so a lost reply costs nothing.
--
-- ARG, besides those of start.lua:
--   plain     "1": see plain.lua
--   ttl       T
--   ticket    0: none yet; -1: do not stand in line; on several nodes the client
--             chooses a new one (newcomer "1")
--   most      do not get into a line of this many waiters; -1: no limit
--   outer     the token of the run around us, whose hold to share, or "";
--             outerslot: its slot; outerfence: its fence, 0: unknown
--   once      "1": not if the work is already done (--once-per)
--   revision  not if a larger one has succeeded (--revision); -1: none
--   only      take this slot only; -1: any
--   guard     ms that the server must have been up for; -1: do not ask
--   look      "1": take nothing, another client is repairing this node
--   replace   --replace: if nobody is before us, ask the holder to stop within so
--             many ms; -1: do not
-- Returns
--   granted FENCE COUNTER SLOT FAMILY AT STOP BY LONGEST SERVER
--   busy COUNTER MS FACE TYPE PLACE TICKET LONGEST WHY HOLDER COUNT TTL FENCE SINCE
--       STANDING AGE
--       MS: until it may be free; -1: it has no end. TYPE: of K, if it is not a
--       string. WHY: "" held; "kept": by --min-hold; "lost": data were lost,
--       nothing is granted yet; "young": see guard. HOLDER "": not redlock
--   full COUNTER WAITERS | superseded COUNTER ABOUT | done COUNTER MS MARK
--   older COUNTER REVISION MARK    a newer revision succeeded
--       MARK: "since SINCE\nABOUT" of the run that succeeded
--   inside COUNTER    the run around us reads, and we want to write
--   no COUNTER        the run around us does not hold it
--   vanished COUNTER  the same, but data were lost: it may register again
local L = begin()
local ticket, most, only = num(ARG.ticket), num(ARG.most), num(ARG.only)
local newcomer, guard = ARG.newcomer == '1', num(ARG.guard)
local ttl, slots, shared, supersedes, high = standing(L.stands)
local came = L.us - (high and LEAD or 0)
local member = L.token .. ' ' .. L.stands
local why = ''
data_lost(L)
local function granted(e)
	local s, stop, by = slot(L, e.n), '-1', ''
	if e == L.mine or ARG.outer ~= '' then
		stop, by = stop_of(L, s)
	end
	if ticket > 0 or e == L.mine then
		line('zrem', member, L.token)
	end
	save(L)
	return {'granted', str(e.fence), str(L.c), e.n, s.fam, str(L.now), stop, by,
	    str(s.longest), L.server or ''}
end
local function write()
	if #L.puts > 0 or #L.drops > 0 then
		line('zrem', '') -- a first write
		save(L)
	end
end
if guard >= 0 then
	rolled_back(L)
	local rest = young_for(L, guard)
	if rest > 0 and L.now + rest > L.shut then
		L.shut, why = L.now + rest, 'young'
		put(L, 'shut', str(L.shut))
	end
end
-- A grant is not claimed if the work is already done.
local function mark(field, asked)
	return match(asked and call('hget', S, field) or '', '^(%d+)\n(.*)$')
end
if not (L.mine and L.mine.flag == '') then
	local newest, whose = mark('revision', ARG.revision ~= '-1')
	if newest and num(newest) > num(ARG.revision) then
		write()
		return {'older', str(L.c or 0), newest, whose}
	end
	local done, by = mark('once', ARG.once == '1')
	if num(done) > L.now then
		write()
		return {'done', str(L.c or 0), str(done - L.now), by}
	end
end
-- While it is shut, nothing begins, not even what was granted before: in a state
-- that was lost, another client may have been granted it. (A late request may have
-- left us in the family of the run around us. An expired hold gets a new fence: an
-- older state may have come back.)
local own = L.mine and slot(L, L.mine.n).fam
if L.mine and L.mine.flag ~= 'r' and L.mine.ends > L.now and stands_still(L, L.mine)
    and (own == L.token or ARG.outer ~= '' or reads(own)) then
	local e = L.mine
	if L.now >= L.shut or ARG.outer ~= '' then
		if L.number >= e.number then
			e.flag, e.number = '', L.number
			keep(L, slot(L, e.n), L.token, e, ttl)
		end
		return granted(e)
	end
	ticket = -1
end
if ARG.outer ~= '' then
	local outer = counts(L, read_entry(unpack(call('hmget', S, 'hold:' .. ARG.outer,
	    'who:' .. ARG.outer))))
	local s = slot(L, outer and outer.n or num(ARG.outerslot))
	if s.ends > L.now and (outer or s.fam == ARG.outer)
	    and (s.n > 0 or not look(L) or L.face == s.fam) then
		if reads(s.fam) and not shared then
			write()
			return {'inside', str(L.c or 0)}
		end
		return granted(enter(L, s, L.token, L.stands, ttl, ''))
	end
	write()
	-- a state that began after its grant has lost it
	local fence = num(ARG.outerfence)
	local forgot = fence > 0 and (L.born == 0 or L.born > fence)
	return {(forgot or L.now < L.shut) and 'vanished' or 'no', str(L.c or 0)}
end
local latest, newest = match(supersedes and call('hget', S, 'newest') or '', '^(%d+)\n(.*)$')
latest = num(latest)
-- if a first question comes twice, the copy finds what happened in between
if ticket > 0 and latest > ticket or supersedes and ticket == 0
    and try('lindex', I, -1) == 'superseded' then
	write()
	return {'superseded', str(L.c or 0), newest or ''}
end
local in_line = false
local function stand()
	in_line = true
	call('pexpire', Q, 60000) -- a first write
	line('zadd', str(ticket), member)
	if L.us - ticket > HEARTBEAT then
		line('zadd', str(-L.us), L.token)
	end
end
if ticket > 0 and newcomer then -- its clock may be wrong
	ticket = min(max(ticket, came - 1000000), came + 1000000)
elseif ticket > 0 then
	stand()
end
local free = ARG.look ~= '1' and slot_for(L, L.stands, only)
if free then
	local left, _, ours = serve(L, only)
	local s = not left and not ours and slot_for(L, L.stands, only)
	ours = ours or s and enter(L, s, L.token, L.stands, ttl, '')
	if ours then
		return granted(ours)
	end
end
if ticket == 0 or ticket > 0 and newcomer then
	if most >= 0 then
		local n = 0
		for _, other in ipairs(line('zrangebyscore', '(0', '+inf')) do
			local who = match(other, '^%S+')
			if is_gone(L, who, num(line('zscore', other))) then
				line('zrem', other, who)
			else
				n = n + 1
			end
		end
		if n >= most then
			write()
			return {'full', str(L.c or 0), n}
		end
	end
	if ticket == 0 then
		-- if the clock was set back, behind the others all the same
		local last = not high and L.c and L.c > L.us
		    and line('zrevrange', 0, 0, 'withscores')[2]
		ticket = max(came, num(last) + 1, latest + 1)
	end
	stand()
end
if supersedes and ticket > latest then
	put(L, 'newest', str(ticket) .. '\n' .. match(L.stands, '\n(.*)$'))
	for _, other in ipairs(line('zrangebyscore', '(0', '(' .. str(ticket))) do
		local who, stands = match(other, '^(%S+) (.*)$')
		if who and select(4, standing(stands)) then
			line('zrem', other, who)
			L.bells[who], L.words[who] = 3 * GRANT, 'superseded'
		end
	end
end
local place = in_line and line('zcount', '(0', '(' .. str(ticket)) or -1
-- the slot that is free first
local s = slot(L, max(only, 0))
for n = 1, only < 0 and slots - 1 or 0 do
	s = slot(L, n).ends < s.ends and slot(L, n) or s
end
local face = s.n == 0 and look(L) or ''
local lives = s.ends > L.now and (face == '' or face == s.fam)
local e = lives and s.holder
-- A client that was handed the lock and has not started goes first, and is asked
-- then.
if num(ARG.replace) >= 0 and place == 0 and e and e.flag == '' then
	ask_to_stop(L, s, num(ARG.replace), 'replaces 1\n' .. match(L.stands, '\n(.*)$'))
end
write()
local ms = not lives and face ~= '' and call('pttl', K) or s.ends - L.now
if ms ~= -1 then
	ms = max(ms, L.shut - L.now, 0)
end
return {'busy', str(L.c or 0), str(ms), (lives and s.fam or face):sub(1, 128),
    face == ' ' and call('type', K).ok or '', place, str(max(ticket, 0)),
    str(s.longest), e and e.flag == 'r' and 'kept'
    or L.now < L.shut and (why ~= '' and why or 'lost') or '', e and s.last or '', s.count, str(e and e.ttl or 0), str(e and e.fence or 0),
    str(e and e.since or 0), e and e.stands:sub(1, 2048) or '',
    str(e and max(0, L.now - e.since) or 0)}
