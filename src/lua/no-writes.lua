-- SPDX-License-Identifier: MIT
#!lua flags=no-writes
-- Precedes rights.lua, to ask about commands that write.
--
-- Other servers might let a script write although it declares that it will not.
-- So it first tries writes that change nothing, because the key does not exist.
-- One of them must be refused for that declaration, or because this user may not
-- touch the key at all.
local key, sure = 'redlock:{doctor}:rights'
for _, words in ipairs({{'del', key}, {'pexpire', key, '1'}, {'zrem', key, '0'}}) do
	local answer = redis.pcall(unpack(words))
	local text = type(answer) == 'table' and answer.err or ''
	sure = sure or string.find(text, 'read-only', 1, true)
	    or string.find(text, 'access at least one')
	    or string.find(text, 'permissions to access')
end
if not sure then
	return redis.error_reply('ERR scripts may write')
end
