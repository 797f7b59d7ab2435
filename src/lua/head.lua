-- SPDX-License-Identifier: MIT
-- The rest of the start, for what is not plain (plain-*.lua): the counter and the
-- record of the holder.
--
-- The state holds all that must be lost or kept together. Slot 0 has no ":N" in
-- the names of its fields:
--   fence     the counter, for all slots
--   holder:N  the record of the holder; once the lock was released, "", or
--             "\nlost COUNTER\n" (see free.lua)
--   renewed:N how often the holder has renewed, for people to read
--   moved:N   the counter after the slot was last granted or released
--   born      the value from which a lost counter started again
--   writer    which server the counter is safe on: see server.lua
--   unheard   see readers.lua
--   newest    the ticket of the last --supersede, and who it was
--   first     see first.lua
local base = string.sub(state, 1, -6) -- what the names begin with
local slot = tonumber(string.match(lock, '^slot:(%d+)$', #base + 1)) or 0
local key = slot == 0 and lock or string.match(base, '^(.*):redlock:{[^{}]*}:$')
    or string.match(base, '^(.*):redlock:$') or string.match(base, '^redlock:{%l+}:(.*)::$')
local function part(name) return base .. name end
local function field(name, n) return n == 0 and name or name .. ':' .. n end
-- A Cluster slot may be migrating, for minutes if the migration was
-- interrupted. Each of its keys is then on one of two nodes, and neither node
-- knows what the other has. A script runs only where all KEYS are, which means
-- that the lock is held. If another key is missing on this node, it may be on
-- the other one. On the old node a command on it fails. On the new node the
-- command finds nothing, or creates a second key of that name, which gets in
-- the way of the migration. A command on several keys fails on both nodes.
--
-- If a script needs more keys than KEYS, it must call here() for them before
-- its first write. Where it can do without a key, it uses try().
local have = redis.pcall('mget', lock, none)
moving = have.err
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
-- Other programs may have written there: accept only what is an exact number.
local function whole(words)
	local n = tonumber(string.match(words or '', '^%d+$'))
	return n and n <= 9007199254740000 and n or nil
end
local c = raw and #raw <= 16 and whole(raw) or nil
born = whole(born)
local function text(n) return string.format('%.0f', n or 0) end
-- A missing counter starts from the clock in microseconds, which is larger than
-- every fence that a lost counter gave out.
local function time() return tonumber(now()) end
-- The state lives for a month from its last use, or for the longest lease. It is
-- prolonged once a day, and never shortened.
local day_us, lives_ms = day_ms * 1000, month_ms
local function prolong()
	if redis.call('pttl', state) < lives_ms - day_ms then
		redis.call('pexpire', state, lives_ms)
	end
	local left = redis.pcall('pttl', log)
	if type(left) == 'number' and left >= 0 and left < month_ms - day_ms
	    and redis.pcall('type', log).ok == 'stream' then
		redis.pcall('pexpire', log, month_ms)
	end
end
