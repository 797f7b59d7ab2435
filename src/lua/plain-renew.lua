-- SPDX-License-Identifier: MIT
-- Ours alone: renew it.
if ours then
	call('pexpire', K, ARG.ttl)
	call('hset', S, 'hold:' .. token, ms + ARG.ttl .. ' '
	    .. (number - ARG.number > 0 and number or ARG.number) .. ' ')
	return {'yes', c, ends - ms, ms, longest}
end
