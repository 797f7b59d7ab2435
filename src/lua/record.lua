-- SPDX-License-Identifier: MIT
-- A release may arrive late, after this client has asked for the lock again. So
-- the first question after a release starts a new round, and a release of an
-- earlier round does not undo a grant. The record keeps the latest round in which
-- the client asked while it had the lock.
local round = 0
local function round_line(who)
	return who == token and round > 0 and 'round ' .. round .. '\n' or ''
end
-- Of a waiter that was handed the lock, and may never claim it.
local handed_line = 'handed 1\n'
-- "fence": the counter at the grant. "lost": see grant() in grant.lua. For the
-- lines that come later, see lines.lua.
local function record_of(who, ttl, about, since, lost, given)
	return 'token ' .. who .. '\nttl ' .. ttl
	    .. (given and '\nfence ' .. text(given) or '') .. '\nsince '
	    .. text(math.floor(since / 1000)) .. '\n'
	    .. (lost and 'lost ' .. text(lost) .. '\n' or '')
	    .. round_line(who) .. about
end
