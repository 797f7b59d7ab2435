-- SPDX-License-Identifier: MIT
-- For scripts that look at a lock and know nothing of it yet. A key of another
-- type counts as empty: {}; during a migration, so does one that is not on this
-- node. Any other error ends the script: a missing right must not look like a
-- free lock.
local function ask(...)
	local answer = redis.pcall(...)
	if type(answer) ~= 'table' or not answer.err then
		return answer
	end
	return moving and {} or string.find(answer.err, 'WRONGTYPE', 1, true) and {}
	    or redis.call(...)
end
-- The slots that were ever in use, in order; always slot 0.
local function slots_known()
	local slots, known = {0}, {}
	for _, name in ipairs(ask('hkeys', state)) do
		local n = string.match(name, '^%l+:([1-9]%d?%d?)$')
		if n and not known[n] then
			slots[#slots + 1], known[n] = tonumber(n), true
		end
	end
	table.sort(slots)
	return slots
end
local function record_seen(n, value)
	local words = ask('hget', state, field('holder', n))
	return type(words) == 'string' and is_of(words, value) and words or nil
end
