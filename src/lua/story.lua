-- What the record tells of a hold that somebody else ends, for the history.
-- Who it is: the record without what the scripts put in.
local function about_of(words)
	local about = string.match(words or '', '\nsince %d+\n(.*)$') or ''
	about = string.gsub(about, '^lost %d+\n', '')
	about = string.gsub(about, '^renewed %d+\n', '')
	about = string.gsub(about, '^round %d+\n', '')
	return (string.gsub(about, joined_line .. '$', ''))
end
-- See log.lua. `before`: the fence, if that is known.
local function story_of(before, at, ending)
	local now_ms = math.floor(at / 1000)
	local held = now_ms - (number_in(record, 'since') or now_ms)
	local story = (before and 'fence ' .. text(before) .. '\n' or '')
	    .. (slot > 0 and 'slot ' .. slot .. '\n' or '')
	return (story == '' and '\n' or story) .. '\nheld_ms ' .. text(held)
	    .. '\n' .. ending
end
