-- SPDX-License-Identifier: MIT
-- Waiting in line, and what a client that waits is told: see acquire.lua.
local own = read_identity(L.identity)
local function queue_up(L, ticket)
	stay_in_line(ticket, L.token .. ' ' .. L.identity)
	if L.us - ticket > HEARTBEAT then
		line('zadd', -L.us, L.token)
	end
end
-- How many are before us; -1: we are not in line.
local function place_of(ticket)
	return ticket > 0 and line('zcount', '(0', '(' .. str(ticket)) or -1
end
-- Whether a hold of redlock's is in the slot, and has the lock.
local function lives(L, s)
	return s.ends > L.now and key_agrees(L, s)
end
-- `longest`: T of the holders in the slots that we could have.
local function busy(L, s, ticket, place, why, longest)
	local value = s.n == 0 and look(L) or ''
	local held = lives(L, s)
	local e, ms = held and s.holder, s.ends - L.now
	if not held and value ~= '' then
		ms = call('pttl', K)
	end
	if ms ~= -1 then
		ms = max(ms, L.shut - L.now, 0)
	end
	if e and e.flag == 'r' then
		why = 'kept'
	elseif why == '' and L.now < L.shut then
		why = 'lost'
	end
	return {'busy', L.c or 0, ms, held and s.family or value,
	    value == ' ' and call('type', K).ok, place, max(ticket, 0), longest,
	    why, e and s.last, s.count, e and e.ttl or 0, e and e.fence or 0,
	    e and e.since or 0, e and e.identity:sub(1, 2048),
	    e and max(0, L.now - e.since) or 0}
end
-- The most frequent question, decided before the rest is defined: a waiter of a
-- plain lock asks again, and another client has it.
if ARG.plain == '1' and ARG.ticket > '0' and ARG.replace == '-1' and ARG.seen == f[2]
    and not L.entry and lives(L, slot(L, 0)) and not slot(L, 0).holder.cut
    and not next(L.puts) then
	local ticket = ARG.ticket + 0
	queue_up(L, ticket)
	return busy(L, slot(L, 0), ticket, place_of(ticket), '',
	    longest_lease(L, slot(L, 0)))
end
