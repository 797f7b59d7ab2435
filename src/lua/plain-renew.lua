-- SPDX-License-Identifier: MIT
-- Ours alone: renew it.
if ours and ARG.raise <= c then
	local ends, number = hold:match('^(%d+) (%d+) $')
	if ends and ARG.number - number >= 0 then
		call('pexpire', K, ARG.ttl)
		call('hset', S, 'hold:' .. token, ends_in(ARG.ttl) .. ' ' .. ARG.number .. ' ')
		return {'yes', c, str(ends - ms), 0, ms, '-1', '', slot0:match(' (%d+) %S+$')}
	end
end
