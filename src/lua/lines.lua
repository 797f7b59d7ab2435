-- SPDX-License-Identifier: MIT
-- A record has these lines in this order, and then handed_line (record.lua), who
-- the holder is, joined_line and asked_line (share.lua):
--   token, ttl    of the lease, in ms
--   fence         the counter at the grant
--   since         of the grant, in ms
--   lost          see grant() in grant.lua
local behind = {fence = 'ttl', lost = 'since'}
-- The record with the line "NAME N", in the place of an earlier one.
local function with(words, name, n)
	local line, found = name .. ' ' .. text(n) .. '\n', nil
	words, found = words:gsub('\n' .. name .. ' %d+\n', '\n' .. line, 1)
	while found == 0 and behind[name] do
		name = behind[name]
		words, found = words:gsub('\n' .. name .. ' %d+\n', '%0' .. line, 1)
	end
	return words
end
-- We have the lock, or have claimed it. A late question and a late release may have
-- put us in line, and noted that we had left.
local function note_number(n, member)
	if number > number_at(n) then
		put_number(n)
		try('zrem', sharers_of(token), 'left')
		try('zrem', queue, member)
	end
end
