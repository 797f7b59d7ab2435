-- SPDX-License-Identifier: MIT
-- Returns the latest holds of the history, the newest first. Changes nothing.
--
-- Returns
--   history NOW MASTER {AT {NAME VALUE ...}} ...    for each entry its token and
--       lines; AT: when it was written. NOW and AT in ms, by the server's clock.
--       MASTER: see replica.lua
local list, entries = {'history', L.now, master()}, call('xrevrange', H, '+', '-', 'count', 100)
entries[#entries + 1] = first_entry()
for _, entry in ipairs(entries) do
	local words = {}
	local function add(name, value)
		if #words < 64 then
			words[#words + 1] = name:sub(1, 256)
			words[#words + 1] = value:sub(1, 256)
		end
	end
	-- other programs may have written there: what is long is cut
	for i = 1, min(#entry[2], 32), 2 do
		local name, value = entry[2][i], entry[2][i + 1]
		if name == 'hold' or name == 'who' then
			value:sub(1, 4096):gsub('(%S+) ([^\n]*)\n', add)
		else
			add(name, value)
		end
	end
	list[#list + 1] = {match(entry[1], '^%d+'), words}
end
return list
