-- SPDX-License-Identifier: MIT
-- What the record tells the history about a hold.
--
-- Who it is: the record without the lines that the scripts add.
local function about_of(words)
	local about = string.match(words or '', '\nsince %d+\n(.*)$') or ''
	for _, name in ipairs({'lost', 'handed'}) do
		about = string.gsub(about, '^' .. name .. ' %d+\n', '')
	end
	-- these two stand in either order
	about = string.gsub(about, asked_line .. '$', '')
	about = string.gsub(about, joined_line .. '$', '')
	return (string.gsub(about, asked_line .. '$', ''))
end
-- Whether the holder wants a history: see script_identity().
local function recorded(about)
	return not string.find(string.gsub(about, '^ticket %d+\n', ''),
	    '^unrecorded 1\n')
end
