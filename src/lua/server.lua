-- Which server this is: its run id, and the word "cluster" if it is a node of
-- one, "active" if it is an active replica (of KeyDB); "" if we may not know
-- (INFO is refused).
local run_id, uptime, member
local function server()
	if run_id == nil then
		local words = redis.pcall('info', 'server')
		words = type(words) == 'string' and words or ''
		run_id = string.match(words, 'run_id:(%x+)') or ''
		uptime = tonumber(string.match(words, 'uptime_in_seconds:(%d+)'))
		-- redis_mode, server_mode or redict_mode
		member = string.find(words, '_mode:cluster', 1, true) and ' cluster'
		-- of two such, each grants by itself what the other has granted
		words = redis.pcall('info', 'replication')
		if type(words) == 'string'
		    and string.find(words, 'role:active-replica', 1, true) then
			member = ' active'
		end
	end
	return run_id .. (member or '')
end
-- The counter was written before the server was started: what it gave out since
-- may be lost, and it must not give that out again, so it is to become TIME at
-- least before it is written anew. Its expiry tells how old it is; the server
-- may be up for a second less than it says.
local function rolled_back()
	server()
	local left = redis.call('pttl', fence)
	return left < 0 or not uptime or month_ms - left >= (uptime - 1) * 1000
end
-- It may have been restarted, and have forgotten a lease: for how many ms still,
-- or nil. It counts in whole seconds, and one of them may have just begun.
local function young(ms)
	server()
	local rest = ms > 0 and ms + 1000 - (uptime or math.huge) * 1000 or 0
	return rest > 0 and rest or nil
end
