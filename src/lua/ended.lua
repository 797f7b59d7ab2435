-- SPDX-License-Identifier: MIT
-- What log.lua keeps of a hold that another client ends; "": nothing. `before`:
-- the fence, or nil if unknown. `ending`: "NAME VALUE" lines.
local function story_of(before, at, about, ending)
	local now_ms = math.floor(at / 1000)
	local held = now_ms - (number_in(record, 'since') or now_ms)
	return not recorded(about) and ''
	    or (before and 'fence ' .. text(before) .. '\n' or '')
	    .. (slot > 0 and 'slot ' .. slot .. '\n' or '')
	    .. 'held_ms ' .. text(held) .. '\n' .. ending
end
