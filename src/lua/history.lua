-- SPDX-License-Identifier: MIT
-- The history of a lock, a stream of the last hundred holds. The release (or
-- force-release) of a hold writes its entry, once. No decision depends on it: it is
-- written last, and a failure to write it is ignored. The fields of an entry:
--   token
--   hold   "NAME VALUE" lines: fence slot slot_name waited_ms held_ms outcome exit
--          signal by since. BY: who forced it. SINCE: its start, in ms; without it, the
--          hold ended when the entry was written
--   who    the holder, also as lines: host pid user command reason ci_url
-- A stream takes 4 kB for its first entry, and many locks are used only once. So the
-- first entry is a field of the state until there is a second:
--   first  "AT TOKEN N\n", then HOLD, of N bytes, and WHO; AT in ms
local function first_entry()
	local words = try('hget', S, 'first')
	local at, who, n, rest = match(type(words) == 'string' and words or '',
	    '^(%d+) (%S+) (%d+)\n(.*)$')
	return n and {at .. '-0', {'token', who, 'hold', rest:sub(1, n), 'who',
	    rest:sub(n + 1)}}
end
-- `again`: it may have been written already. A live holder knows better than the
-- client that took it for dead.
local function note(who, again, hold, about)
	about = ('\n' .. about):gsub('\nnames [^\n]*\n$', '\n'):sub(2)
	local entries = again and try('xrevrange', H, '+', '-', 'count', 20) or {}
	entries[#entries + 1] = again and first_entry() or nil
	for _, entry in ipairs(entries) do
		if entry[2][2] == who and ((entry[2][4] or ''):sub(1, 15) ~= 'outcome expired'
		    or hold:sub(1, 15) == 'outcome expired') then
			return
		end
	end
	local function add(...) return try('xadd', H, ...) end
	local added = add('nomkstream', 'maxlen', '~', 100, '*', 'token', who, 'hold',
	    hold, 'who', about)
	-- before Redis 6.2 there is no NOMKSTREAM
	if added and (type(added) == 'string' or try('exists', H) ~= 0 and add('maxlen',
	    '~', 100, '*', 'token', who, 'hold', hold, 'who', about)) then
		return
	end
	local first = first_entry()
	if not first then
		try('hset', S, 'first', ms .. ' ' .. who .. ' ' .. #hold .. '\n' .. hold
		    .. about)
	elseif type(add(first[1], unpack(first[2]))) == 'string' then
		try('pexpire', H, MONTH)
		add('*', 'token', who, 'hold', hold, 'who', about)
		try('hdel', S, 'first')
	end
end
