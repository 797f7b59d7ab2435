-- SPDX-License-Identifier: MIT
-- For force.lua: what the holders and the history are told.
--
-- Leaves the word, and a line in the record of the holder, so that it looks for
-- it. A renewal comes within 5 s and finds it.
local function tell(who, ms)
	local list = part('grant:' .. who)
	redis.call('del', list) -- a first write: see release.lua
	redis.call('rpush', list, 'stop ' .. text(now_ms + ms) .. '\n' .. ARG.by)
	redis.call('pexpire', list, ms + 15000)
	if is_of(record, who) and number_in(record, 'asked') ~= 1 then
		record_put(slot, record .. asked_line)
	end
end
-- Writes the history entry of a hold. A nested run has none.
local function note_it(who, about, before)
	-- a hold that --min-hold keeps has its entry already, under the bare
	-- token
	note((string.gsub(who, ' rest$', '')), true,
	    story_of(before, at, about, 'outcome forced\n' .. ARG.entry), about)
end
-- The record describes the holder alone. Of the readers, a hundred get an
-- entry: the history has room for no more.
local function note_all(before)
	if not shared(v) then
		note_it(token, about_of(record), before)
		return
	end
	for i = 1, math.min(#members, 100) do
		local who, about = string.match(members[i], '^(%S+) %d+ [^\n]*\n(.*)$')
		if who then
			note_it(who, about)
		end
	end
end
-- The lock vanished, and its holder will set it again, as in confirm.lua: data
-- were lost, or the key was deleted by hand.
local function vanished()
	return kind == 'none' and seen > 0 and not bad
	    and (not c or c <= seen or untouched(seen))
end
local function ask()
	local tokens = holders()
	-- those whom the server has forgotten are asked once they have renewed
	local most = unknown and math.min(unknown, grace) or 0
	for _, who in ipairs(tokens) do
		local left = stop_word(who, at)
		if left < 0 or left > grace + 1000 then
			left = grace
			if not moving then
				tell(who, grace)
			end
		end
		most = math.max(most, left)
	end
	return {'yes', text(c), most, #tokens + (unknown and 1 or 0)}
end
