-- SPDX-License-Identifier: MIT
-- For release.lua: the lock is ours, or we share it. Leaves it.
--
-- the counter becomes at least that
local low = math.max(tonumber(ARG.fence),
    not alone and c and rolled_back() and at or 0)
local others = shared(v) or slots > 1 or slot > 0
    or alone and own('hget', state, 'moved:1') -- others may have other slots
if is_behind(low, others, at, longest(v, ttl)) then
	low = math.max(low, at)
	move(low, nil, true)
end
-- the record says when the lock was granted, but not when we joined
local since = not shares and number_in(record, 'since')
local rest = math.ceil(tonumber(ARG.least) - (since
    and math.max(at / 1000 - since, 0) or tonumber(ARG.held)))
-- The answer if the lock stays. Wakes the first in line: the lease it knows of
-- is longer.
local function stays()
	local first = rest > 0 and try('zrange', queue, 0, 0)[1]
	if first then
		wake(first:match('^%S*'), 'look', grant_ms)
	end
	return told('yes', 0, true)
end
if shares or theirs then
	own('zrem', sharers, '') -- a first write: see above
	if rest > 0 then
		own('zadd', sharers, math.floor(at / 1000) + rest,
		    'rest ' .. member)
	end
	if shares then -- last: during a migration an emptied set cannot be made again
		own('zrem', sharers, member, token)
	else
		own('zadd', sharers, 0, 'left')
		put_number(slot)
	end
	if outer or sharers_end(v, at) then
		-- others hold it still, or it stays for --min-hold
		if shared(v) then
			move(math.max(c or at, low) + 1)
		end
		keep(slot, v, at, outer and redis.call('pttl', lock) or 0)
		warn()
		return stays()
	end
	redis.call('del', lock)
	try('del', sharers)
	if shared(v) then
		pcall(note_readers, at)
	end
	v = false
elseif rest > 0 then
	lives_ms = math.max(lives_ms, rest)
	-- under another name, because a late renewal would prolong it
	redis.call('pexpire', lock, rest)
	local name = token .. ' rest'
	if redis.pcall('set', lock, name, 'xx', 'px', rest).ok then
		record_put(slot, record_of(name, rest, about, since and since * 1000 or at))
	end
	move(math.max(c or at, low) + 1, slot)
	return stays()
end
local ms = free(at, alone, low, ARG.ran ~= '1' and number_in(record, 'lost'),
    (others or shares) and born or nil, ARG.withheld == '1')
return told('yes', ms)
