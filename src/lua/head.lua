-- The start of every script: the keys, the fence counter and the record of the
-- holder. Then comes what is plain and frequent (plain-*.lua), and only behind
-- that what all other cases need: a script that has answered makes no closures
-- and asks for no more keys.
--
-- The last argument is the database. The client sends the script right behind a
-- SELECT. If the server refuses that SELECT, the script must not work on
-- another database, so it selects its own.
--
-- KEYS belong to one slot. Slot 0 uses the user's key itself, and is the only
-- slot without --slots:
--   KEY, or redlock:{TAG}:slot:N:KEY                 string: the holder's
--       token, or "shared:G" while readers hold; G is the counter as the first
--       reader was granted the lock
--   redlock:{TAG}:fence:KEY                          the counter, for all slots
--   redlock:{TAG}:holder:KEY, ...:slot-holder:N:KEY  the record of the holder
--   redlock:{TAG}:sharers:VALUE:KEY                  the clients that share a
--       lock whose value is VALUE; see share.lua
--   redlock:{TAG}:moves:KEY                          hash; see moved()
if ARGV[#ARGV] ~= '0' then
	redis.call('select', ARGV[#ARGV])
end
local lock, fence, holder = KEYS[1], KEYS[2], KEYS[3]
local token = ARGV[1]
local base, key = string.match(fence, '^(redlock:{[^}]*}:)fence:(.*)$')
local slot = 0
if lock ~= key then
	slot = tonumber(string.match(lock, '^slot:(%d+):', #base + 1))
end
local function part(name) return base .. name .. ':' .. key end
-- A Cluster slot may be migrating, for minutes if the migration was
-- interrupted. Each of its keys is then on one of two nodes, and neither node
-- knows what the other has. A script runs only where all KEYS are, which means
-- that the lock is held. If another key is missing on this node, it may be on
-- the other one. On the old node a command on it fails. On the new node the
-- command finds nothing, or creates a second key of that name, which gets in
-- the way of the migration. A command on several keys fails on both nodes. No
-- key is called "none", so an MGET with it fails while the slot is migrating.
--
-- If a script needs more keys than KEYS, it must call here() for them before
-- its first write. Where it can do without a key, it uses try().
local have = redis.pcall('mget', lock, fence, holder, part('none'))
local moving = have.err
if moving then
	have = redis.call('mget', lock, fence, holder)
	if not (have[1] and have[2] and have[3]) then
		return {err = moving}
	end
end
local v, raw, record = have[1], have[2], have[3]
local c = raw and #raw <= 16 and raw:find('^%d+$') and tonumber(raw) or nil
if c and c > 9007199254740000 then
	c = nil
end
local function text(n) return string.format('%.0f', n or 0) end
local month_ms = 2592000000
-- A missing counter starts from the clock in microseconds, which is larger than
-- every fence that a lost counter gave out.
local function time()
	local t = redis.call('time')
	return t[1] * 1000000 + t[2]
end
