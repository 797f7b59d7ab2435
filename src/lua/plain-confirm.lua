-- SPDX-License-Identifier: MIT
-- A renewal by the holder itself (`plain`), whose record is there: nobody has
-- joined it or asks it to stop, and the counter need not be raised. Does what
-- the rest of the script would do. The arguments are those of confirm.lua.
if ARG.plain == '1' and value() == token then
	local got = redis.pcall('hmget', state, 'fence', 'holder')
	local c, record = got[1], got[2]
	if record and sound(c) and tonumber(c) >= tonumber(ARG.fence)
	    and tonumber(c) >= tonumber(ARG.seen)
	    and record:find('token ' .. token .. '\n', 1, true) == 1
	    and not record:find('\njoined 1\n', 1, true)
	    and not record:find('\nasked 1\n', 1, true)
	    and (ARG.number == '0'
	    or redis.pcall('hget', state, 'number') == token .. ' ' .. ARG.number) then
		local at = now()
		if at:sub(1, 5) == c:sub(1, 5) -- see keys.lua
		    or redis.call('pttl', state) > month_ms - day_ms then
			local pttl = redis.call('pttl', lock)
			redis.call('pexpire', lock, ARG.ttl)
			redis.pcall('hincrby', state, 'renewed', 1)
			return {'yes', c, pttl, 0, 0, at:sub(1, 13), -1, '', 0}
		end
	end
end
