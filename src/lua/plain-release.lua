-- SPDX-License-Identifier: MIT
-- Ours alone, and nobody waits: free it.
if ours and ARG.number - number >= 0 and call('exists', Q) == 0 then
	call('del', K, I)
	call('hdel', S, 'hold:' .. token, 'who:' .. token)
	call('hset', S, 'fence', at, 'trail', (trail .. ' ' .. at):sub(-135),
	    'slot:0', '- 0 ' .. at .. ' 0 -')
	if ARG.entry ~= '' then
		note(token, false, ARG.entry, ARG.identity:match('\n(.*)$'))
	end
	return {'yes', at, 0}
end
