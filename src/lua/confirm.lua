-- Renew the lease of ARGV[1] and raise the counter to at least ARGV[3]. A
-- vanished lock is set again ("healed") when the counter proves that nobody
-- was granted, released or forced since this client's last answer, or when the
-- counter went with it.
--
-- KEYS  lock, fence, holder
-- ARGV  1 token  2 lease ms  3 fence m, or 0
--       4 the counter last seen under this token; 0 forbids healing (before
--         the claim there is nothing to heal)
--       5 what others may see of us
-- Returns
--   yes COUNTER PTTL      PTTL as it was before the renewal
--   healed COUNTER 0
--   no COUNTER 0          held by somebody else, or gone
-- A claim counts only if COUNTER >= m: the raise is refused when memory is
-- full, while PEXPIRE is not.
local ttl, m, seen = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local state, pttl = 'yes', 0
if v == token then
	pttl = redis.call('pttl', lock)
	redis.call('pexpire', lock, ttl)
elseif not v and not bad and seen > 0 and (not c or c == seen)
    and redis.call('set', lock, token, 'nx', 'px', ttl) then
	state = 'healed'
else
	return {'no', text(c), 0}
end
local mine = 'token ' .. token .. '\n'
if string.sub(record or '', 1, #mine) ~= mine
    or redis.call('pexpire', holder, ttl) == 0 then
	record_set(token, ttl, ARGV[5], time())
end
if not bad and (not c or c < m) then
	local raised = math.max(c or time(), m)
	if fence_set(raised).ok then
		c = raised
	end
end
return {state, text(c), pttl}
