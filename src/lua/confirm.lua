-- SPDX-License-Identifier: MIT
-- Renews the lease of a client and raises the counter to at least ARG.fence. It
-- sets a vanished lock again ("heals" it) if the counter proves that there was
-- no grant, release or force-release since this client's last answer, or if the
-- counter vanished, too. A smaller counter is an older one that came back: a
-- grant since then would have set it to TIME.
--
-- KEYS  lock, state, of our slot
-- ARG
--   token, ttl  ours, in ms
--   fence       m, or 0
--   seen        the counter last seen under this token; 0: do not heal
--   stands      how we stand in line: see standing.lua
--   value       that of the lock while it is ours: our token, that of the holder
--               we joined, or "shared:G"; "shared:0": we read on other nodes,
--               and join the readers on this one
--   joined      "1": an earlier answer said that another client has joined us
--   longest     LONGEST of the last answer, or 0
--   ends        when the lease ends, in ms by the server's clock: do not heal
--               after that (on one node, only if the counter is missing, an older
--               one, or started again since); 0: unknown; -1: never heal
--   guard       -1; or repair: the lock was gone already when the counter was
--               `seen` (0: there was none), and since then the other nodes have
--               shown that the lock is ours all the same. Set it, unless this
--               server has been up for less than this many ms
--   alone       "1" on one node: see server.lua
--   number      see share.lua
--   plain       "1": see plain-confirm.lua
-- Returns
--   yes COUNTER PTTL JOINED RAISED AT STOP BY GROUP LONGEST
--       PTTL: what was left of our lease before this renewal. JOINED 1: the
--       lease of another client that has joined us still runs. RAISED 1: this
--       renewal raised the counter to m. AT: the server's clock, in ms. STOP: BY
--       asks us to be gone within this many ms; -1: nobody asks; see force.lua.
--       GROUP: the G of "shared:G", or 0. LONGEST: what is left of the
--       longest lease of those who share the lock, in ms; 0: nobody does. The
--       next question sends it as it is. That is not too short for one that
--       renews on time: it has five sixths of its lease left, and its command is
--       killed after four fifths
--   healed COUNTER 0 JOINED RAISED AT STOP BY GROUP LONGEST
--   no COUNTER TAKEN STOP BY UNLOCKED
--       TAKEN 1: another client holds the lock, else it is gone. UNLOCKED 1: it
--       was released in our name, which ends the hold
-- A claim counts only if COUNTER >= m: when memory is full, the server refuses
-- to raise the counter, but not PEXPIRE.
local ttl, m, seen = tonumber(ARG.ttl), tonumber(ARG.fence), tonumber(ARG.seen)
local value = ARG.value
local ends, guard, alone = tonumber(ARG.ends), tonumber(ARG.guard), ARG.alone == '1'
local shares = value ~= token
lives_ms = math.max(lives_ms, ttl)
longest_ms = tonumber(ARG.longest)
number = tonumber(ARG.number)
local member = token .. ' ' .. ARG.stands
local said, pttl, back, mine = 'yes', 0, false, nil
local at = time()
local stop, by, unlocked = stop_word(token, at)
local raises = not bad and (not c or c < m)
-- On several nodes this may be a repair: we are new among those who share it.
local joins = seen == 0 or guard >= 0
if value == 'shared:0' then
	value = shared(v) and v or 'shared:' .. text(math.max(c or at, m))
end
local function heals()
	if guard >= 0 then
		return ((c or 0) == seen or c and untouched(seen))
		    and not young(guard)
	end
	local lives = at < ends * 1000
	if seen == 0 or ends < 0 or ends > 0 and not lives and not (alone and c) then
		return false
	end
	-- a counter that was lost and started again knows nothing from before
	return not c or c == seen or lives and c < seen
	    or untouched(seen) and (lives or (born or 0) <= seen)
end
if unlocked then
	return {'no', text(c), 1, text(stop), by, 1}
end
if v == value then
	-- renew our own lock in any case, but a shared one only if the sharers
	-- are here
	if shares then
		here(sharers_of(value))
	end
	mine = shares and own('zscore', sharers_of(value), member)
	pttl = mine and mine - math.floor(at / 1000) or redis.call('pttl', lock)
elseif not v and not bad and heals()
    and redis.call('set', lock, value, 'nx', 'px', longest(value, ttl)) then
	said, v, back = 'healed', value, c and c < seen
else
	return {'no', text(c), v and 1 or 0, text(stop), by}
end
