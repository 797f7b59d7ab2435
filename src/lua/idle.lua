-- SPDX-License-Identifier: MIT
-- For the private server of local: (run/lockserver.c). Whether a key is there
-- that must not be lost with the server. If nobody holds or waits, the others
-- may be: fences start from the clock again, the history ends, and a word is for
-- nobody. Those are a hash, a stream and lists; locks and marks are strings, and
-- the line and who shares a lock are sorted sets.
local may_go = {hash = 1, stream = 1, list = 1}
for _, name in ipairs(redis.call('keys', '*')) do
	if not may_go[redis.call('type', name).ok] then
		return 'held'
	end
end
return 'nothing is held'
