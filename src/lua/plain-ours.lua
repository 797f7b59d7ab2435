-- SPDX-License-Identifier: MIT
-- Whether we alone have it, and nothing has moved the counter since the grant.
local ours, ends, longest = false, nil, ARG.stands:match('^%d+') or ''
if sound and hold and ARG.raise <= c
    and slot0 == token .. ' 1 ' .. c .. ' ' .. longest .. ' ' .. token then
	local number
	ends, number = hold:match('^(%d+) (%d+) $')
	if ends and ARG.number - number >= 0 and try('get', K) == token then
		face, ours = token, true
	end
end
