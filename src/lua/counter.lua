-- SPDX-License-Identifier: MIT
-- The counter, and the one rule about lost data.
--
-- Which process of which server this is. On several nodes, the counter counts,
-- so that the nodes agree; but a counter that another process has written may
-- be an older one, and becomes TIME before it gives out another fence. (A server
-- has a run_id for each start, and a master_replid for each time that it becomes
-- the master.)
local function server(L)
	if not L.server then
		local words = try('info', 'server')
		words = type(words) == 'string' and words or ''
		local id = match(words, 'run_id:(%x+)') or ''
		L.uptime = tonumber(match(words, 'uptime_in_seconds:(%-?%d+)') or 1e9)
		-- the field is redis_mode, server_mode or redict_mode
		local kind = words:find('_mode:cluster', 1, true) and ' cluster' or ''
		words = try('info', 'replication')
		words = type(words) == 'string' and words or ''
		if words:find('role:active-replica', 1, true) then -- of KeyDB
			kind = ' active'
		end
		L.server = id .. kind
		L.life = id .. ' ' .. (match(words, 'master_replid:(%x+)') or '')
		L.is_other = id == '' or call('hget', S, 'writer') ~= L.life
		if L.is_other and id ~= '' then
			put(L, 'writer', L.life)
		end
	end
	return L.server
end
local function rolled_back(L)
	server(L)
	return L.is_other
end
-- For how many ms more this server has been up for less than `ms`: it may have
-- forgotten a lease. (Uptime is in whole seconds, and the last has just begun.)
local function young_for(L, ms)
	server(L)
	return ms > 0 and max(0, ms + 1000 - L.uptime * 1000) or 0
end
-- The counter grows by 1, and to `least`. On one node it becomes at least TIME:
-- then no older state that comes back gives out a fence twice.
local function move(L, least)
	local next = max((L.c or 0) + 1, least or 0)
	if not L.c or L.alone or rolled_back(L) then
		next = max(next, L.us)
	end
	move_to(L, next)
end
-- Nothing new is granted until `ms` after `since`.
local function shut(L, ms, since)
	L.shut = max(L.shut, since + ms)
	put(L, 'shut', str(L.shut))
	put(L, 'lost', str(since))
end
-- The rule. A client has seen a counter that this state never had: then this
-- server has lost data, whatever it was. Nobody new gets anything for as long as
-- the longest lease that the client knows of; who holds the lock registers again
-- with its next renewal, within T/6.
local function data_lost(L)
	local c, seen = L.c, L.seen
	local oldest = num(match(L.trail, '%d+'))
	if seen == 0 or c and c >= seen and seen >= L.born and (seen < oldest
	    or L.trail:find(str(seen), 1, true) or not is_whole(L)) then
		return false
	end
	local since = L.now
	if not c or c < seen then
		-- above all that was seen, also if the clock was set back
		move(L, L.us > seen and 1 or seen + L.longest * 1000)
		L.born = L.c
		put(L, 'born', str(L.born))
	else -- it may have been noticed before, but not before it happened
		since = num(call('hget', S, 'lost'))
		since = since * 1000 < seen and L.now or since
	end
	shut(L, L.longest, since)
	return true
end
