-- Renew the lease of a token, for whoever has nothing else of it. The rest is
-- confirm.lua, and so are its arguments, but that
-- ARGV  2 may be 0: as long as it was  3, 4 and 8 "0"  5, 6 and 7 are filled in
--       here  9 and 10 -1
-- Returns as that does.
local value, stands = find(time())
if not value then
	return {'no', text(c), v and 1 or 0}
end
local its, of = standing(stands)
if ARGV[2] == '0' then
	ARGV[2] = text(its)
elseif record_is_of(token) then
	-- who finds data lost waits for as long as the lease may be
	record = string.gsub(record, '\nttl %d+\n', '\nttl ' .. ARGV[2] .. '\n', 1)
end
ARGV[5], ARGV[6] = stands, value
ARGV[7] = (value ~= token or of > 1) and '1' or '0'
