/* SPDX-License-Identifier: MIT */
/*
 * What a server's errors mean for a lock, and what to do: the rows of the table
 * in net/errors.c, which alone includes this, after its header. The first row
 * that matches counts. A row:
 *
 *	{source, the error's beginning, "" or a text somewhere in it, kind,
 *	 meaning, what to do},
 *
 * A user reads "MEANING; WHAT TO DO (the server's first sentence)" or, without
 * a meaning, only the server's words. The source is a server that grants locks
 * (in a Cluster or not: BOTH), or a Sentinel. The kind decides the exit status;
 * FAIL_UNAVAILABLE is worth another try.
 */
#ifndef NET_ERROR_ROWS_H
#define NET_ERROR_ROWS_H

#define ONE ERROR_FROM_SERVER
#define MEMBER ERROR_FROM_CLUSTER
#define BOTH (ERROR_FROM_SERVER | ERROR_FROM_CLUSTER)
#define SENTINEL ERROR_FROM_SENTINEL
#define ALL (BOTH | SENTINEL)

/* what it means */
#define NO_RIGHT "the user lacks a right"
#define NO_RIGHT_TO_KEY "the user has no right to a key of this lock"
#define MAY_NOT_LOOK "the user may not look for locks"
#define WANTS_PASSWORD "the server requires a password"
#define HAS_NO_PASSWORD "a password was given, but the server has none"
#define NO_DATABASE "the server has no such database"
#define IS_MOVING "the lock is moving to another node of the Cluster"
#define NO_COMMAND                                                             \
	"a command that redlock's scripts need is unknown, renamed or "        \
	"forbidden there, so it cannot hold redlock's locks"

/* what to do */
#define LEAVE_IT_OUT "leave it out: see --password-file and REDISCLI_AUTH"
#define ALLOW_TO_LOOK "to allow it: ACL SETUSER NAME +scan +info"
#define OTHER_DATABASE                                                         \
	"give a lower number, or raise `databases` in its configuration"
#define GIVE_MASTER "give its master, or redis-sentinel://"
#define THIS_PASSES "this passes"
#define GIVE_PASSWORD "see --password-file and REDISCLI_AUTH"
#define RIGHTS "redlock doctor KEY prints the rights that redlock needs"
#define KEYS                                                                   \
	"it needs ~KEY ~KEY:redlock:* (redlock doctor KEY prints the whole "   \
	"line)"
#define NEED_CLUSTER "write redis-cluster://, not redis://"

struct error_row {
	enum error_from from; /* several: ored */
	const char *prefix, *part;
	enum fail_kind kind;
	const char *means, *cure; /* NULL: none */
};

