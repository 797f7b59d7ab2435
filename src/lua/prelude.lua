-- The start of every script: the keys, the fence counter and the record of the
-- holder. A counter that is not a number below 2^53 is `bad`; no script changes
-- it.
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
local function slot_key(name, n)
	return n == 0 and (name == '' and key or part(name))
	    or part('slot' .. (name == '' and '' or '-' .. name) .. ':' .. n)
end
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
-- A companion key of another type is not ours and would block every client.
-- Delete it.
local function own(command, name, ...)
	local answer = redis.pcall(command, name, ...)
	if type(answer) ~= 'table' or not answer.err then
		return answer
	end
	if not moving and string.find(answer.err, 'WRONGTYPE', 1, true) then
		redis.call('del', name)
	end
	return redis.call(command, name, ...)
end
local try = moving and redis.pcall or own
local function here(...)
	if moving then
		redis.call('exists', lock, ...)
	end
end
local v, raw, record = have[1], have[2], have[3]
-- MGET returns nil also for a key of another type. GET finds out for the
-- counter; for the lock, SET NX will fail.
if not raw then
	raw = redis.pcall('get', fence)
	if raw and not string.find(raw.err, 'WRONGTYPE') then
		redis.call('get', fence)
	end
end
local c = type(raw) == 'string' and #raw <= 16
    and string.match(raw, '^%d+$') and tonumber(raw) or nil
if c and c > 9007199254740000 then
	c = nil
end
local bad = raw and not c
local function text(n) return string.format('%.0f', n or 0) end
-- Other programs may have written there: accept only what is an exact number.
local function whole(words)
	local n = tonumber(string.match(words or '', '^%d+$'))
	return n and n <= 9007199254740000 and n or nil
end
local month_ms = 2592000000
-- A missing counter starts from the clock in microseconds, which is larger than
-- every fence that a lost counter gave out.
local function time()
	local t = redis.call('time')
	return t[1] * 1000000 + t[2]
end
local function fence_set(n)
	return bad and {} or redis.pcall('set', fence, text(n), 'px', month_ms)
end
-- A release may arrive late, after this client has asked for the lock again. So
-- each acquire after a release starts a new round, and a release of an earlier
-- round does not undo it. The record keeps the round of the grant.
local round = 0
local function round_line(who)
	return who == token and round > 0 and 'round ' .. round .. '\n' or ''
end
-- "fence": the counter at the grant. "lost": see grant() in queue.lua; a record
-- with it must outlive any lease.
local function record_of(who, ttl, about, since, lost, given)
	return 'token ' .. who .. '\nttl ' .. ttl
	    .. (given and '\nfence ' .. text(given) or '') .. '\nsince '
	    .. text(math.floor(since / 1000)) .. '\n'
	    .. (lost and 'lost ' .. text(lost) .. '\n' or '')
	    .. round_line(who) .. about
end
-- The record counts only while its token is the value of the lock.
local function record_set(n, who, ttl, about, at, lost, given)
	local words = record_of(who, ttl, about, at, lost, given)
	if n == slot then
		record = words
	end
	return redis.pcall('set', slot_key('holder', n), words, 'px',
	    lost and 86400000 or ttl)
end
local function record_is_of(value)
	local ours = 'token ' .. value .. '\n'
	return string.sub(record or '', 1, #ours) == ours
end
local function number_in(words, name)
	return whole(string.match(words or '', '\n' .. name .. ' (%d+)\n'))
end
-- With slots or readers, the counter also moves when other clients come and go.
-- If a holder's lock vanishes, the holder must know whether its own slot
-- changed hands. So clients that use slots or share a lock keep a hash:
--   last  the counter after the last move that was noted
--   N     the counter after the last move of slot N
--   from  the hash has all moves since this counter
--   born  the value from which a lost counter started again
-- Other clients move slot 0 without a note; then `last` differs from the
-- counter. `back`: the counter before was an older one that came back after a
-- loss of data.
local function moved(n, before, back)
	local moves = part('moves')
	local last = own('hget', moves, 'last')
	local now = text(c)
	if not last then
		redis.pcall('hset', moves, 'from', text(before), 'last', now)
	elseif last ~= text(before) then
		redis.pcall('hset', moves, 'last', now, '0', text(before or c))
	else
		redis.pcall('hset', moves, 'last', now)
	end
	if n then
		redis.pcall('hset', moves, n, now)
	end
	if back or not before then
		redis.pcall('hset', moves, 'born', now)
	end
	redis.call('pexpire', moves, month_ms)
end
-- The value from which a lost counter started again: see moved().
local function born_as()
	return whole(own('hget', part('moves'), 'born'))
end
