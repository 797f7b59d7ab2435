-- What the record tells the history about a hold that another client ends.
--
-- Who it is: the record without the lines that the scripts add.
local function about_of(words)
	local about = string.match(words or '', '\nsince %d+\n(.*)$') or ''
	about = string.gsub(about, '^lost %d+\n', '')
	about = string.gsub(about, '^renewed %d+\n', '')
	about = string.gsub(about, '^round %d+\n', '')
	return (string.gsub(about, joined_line .. '$', ''))
end
-- The fields for log.lua. `before`: the fence, or nil if unknown. `ending`:
-- "NAME VALUE" lines.
local function story_of(before, at, about, ending)
	local now_ms = math.floor(at / 1000)
	local held = now_ms - (number_in(record, 'since') or now_ms)
	local fields = {}
	for name, value in string.gmatch(
	    (before and 'fence ' .. text(before) .. '\n' or '')
	    .. (slot > 0 and 'slot ' .. slot .. '\n' or '')
	    .. string.gsub(about, '^ticket %d+\n', '') .. 'held_ms '
	    .. text(held) .. '\n' .. ending, '(%S+) ([^\n]*)\n') do
		fields[#fields + 1], fields[#fields + 2] = name, value
	end
	return unpack(fields)
end
