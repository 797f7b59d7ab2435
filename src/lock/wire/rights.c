/* SPDX-License-Identifier: MIT */
/* The commands that redlock sends. */
#include "lock/wire/rights.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
const struct right rights[] = {
	{"select", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"eval", RIGHT_PLAIN, 2, NEED_ALWAYS, NULL},
	{"evalsha", RIGHT_PLAIN, 2, NEED_ALWAYS, "each script is sent whole, and each handover takes longer"},
	{"get", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"mget", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"set", RIGHT_WRITE, 2, NEED_ALWAYS, NULL},
	{"del", RIGHT_WRITE, 1, NEED_ALWAYS, NULL},
	{"exists", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"type", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"pexpire", RIGHT_WRITE, 2, NEED_ALWAYS, NULL},
	{"pttl", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"time", RIGHT_READ, 0, NEED_ALWAYS, NULL},
	{"zadd", RIGHT_WRITE, 3, NEED_ALWAYS, NULL},
	{"zrem", RIGHT_WRITE, 2, NEED_ALWAYS, NULL},
	{"zrank", RIGHT_READ, 2, NEED_ALWAYS, NULL},
	{"zscore", RIGHT_READ, 2, NEED_ALWAYS, NULL},
	{"zrange", RIGHT_READ, 3, NEED_ALWAYS, NULL},
	{"zrangebyscore", RIGHT_READ, 3, NEED_ALWAYS, NULL},
	{"zrevrange", RIGHT_READ, 3, NEED_ALWAYS, NULL},
	{"zcard", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"zremrangebyscore", RIGHT_WRITE, 3, NEED_ALWAYS, NULL},
	{"rpush", RIGHT_WRITE, 2, NEED_ALWAYS, NULL},
	{"blpop", RIGHT_PLAIN, 2, NEED_ALWAYS, NULL},
	{"lindex", RIGHT_READ, 2, NEED_ALWAYS, NULL},
	{"hget", RIGHT_READ, 2, NEED_ALWAYS, NULL},
	{"hmget", RIGHT_READ, 2, NEED_ALWAYS, NULL},
	{"hkeys", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"hset", RIGHT_WRITE, 3, NEED_ALWAYS, NULL},
	{"xadd", RIGHT_WRITE, 4, NEED_ALWAYS, "no history is kept"},
	{"xrevrange", RIGHT_READ, 3, NEED_ALWAYS, "no history is kept"},
	{"info", RIGHT_PLAIN, 0, NEED_GUARD, "restarts, and two names for one server, go unnoticed"},
	{"role", RIGHT_PLAIN, 0, NEED_SENTINEL, "redlock cannot ask the server whether it is the master"},
	{"asking", RIGHT_PLAIN, 0, NEED_CLUSTER, NULL},
	{"cluster|keyslot", RIGHT_PLAIN, 0, NEED_CLUSTER, "redlock cannot tell a Cluster node from a single server"},
	{"cluster|slots", RIGHT_PLAIN, 0, NEED_CLUSTER, "only nodes that the URL names are used"},
	{"cluster|nodes", RIGHT_PLAIN, 0, NEED_CLUSTER, "a node that is getting its first slot is not used until it has it"},
	{"wait", RIGHT_PLAIN, 2, NEED_REPLICAS, NULL},
};
/* clang-format on */
const int rights_n = sizeof(rights) / sizeof(rights[0]);

const char *rights_text(unsigned int needs, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; i < rights_n && used < size; i++)
		if ((rights[i].need & ~needs) == 0)
			used += (size_t)snprintf(buf + used, size - used,
						 "%s+%s", used > 0 ? " " : "",
						 rights[i].command);
	return buf;
}

/* Other servers might let a script write although it declares that it will not.
 * So the script first tries writes that change nothing, because the key does
 * not exist. One of them must be refused for that declaration, or because this
 * user may not touch the key at all. */
static const char no_writes[] =
	"#!lua flags=no-writes\n"
	"local key, sure = 'redlock:{doctor}:rights'\n"
	"for _, words in ipairs({{'del', key}, {'pexpire', key, '1'},\n"
	"    {'zrem', key, '0'}}) do\n"
	"	local answer = redis.pcall(unpack(words))\n"
	"	local text = type(answer) == 'table' and answer.err or ''\n"
	"	sure = sure or string.find(text, 'read-only', 1, true) or\n"
	"	    string.find(text, 'access at least one') or\n"
	"	    string.find(text, 'permissions to access')\n"
	"end\n"
	"if not sure then\n"
	"	return redis.error_reply('ERR scripts may write')\n"
	"end\n";

/* The server checks whether the user may run a command before it checks whether
 * the script may write. Redis says "can't run this command", Valkey "no
 * permissions to run"; a refused key is a different error. The arguments make
 * sense to few commands, and change nothing with any. */
static const char probe[] =
	"local refused = {}\n"
	"for name, n in string.gmatch(ARGV[1], '(%S+) (%d+)') do\n"
	"	local words = {'redlock:{doctor}:rights', '0', '0', '0'}\n"
	"	local answer = redis.pcall(name, unpack(words, 1, "
	"tonumber(n)))\n"
	"	local text = type(answer) == 'table' and answer.err or ''\n"
	"	if string.find(text, 'run this command') or\n"
	"	    string.find(text, 'permissions to run') then\n"
	"		refused[#refused + 1] = name\n"
	"	end\n"
	"end\n"
	"return refused\n";

void rights_request(enum right_kind kind, struct rights_scratch *scratch,
		    struct words *out)
{
	size_t used = 0;

	scratch->list[0] = '\0';
	for (int i = 0; i < rights_n && used < sizeof(scratch->list); i++)
		if (rights[i].kind == kind)
			used += (size_t)snprintf(scratch->list + used,
						 sizeof(scratch->list) - used,
						 "%s %d ", rights[i].command,
						 rights[i].words);
	(void)snprintf(scratch->script, sizeof(scratch->script), "%s%s",
		       kind == RIGHT_WRITE ? no_writes : "", probe);
	*out = (struct words){0};
	words_add_text(out, "EVAL");
	words_add_text(out, scratch->script);
	words_add_text(out, "0");
	words_add_text(out, scratch->list);
}
