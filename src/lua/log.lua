-- SPDX-License-Identifier: MIT
-- The history of a lock: an entry for each of the last hundred holds, and a few
-- older ones. The release (or force-release) of a hold writes its entry, once.
--   ...:log            stream. The fields of an entry:
--       token
--       hold   "NAME VALUE" lines, of these names: fence slot waited_ms held_ms
--              outcome exit signal by since. BY: who forced it. SINCE, in ms;
--              without it, the hold ended when the entry was written
--       who    the holder, in such lines: host pid user command reason ci_url.
--              Other lines mean nothing here
-- The first entry of all is in the state, see first.lua.
-- Nothing depends on the history. It is written last, and a failure (memory,
-- rights, a key of another type) is ignored. During a migration nothing is
-- written: the stream may be on the other node, and would be created twice.
--
-- `hold` "": nothing is written. `again`: the entry may have been written already.
local function note(who, again, hold, about)
	if moving or hold == '' then
		return
	end
	local entries = again and redis.pcall('xrevrange', log, '+', '-', 'count', 20) or {}
	entries[#entries + 1] = again and first_entry() or nil
	for _, entry in ipairs(entries) do
		-- a holder that lives knows better than who took it for dead
		local its = entry[2][4] or ''
		if entry[2][2] == who and (its:sub(1, 15) ~= 'outcome expired'
		    or hold:sub(1, 15) == 'outcome expired') then
			return
		end
	end
	local function add(...) return redis.pcall('xadd', log, ...) end
	local added = add('nomkstream', 'maxlen', '~', 100, '*',
	    'token', who, 'hold', hold, 'who', about)
	-- before Redis 6.2 there is no NOMKSTREAM
	if added and (type(added) == 'string' or redis.pcall('exists', log) ~= 0
	    and add('maxlen', '~', 100, '*', 'token', who, 'hold', hold, 'who', about)) then
		return
	end
	local first = first_entry()
	if not first then
		put_first(who, hold, about)
		return
	end
	if type(add(first[1], unpack(first[2]))) == 'string' then
		redis.pcall('pexpire', log, month_ms)
		add('*', 'token', who, 'hold', hold, 'who', about)
		redis.pcall('hdel', state, 'first')
	end
end
