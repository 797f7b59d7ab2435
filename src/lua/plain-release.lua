-- SPDX-License-Identifier: MIT
-- Ours alone, and nobody waits: free it.
if ours and ARG.raise <= c and ARG.number - (hold:match('^%d+ (%d+) $') or 1e18) >= 0
    and call('exists', Q) == 0 then
	call('del', K, I)
	call('hdel', S, 'hold:' .. token, 'who:' .. token)
	move_on('slot:0', '- 0 ' .. at .. ' 0 -')
	if ARG.entry ~= '' then
		note(token, false, ARG.entry, ARG.stands:match('\n(.*)$'))
	end
	return {'yes', at, 0}
end
