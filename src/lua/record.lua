-- SPDX-License-Identifier: MIT
-- Of a waiter that was handed the lock, and may never claim it.
local handed_line = 'handed 1\n'
-- "fence": the counter at the grant. "lost": see grant() in grant.lua. For the
-- lines that come later, see lines.lua.
local function record_of(who, ttl, about, since, lost, given)
	return 'token ' .. who .. '\nttl ' .. ttl
	    .. (given and '\nfence ' .. text(given) or '') .. '\nsince '
	    .. text(math.floor(since / 1000)) .. '\n'
	    .. (lost and 'lost ' .. text(lost) .. '\n' or '') .. about
end
