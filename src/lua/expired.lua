-- SPDX-License-Identifier: MIT
-- The history entry of a hold that nobody ended: its holder crashed, or nobody
-- renewed or released what was locked by hand. The record of slot n stays until
-- the next client is granted the slot, which writes the entry. For readers, see
-- readers.lua. --min-hold and --no-history leave no such record, nor does a waiter
-- that was handed the lock and never claimed it.
--
-- The hold lasted about a lease longer than its renewals, of which there is one
-- each sixth of the lease or 5 s. On several nodes the record does not have the
-- fence of the hold.
local function note_expired(n, words, at, renewals)
	local who, ttl = string.match(words or '', '^token (%S+)\nttl (%d+)\n')
	local since = number_in(words, 'since')
	if who and shared(who) then
		note_readers(at)
		return
	elseif not since or not who or who == token then
		return
	end
	local about = about_of(words)
	renewals = whole(renewals) or 0
	if not recorded(about) or renewals == 0
	    and string.find(words, '\n' .. handed_line, 1, true) then
		return
	end
	local fence = ARG.alone == '1' and number_in(words, 'fence')
	local held = math.max(0, math.min(math.floor(at / 1000) - since, ttl
	    + renewals * math.min(ttl / 6, 5000)))
	note(who, true, 'outcome expired\n'
	    .. (fence and 'fence ' .. text(fence) .. '\n' or '')
	    .. (n > 0 and 'slot ' .. n .. '\n' or '')
	    .. 'since ' .. text(since) .. '\nheld_ms ' .. text(held) .. '\n', about)
end
