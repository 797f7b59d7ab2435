-- SPDX-License-Identifier: MIT
-- The master of this server, "HOST:PORT", if it is a replica, which may answer with
-- what was true long ago; else, or if INFO is refused, "".
local function master()
	local words = try('info', 'replication')
	words = type(words) == 'string' and words:find('role:slave', 1, true) and words
	return words and (match(words, 'master_host:([^\r\n]*)') or '?') .. ':'
	    .. (match(words, 'master_port:(%d+)') or '?') or ''
end
