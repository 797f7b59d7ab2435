-- The record of a holder with one more renewal, for people to read.
local function renewed()
	local first, last, n = record:find('\nrenewed (%d+)\n')
	if n then
		return record:sub(1, first) .. 'renewed ' .. text(n + 1)
		    .. record:sub(last)
	end
	first, last = record:find('\nlost %d+\n')
	if not last then
		first, last = record:find('\nsince %d+\n')
	end
	return record:sub(1, last or 0) .. (last and 'renewed 1\n' or '')
	    .. record:sub((last or 0) + 1)
end
