-- What became of the latest holds. Changes nothing.
--
-- KEYS  lock, fence, holder, of slot 0
-- ARGV  1 ""
-- Returns
--   history NOW {AT, {NAME, VALUE, ...}} ...     the newest first; fields as
--       log.lua has them. AT: when it was written; it and NOW in ms, by the
--       server's clock
local list = {'history', text(math.floor(time() / 1000))}
for _, entry in ipairs(redis.call('xrevrange', part('log'), '+', '-', 'count',
    100)) do
	list[#list + 1] = {string.match(entry[1], '^%d+'), entry[2]}
end
return list
