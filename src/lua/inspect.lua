-- SPDX-License-Identifier: MIT
-- Returns who holds the lock and who waits for it. Changes nothing.
--
-- ARG, besides those of start.lua: waiters, holders   how many to list at most
--   whose   the client that is listed in any case, or ""
-- Returns
--   view COUNTER NOW SHUT ONCE {TYPE VALUE MS} SLOTS HOLDERS WAITERS IN_LINE MORE
--       REVISION MARK DONE MASTER LABEL
--       SHUT, ONCE: ms that are left; -1: none. MORE: the number of holders not
--       listed.
--       REVISION: the newest that succeeded; -1: none. MARK: see acquire.lua. DONE:
--       the mark of ONCE. MASTER: see replica.lua. LABEL: "" or "LABEL\nMARK", that of
--       the last success
--   SLOTS    {SLOT FAMILY COUNT LONGEST STOP BY} of each that is taken
--   HOLDERS  {TOKEN SLOT ENDS FENCE SINCE TTL FLAG IDENTITY NAME}; NAME: of its slot
--   WAITERS  {MEMBER TICKET LIFE}: see line.lua; LIFE: the last sign of life, us
-- A key of another type counts as empty; so does one that is on another node while
-- a Cluster migrates the slot. Any other error is returned: a missing right must not
-- look like a free lock.
local function ask(...)
	local answer = try(...)
	if type(answer) ~= 'table' or not answer.err then
		return answer
	end
	return (#KEYS == 2 or answer.err:find('WRONGTYPE', 1, true)) and {} or call(...)
end
local most, bytes = ARG.holders + 0, 400000
local held, holders, waiters, more = {}, {}, {}, 0
local all = {}
local flat = ask('hgetall', S)
-- what a damaged state has in its place: "type", or "?"
L.c = L.c or #f == 0 and 'type' or f[2] and '?'
for i = 1, #flat, 2 do
	all[flat[i]] = flat[i + 1]
end
for name, text in pairs(all) do
	local n = match(name, '^slot:(%d+)$')
	if n then
		read_slot(L, n + 0, text)
	end
end
for n, s in pairs(L.slots) do
	if s.ends > L.now then
		local stop, by = stop_of(L, s, s.family)
		held[#held + 1] = {n, s.family, s.count, s.longest, stop, by}
	end
end
for name, text in pairs(all) do
	local who = match(name, '^hold:(.*)$')
	local e = who and counts(L, read_entry(text, all['who:' .. who]))
	if e and e.ends > L.now then
		if #holders < most and bytes > 0 or who == ARG.whose then
			holders[#holders + 1] = {who, e.n, e.ends, e.fence, e.since,
			    e.ttl, e.flag, e.identity:sub(1, 2048), slot_name(e)}
			bytes = bytes - #e.identity - 100
		else
			more = more + 1
		end
	end
end
local found = ask('zrangebyscore', Q, '(0', '+inf', 'withscores', 'limit', 0,
    ARG.waiters)
for i = 1, #found, 2 do
	local life = ask('zscore', Q, match(found[i], '^%S*'))
	waiters[#waiters + 1] = {found[i]:sub(1, 2048), found[i + 1],
	    type(life) == 'string' and -life or found[i + 1]}
end
local n = ask('zcount', Q, '(0', '+inf')
local once, done = match(all.once or '', '^(%d+)\n(.*)$')
local v = ask('getrange', K, 0, 4095)
v = type(v) == 'string' and v or ''
local newest, mark = match(all.revision or '', '^(%d+)\n(.*)$')
return {'view', L.c or 0, L.now, max(-1, L.shut - L.now), max(-1, num(once) - L.now),
    {call('type', K).ok, v, call('pttl', K)}, held, holders,
    waiters, type(n) == 'number' and n or 0, more, newest or '-1', (mark or ''):sub(1, 2048),
    (done or ''):sub(1, 2048), master(), (all.label or ''):sub(1, 2304)}
