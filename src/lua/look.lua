-- For scripts that look at a lock and know nothing of it yet. During a
-- migration, a key that is not on this node counts as empty: {}.
local function ask(...)
	local answer = redis.pcall(...)
	return type(answer) == 'table' and answer.err and {} or answer
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
