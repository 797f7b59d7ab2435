-- SPDX-License-Identifier: MIT
-- For acquire.lua: whether the client gets the lock, a place in line, or neither.
--
-- On several nodes the counters grow by 1, except where one was rolled back.
if not alone and not moving then
	alone = rolled_back()
end
local n = mine()
local done = (n or not moving) and ARG.once == '1' and done_by()
if done then
	return done
end
-- a server that was set back may not know that we released the lock
local guarded = n and guard > 0 and young(guard)
if guarded then
	return {'guarded', text(c), guarded, '', '', -1, 0, 0}
end
if n then
	return ours(n, several and time())
end
-- During a migration nobody gets into line or past it: the line may be on the
-- other node. A waiter keeps its ticket and asks again soon.
if moving then
	return busy(-1)
end
local at = time()
-- A wrong clock must not put a waiter ahead of all others, or behind them.
if newcomer and ticket > 0 then
	ticket = math.min(math.max(ticket, at - 1000000), at + 1000000)
end
local latest
if marked then
	latest = own('hget', state, 'newest') or '0\n'
	local by = whole(string.match(latest, '^%d+')) or 0
	by = by <= math.max(at, c or 0) + day_us and by or 0
	-- if a first question comes twice, the second copy finds the word of
	-- what happened in between
	local word = ticket == 0 and own('lindex', part('grant:' .. token), 0)
	if word == 'superseded' or (ticket > 0 and by > ticket) then
		return {'superseded', text(c), 0, '',
		    string.match(latest, '\n(.*)$') or ''}
	end
	latest = by
end
local free = room(slots, reads, nil, only)
local lost = ARG.embargo == '1'
    or saw > 0 and (not c or c < saw or free and reborn())
local kind
guarded = free and guard > 0 and young(guard)
lost = lost or guarded
if free then
	if bad then
		return {'fence'}
	end
	-- serve the first in line, which may be the caller; if the caller was
	-- skipped, it still has its place
	if ticket > 0 and not newcomer and not lost then
		stand(at)
	end
	local taken, last = free, record
	if free ~= slot then
		last = own('hget', state, field('holder', free))
	end
	local renewals = last and last ~= ''
	    and own('hget', state, field('renewed', free))
	local before, waits, failed, _ = number_in(record, 'lost')
	if not lost and redis.call('exists', queue) == 1 then
		_, waits, failed = serve(at, alone, not c or before, nil, only)
		free = not granted and not waits and room(slots, reads, nil, only)
	end
	local served = granted
	if not lost and (failed or free and not granted
	    and not grant(free, token, ARG.stands, ttl, at, alone, before)) then
		-- of a waiter's grant it is not known for which slot it failed
		local name = failed and lock or slot_key(taken)
		kind = redis.call('type', name).ok
		if kind == 'none' then -- memory is full
			redis.call('set', name, token, 'nx', 'px', ttl)
		elseif kind == 'string' then -- another client's lock
			kind = nil
		end
	end
	if not lost and not failed and not kind then
		pcall(note_expired, taken, last, at, renewals)
	end
	if granted then
		return ours(granted, at, not served)
	end
end
