-- Releases the hold of a client of which only the token is known. release.lua
-- does the rest, and has the same arguments, except:
-- ARGV  4, 5 and 7 are filled in here  13 "1": write the history
-- The answers are those of release.lua.
local value, stands = find(time())
if not value then
	return {'no', text(c)}
end
ARGV[4] = stands
-- a keeper may still renew it; a value without a record is another program's
ARGV[5] = (value ~= token or record_is_of(token)) and '2' or '0'
ARGV[7] = value ~= token and not shared(value) and value or ''
local fields = ARGV[13] == '1' and value == token and {story_of(
    not bad and c, time(), string.match(stands, '\n(.*)$'), 'outcome released\n')}
    or {}
fields[#fields + 1] = ARGV[14]
for i, word in ipairs(fields) do
	ARGV[12 + i] = word
end
if not fields[2] then
	ARGV[14] = nil
end
