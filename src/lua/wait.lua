-- SPDX-License-Identifier: MIT
-- For acquire.lua: a place in line, for a client that does not get the lock.
local place = -1
local new = ticket == 0 or ticket > 0 and newcomer
if new and most >= 0 and not own('zscore', queue, member) then
	local n = living(at)
	if n >= most then
		return {'full', text(c), n}
	end
end
if ticket == 0 then
	ticket = at
	if c and c > at then -- the clock was set back: stay behind
		local last = own('zrevrange', queue, 0, 0, 'withscores')
		local behind = whole(last[2]) or at
		ticket = math.max(at, math.min(behind, c + day_us) + 1)
	end
	ticket = math.max(ticket, (latest or 0) + 1)
end
if ticket > 0 then
	place = stand(at, new)
end
if marked and place >= 0 and latest < ticket then
	put('newest', text(ticket) .. '\n' .. about)
	for _, other in ipairs(redis.call('zrange', queue, 0, place)) do
		local who, words = parsed(other)
		if who and select(5, standing(words)) and other ~= member then
			redis.call('zrem', queue, other)
			try('zrem', alive, who)
			wake(who, 'superseded', 3 * grant_ms)
			place = place - 1
		end
	end
end
if free and lost then
	return {guarded and 'guarded' or 'loss', text(c), guarded or 0, '', '',
	    place, text(math.max(ticket, 0)), reborn() and 1 or 0}
end
return busy(place, kind)
