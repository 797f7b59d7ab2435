-- SPDX-License-Identifier: MIT
-- Returns which commands this user may not run. ARGV[1]: their names, each with
-- the number of its words, "get 1 mget 1 ".
--
-- The server checks whether the user may run a command before it checks whether
-- the script may write. Redis says "can't run this command", Valkey "no
-- permissions to run"; a refused key is a different error. The arguments suit few
-- commands, and no command changes anything with them.
local refused = {}
for name, n in string.gmatch(ARGV[1], '(%S+) (%d+)') do
	local words = {'redlock:{doctor}:rights', '0', '0', '0'}
	local answer = redis.pcall(name, unpack(words, 1, tonumber(n)))
	local text = type(answer) == 'table' and answer.err or ''
	if string.find(text, 'run this command') or string.find(text, 'permissions to run') then
		refused[#refused + 1] = name
	end
end
return refused
