-- SPDX-License-Identifier: MIT
-- For force.lua: asks, or takes the lock.
if vanished() then
	if step == 'ask' then
		if not moving and stop_word(token, at) < 0 then
			tell(token, grace)
		end
		return {'yes', text(c), math.max(stop_word(token, at), 0), 1}
	end
	redis.call('del', lock) -- a first write
	move(math.max(c or at, seen) + 1, slot, nil, field('holder', slot),
	    no_holder(number_in(record, 'lost')))
	return {'yes', text(c), 0}
end
if not is_there() then
	return {'no', text(c)}
elseif step ~= 'foreign' and not record_is_of(value) and seen == 0
    and redis.call('exists', sharers) == 0 then
	return {'foreign', text(c)}
end
if step == 'ask' then
	return ask()
end
if step == 'foreign' then -- it may be longer than what was sent
	token = v or token
end
if shared(v) then
	here(sharers)
end
if step == 'take' and not moving then
	for _, who in ipairs(v == token and holders() or {token}) do
		tell(who, 0)
	end
end
-- one of the clients that share it
if v and v ~= token then
	redis.call('zrem', sharers, '') -- a first write
	for i = 1, #all, 2 do
		if is_its(all[i]) then
			redis.call('zrem', sharers, all[i])
			drop_reader(all[i], at)
		end
		if is_its(all[i]) and shared(v) then
			pcall(note_it, token, string.match(all[i], '\n(.*)$'))
		end
	end
	local outer = not shared(v) and not left
	if outer or sharers_end(v, at) then
		if shared(v) and not bad then
			move(c and c + 1 or at)
		end
		keep(slot, v, at, outer and redis.call('pttl', lock) or 0)
		return {'yes', text(c), 0}
	end
end
local lost = number_in(v and record, 'lost')
redis.call('del', lock)
try('del', sharers)
if v == token and record_is_of(v) then
	-- with several holders it is not known whose fence the counter is
	pcall(note_all, not several and c)
end
if shared(v) then
	for _, member in ipairs(members) do
		drop_reader(member, at)
	end
	pcall(note_readers, at)
end
v, record = nil, nil
local low = not alone and rolled_back() and at or 0
local ms = free(at, alone, math.max(low, seen), lost, several and born or nil)
return {'yes', text(c), ms}
