-- SPDX-License-Identifier: MIT
-- A record has these lines in this order, and then handed_line (record.lua), who
-- the holder is, joined_line and asked_line (share.lua):
--   token, ttl    of the lease, in ms
--   fence         the counter at the grant
--   since         of the grant, in ms
--   lost          see grant() in grant.lua
--   round
local behind = {fence = 'ttl', lost = 'since', round = 'lost'}
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
-- Moves a hold that we have already to this round: a late question and a late
-- release of an earlier round may have put us in line, and noted that we had left.
-- (If the record is lost, so is its round.)
local function note_round(n, member)
	local words = round > 0 and record_at(n, token)
	if round == 0 or words and (number_in(words, 'round') or 0) >= round then
		return
	end
	if words then
		record_put(n, with(words, 'round', round))
	end
	try('zrem', sharers_of(token), 'left')
	try('zrem', queue, member)
end
