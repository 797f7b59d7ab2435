-- SPDX-License-Identifier: MIT
-- Releases the hold of a client of which only the token is known. release.lua
-- does the rest, and has the same arguments, except:
-- ARG
--   stands, queued, outer  are filled in here
--   entry                  "1": write the history
-- The answers are those of release.lua.
local value, stands = find(time())
if not value then
	return {'no', text(c)}
end
ARG.stands = stands
-- a keeper may still renew it; a value without a record is another program's
ARG.queued = (value ~= token or record_is_of(token)) and '2' or '0'
ARG.outer = value ~= token and not shared(value) and value or ''
local story = ''
if ARG.entry == '1' and value == token then
	story = story_of(not bad and c, time(), string.match(stands, '\n(.*)$'),
	    'outcome released\n')
elseif ARG.entry == '1' and shared(value) then
	story = reader_story(token .. ' ' .. stands, time() / 1000, 'released')
end
ARG.entry = story
