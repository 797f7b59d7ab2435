-- The history of a lock: an entry for each of the last hundred holds, and a few
-- older ones. The release (or force-release) of a hold writes its entry, once.
--   redlock:{TAG}:log:KEY            stream. The fields of an entry, all text,
--       in this order; unknown ones are left out: token fence slot host pid
--       user command reason ci_url waited_ms held_ms outcome exit signal by.
--       BY: who forced it. The hold ended when the entry was written, unless it
--       has the field "since", in ms
-- Nothing depends on the history. It is written last, and a failure (memory,
-- rights, a key of another type) is ignored. During a migration nothing is
-- written: the stream may be on the other node, and would be created twice.
--
-- The fields and values that follow the token are written as they are; without
-- any, nothing is. `again`: the entry may have been written already.
local function note(who, again, ...)
	local log = part('log')
	if moving or not ... then
		return
	end
	for _, entry in ipairs(again
	    and redis.pcall('xrevrange', log, '+', '-', 'count', 20) or {}) do
		-- a holder that lives knows better than who took it for dead
		if entry[2][2] == who and (entry[2][4] ~= 'expired'
		    or select(2, ...) == 'expired') then
			return
		end
	end
	if type(redis.pcall('xadd', log, 'maxlen', '~', 100, '*', 'token', who,
	    ...)) == 'string' then
		redis.pcall('pexpire', log, month_ms)
	end
end
