-- SPDX-License-Identifier: MIT
-- The line of waiters, in the order of their tickets. All slots share one line:
--   ...:queue        sorted set, ticket -> member. A ticket is
--       the server's TIME in microseconds at which the waiter came. A member is
--       "TOKEN TTL SLOTS FLAGS\n" and what others may see of the waiter
--   ...:alive        sorted set, last sign of life -> token, of
--       waiters that have waited for more than a heartbeat
--   ...:grant:TOKEN  list; a push wakes the waiter. It expires,
--       so that a dead waiter leaves nothing behind. If it cannot be pushed (some
--       servers refuse keys that are not in KEYS), the waiter finds out by itself
-- A waiter asks again once per heartbeat. If it was skipped or the data were
-- lost, it gets back into line with its old ticket.
local granted, its_fence -- the slot that the caller was given
local leaving -- what the caller's slot holds, which it gives back
-- The caller gives the lock up: a place in line that a late question of it has
-- left does not count.
local gives_up
local function wake(who, word, ms)
	local list = part('grant:' .. who)
	if not moving then -- it will ask
		pcall(own, 'rpush', list, word)
		redis.pcall('pexpire', list, ms)
	end
end
