-- SPDX-License-Identifier: MIT
-- Ours alone: renew it.
if ours then
	call('pexpire', K, ARG.ttl)
	call('hset', S, 'hold:' .. token, ms + ARG.ttl .. ' ' .. ARG.number .. ' ')
	return {'yes', c, ends - ms, ms, longest}
end
