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
--   redlock:{TAG}:state:KEY                          hash: all that must be
--       lost or kept together. (Slot 0 has no ":N" in the names of its fields.)
--       fence     the counter, for all slots
--       holder:N  the record of the holder; "" once the lock was released
--       moved:N   the counter after the slot was last granted or released
--       born      the value from which a lost counter started again
--       writer    which server the counter is safe on: see server.lua
--       newest    the ticket of the last --supersede, and who it was
--   redlock:{TAG}:sharers:VALUE:KEY                  the clients that share a
--       lock whose value is VALUE; see share.lua
if ARGV[#ARGV] ~= '0' then
	redis.call('select', ARGV[#ARGV])
end
local lock, state = KEYS[1], KEYS[2]
local token = ARG.token
local base, key = string.match(state, '^(redlock:{[^}]*}:)state:(.*)$')
local slot = 0
if lock ~= key then
	slot = tonumber(string.match(lock, '^slot:(%d+):', #base + 1))
end
local function part(name) return base .. name .. ':' .. key end
local function field(name, n) return n == 0 and name or name .. ':' .. n end
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
local have = redis.pcall('mget', lock, part('none'))
local moving = have.err
if moving then
	have = redis.call('mget', lock, state)
	if not have[1] then
		return {err = moving}
	end
end
local v, got = have[1], redis.pcall('hmget', state, 'fence', field('holder', slot), 'born')
if got.err and not string.find(got.err, 'WRONGTYPE', 1, true) then
	return got
end
local raw, record, born = got[1], got[2], got[3]
if record == '' then
	record = nil
end
local c = raw and #raw <= 16 and raw:find('^%d+$') and tonumber(raw) or nil
if c and c > 9007199254740000 then
	c = nil
end
local function text(n) return string.format('%.0f', n or 0) end
local month_ms = 2592000000
-- Of the line of waiters, see queue.lua: the first in microseconds, the others in ms.
local heartbeat, kept_ms, grant_ms = 5000000, 60000, 2000
-- A missing counter starts from the clock in microseconds, which is larger than
-- every fence that a lost counter gave out.
local function time()
	local t = redis.call('time')
	return t[1] * 1000000 + t[2]
end
-- The state lives for a month from its last use, or for the longest lease. It is
-- prolonged once a day, and never shortened.
local day_us, lives_ms = 86400000000, month_ms
local function prolong()
	if redis.call('pttl', state) < lives_ms - day_us / 1000 then
		redis.call('pexpire', state, lives_ms)
	end
end
-- The counter tells when the state was used last: on one node, by the clock.
local function stay(at)
	if math.floor(at / day_us) ~= math.floor(c / day_us) then
		prolong()
	end
end
