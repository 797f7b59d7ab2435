-- SPDX-License-Identifier: MIT
-- force-release asks a holder to stop. It leaves a word on the holder's grant
-- list, and the holder finds it with its next renewal:
--   "stop DEADLINE\nABOUT"     DEADLINE: when the holder must be gone, in ms by
--       the server's clock; ABOUT: who asks, in lines as those of standing()
-- The other word is "unlocked": the hold was released, see unlock.lua and
-- release.lua.
--
-- Returns how many ms are left, and ABOUT; -1 and "" if nobody asks; and
-- whether the lock was unlocked. During a migration the list may be on the
-- other node: then the holder is not asked, or does not hear of it.
local function stop_word(who, at)
	local word = not moving and redis.pcall('lindex', part('grant:' .. who), -1)
	local deadline, about = string.match(
	    type(word) == 'string' and word or '', '^stop (%d+)\n(.*)$')
	if not deadline then
		return -1, '', word == 'unlocked'
	end
	return math.max(0, tonumber(deadline) - math.floor(at / 1000)), about
end
