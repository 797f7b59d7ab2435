-- What the record tells the history about a hold.
--
-- Who it is: the record without the lines that the scripts add.
local function about_of(words)
	local about = string.match(words or '', '\nsince %d+\n(.*)$') or ''
	for _, name in ipairs({'lost', 'renewed', 'round', 'handed'}) do
		about = string.gsub(about, '^' .. name .. ' %d+\n', '')
	end
	return (string.gsub(about, joined_line .. '$', ''))
end
-- "NAME VALUE" lines as fields for log.lua: `first`, who it is, and the rest.
-- None if the holder wants no history: see script_identity().
local function fields_of(first, about, rest)
	local fields = {}
	about = string.gsub(about, '^ticket %d+\n', '')
	if string.find(about, '^unrecorded 1\n') then
		return
	end
	for name, value in string.gmatch(first .. about .. rest,
	    '(%S+) ([^\n]*)\n') do
		fields[#fields + 1], fields[#fields + 2] = name, value
	end
	return unpack(fields)
end
