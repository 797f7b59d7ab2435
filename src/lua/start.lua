-- SPDX-License-Identifier: MIT
--!df flags=allow-undeclared-keys
-- The start of every script: the names of the keys, and what is read first. Dragonfly
-- refuses the inboxes of other clients, which are not declared, unless the first line of
-- a script asks for them. Elsewhere that line is a comment.
--
-- KEYS, all of one Cluster slot. Every script declares all five. (In a Cluster, a
-- renewal declares K and S alone, and the others follow the arguments: while the
-- slot moves to another node, a script runs only where all its KEYS are, and the
-- others may not exist.)
--   K  the user's key, which shows slot 0 to other programs: a string, the FAMILY
--      in it, which expires with the last lease. While K has any other value,
--      slot 0 cannot be granted
--   S  the state, a hash: who holds what. It alone decides, so what belongs
--      together is lost together
--   Q  the line of waiters: see line.lua
--   I  the inbox of this client, a list: a push wakes it. The inboxes of other
--      clients are not declared; a push that fails does no harm
--   H  the history: see history.lua
--
-- Fields of S. A time is the server's, in ms, unless it says us:
--   v          the number of this layout
--   fence      the counter. Every change of holders moves it
--   trail      the last eight values of the counter
--   born       the counter when this state began, or when a loss of data was noticed
--   shut       nothing new is granted before this time: see data_lost()
--   lost       when that was decided. If it lies ahead, the clock was set back
--   slot:N     "FAMILY COUNT MOVED LONGEST LAST". FAMILY: who may be in the
--              slot together: the token of the outermost run, or "shared:G"
--              for readers; "-": nobody. COUNT: entries. MOVED: the counter
--              when FAMILY came or left. LONGEST: T. LAST: the token whose
--              lease ends last
--   hold:TOKEN "ENDS NUMBER FLAG", an entry: the end of the lease, the largest
--              number of a request that touched it, and "h" while it is handed
--              over and not claimed, "r" while only --min-hold keeps it
--   who:TOKEN  "SLOT FENCE SINCE TTL\nIDENTITY", the part of the entry that
--              does not change; IDENTITY: see line.lua
--   readers    "FROM TO": only readers came and left while the counter went from
--              FROM to TO, the MOVED of slot 0
--   stop:N     "DEADLINE\nABOUT": force-release or --replace asks the slot to
--              stop. stop:TOKEN: one of several in it
--   once       "END\nsince SINCE\nABOUT", the mark of a success: --once-per
--   revision   "N\nsince SINCE\nABOUT", that of the newest revision: --revision
--   label      "LABEL\nsince SINCE\nABOUT", that of the last success: --once-for.
--              After a failure (--once-counts any) all three end with
--              "outcome OUTCOME\nexit STATUS\n"
--   writer     "RUN_ID REPLID MET", the server process that wrote the counter, and
--              since when this state knows it: see server()
--   first      the first entry of the history: see history.lua
--
-- L is what this call knows, and is passed from function to function:
--   token number seen longest alone identity  from the arguments
--   us now     the server's clock, in us and in ms
--   c          the counter; nil: missing, or not a number
--   before     the same, as it was read
--   shut trail stop   as above; stop: of slot 0. born: nil: not read
--   entry      our entry; mine: the same, if it counts
--   value      what K holds: see look()
--   slots      the slots that were read, by number
--   puts drops what save() is to write: the values by their fields, and fields
--   mail       whom save() wakes: by token, for how long, and with which words
local LAYOUT, MONTH = 2, 2592000000
local K, S, Q, I, H = unpack(KEYS)
if not Q then
	Q, I, H = unpack(ARGV, AT.db + 1)
end
local call, try, match = redis.call, redis.pcall, string.match
local max, min, floor = math.max, math.min, math.floor
if ARG.db ~= '0' then
	call('select', ARG.db)
end
local t, token, value = call('time'), ARG.token, nil
local f = try('hmget', S, 'v', 'fence', 'shut', 'trail', 'slot:0', 'stop:0',
    'hold:' .. token)
-- the server's clock as text: microseconds, and ms
local at = t[1] .. ('00000' .. t[2]):sub(-6)
local ms = at:sub(1, 13)
