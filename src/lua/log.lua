-- The history of a lock: an entry for each of the last hundred holds. The
-- release (or force-release) of a hold writes its entry, once.
--   redlock:{TAG}:log:KEY            stream. The fields of an entry, all text,
--       in this order; unknown ones are left out: token fence slot host pid
--       user command reason ci_url since waited_ms held_ms outcome exit signal
--       by. BY: who forced it. SINCE: ms since 1970, by this server's clock
-- Nothing depends on the history. It is written last, and a failure (memory,
-- rights, a key of another type) is ignored. During a migration nothing is
-- written: the stream may be on the other node, and would be created twice.
--
-- A story is "fence N\nslot N\n\nwaited_ms N\nheld_ms N\noutcome WORD\n...", or
-- "". The empty line stands for the fields that say who it was. `again`: the
-- entry may have been written already.
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
