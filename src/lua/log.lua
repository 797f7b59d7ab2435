-- The history of a lock: what became of the latest hundred holds, each told once
-- by whoever gives it back, with the release.
--   redlock:{TAG}:log:KEY            stream. The fields of an entry, all text, in
--       this order, those that are not known left out: token fence slot host
--       pid user command reason ci_url since waited_ms held_ms outcome exit
--       signal by. BY: who forced it. SINCE is in ms since 1970, by this server's clock
-- Nothing depends on it: it comes after all else, and what fails (memory, rights,
-- a key of another type) fails quietly. On the move it is left out: it may be
-- on the other node, and would be made a second time.
--   A story is "fence N\nslot N\n\nwaited_ms N\nheld_ms N\noutcome WORD\n...",
-- what comes before who it was and what comes behind it; or "". `again`: it may
-- have been told already.
local function note(who, story, about, at, again)
	local log = part('log')
	local first, rest = string.match(story, '^(.-\n)\n(.*)$')
	if not first or moving then
		return
	end
	for _, entry in ipairs(again
	    and redis.pcall('xrevrange', log, '+', '-', 'count', 20) or {}) do
		if entry[2][2] == who then
			return
		end
	end
	local words = {'token', who}
	local since = math.floor(at / 1000) - string.match(rest, 'held_ms (%d+)')
	for name, value in string.gmatch(first .. string.gsub(about,
	    '^ticket %d+\n', '') .. 'since ' .. text(since) .. '\n' .. rest,
	    '(%S+) ([^\n]*)\n') do
		words[#words + 1], words[#words + 2] = name, value
	end
	if type(redis.pcall('xadd', log, 'maxlen', 100, '*', unpack(words)))
	    == 'string' then
		redis.pcall('pexpire', log, month_ms)
	end
end
