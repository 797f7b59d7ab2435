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
	if not c then -- its birth is noted
		move(next, slot)
	end
	c, leaving = next, v
	local done, px
	if not kept then -- a broken line must not keep the lock
		done, px = pcall(serve, at, alone, lost, born)
	end
	if not v or leaving then
		if leaving then
			redis.call('del', lock)
		end
		-- the next one is told of the loss, too: see grant()
		move(c + 1, slot, nil, field('holder', slot),
		    lost and '\nlost ' .. text(lost) .. '\n' or '')
	end
	return done and px or 0
end