/* clang-format off */
static const struct error_row error_rows[] = {

/* ---- passwords and rights ---- */

{SENTINEL, "NOAUTH", "", FAIL_REFUSED, "it requires a password",
 "give it with ?sentinel-password-file="},
{BOTH, "NOAUTH", "", FAIL_REFUSED, WANTS_PASSWORD, GIVE_PASSWORD},
/* Redis 7 limits the length of requests before AUTH */
{ALL, "ERR Protocol error: unauthenticated", "", FAIL_REFUSED,
 WANTS_PASSWORD, GIVE_PASSWORD},
{ALL, "WRONGPASS", "", FAIL_REFUSED,
 "wrong user name or password, or the user is disabled", NULL},
{ALL, "ERR invalid password", "", FAIL_REFUSED, "wrong password", NULL},
{ALL, "DENIED", "", FAIL_REFUSED,
 "the server is in protected mode and lets in only its own machine",
 "set a password there, or connect from there"},
{BOTH, "NOPERM", "'scan'", FAIL_REFUSED, MAY_NOT_LOOK, ALLOW_TO_LOOK},
{BOTH, "NOPERM", "'info'", FAIL_REFUSED, MAY_NOT_LOOK, ALLOW_TO_LOOK},
{BOTH, "NOPERM", " access ", FAIL_REFUSED, NO_RIGHT_TO_KEY, KEYS},
{BOTH, "NOPERM", "", FAIL_REFUSED, NO_RIGHT, RIGHTS},
{SENTINEL, "NOPERM", "", FAIL_REFUSED, NO_RIGHT, NULL},
/* in a script: up to 6.2, 7.0, and from 7.2 on */
{BOTH, "The user executing the script", " access ", FAIL_REFUSED,
 NO_RIGHT_TO_KEY, KEYS},
{BOTH, "ERR The user executing the script", " access ", FAIL_REFUSED,
 NO_RIGHT_TO_KEY, KEYS},
{BOTH, "ERR ACL failure in script", " access ", FAIL_REFUSED,
 NO_RIGHT_TO_KEY, KEYS},
{BOTH, "The user executing the script", "", FAIL_REFUSED, NO_RIGHT, RIGHTS},
{BOTH, "ERR The user executing the script", "", FAIL_REFUSED, NO_RIGHT, RIGHTS},
{BOTH, "ERR ACL failure in script", "", FAIL_REFUSED, NO_RIGHT, RIGHTS},
/* before 6.0 (Sentinels: 6.2), there are no users */
{ALL, "ERR wrong number of arguments for 'auth'", "", FAIL_REFUSED,
 "it has no users (servers have them since 6.0, Sentinels since 6.2)",
 "leave out the user name"},
{ALL, "ERR AUTH <password> called without", "", FAIL_REFUSED,
 HAS_NO_PASSWORD, LEAVE_IT_OUT},
{ALL, "ERR Client sent AUTH", "", FAIL_REFUSED, HAS_NO_PASSWORD, LEAVE_IT_OUT},
{ALL, "ERR AUTH", "", FAIL_REFUSED, NULL, NULL},

/* ---- servers that redlock cannot use ---- */

{SENTINEL, "ERR unknown command", "", FAIL_CONFIG, "it is not a Sentinel",
 "they usually listen on port 26379"},
{BOTH, "ERR unknown command: AUTH was refused", "", FAIL_CONFIG, NULL, NULL},
{BOTH, "ERR unknown command", "eval", FAIL_CONFIG,
 "the server runs no scripts, so redlock cannot lock there",
 "start Garnet with --lua; other servers and services without EVAL will not "
 "do"},
{BOTH, "ERR unknown command", "", FAIL_CONFIG,
 "the server lacks a command that redlock needs",
 "use Redis 6.0, Valkey 7.2, or later"},
{BOTH, "Unknown ", "called from", FAIL_CONFIG, NO_COMMAND, NULL},
{BOTH, "ERR Unknown ", "called from", FAIL_CONFIG, NO_COMMAND, NULL},
/* Redis 8, for readers and nested runs while a slot moves */
{BOTH, "", "during rehashing", FAIL_UNAVAILABLE, IS_MOVING, THIS_PASSES},
{BOTH, "", "undeclared key", FAIL_CONFIG,
 "its scripts may only use the keys that they declare: it can hold plain "
 "locks, but no other kind",
 "allow undeclared keys (see its manual)"},
{BOTH, "ERR DB index", "", FAIL_CONFIG, NO_DATABASE, OTHER_DATABASE},
{BOTH, "ERR invalid DB index", "", FAIL_CONFIG, NO_DATABASE, OTHER_DATABASE},
{BOTH, "ERR SELECT is not allowed", "", FAIL_CONFIG,
 "the server has only database 0", "leave out the number"},
{ONE, "CROSSSLOT", "", FAIL_CONFIG, "the server belongs to a Cluster",
 NEED_CLUSTER},
/* (with a Cluster URL, redirections are followed) */
{ONE, "MOVED ", "", FAIL_CONFIG,
 "the server belongs to a Cluster, and the lock is on another of its nodes",
 NEED_CLUSTER},
{ONE, "ASK ", "", FAIL_CONFIG,
 "the server belongs to a Cluster, and the lock moves to another of its nodes",
 NEED_CLUSTER},
{BOTH, "CROSSSLOT", "", FAIL_CONFIG, NULL, NULL},
{BOTH, "MOVED ", "", FAIL_CONFIG, NULL, NULL},
{BOTH, "ASK ", "", FAIL_CONFIG, NULL, NULL},
{BOTH, "WRONGTYPE", "", FAIL_CONFIG,
 "a key of this lock holds something that is not redlock's",
 "redlock doctor KEY says which"},

/* ---- what passes, or must be mended there ---- */

{ONE, "CLUSTERDOWN", "", FAIL_UNAVAILABLE,
 "the server belongs to a Cluster, which does not serve this lock",
 NEED_CLUSTER ", and see CLUSTER INFO"},
{MEMBER, "CLUSTERDOWN", "", FAIL_UNAVAILABLE,
 "the Cluster does not serve this lock: a node is down, or slots have none",
 "see CLUSTER INFO"},
{BOTH, "TRYAGAIN", "", FAIL_UNAVAILABLE, IS_MOVING, THIS_PASSES},
{BOTH, "OOM", "", FAIL_UNAVAILABLE,
 "the server's memory is full: it grants no new lock, but renews those that "
 "are held",
 "raise maxmemory or delete keys, and keep maxmemory-policy noeviction"},
{BOTH, "READONLY", "", FAIL_UNAVAILABLE,
 "the server is a replica, which grants no lock",
 GIVE_MASTER},
{BOTH, "MASTERDOWN", "", FAIL_UNAVAILABLE,
 "the server is a replica whose master is down",
 GIVE_MASTER},
{BOTH, "NOREPLICAS", "", FAIL_UNAVAILABLE,
 "the server grants nothing until it has enough replicas",
 "start them again, or lower min-replicas-to-write"},
{BOTH, "MISCONF", "", FAIL_UNAVAILABLE,
 "the server cannot write to its disk, and so grants nothing",
 "free space on its disk and see its log"},
{BOTH, "LOADING", "", FAIL_UNAVAILABLE,
 "the server has started and still loads its data", THIS_PASSES},
{BOTH, "BUSY ", "", FAIL_UNAVAILABLE,
 "a script keeps the server from answering anybody",
 "wait for it to end, or stop it with SCRIPT KILL"},
{ALL, "ERR max number of clients", "", FAIL_UNAVAILABLE,
 "the server takes no more connections",
 "end idle clients, or raise maxclients (CONFIG SET maxclients N, from a "
 "client that is still connected)"},
/* all other errors may pass */
};
/* clang-format on */

#endif
