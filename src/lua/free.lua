-- SPDX-License-Identifier: MIT
-- What stands in the place of a record. A loss of data is told until a client has
-- held the lock since: see grant().
local function no_holder(lost)
	return lost and '\nlost ' .. text(lost) .. '\n' or ''
end
-- The end of a release, and of force-release: our slot goes to the first in line,
-- or is free. `v` is what it still holds: false or nil if it was deleted. `low`:
-- the counter becomes larger than that. `lost`, `born`: see serve(). `kept`:
-- hand it to nobody. Returns for how many ms it was handed over, or 0.
local function free(at, alone, low, lost, born, kept)
	if bad then
		redis.call('del', lock)
		put(field('holder', slot), '')
		return 0
	end
	local next = math.max(c or at, low)
	if not c then -- `born` notes that it started again
		move(next, slot)
	end
	c, leaving, gives_up = next, v, true
	local done, px
	if not kept then -- a broken line must not keep the lock
		done, px = pcall(serve, at, alone, lost, born)
	end
	if not v or leaving then
		if leaving then
			redis.call('del', lock)
		end
		move(c + 1, slot, nil, field('holder', slot), no_holder(lost))
	end
	return done and px or 0
end
