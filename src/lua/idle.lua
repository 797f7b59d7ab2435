-- SPDX-License-Identifier: MIT
-- For the private server of local: (local/lockserver.c). Returns whether the server
-- has something that must not be lost: a lease or a mark of --once-per that has not
-- ended, a mark of --revision or --once-for, a waiter, a key of another program. (Fences start
-- again from the clock.)
local t = redis.call('time')
local now = t[1] * 1000 + t[2] / 1000
for _, name in ipairs(redis.call('keys', '*')) do
	local kind = redis.call('type', name).ok
	local fields = kind == 'hash' and redis.call('hgetall', name) or {}
	for i = 1, #fields, 2 do
		local field = fields[i]
		if field == 'revision' or field == 'label' or (field == 'once' or field:sub(1, 5) == 'hold:')
		    and (tonumber(fields[i + 1]:match('^%d+')) or 0) > now then
			return 'held'
		end
	end
	if kind ~= 'hash' and kind ~= 'stream' and kind ~= 'list' then
		return 'held'
	end
end
return 'nothing is held'
