-- SPDX-License-Identifier: MIT
-- Takes the lock for a client, or a place in line, and tells who holds it. If
-- the same token asks again, the script refreshes the lease or the place and
-- gives the same answer, so a lost reply costs nothing. A waiter also claims
-- its grant this way.
--
-- KEYS  lock, state, of slot 0
-- ARG
--   token     ours
--   plain     "1": see plain-acquire.lua; then `stands` is "TTL 1 -\n" and more
--   ttl       the lease, in ms
--   seen      the largest counter that this client saw, or 0
--   alone     "1" on one node: see grant()
--   ticket    0: none yet; -1: do not get into line; on several nodes the client
--             chooses a new one
--   most      do not get into a line of this many waiters; -1: no limit
--   stands    how we stand in line: see standing()
--   once      "1": not if the work was done already: --once-per
--   embargo   "1": data were lost, and a holder may not know it: take nothing yet
--   newcomer  "1": the ticket is new, and we chose it
--   guard     the restart guard: a server that has been up for less than this
--             many ms grants nothing; -1: do not ask which server it is
--   only      take this slot only; -1: any
--   number    see share.lua
-- Returns
--   granted COUNTER LOST SLOT GROUP SERVER AT STOP BY LONGEST
--       LOST 1: the counter that this client saw was lost since: see grant().
--       GROUP: the G of "shared:G", or 0. With readers or slots, COUNTER is a
--       new one each time. SERVER: see server.lua. AT: its clock, in ms. STOP,
--       BY: for a lock that was ours already, as in confirm.lua. LONGEST: as there;
--       0 without --shared
--   busy COUNTER PTTL VALUE RECORD PLACE TICKET LOST AGE
--       PTTL -1: no expiry; -2: nobody has it. RECORD "": there is none, the lock is another
--       program's. PLACE: number of waiters before us; -1: we are not in line.
--       AGE: ms since the grant, or -1. With several slots this is the one that
--       is free first, or the one in `only` if that is taken.
--   type COUNTER PTTL TYPE "" PLACE TICKET 0     the key is not a string
--   loss COUNTER 0 "" "" PLACE TICKET LOST    free, but the counter is behind
--       what this client saw: data were lost, and a holder may not know it
--   guarded COUNTER MS "" "" PLACE TICKET 0    free, but the server has not
--       been up for long enough; it will have been in MS
--   full COUNTER WAITERS
--   superseded COUNTER 0 "" RECORD        by the client in RECORD
--   done COUNTER MS "" RECORD             by the client in RECORD; the work may
--       not be repeated for MS
--   fence                      the counter is not a number: no grant is
--       possible
local saw, alone = tonumber(ARG.seen), ARG.alone == '1'
local ticket, most = tonumber(ARG.ticket), tonumber(ARG.most)
local newcomer, guard, only = ARG.newcomer == '1', tonumber(ARG.guard), tonumber(ARG.only)
local ttl, slots, reads, about, marked = standing(ARG.stands)
number = tonumber(ARG.number)
local member = token .. ' ' .. ARG.stands
local several = reads or slots > 1
-- needs keys that are not in KEYS: where they are refused, fail before a write
if several and not cluster then
	redis.call('exists', part('none'))
end
-- Whether a counter was lost and started again after this client saw it. (A
-- start above the counter proves nothing: the clock was set back since.)
local function reborn()
	return saw > 0 and (several or not v) and born and saw < born
	    and born <= (c or born)
end
local function told()
	local lost = number_in(record, 'lost')
	return (lost and saw > 0 and saw < lost or reborn()) and 1 or 0
end
