-- Lists the latest holds. Changes nothing.
--
-- KEYS  lock, state, of slot 0
-- ARG
--   token  ""
-- Returns
--   history NOW {AT, {NAME, VALUE, ...}} ...     the newest first; the fields
--       are those of log.lua. AT: when the entry was written. NOW and AT are in
--       ms, by the server's clock
local list = {'history', text(math.floor(time() / 1000))}
-- Other programs may have written there: cut what is longer than our entries.
for _, entry in ipairs(redis.call('xrevrange', part('log'), '+', '-', 'count',
    100)) do
	local words = {}
	for i = 1, math.min(#entry[2], 32) do
		words[i] = string.sub(entry[2][i], 1, 256)
	end
	list[#list + 1] = {string.match(entry[1], '^%d+'), words}
end
return list
