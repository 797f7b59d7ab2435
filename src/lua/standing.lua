-- SPDX-License-Identifier: MIT
-- How a client stands in line, or among those who share a lock: a member of either
-- set is "TOKEN TTL SLOTS FLAGS\nABOUT".
--
-- Parses "TTL SLOTS FLAGS\nABOUT", which says how a client stands in line.
-- Flags: "-" none, "s" --supersede, "r" --shared. Returns the TTL, the slots,
-- whether it reads, ABOUT, and whether it supersedes; nil if the text is not
-- ours.
local function standing(words)
	local ttl, slots, flags, about =
	    string.match(words or '', '^([1-9]%d*) ([1-9]%d*) (%S+)\n(.*)$')
	ttl, slots = whole(ttl), whole(slots)
	if not ttl or ttl > 1000000000000 or not slots or slots > 1000 then
		return nil
	end
	return ttl, slots, string.find(flags, 'r') and true, about,
	    string.find(flags, 's') and true
end
-- Splits a member into its token and the text for standing(). Returns nil if
-- the member is not ours.
local function parsed(member)
	local who, words = member:match('^(%S+) (.*)$')
	if who and standing(words) then
		return who, words
	end
end
