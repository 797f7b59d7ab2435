-- Who has the lock, and who waits for it. Changes nothing.
--
-- KEYS  lock, fence, holder, of slot 0
-- ARGV  1 ""  2 tell of so many waiters at most
-- Returns
--   view COUNTER NOW HOLDERS WAITERS IN_LINE ONCE
--       COUNTER: "bad" if it is no number; 0: there is none. NOW: the server's
--       clock, in ms. IN_LINE: so many wait. ONCE: ms left of --once-per, or -1
--   HOLDERS  {SLOT, TYPE, VALUE, PTTL, RECORD, SHARERS} of each slot that is
--       taken. RECORD "": none, or another one's. SHARERS: {MEMBER, ENDS}, see
--       share.lua
--   WAITERS  {MEMBER, TICKET, LIFE}, see queue.lua. LIFE: the last sign, in us
local function pairs_of(key, last)
	local flat, list = ask('zrange', key, 0, last, 'withscores'), {}
	for i = 1, #flat, 2 do
		list[#list + 1] = {flat[i], flat[i + 1]}
	end
	return list
end
local holders = {}
for _, n in ipairs(slots_known()) do
	local name = slot_key('', n)
	local kind = ask('type', name).ok or 'none'
	if kind ~= 'none' then
		local value = kind == 'string' and ask('get', name) or ''
		record = ask('get', slot_key('holder', n))
		holders[#holders + 1] = {n, kind, string.sub(value, 1, 4096),
		    ask('pttl', name),
		    record_is_of(value) and record or '',
		    pairs_of(sharers_of(value), -1)}
	end
end
local queue, alive = part('queue'), part('alive')
local most = tonumber(ARGV[2])
local waiters = most > 0 and pairs_of(queue, most - 1) or {}
for _, waiter in ipairs(waiters) do
	local life = ask('zscore', alive, string.match(waiter[1], '^%S+'))
	waiter[3] = type(life) == 'string' and life or waiter[2]
end
local function number(n, none) return type(n) == 'number' and n or none end
return {'view', bad and 'bad' or text(c), text(math.floor(time() / 1000)),
    holders, waiters, number(ask('zcard', queue), 0),
    number(ask('pttl', part('once')), -1)}
