-- Give up what a token has, for whoever has nothing else of it. The rest is
-- release.lua, and so are its arguments, but that
-- ARGV  4 is filled in here  5 "0"  7 is filled in here
--       12 "1": tell the history
-- Returns as that does.
-- Whoever renews it (a keeper) is told by a word on its grant list: see
-- confirm.lua.
local value, stands = find(time())
if not value then
	return {'no', text(c)}
end
ARGV[4] = stands
ARGV[7] = value ~= token and not shared(value) and value or ''
ARGV[12] = ARGV[12] == '1' and value == token
    and story_of(not bad and c, time(), 'outcome ran\n') or ''
if not moving and (value ~= token or record_is_of(token)) then
	local list = part('grant:' .. token)
	redis.call('del', list) -- a first write: see release.lua
	redis.pcall('rpush', list, 'unlocked')
	redis.pcall('pexpire', list, (standing(stands)))
end
