-- For who looks at a lock and knows nothing of it. A slot of a Cluster may be on
-- the move: what is not here is not told, and is {}.
local function ask(...)
	local answer = redis.pcall(...)
	return type(answer) == 'table' and answer.err and {} or answer
end
-- Those that somebody ever had, in their order; slot 0 always.
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
