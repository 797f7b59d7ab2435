-- SPDX-License-Identifier: MIT
-- For the scripts that set a vanished lock again, or join one.
--
-- Whether nobody was granted this slot, and nobody released it, since the
-- counter was `seen`. (A smaller counter is an older one that came back: it does
-- not know.)
local function untouched(seen)
	local last = own('hget', state, field('moved', slot))
	return c >= seen and (whole(last or '0') or math.huge) <= seen
end
-- Notes a longer lease in the record: a healed lock lasts for the longest
-- lease, see longest() in share.lua.
local function let_record_know(value, ttl)
	if record_is_of(value) and (number_in(record, 'ttl') or 0) < ttl then
		record_put(slot, with(record, 'ttl', ttl))
	end
end
-- A client that holds the lock on other nodes may still wait for it on this one.
-- Once it holds it here, too, it leaves the line. (So does a reader or a nested
-- run whose lease had ended here: its place may be that of a late question.)
local function leave_line(member) try('zrem', queue, member) end
