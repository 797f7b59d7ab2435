-- SPDX-License-Identifier: MIT
-- The line of waiters, one for all slots: a sorted set of "TOKEN IDENTITY", in the
-- order of their tickets. A ticket is the time in us when the waiter came; with
-- --priority high, LEAD less. A waiter whose ticket is older than a heartbeat also
-- has a member TOKEN, with its last sign of life, in us, as negative score.
--
-- IDENTITY is "TTL SLOTS FLAGS\nABOUT": how a client waits, and who it is. FLAGS: "-"
-- none, "s" --supersede, "r" --shared, "p" --priority high. read_identity() returns
-- the client as a table; nil: it is not redlock's.
local HEARTBEAT, GONE, GRANT, LEAD = 5000000, 15000000, 2000, 60000000
local function read_identity(text)
	local ttl, slots, flags, about = match(text, '^([1-9]%d*) ([1-9]%d*) (%S+)\n(.*)$')
	if ttl and ttl + 0 <= 1e12 and slots + 0 <= 1000 then
		return {text = text, about = about, ttl = ttl + 0, slots = slots + 0,
		    shared = flags:find('r'),
		    supersedes = flags:find('s'),
		    high = flags:find('p')}
	end
end
-- A command on the line. A key of another type is deleted: the waiters come back.
local function line(command, ...)
	local answer = try(command, Q, ...)
	if type(answer) == 'table' and answer.err then
		if answer.err:find('WRONGTYPE') then
			call('del', Q)
		end
		return call(command, Q, ...)
	end
	return answer
end
-- A line that was left alone is gone after a minute.
local function stay_in_line(ticket, member)
	call('pexpire', Q, 60000) -- before anything that needs memory
	if line('zadd', ticket, member) == 1 then -- perhaps it is the first in line
		call('pexpire', Q, 60000)
	end
end
-- Whether a waiter has given no sign of life for three heartbeats. Its ticket is
-- the first.
local function is_gone(L, who, ticket)
	return L.us - ticket > GONE and L.us + num(line('zscore', who)) > GONE
end
