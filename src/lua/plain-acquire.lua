-- SPDX-License-Identifier: MIT
-- Free, and nobody waits: take it.
if sound and not hold and slot0:sub(1, 4) == '- 0 ' and ARG.ticket <= '0'
    and call('exists', Q) == 0 then
	local set = try('set', K, token, 'nx', 'px', ARG.ttl)
	if set and set.ok then
		call('hset', S, 'fence', at, 'trail', (trail .. ' ' .. at):sub(-135),
		    'slot:0', token .. ' 1 ' .. at .. ' ' .. ARG.ttl .. ' ' .. token,
		    'hold:' .. token, ms + ARG.ttl .. ' ' .. ARG.number .. ' ',
		    'who:' .. token, '0 ' .. at .. ' ' .. ms .. ' ' .. ARG.ttl .. '\n'
		    .. ARG.identity)
		return {'granted', at, at, ms, ARG.ttl}
	end
end
