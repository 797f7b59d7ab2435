-- SPDX-License-Identifier: MIT
-- Tools for all that is not plain: writing the state, moving the counter, reading
-- records. From here on the script is a function of its own, which
-- embed-lua.sh closes at the end: Lua makes its many closures faster if what they
-- use of the lines above are no longer locals of a running function (a sixth of
-- the time of a question that is told "busy").
return (function()
-- A counter that is not a number below 2^53 is `bad`; no script changes it.
local bad = raw and not c
local function slot_key(n) return n == 0 and key or part('slot:' .. n) end
-- Fails, if a Cluster slot is migrating and one of these keys is not on this node:
-- the client asks again later.
local function here(...)
	if moving then
		redis.call('exists', lock, ...)
	end
end
-- A companion key of another type is not ours and would block every client.
-- Delete it; but not during a migration, because the old node does not create a
-- key again. Then a state of another type counts as empty.
local function own(command, name, ...)
	local answer = redis.pcall(command, name, ...)
	if type(answer) ~= 'table' or not answer.err then
		return answer
	end
	if string.find(answer.err, 'WRONGTYPE', 1, true) then
		if moving and command == 'hget' then
			return nil
		end
		here(none)
		redis.call('del', name)
	end
	return redis.call(command, name, ...)
end
local try = moving and redis.pcall or own
-- Writes fields of the state. Returns whether it could: memory may be full.
local function put(...)
	local answer = redis.pcall('hset', state, ...)
	if type(answer) == 'table' and not moving
	    and string.find(answer.err, 'WRONGTYPE', 1, true) then
		redis.call('del', state)
		answer = redis.pcall('hset', state, ...)
	end
	prolong()
	return type(answer) == 'number'
end
-- Moves the counter to `next`, of slot n or, with nil, of no slot. `back`: the
-- counter before was an older one that came back after a loss of data. The
-- fields and values that follow are written as well. Returns whether they could
-- be: an answer tells the new counter in any case, unless it is bad.
local writer -- see server.lua
local function move(next, n, back, ...)
	local words, lost = {...}, back or not c
	local function add(name, value)
		words[#words + 1], words[#words + 2] = name, value
	end
	if bad then
		return false
	end
	add('fence', text(next))
	if n then
		add(field('moved', n), text(next))
		add(field('renewed', n), '0')
	end
	if lost then
		add('born', text(next))
	end
	if writer then
		add('writer', writer)
	end
	c = next
	if not put(unpack(words)) then
		return false
	end
	born = lost and next or born
	return true
end
-- The record counts only while its token is the value of the lock. While the
-- lock is free, it tells of the last holder.
local function is_of(words, value)
	local ours = 'token ' .. value .. '\n'
	return string.sub(words or '', 1, #ours) == ours
end
local function record_is_of(value) return is_of(record, value) end
if v and not record_is_of(v) then
	record = nil
end
local function record_put(n, words)
	if n == slot then
		record = words
	end
	return put(field('holder', n), words)
end
local function record_at(n, value)
	if n == slot then
		return record
	end
	local words = own('hget', state, field('holder', n))
	return is_of(words, value) and words or nil
end
local function number_in(words, name)
	return whole(string.match(words or '', '\n' .. name .. ' (%d+)\n'))
end
