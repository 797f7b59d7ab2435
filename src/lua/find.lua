-- SPDX-License-Identifier: MIT
-- Finds the hold of ARG.token when only the token is known, and switches to its
-- slot. Returns the value of the lock, and how the client stands; or nil.
local function find(at)
	local known = slots_known()
	local function stands(value)
		local sharers = sharers_of(value)
		if value == token then
			if type(ask('zscore', sharers, 'left')) == 'string' then
				return nil
			end
			-- slot 0 does not show whether it is one of several: if
			-- others were ever in use, assume so
			local slots = #known > 1 and math.max(slot + 1, 2) or 1
			local ttl = number_in(record, 'ttl')
			    or redis.call('pttl', lock)
			return text(math.max(1, math.min(ttl, 1000000000000))) .. ' '
			    .. slots .. ' -\n'
			    .. about_of(record)
		end
		for _, member in ipairs(ask('zrangebyscore', sharers,
		    math.floor(at / 1000), '+inf')) do
			local who, words = parsed(member)
			if who == token then
				return words
			end
		end
	end
	for _, n in ipairs(known) do
		local value = ask('get', slot_key(n))
		if type(value) == 'string' then
			slot, lock, v = n, slot_key(n), value
			record = record_seen(n, value)
			local words = stands(value)
			if words then
				return value, words
			end
		end
	end
end
