-- SPDX-License-Identifier: MIT
-- The start of every script: the names of the keys.
--
-- All keys of a plain lock are in KEYS, which some servers demand. Only those of
-- other clients and of other slots are not known before. In a Cluster, KEYS has
-- the lock and the state alone, and the other names follow the arguments:
-- while a slot is migrating, a request with a key that does not exist is refused.
-- "..." is what they all begin with, KEY:redlock:{KEY} mostly: see lock/wire/keys.h.
--   KEY, or ...:slot:N                 string: the holder's
--       token, or "shared:G" while readers hold; G is the counter as the first
--       reader was granted the lock. Slot 0 uses the user's key itself, and is
--       the only slot without --slots
--   ...:state                          hash: see head.lua
--   ...:queue, ...:alive           see queue.lua
--   ...:grant:TOKEN                    our list of words, the same
--   ...:sharers:TOKEN                  who joined us: see share.lua
--       (it has a name of its own there)
--   ...:readers                        see readers.lua
--   ...:once                           the mark of --once-per
--   ...:log                            see log.lua
--   ...:none                           no key has this name. A
--       command on several keys, of which one is not on this node, fails while a
--       slot is migrating. Outside a Cluster any key will do in its place
--
-- The last argument is the database. The client sends the script right behind a
-- SELECT. If the server refuses that SELECT, the script must not work on
-- another database, so it selects its own.
if ARG.db ~= '0' then
	redis.call('select', ARG.db)
end
local lock, state, queue, alive, inbox, joiners, once_key, log, none = unpack(KEYS)
if not queue then
	queue, alive, inbox, joiners, once_key, log, none = unpack(ARGV, AT.db + 1)
end
local cluster = none
none = none or lock
local token = ARG.token
local moving -- see head.lua
-- The clock in microseconds. It has sixteen digits, as any counter that started
-- from it, and is below 2^53 for two hundred years.
local function now()
	local t = redis.call('time')
	return t[1] .. ('00000' .. t[2]):sub(-6)
end
-- The state and the history live for this long from their last use. They are
-- prolonged when the first five of the sixteen digits have changed since the
-- counter moved last: about once a day.
local month_ms, day_ms = 2592000000, 100000000
-- Of the line of waiters, see queue.lua: the first in microseconds, the others in ms.
local heartbeat, kept_ms, grant_ms = 5000000, 60000, 2000
