-- SPDX-License-Identifier: MIT
-- Identifies this server: its run id, followed by " cluster" for a Cluster node
-- or " active" for an active replica (of KeyDB). Returns "" if INFO is refused.
-- (A server whose clock was set back tells a negative uptime.)
local run_id, uptime, member, life
local function server()
	if run_id == nil then
		local words = redis.pcall('info', 'server')
		words = type(words) == 'string' and words or ''
		run_id = string.match(words, 'run_id:(%x+)') or ''
		uptime = tonumber(string.match(words, 'uptime_in_seconds:(%-?%d+)'))
		-- the field is redis_mode, server_mode or redict_mode
		member = string.find(words, '_mode:cluster', 1, true) and ' cluster'
		-- of two active replicas, each grants what the other has
		-- granted
		words = redis.pcall('info', 'replication')
		words = type(words) == 'string' and words or ''
		if string.find(words, 'role:active-replica', 1, true) then
			member = ' active'
		end
		life = run_id .. ' ' .. (string.match(words, 'master_replid:(%x+)') or '')
	end
	return run_id .. (member or '')
end
-- Whether the counter may be an older one: another server wrote it, or this one
-- before it was started or became the master. It may have lost a later value,
-- and must not give out that fence again: with the next write, the counter must
-- become at least TIME. Then it is safe as long as the server lives. (A server
-- has a run_id for each start, and a master_replid for each time that it becomes
-- the master.)
local function rolled_back()
	server()
	if run_id ~= '' and own('hget', state, 'writer') == life then
		return false
	end
	writer = life
	return true
end
