-- SPDX-License-Identifier: MIT
-- --once-per: the answer if the work was done already, else nil.
local function done_by()
	here(once_key)
	local by = own('get', once_key)
	return by and {'done', text(c), redis.call('pttl', once_key), '', by}
end
