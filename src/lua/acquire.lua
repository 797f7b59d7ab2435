-- SPDX-License-Identifier: MIT
-- Takes the lock, or a place in line, and returns who holds it. With it a waiter
-- also claims a grant, and a client refreshes its lease until the command starts.
-- The same token gets the same answer, so a lost reply costs nothing.
--
-- Its steps, of which each may end it with an answer (1 to 4 as in docs/protocol.md):
--   0  look whether this server is shut, and whether the work is already done
--   1  the token has an entry: refresh it
--   2  the run around us holds the lock: enter its family, past the line
--   3  a slot is free: the first in line gets it, which may be the caller
--   4  otherwise give the caller a ticket, or let it keep the one that it has, and
--      say who holds the lock
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
--   label     not if the last success had the same (--once-for); "": none
-- Returns
--   granted COUNTER FENCE AT LONGEST SLOT STOP BY SERVER
--       The last four are missing if none says anything: 0, -1, "", ""
--   busy COUNTER MS VALUE TYPE PLACE TICKET LONGEST WHY HOLDER COUNT TTL FENCE SINCE
--       IDENTITY AGE
--       MS: until it may be free; -1: it has no end. TYPE: of K, if it is not a
--       string. WHY: "" held; "kept": by --min-hold; "lost": data were lost,
--       nothing is granted yet; "young": see guard. HOLDER "": not redlock
--   full COUNTER WAITERS | superseded COUNTER ABOUT | done COUNTER MS MARK
--       MS: until it may be done again; -1: not for this label
--   older COUNTER REVISION MARK    a newer revision succeeded
--       MARK: "since SINCE\nABOUT" of the run that succeeded
--   inside COUNTER    the run around us reads, and we want to write
--   no COUNTER        the run around us does not hold it
--   vanished COUNTER  the same, but data were lost: it may register again
local ticket, newcomer = ARG.ticket + 0, ARG.newcomer == '1'
local only = ARG.only ~= '-1' and ARG.only + 0
local ttl, supersedes, high = own.ttl, own.supersedes, own.high
local came = L.us - (high and LEAD or 0)
local why, looks = '', ARG.look == '1'
-- The answers. The caller has the lock, now or already. (If memory is full, a
-- newcomer's first write fails, and it has not.)
local function granted(e)
	local s, stop, by = slot(L, e.n), -1, ''
	if e == L.mine or ARG.outer ~= '' then
		stop, by = stop_of(L, s, L.token)
	end
	-- (this is a first write, too: see save.lua)
	-- A run that joins the one around it asks without its ticket, but may have one.
	if ticket > 0 or e == L.mine or ARG.outer ~= '' then
		line('zrem', L.token .. ' ' .. L.identity, L.token)
	end
	save(L)
	local more = e.n > 0 or stop >= 0 or L.server
	return {'granted', L.c, e.fence, L.now, longest_lease(L, s), more and e.n, stop, by,
	    L.server or ''} -- a nil ends it
end
-- All others: what has changed is written, if anything has.
local function write()
	if next(L.puts) or next(L.mail) then
		first_write()
		save(L)
	end
end
local function answer(said, ...)
	write()
	return {said, L.c or 0, ...}
end

-- 0. Is this server shut?
data_lost(L)
if ARG.guard ~= '-1' then
	local rest = young_for(L, ARG.guard + 0)
	if rest > 0 and L.now + rest > L.shut then
		shut(L, rest, L.now)
	end
	-- (its uptime is rounded)
	if rest > 0 and L.now + rest + 1000 >= L.shut then
		why = 'young'
	end
end
-- Is the work already done? Then a grant is not claimed either.
local function mark(field, asked, form)
	return match(asked and call('hget', S, field) or '', '^(' .. form .. ')\n(.*)$')
end
if not (L.mine and L.mine.flag == '') then
	local newest, whose = mark('revision', ARG.revision ~= '-1', '%d+')
	if newest and newest - ARG.revision > 0 then
		return answer('older', newest, whose)
	end
	local label, by = mark('label', ARG.label ~= '', '[^\n]+')
	if label == ARG.label then
		return answer('done', -1, by)
	end
	local done
	done, by = mark('once', ARG.once == '1', '%d+')
	if num(done) > L.now then
		return answer('done', done - L.now, by)
	end
end

-- 1. The token has an entry.
-- While it is shut, nothing begins, not even what was granted before: in a state
-- that was lost, another client may have been granted it. (A late request may have
-- left us in the family of the run around us. An expired hold gets a new fence: an
-- older state may have come back.)
local e = L.mine
local s = e and slot(L, e.n)
if e and e.flag ~= 'r' and e.ends > L.now and key_agrees(L, e)
    and (s.family == L.token or ARG.outer ~= '' or reads(s.family)) then
	if L.now >= L.shut or ARG.outer ~= '' then
		e.flag, e.number = '', max(e.number, L.number)
		keep(L, s, L.token, e, ttl)
		return granted(e)
	end
	ticket, newcomer = -1, false
elseif e and e.flag == 'r' and e.ends > L.now then
	-- a late copy: it was released, and --min-hold keeps it
	looks, ticket, newcomer = true, -1, false
elseif e then -- it is over
	drop(L, L.token)
	leave(L, s, L.token)
	put_slot(L, s)
	L.mine = nil
end

-- 2. There is a run around us. It holds the lock, or there is nothing to wait for.
if ARG.outer ~= '' then
	local outer = counts(L, read_entry(unpack(call('hmget', S, 'hold:' .. ARG.outer,
	    'who:' .. ARG.outer))))
	local s = slot(L, outer and outer.n or ARG.outerslot + 0)
	if not L.mine and (outer or s.family == ARG.outer) and lives(L, s) then
		if reads(s.family) and not own.shared then
			return answer('inside')
		end
		return granted(enter(L, s, L.token, own, ttl, ''))
	end
	-- a state that began after its grant has lost it
	local fence, began = ARG.outerfence + 0, born(L)
	local forgot = fence > 0 and (began == 0 or began > fence)
	return answer((forgot or L.now < L.shut) and 'vanished' or 'no')
end

-- 3. A slot is free: the first in line gets it.
if newcomer then -- its clock may be wrong
	ticket = min(max(ticket, came - 1000000), came + 1000000)
end
-- The --supersede waiters from one ticket to another: {MEMBER TOKEN ABOUT} of each.
local function superseding(from, to)
	local found = {}
	for _, other in ipairs(line('zrangebyscore', from, to)) do
		local who, rest = match(other, '^(%S+) ()')
		local its = who and read_identity(other:sub(rest))
		if its and its.supersedes then
			found[#found + 1] = {other, who, its.about}
		end
	end
	return found
end
-- (Whom a newer one has superseded is not in line any more.)
if supersedes then
	local word, by = try('lindex', I, -1), nil
	by = type(word) == 'string' and match(word, '^superseded\n(.*)$')
	-- who is not in line any more may have missed the word
	if not by and ticket > 0 and not line('zscore', L.token .. ' ' .. L.identity) then
		local newer = superseding('(' .. str(ticket), '+inf')
		by = #newer > 0 and newer[#newer][3]
	end
	if by then
		return answer('superseded', by)
	end
end
if ticket > 0 and not newcomer then
	queue_up(L, ticket)
end
if not looks and slot_for(L, own, only) then
	local left, _, ours = serve(L, only)
	local s = not left and slot_for(L, own, only)
	ours = ours or s and enter(L, s, L.token, own, ttl, '')
	if ours then
		return granted(ours)
	end
end

-- 4. A place in line, and who holds the lock.
if ticket == 0 or newcomer then
	if ARG.most ~= '-1' then
		local n = 0
		for _, other in ipairs(line('zrangebyscore', '(0', '+inf')) do
			local who = match(other, '^%S+')
			if is_gone(L, who, num(line('zscore', other))) then
				line('zrem', other, who)
			else
				n = n + 1
			end
		end
		if n - ARG.most >= 0 then
			return answer('full', n)
		end
	end
	if ticket == 0 then
		-- if the clock was set back, behind the others all the same
		local last = not high and L.c and L.c > L.us
		    and line('zrevrange', 0, 0, 'withscores')[2]
		ticket = max(came, num(last) + 1)
	end
	queue_up(L, ticket)
end
if supersedes and (ARG.ticket == '0' or newcomer) then
	local word = 'superseded\n' .. own.about
	for _, older in ipairs(superseding('(0', '(' .. str(ticket))) do
		line('zrem', older[1], older[2])
		L.mail[older[2]] = {60000, word, word} -- a client that listens takes one
	end
end
local place = place_of(ticket)
-- the slot that is free first
local s, longest = slot(L, only or 0), 0
for n = 0, own.slots - 1 do
	local o = slot(L, n)
	s = not only and o.ends < s.ends and o or s
	longest = max(longest, longest_lease(L, o))
end
-- A client that was handed the lock and has not started goes first, and is asked
-- then.
if ARG.replace ~= '-1' and place == 0 and lives(L, s) and s.holder.flag == '' then
	ask_to_stop(L, s, ARG.replace + 0, 'replaces 1\n' .. own.about)
end
write()
return busy(L, s, ticket, place, why, longest)
