-- Identifies this server: its run id, followed by " cluster" for a Cluster node
-- or " active" for an active replica (of KeyDB). Returns "" if INFO is refused.
local run_id, uptime, member
local function server()
	if run_id == nil then
		local words = redis.pcall('info', 'server')
		words = type(words) == 'string' and words or ''
		run_id = string.match(words, 'run_id:(%x+)') or ''
		uptime = tonumber(string.match(words, 'uptime_in_seconds:(%d+)'))
		-- the field is redis_mode, server_mode or redict_mode
		member = string.find(words, '_mode:cluster', 1, true) and ' cluster'
		-- of two active replicas, each grants what the other has
		-- granted
		words = redis.pcall('info', 'replication')
		if type(words) == 'string'
		    and string.find(words, 'role:active-replica', 1, true) then
			member = ' active'
		end
	end
	return run_id .. (member or '')
end
-- Whether the counter was written before the server was started. Then the
-- server may have lost a later value, and must not give out that fence again:
-- before the next write, the counter must become at least TIME. The expiry of
-- the counter tells how old it is. The server may have been up for a second
-- less than it says.
local function rolled_back()
	server()
	local left = redis.call('pttl', fence)
	return left < 0 or not uptime or month_ms - left >= (uptime - 1) * 1000
end
-- A server that has been up for less than `ms` may have forgotten a lease.
-- Returns for how many ms more, or nil. (Uptime is in whole seconds, and the
-- last one may have just begun.)
local function young(ms)
	server()
	local rest = ms > 0 and ms + 1000 - (uptime or math.huge) * 1000 or 0
	return rest > 0 and rest or nil
end
