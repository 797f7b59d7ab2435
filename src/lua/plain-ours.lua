-- SPDX-License-Identifier: MIT
-- Whether we alone have it, and nothing has moved the counter since the grant.
local ours, ends, number, longest = false, nil, nil, ARG.identity:match('^%d+')
if sound and hold and ARG.raise <= c
    and slot0 == token .. ' 1 ' .. c .. ' ' .. longest .. ' ' .. token then
	ends, number = hold:match('^(%d+) (%d+) $')
	if ends and ends > ms and ends - ms <= longest + 0
	    and try('getrange', K, 0, 127) == token then
		value, ours = token, true
	end
end
