/* SPDX-License-Identifier: MIT */
/* The commands that redlock sends. */
#include "lock/wire/rights.h"

#include <stdio.h>
#include <string.h>

#include "lock/wire/lua.inc"

/* clang-format off */
const struct right rights[] = {
	{"select", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"eval", RIGHT_PLAIN, 2, NEED_ALWAYS, NULL},
	{"evalsha", RIGHT_PLAIN, 2, NEED_ALWAYS, "each script is sent whole, and each handover takes longer"},
	{"getrange", RIGHT_READ, 3, NEED_ALWAYS, NULL},
	{"set", RIGHT_WRITE, 2, NEED_ALWAYS, NULL},
	{"del", RIGHT_WRITE, 1, NEED_ALWAYS, NULL},
	{"exists", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"type", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"pexpire", RIGHT_WRITE, 2, NEED_ALWAYS, NULL},
	{"pttl", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"time", RIGHT_READ, 0, NEED_ALWAYS, NULL},
	{"zadd", RIGHT_WRITE, 3, NEED_ALWAYS, NULL},
	{"zrem", RIGHT_WRITE, 2, NEED_ALWAYS, NULL},
	{"zscore", RIGHT_READ, 2, NEED_ALWAYS, NULL},
	{"zcount", RIGHT_READ, 3, NEED_ALWAYS, NULL},
	{"zrangebyscore", RIGHT_READ, 3, NEED_ALWAYS, NULL},
	{"zrevrange", RIGHT_READ, 3, NEED_ALWAYS, NULL},
	{"rpush", RIGHT_WRITE, 2, NEED_ALWAYS, NULL},
	{"blpop", RIGHT_PLAIN, 2, NEED_ALWAYS, NULL},
	{"lindex", RIGHT_READ, 2, NEED_ALWAYS, NULL},
	{"hget", RIGHT_READ, 2, NEED_ALWAYS, NULL},
	{"hmget", RIGHT_READ, 2, NEED_ALWAYS, NULL},
	{"hgetall", RIGHT_READ, 1, NEED_ALWAYS, NULL},
	{"hexists", RIGHT_READ, 2, NEED_ALWAYS, NULL},
	{"hset", RIGHT_WRITE, 3, NEED_ALWAYS, NULL},
	{"hdel", RIGHT_WRITE, 2, NEED_ALWAYS, NULL},
	{"xadd", RIGHT_WRITE, 4, NEED_ALWAYS, "no history is kept"},
	{"xrevrange", RIGHT_READ, 3, NEED_ALWAYS, "no history is kept"},
	{"info", RIGHT_PLAIN, 0, NEED_GUARD, "restarts, and two names for one server, go unnoticed"},
	{"role", RIGHT_PLAIN, 0, NEED_SENTINEL, "redlock cannot ask the server whether it is the master"},
	{"asking", RIGHT_PLAIN, 0, NEED_CLUSTER, NULL},
	{"cluster|myid", RIGHT_PLAIN, 0, NEED_CLUSTER, "redlock cannot tell a Cluster node from a single server"},
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
	*out = (struct words){0};
	words_add_text(out, "EVAL");
	words_add_text(out,
		       kind == RIGHT_WRITE ? LUA_RIGHTS_WRITE : LUA_RIGHTS);
	words_add_text(out, "0");
	words_add_text(out, scratch->list);
}
