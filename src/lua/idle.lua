-- SPDX-License-Identifier: MIT
-- For the private server of local: (run/lockserver.c). Whether a key is there
-- that must not be lost with the server. If nobody holds or waits, the others
-- may be: fences start from the clock again, the history ends, and a word is for
-- nobody.
local may_go = {state = 1, log = 1, grant = 1}
for _, name in ipairs(redis.call('keys', '*')) do
	if not may_go[string.match(name, '^redlock:{.-}:(%l+):')] then
		return 'held'
	end
end
return 'nothing is held'
