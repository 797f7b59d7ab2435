-- A release on one node of a lock without slots and readers that nobody waits
-- for or has joined. This does what release.lua would do, which has the
-- arguments.
if v == token and c and slot == 0 and not moving and ARGV[3] == '1'
    and ARGV[5] ~= '2' and ARGV[7] == '' and ARGV[8] == '0'
    and ARGV[10] == '0' and not (record and record:find('\nround ', 1, true)) then
	local about = ARGV[4]:match('^%d+ 1 [-s]\n(.*)$')
	if about and redis.call('exists', part('queue'), part('alive'),
	    part('sharers:' .. token), part('grant:' .. token)) == 0 then
		redis.call('del', lock, holder)
		c = math.max(c, tonumber(ARGV[2])) + 1
		redis.pcall('set', fence, text(c), 'px', month_ms)
		note(token, ARGV[13], about, time())
		return {'yes', text(c), 0}
	end
end
