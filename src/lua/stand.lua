-- SPDX-License-Identifier: MIT
-- For decide.lua: our place in line.
--
-- Counts the waiters that are alive. The others leave the line, and so do
-- members that are not ours.
local function living(at)
	local line, n = own('zrange', queue, 0, -1, 'withscores'), 0
	for i = 1, #line, 2 do
		local who = parsed(line[i])
		if not who or gone(who, tonumber(line[i + 1]), at) then
			redis.call('zrem', queue, line[i])
			try('zrem', alive, who or '')
		else
			n = n + 1
		end
	end
	return n
end
-- Puts us in line with our ticket, and returns our place; -1: we are not in
-- line.
local function stand(at, new)
	local function add()
		if new then
			return redis.pcall('zadd', queue, 'nx', ticket, member)
		end
		return redis.pcall('zadd', queue, ticket, member)
	end
	local added = add()
	if type(added) == 'table' then -- memory is full: see release.lua
		own('zcard', queue)
		redis.call('pexpire', queue, kept_ms)
		added = add()
	end
	-- other errors may go away, but a missing right does not: repeat the
	-- command, so that the script fails with it
	if type(added) == 'table'
	    and (string.find(added.err, 'The user executing', 1, true)
	    or string.find(added.err, 'ACL failure', 1, true)
	    or string.find(added.err, 'NOPERM', 1, true)
	    or string.find(added.err, 'called from', 1, true)) then
		redis.call('zadd', queue, 'nx', ticket, member)
	end
	local place = redis.call('zrank', queue, member) or -1
	if place < 0 then
		return place
	end
	if new and added == 0 then
		ticket = tonumber(redis.call('zscore', queue, member))
	end
	if at - ticket > heartbeat then
		own('zadd', alive, at, token)
		redis.call('pexpire', alive, kept_ms)
	end
	if not new or place == 0 then
		redis.call('pexpire', queue, kept_ms)
	end
	return place
end
