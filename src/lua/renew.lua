-- SPDX-License-Identifier: MIT
-- For confirm.lua: the lock is ours, or was set again. Renews it, and raises the
-- counter.
--
-- The counter tells when the state was used last: on one node, by the clock.
local function stay(at)
	if math.floor(at / day_us) ~= math.floor(c / day_us) then
		prolong()
	end
end
if said == 'healed' or shares and (not mine or pttl <= 0) then
	leave_line(member)
end
local reads = shared(value)
if said == 'yes' then
	back = is_behind(seen, reads or slot > 0
	    or select(2, standing(ARG.stands)) > 1, at, longest(value, ttl))
end
if said == 'healed' and back and alone and slot > 0 then
	may_forget_readers(at, ttl)
end
local theirs = may_be_shared(slot, value, record_is_of(value) and record, at,
    reads and said == 'yes' or shares and not joins
    or not shares and ARG.joined == '1') or shares
if shares then
	share(value, member, at, ttl, not joins)
	let_record_know(value, ttl)
	if reads then -- for the history: see readers.lua. A nested run is not there
		local over = math.floor(at / 1000) + ttl
		redis.pcall('zadd', part('readers'), 'xx', over, member)
	end
end
local away = moving and theirs
    and type(redis.pcall('exists', lock, sharers_of(value))) == 'table'
if away then -- theirs may be longer
	ttl = math.max(ttl, pttl)
end
local others = theirs
if theirs and not away then
	others = keep(slot, value, at, not shares and ttl or reads and 0
	    or redis.call('pttl', lock))
else
	redis.call('pexpire', lock, ttl)
end
if not shares then
	note_number(slot, member)
end
if not record_is_of(value) then
	record_put(slot, record_of(value, theirs and longest(value, ttl) or ttl,
	    select(4, standing(ARG.stands)) .. (theirs and joined_line or '')
	    .. (stop >= 0 and asked_line or ''), at))
else
	-- data may have been lost since it was noted: see plain-release.lua
	if theirs and not reads and number_in(record, 'joined') ~= 1 then
		record_put(slot, record .. joined_line)
	end
	if not shares then
		-- if it cannot be counted, so be it
		redis.pcall('hincrby', state, field('renewed', slot), 1)
	end
	if c then
		stay(at)
	end
end
local raised = 0
if raises or back then
	local before, higher = c, math.max(c or time(), m)
	if back or not alone and c ~= seen and rolled_back() then
		higher = math.max(higher, at)
	end
	-- a clock that was set back: since our last answer, others may have seen
	-- a larger counter, but no more than one a microsecond
	if alone and (not c or back) and math.max(seen, m) >= higher then
		higher = math.max(seen, m) + ttl * 1000
	end
	if not move(higher, (said == 'healed' or not c and not shares) and slot
	    or nil, back) then
		c = before
	elseif higher == m and higher ~= before then
		raised = 1
	end
end
local left = theirs and (away and longest_ms or redis.call('pttl', lock)) or 0
return {said, text(c), pttl, others and 1 or 0, raised,
    text(math.floor(at / 1000)), text(stop), by,
    reads and string.sub(value, 8) or '0', left}
