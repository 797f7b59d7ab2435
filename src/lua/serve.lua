-- SPDX-License-Identifier: MIT
-- Hands free slots to the first in line.
--
-- If the clock was set back, leases seem to last longer than T: ends them with it.
local function settle(L, s)
	if s.holder and s.holder.cut then
		sweep(L, s)
		put_slot(L, s)
	end
	return s
end
-- Returns the first slot that this client may have now. `only`: that one; false:
-- any.
local function slot_for(L, client, only)
	for n = 0, L.now >= L.shut and client.slots - 1 or -1 do
		local s = (not only or only == n) and settle(L, slot(L, n))
		if s and fits(L, s, client.shared and 'shared:') and (s.ends <= L.now
		    or (n == 0 and not L.stop)
		    or call('hexists', S, 'stop:' .. n) == 0) then
			return s
		end
	end
end
-- Hands slots to the first in line, for as long as it may take to claim them, until
-- one has no room: nobody passes that one. Returns whether anybody is left, how long
-- the last grant lasts, and our own entry if we were served.
local function serve(L, only)
	local handed, ours = 0, nil
	while true do
		local first = line('zrangebyscore', 0, '+inf', 'withscores', 'limit', 0, 1)
		local member, ticket = first[1], num(first[2])
		if not member then
			return false, handed, ours
		end
		local who, rest = match(member, '^(%S+) ()')
		local client, is_us = who and read_identity(member:sub(rest)), who == L.token
		if not client or is_gone(L, who, ticket) then
			line('zrem', member, who or '')
		else
			local s = slot_for(L, client, is_us and only)
			if not s then
				return true, handed, ours
			end
			line('zrem', member)
			local ms = is_us and client.ttl or min(GRANT, floor(client.ttl / 2))
			local e = enter(L, s, who, client, ms, is_us and '' or 'h')
			if not e then
				stay_in_line(ticket, member)
				return true, handed, ours
			end
			if L.us - ticket > HEARTBEAT then
				line('zrem', who)
			end
			if is_us then
				ours = e
			else
				L.mail[who], handed = {ms, str(ms)}, ms
			end
		end
	end
end
