-- SPDX-License-Identifier: MIT
-- Lists the latest holds. Changes nothing.
--
-- KEYS  lock, state, of slot 0
-- ARG
--   token  ""
-- Returns
--   history NOW {AT, {NAME, VALUE, ...}} ...     the newest first; the token,
--       and the lines of log.lua one by one. AT: when the entry was written. NOW and AT are in
--       ms, by the server's clock
local list = {'history', text(math.floor(time() / 1000))}
-- Other programs may have written there: cut what is longer than our entries.
local entries = redis.call('xrevrange', log, '+', '-', 'count', 100)
entries[#entries + 1] = first_entry()
for _, entry in ipairs(entries) do
	local words = {}
	local function add(name, value)
		if #words < 64 then
			words[#words + 1] = string.sub(name, 1, 256)
			words[#words + 1] = string.sub(value, 1, 256)
		end
	end
	for i = 1, math.min(#entry[2], 32), 2 do
		local name, value = entry[2][i], entry[2][i + 1]
		if name == 'hold' or name == 'who' then
			string.gsub(string.sub(value, 1, 4096), '(%S+) ([^\n]*)\n', add)
		else
			add(name, value)
		end
	end
	list[#list + 1] = {string.match(entry[1], '^%d+'), words}
end
return list
