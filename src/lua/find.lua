-- Finds the hold of ARGV[1] when only the token is known, and switches to its
-- slot. Returns the value of the lock, and how the client stands; or nil.
local function find(at)
	local function stands(value)
		local sharers = sharers_of(value)
		if value == token then
			if type(ask('zscore', sharers, 'left')) == 'string' then
				return nil
			end
			-- slot 0 does not show whether it is one of several: if
			-- there is a hash `moves`, assume so
			local slots = redis.pcall('exists', part('moves')) == 1
			    and math.max(slot + 1, 2) or slot + 1
			local ttl = number_in(record, 'ttl')
			    or redis.call('pttl', lock)
			return text(math.max(1, math.min(ttl, 1000000000000))) .. ' '
			    .. slots .. ' -\n'
			    .. (record_is_of(value) and about_of(record) or '')
		end
		for _, member in ipairs(ask('zrangebyscore', sharers,
		    math.floor(at / 1000), '+inf')) do
			local who, words = parsed(member)
			if who == token then
				return words
			end
		end
	end
	for _, n in ipairs(slots_known()) do
		local value = ask('get', slot_key('', n))
		if type(value) == 'string' then
			slot, lock, holder = n, slot_key('', n), slot_key('holder', n)
			v, record = value, ask('get', holder)
			record = type(record) == 'string' and record or nil
			local words = stands(value)
			if words then
				return value, words
			end
		end
	end
end
