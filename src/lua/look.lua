-- For scripts that look at a lock and know nothing of it yet. During a
-- migration, a key that is not on this node counts as empty: {}.
local function ask(...)
	local answer = redis.pcall(...)
	return type(answer) == 'table' and answer.err and {} or answer
end
-- The slots that were ever in use, in order; always slot 0.
local function slots_known()
	local slots = {0}
	for _, name in ipairs(ask('hkeys', part('moves'))) do
		local n = string.match(name, '^[1-9]%d?%d?$')
		if n then
			slots[#slots + 1] = tonumber(n)
		end
	end
	table.sort(slots)
	return slots
end
