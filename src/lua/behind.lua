-- SPDX-License-Identifier: MIT
-- On one node, after a loss of data. (With several nodes, the others still know
-- the holders.)
--
-- Readers may have been forgotten: "?" is added, for that many ms or the longest
-- lease of those we know.
local function may_forget_readers(at, ms)
	local value = slot == 0 and v or redis.pcall('get', key)
	if type(value) == 'string' and shared(value) and not moving then
		share(value, '?', at, math.max(ms,
		    number_in(record_at(0, value), 'ttl') or 0))
		if slot > 0 then -- else the caller does
			keep(0, value, at, 0)
		end
	end
end
-- Whether the counter is smaller than one that we saw, `saw`, of a lock that can
-- have several holders: `several`, or another client had another slot. The server
-- may have forgotten some of them. The caller starts the counter again (`back` of
-- move()): that is how waiters learn of a loss.
local function is_behind(saw, several, at, ms)
	if ARG.alone ~= '1' or not c or c >= saw
	    or not several and not own('hget', state, 'moved:1') then
		return false
	end
	may_forget_readers(at, ms)
	return true
end
