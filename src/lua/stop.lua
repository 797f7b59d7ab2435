-- force-release asks a holder to stop by a word on its grant list, which the
-- holder finds with its next renewal:
--   "stop DEADLINE\nABOUT"     DEADLINE: the server's clock, in ms, by when it
--       must be gone; ABOUT: who asks, in lines as those of standing()
-- Another word is "unlocked": see unlock.lua.
-- Returns how many ms are left, and ABOUT; -1 and "": nobody asks; and whether
-- it was unlocked. On the move the list may be elsewhere: then nobody is asked,
-- or hears.
local function stop_word(who, at)
	local word = not moving and redis.pcall('lindex', part('grant:' .. who), -1)
	local deadline, about = string.match(
	    type(word) == 'string' and word or '', '^stop (%d+)\n(.*)$')
	if not deadline then
		return -1, '', word == 'unlocked'
	end
	return math.max(0, tonumber(deadline) - math.floor(at / 1000)), about
end
