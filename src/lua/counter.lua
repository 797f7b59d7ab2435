-- SPDX-License-Identifier: MIT
-- The counter, and the one rule about lost data.
--
-- Identifies the server process: run_id changes at each start, master_replid each
-- time that it becomes the master. On several nodes the counter grows by 1, so that
-- the nodes agree. But if another process wrote it, it may be an older one, and
-- becomes TIME before it is used for a fence.
local function server(L)
	if not L.server then
		local words = try('info', 'server')
		words = type(words) == 'string' and words or ''
		local id = match(words, 'run_id:(%x+)') or ''
		L.uptime = 1000 * (match(words, 'uptime_in_seconds:(%-?%d+)') or 1e9)
		-- the field is redis_mode, server_mode or redict_mode
		local kind = words:find('_mode:cluster') and ' cluster' or ''
		words = try('info', 'replication')
		words = type(words) == 'string' and words or ''
		if words:find('role:active%-replica') then -- of KeyDB
			kind = ' active'
		end
		L.server = id .. kind
		local life = id .. ' ' .. (match(words, 'master_replid:(%x+)') or '')
		local writer, met = match(call('hget', S, 'writer') or '', '^(.*) (%d+)$')
		L.is_other = writer ~= life
		if L.is_other or met > ms then -- or the clock was set back since
			met = ms
			if id ~= '' then
				put(L, 'writer', life .. ' ' .. ms)
			end
		end
		if L.uptime < 0 then -- the clock was set back since the start
			L.uptime = ms - met
		end
	end
end
local function rolled_back(L)
	server(L)
	return L.is_other
end
-- How many ms are left until this server has been up for `ms`: before that it may
-- have forgotten a lease. (Uptime is in whole seconds; assume the last just began.)
local function young_for(L, ms)
	server(L)
	return ms > 0 and max(0, ms + 1000 - L.uptime) or 0
end
-- Raises the counter by 1, and at least to `least`. On one node it becomes at least
-- TIME, so that an older state that comes back gives out no fence twice.
local function move(L, least)
	local next = max(num(L.c) + 1, num(least))
	if not L.c or L.alone or rolled_back(L) then
		next = max(next, L.us)
	end
	move_to(L, next)
end
-- Nothing new is granted until `ms` after `since`.
local function shut(L, ms, since)
	L.shut = max(L.shut, since + ms)
	put(L, 'shut', L.shut)
	put(L, 'lost', since)
end
-- The rule: if a client has seen a counter that this state never had, this server
-- has lost data. Then nothing new is granted for as long as the longest lease that
-- the client knows of. Holders register again with their next renewal, within T/6.
local function data_lost(L)
	local c, seen = L.c, L.seen
	if seen == 0 or seen == c or c and c > seen and seen >= born(L)
	    and (L.trail == '' or seen < num(match(L.trail, '%d+'))
	    or L.trail:find(ARG.seen, 1, true)) then
		return false
	end
	local since = L.now
	if not c or c < seen then
		-- above all that was seen, also if the clock was set back
		move(L, seen + (L.us > seen and 1 or L.longest * 1000))
		L.born = L.c
		put(L, 'born', L.born)
	else -- it may have been noticed before, but not before it happened
		since = num(L.puts.lost or call('hget', S, 'lost'))
		since = since * 1000 < seen and L.now or since
	end
	shut(L, L.longest, since)
	return true
end
