-- SPDX-License-Identifier: MIT
-- Renews a lease, raises the counter, and registers again a client that the
-- server has forgotten. A lease that is over is renewed if nobody came (the clock was
-- set ahead, or the client's stood still), but not by a late copy of a request.
--
-- ARG, besides those of start.lua:
--   plain    "1": see plain.lua
--   ttl      T; `redlock extend`: at least that, 0: as before
--   family   the client's family: a token, or "shared:" for readers
--   slot     its slot
--   raise    the counter becomes at least that (the fence on several nodes)
--   ends     the end of its last confirmed lease, by the server's clock; 0: do not
--            register it again
--   repair   "1": nobody had the lock here when the counter was `seen`, and the
--            other nodes have shown since that it is ours: enter. "2": we hold it
--            on other nodes: enter if others of the family are here
--   guard    repair: ms that the server must have been up for
-- Returns
--   yes COUNTER MS AT LONGEST RAISED STOP BY
--       The last three are missing if none says anything: 0, -1, ""
--   healed ...    the same; something of the hold was missing, and was restored
--       MS: what was left of the lease
--       RAISED 1: this request raised the counter
--   no COUNTER TAKEN UNLOCKED STOP BY
--       TAKEN 1: another client has it. UNLOCKED 1: `redlock unlock` ended it.
--       STOP 0: BY has taken it from us (force-release)
local ttl, family, raise = ARG.ttl + 0, ARG.family, ARG.raise + 0
local repair, lost = ARG.repair == '1', ARG.repair == '0' and data_lost(L)
local e = L.mine
local s = slot(L, e and e.n or ARG.slot + 0)
local said, ms = nil, 0
-- Whether a client that is missing here may enter again. In a family of several,
-- each may leave, so only a loss of data explains that it is missing. Since then
-- nobody may have been granted the slot or left it, except readers.
local function returns()
	if e or not fits(L, s, family) then
		return false
	elseif ARG.repair == '2' then
		return s.ends > L.now and stop_of(L, s, L.token) < 0
	elseif repair then
		return s.moved <= L.seen and young_for(L, ARG.guard + 0) == 0
	end
	local alone = family == L.token and s.family ~= family
	local moved = family == 'shared:' and quiet_since(L, s) or s.moved
	return L.now < ARG.ends + 0 and (lost or alone and L.seen > 0) and moved <= L.seen
end
-- a late copy of our first request may have put us into another slot
if e and e.flag ~= 'r' and (e.ends > L.now or L.number > e.number) and key_agrees(L, e)
    and (L.number == 0 or e.n == ARG.slot + 0) then
	ms = e.ends - L.now
	said = (lost or s.n == 0 and not look(L)) and 'healed' or 'yes'
	if L.number == 0 then -- another client extends it
		ttl = max(ttl > 0 and ttl or e.ttl, ms)
		e.ttl = max(e.ttl, ttl)
		keep(L, s, L.token, e, ttl)
		put_who(L, L.token, e)
	else
		e.flag, e.number = '', max(e.number, L.number)
		keep(L, s, L.token, e, ttl)
	end
elseif L.number > 0 and returns() then
	if ARG.repair == '0' and not lost then
		shut(L, L.longest, L.now)
	end
	if s.n == 0 and look(L) then
		call('pexpire', K, ttl)
		-- readers go on with the lock they had; any other value outlived its family
		family = family == 'shared:' and reads(L.value) and L.value or family
	elseif s.n > 0 then
		first_write()
	end
	e = enter(L, s, L.token, read_identity(L.identity), ttl, '', family)
	said = e and 'healed'
	try('zrem', Q, L.token .. ' ' .. L.identity, L.token)
end
if not said then
	if next(L.puts) then
		save(L)
	end
	local word = try('lindex', I, -1)
	word = type(word) == 'string' and word or ''
	local by = match(word, '^taken\n(.*)$')
	return no_writer() or {'no', L.c or 0, (s.ends > L.now or look(L)) and 1 or 0,
	    word == 'unlocked' and 1 or 0, by and 0 or -1, by or ''}
end
local raised = (L.c or 0) < raise
if raised then
	move_to(L, raise)
	e.fence = raise
	put_who(L, L.token, e)
end
save(L)
local stop, by = stop_of(L, s, L.token)
return {said, L.c, ms, L.now, longest_lease(L, s), raised and 1 or stop >= 0 and 0 or nil, stop,
    by} -- a nil ends it
