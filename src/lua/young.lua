-- SPDX-License-Identifier: MIT
-- A server that has been up for less than `ms` may have forgotten a lease.
-- Returns for how many ms more, or nil. (Uptime is in whole seconds, and the
-- last one may have just begun.)
local function young(ms)
	server()
	local rest = ms > 0 and ms + 1000 - (uptime or math.huge) * 1000 or 0
	return rest > 0 and rest or nil
end
