/* SPDX-License-Identifier: MIT */
/*
 * What lib/common does for every test, in one process instead of many.
 *
 *   kit ask NODE COMMAND...   the answer, as redis-cli gives it to a file
 *   kit ask NODE              the same for each line of standard input
 *   kit each NODE...          the same for each node, each followed by "end"
 *   kit await NODE ANSWER COMMAND...
 *                             until the answer is this; asks for up to 20 s
 *   kit lend DIR NAME [TO]    makes node NAME of DIR available in TO or a new
 *                             directory, and prints which
 *   kit state NODE            empties a server, and prints its state
 *   kit processes MARK        processes with that mark: "PID COMMAND LINE"
 *   kit called NAME --mark MARK
 *   kit called NAME --at PREFIX
 *                             the pids of the processes of that name that carry
 *                             the mark, or whose directory begins with that
 *   kit locks NODE            the keys that are left of locks: 1 if any is
 *   kit left MARK [--lent NODE FILE]... NODE...
 *                             what should not be there after a test: processes
 *                             with the mark, locks on the nodes. Waits for 20 s
 *                             and says what stays: status 1. Else the mark's
 *                             directory goes, with the servers in it, and the
 *                             FILE of each that is not in the state it tells
 *
 * NODE is DIR/NAME: its socket is NODE.sock, and NODE.auth has its password, if
 * there is one, else REDISCLI_AUTH.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <hiredis.h>
#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WORDS_MAX 64
#define WAIT_MS 20000
#define TOKENS " \t\r\n"

static int usage(void)
{
	(void)fputs("kit: see kit.c\n", stderr);
	return 99;
}

static void path_of(char *path, const char *node, const char *suffix)
{
	(void)snprintf(path, PATH_MAX, "%s%s", node, suffix);
}

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	const struct timespec t = {0, ms * 1000000};

	(void)nanosleep(&t, NULL);
}

/* ---- one server ---- */

/* As redis-cli: of a file beside the socket, or of the environment. */
static int find_password(const char *node, char *password, int size)
{
	const char *set = getenv("REDISCLI_AUTH");
	char path[PATH_MAX];
	FILE *file;

	path_of(path, node, ".auth");
	file = fopen(path, "r");
	if (!file) {
		(void)snprintf(password, (size_t)size, "%s", set ? set : "");
		return set && set[0];
	}
	if (!fgets(password, size, file))
		password[0] = '\0';
	(void)fclose(file);
	password[strcspn(password, "\n")] = '\0';
	return 1;
}
static int authenticate(redisContext *to, const char *node)
{
	char password[512];
	redisReply *reply;

	if (!find_password(node, password, sizeof(password)))
		return 0;
	reply = redisCommand(to, "AUTH %s", password);
	if (!reply)
		return -1;
	if (reply->type == REDIS_REPLY_ERROR)
		(void)fprintf(stderr, "AUTH failed: %s\n", reply->str);
	freeReplyObject(reply);
	return 0;
}

/* (of a server that is frozen it would hear nothing for ever) */
static redisContext *reach(const char *node)
{
	const struct timeval limit = {WAIT_MS / 1000, 0};
	char path[PATH_MAX];
	redisContext *to;

	path_of(path, node, ".sock");
	to = redisConnectUnixWithTimeout(path, limit);
	if (to && !to->err && !redisSetTimeout(to, limit) &&
	    !authenticate(to, node))
		return to;
	(void)fprintf(stderr, "Could not connect to Redis at %s: %s\n", path,
		      to && to->err ? to->errstr : "closed");
	redisFree(to);
	return NULL;
}

static void show(const redisReply *reply, FILE *to)
{
	switch (reply->type) {
	case REDIS_REPLY_INTEGER:
		(void)fprintf(to, "%lld", reply->integer);
		break;
	case REDIS_REPLY_NIL:
		break;
	case REDIS_REPLY_ARRAY:
		for (size_t i = 0; i < reply->elements; i++) {
			if (i)
				(void)fputc('\n', to);
			show(reply->element[i], to);
		}
		break;
	case REDIS_REPLY_ERROR:
		(void)fprintf(to, "%s\n", reply->str);
		break;
	default:
		(void)fwrite(reply->str, 1, reply->len, to);
	}
}

static int ask(redisContext *to, int argc, const char **argv, FILE *out)
{
	redisReply *reply = redisCommandArgv(to, argc, argv, NULL);

	if (!reply) {
		(void)fprintf(stderr, "Error: %s\n", to->errstr);
		return 1;
	}
	show(reply, out);
	(void)fputc('\n', out);
	freeReplyObject(reply);
	return 0;
}

static int ask_line(redisContext *to, char *line, FILE *out)
{
	const char *words[WORDS_MAX];
	int n = 0;
	char *rest, *word = strtok_r(line, TOKENS, &rest);

	for (; word && n < WORDS_MAX; word = strtok_r(NULL, TOKENS, &rest))
		words[n++] = word;
	return n ? ask(to, n, words, out) : 0;
}

static int cmd_ask(int argc, char **argv)
{
	redisContext *to;
	int bad = 0;
	char line[4096];

	if (argc < 1)
		return usage();
	to = reach(argv[0]);
	if (!to)
		return 1;
	if (argc > 1)
		bad = ask(to, argc - 1, (const char **)argv + 1, stdout);
	while (argc == 1 && !bad && fgets(line, sizeof(line), stdin))
		bad = ask_line(to, line, stdout);
	redisFree(to);
	return bad;
}

static int cmd_each(int argc, char **argv)
{
	static char lines[16][4096];
	char line[sizeof(*lines)];
	redisContext *to;
	int n = 0;

	while (n < 16 && fgets(lines[n], sizeof(*lines), stdin))
		n++;
	for (int i = 0; i < argc; i++) {
		int bad = 0;

		to = reach(argv[i]);
		for (int j = 0; to && j < n && !bad; j++) {
			(void)memcpy(line, lines[j], sizeof(line));
			bad = ask_line(to, line, stdout);
		}
		if (to)
			redisFree(to);
		puts("end");
	}
	return 0;
}

static int is_answer(const char *node, const char *answer, int argc,
		     const char **argv)
{
	static char is[4096];
	FILE *out = fmemopen(is, sizeof(is), "w");
	redisContext *to;
	int same = 0;
	char path[PATH_MAX];

	/* (not there yet: nothing is said about that) */
	path_of(path, node, ".sock");
	to = access(path, F_OK) ? NULL : redisConnectUnix(path);
	if (to && !to->err && !authenticate(to, node) && out) {
		same = !ask(to, argc, argv, out) && !fflush(out);
		is[strcspn(is, "\n")] = '\0';
		same = same && strcmp(is, answer) == 0;
	}
	if (to)
		redisFree(to);
	if (out)
		(void)fclose(out);
	return same;
}

static int cmd_await(int argc, char **argv)
{
	int64_t end = now_ms() + WAIT_MS;

	if (argc < 3)
		return usage();
	while (!is_answer(argv[0], argv[1], argc - 2,
			  (const char **)argv + 2)) {
		if (now_ms() >= end)
			return 1;
		pause_ms(5);
	}
	return 0;
}

static int cmd_lend(const char *from, const char *name, const char *to)
{
	static const char *const suffixes[] = {".sock", ".pid", ".log"};
	const char *tmp = getenv("TMPDIR");
	char dir[PATH_MAX / 2], is[PATH_MAX], link[PATH_MAX];

	(void)snprintf(dir, sizeof(dir), "%s/rl.XXXXXX",
		       tmp && *tmp ? tmp : "/tmp");
	if (to)
		(void)snprintf(dir, sizeof(dir), "%s", to);
	else if (!mkdtemp(dir)) {
		perror(dir);
		return 1;
	}
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		(void)snprintf(is, sizeof(is), "%s/%s%s", from, name,
			       suffixes[i]);
		(void)snprintf(link, sizeof(link), "%s/%s%s", dir, name,
			       suffixes[i]);
		if (symlink(is, link)) {
			perror(link);
			return 1;
		}
	}
	puts(dir);
	return 0;
}

/* What tells a server that was used from a new one. */
static int state(const char *node, FILE *out)
{
	static const char *const lines[] = {
		"flushall",      "script flush",  "config resetstat",
		"slowlog reset", "acl log reset", "acl list",
		"role",          "config get *",
	};
	redisContext *to = reach(node);
	char line[64];
	int bad = 0;

	if (!to)
		return 1;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines) && !bad; i++) {
		(void)snprintf(line, sizeof(line), "%s", lines[i]);
		bad = ask_line(to, line, out);
	}
	redisFree(to);
	return bad;
}

static int as_it_was(const char *node, const char *file)
{
	char *is = NULL, was[1 << 16];
	size_t length = 0, n;
	FILE *memory = open_memstream(&is, &length), *from = fopen(file, "r");
	int same = 0;

	if (memory && from && !state(node, memory) && !fflush(memory)) {
		n = fread(was, 1, sizeof(was), from);
		same = n == length && memcmp(was, is, n) == 0;
	}
	if (memory)
		(void)fclose(memory);
	if (from)
		(void)fclose(from);
	free(is);
	return same;
}

/* The word for a renewal that comes after the lock was released or taken in the
 * holder's name, or for a waiter that was superseded: it expires. */
static int is_word(redisContext *to, const char *key)
{
	redisReply *reply;
	int is;

	if (!strstr(key, ":grant:"))
		return 0;
	reply = redisCommand(to, "LRANGE %s 0 -1", key);
	is = reply && reply->type == REDIS_REPLY_ARRAY &&
	     reply->elements >= 1 &&
	     (strcmp(reply->element[0]->str, "unlocked") == 0 ||
	      strncmp(reply->element[0]->str, "superseded\n", 11) == 0 ||
	      strncmp(reply->element[0]->str, "taken\n", 6) == 0);
	if (reply)
		freeReplyObject(reply);
	if (!is)
		return 0;
	reply = redisCommand(to, "PTTL %s", key);
	is = reply && reply->type == REDIS_REPLY_INTEGER && reply->integer > 0;
	if (reply)
		freeReplyObject(reply);
	return is;
}

/*
 * The state of a lock outlives it by design, with the fence counter, and so
 * do the history and the mark of --once-per;
 * for a while, that word; nothing else does.
 */
static int locks(const char *node, FILE *out)
{
	static const char stays[] = "redlock:(.*:)?(state|once|log)$";
	redisContext *to;
	redisReply *reply;
	regex_t pattern;
	char path[PATH_MAX];
	int n = 0;

	path_of(path, node, ".sock");
	if (access(path, F_OK))
		return 0;
	if (regcomp(&pattern, stays, REG_EXTENDED | REG_NOSUB))
		return usage();
	to = reach(node);
	/* a replica in a Cluster tells what it has; another server refuses */
	reply = to ? redisCommand(to, "READONLY") : NULL;
	if (reply)
		freeReplyObject(reply);
	reply = to ? redisCommand(to, "KEYS *") : NULL;
	for (size_t i = 0; reply && i < reply->elements; i++) {
		const char *key = reply->element[i]->str;

		if (!regexec(&pattern, key, 0, NULL, 0) || is_word(to, key))
			continue;
		(void)fprintf(out, "on %s: %s\n", node, key);
		n++;
	}
	if (reply && reply->type == REDIS_REPLY_ERROR) {
		(void)fprintf(out, "on %s: %s\n", node, reply->str);
		n++;
	}
	if (to && !reply) {
		(void)fprintf(out, "on %s: no answer\n", node);
		n++;
	}
	if (reply)
		freeReplyObject(reply);
	if (to)
		redisFree(to);
	regfree(&pattern);
	return n;
}

/* ---- processes ---- */

static size_t slurp(int proc, const char *pid, const char *what, char *text,
		    size_t size)
{
	char path[64];
	size_t n = 0;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", pid, what);
	fd = openat(proc, path, O_RDONLY);
	if (fd < 0)
		return 0;
	while (n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
		n += (size_t)got;
	(void)close(fd);
	text[n] = '\0';
	return n;
}

/* of redlock's and its commands, not the test's own shell and what it runs */
static int is_watched(int proc, const char *pid)
{
	static const char *const names[] = {
		"redlock",   "lockguard", "lockcommand", "lockkeeper",
		"lockgroup", "lockinit",  "witness",     "linger",
		"sleep",     "sh"};
	char name[64];

	if (!slurp(proc, pid, "comm", name, sizeof(name)))
		return 0;
	name[strcspn(name, "\n")] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return 1;
	return 0;
}

static int has_mark(int proc, const char *pid, const char *mark)
{
	static char text[1 << 20];
	char want[PATH_MAX];
	const char *at = text, *end;

	(void)snprintf(want, sizeof(want), "REDLOCK_TEST_ID=%s", mark);
	end = text + slurp(proc, pid, "environ", text, sizeof(text));
	for (; at < end; at += strlen(at) + 1)
		if (strcmp(at, want) == 0)
			return 1;
	return 0;
}

static int processes(const char *mark, FILE *out)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		const char *pid = entry->d_name;
		char text[4096];
		size_t length;

		if (!isdigit((unsigned char)*pid) ||
		    !is_watched(dirfd(dir), pid) ||
		    !has_mark(dirfd(dir), pid, mark))
			continue;
		length = slurp(dirfd(dir), pid, "cmdline", text, sizeof(text));
		for (size_t i = 0; i < length; i++)
			if (!text[i] || text[i] == '\n')
				text[i] = ' ';
		(void)fprintf(out, "%s %s\n", pid, text);
		n++;
	}
	if (dir)
		(void)closedir(dir);
	return n;
}

/* ---- after a test ---- */

/* It has this name and, unless that is NULL, is in a directory that begins so.
 */
static int is_at(int proc, const char *pid, const char *name,
		 const char *prefix)
{
	char path[64], is[PATH_MAX];
	size_t length = strlen(name);
	ssize_t n;

	if (!isdigit((unsigned char)*pid) ||
	    !slurp(proc, pid, "comm", is, sizeof(is)) ||
	    strncmp(is, name, length) != 0 || is[length] != '\n')
		return 0;
	if (!prefix)
		return 1;
	(void)snprintf(path, sizeof(path), "%.16s/cwd", pid);
	n = readlinkat(proc, path, is, sizeof(is) - 1);
	is[n > 0 ? n : 0] = '\0'; /* (a zombie is nowhere) */
	return n > 0 && strncmp(is, prefix, strlen(prefix)) == 0;
}

static int cmd_called(const char *name, const char *how, const char *what)
{
	int by_mark = strcmp(how, "--mark") == 0;
	DIR *all = opendir("/proc");
	struct dirent *entry;

	if (!all || (!by_mark && strcmp(how, "--at") != 0))
		return usage();
	while ((entry = readdir(all))) {
		const char *pid = entry->d_name;

		if (is_at(dirfd(all), pid, name, by_mark ? NULL : what) &&
		    (!by_mark || has_mark(dirfd(all), pid, what)))
			puts(pid);
	}
	(void)closedir(all);
	return 0;
}

/* Those below a directory, which is no other's beginning. */
static void kill_servers(const char *dir)
{
	DIR *all = opendir("/proc");
	struct dirent *entry;

	while (all && (entry = readdir(all))) {
		const char *pid = entry->d_name;

		if (!is_at(dirfd(all), pid, "redis-server", dir))
			continue;
		(void)kill(atoi(pid), SIGKILL);
		while (is_at(dirfd(all), pid, "redis-server", dir))
			pause_ms(1);
	}
	if (all)
		(void)closedir(all);
}

static int remove_one(const char *path, const struct stat *is, int type,
		      struct FTW *at)
{
	(void)is;
	(void)type;
	(void)at;
	(void)remove(path);
	return 0;
}

static int left(const char *mark, int nodes, char **node, FILE *out)
{
	int n = processes(mark, out);

	for (int i = 0; i < nodes; i++)
		n += locks(node[i], out);
	return n;
}

static int cmd_left(int argc, char **argv)
{
	const char *mark = argv[0];
	char **lent = argv + 1;
	FILE *nowhere = fopen("/dev/null", "w");
	int64_t end = now_ms() + WAIT_MS;
	long ms = 5;
	int lends = 0;

	/* (servers below "" would be all servers of this machine) */
	if (argc < 1 || argv[0][0] != '/' || !nowhere)
		return usage();
	argc--, argv++;
	while (argc > 2 && strcmp(argv[0], "--lent") == 0) {
		lends++;
		argc -= 3, argv += 3;
	}
	while (left(mark, argc, argv, nowhere)) {
		if (now_ms() >= end)
			return left(mark, argc, argv, stderr) > 0;
		pause_ms(ms);
		ms += ms < 50 ? 5 : 0; /* each look is at every process */
	}
	for (int i = 0; i < lends; i++)
		if (!as_it_was(lent[i * 3 + 1], lent[i * 3 + 2]))
			(void)unlink(lent[i * 3 + 2]);
	kill_servers(mark);
	(void)nftw(mark, remove_one, 64, FTW_DEPTH | FTW_PHYS);
	return 0;
}

int main(int argc, char **argv)
{
	/* a master that becomes a replica closes all connections */
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc < 3)
		return usage();
	if (strcmp(argv[1], "ask") == 0)
		return cmd_ask(argc - 2, argv + 2);
	if (strcmp(argv[1], "each") == 0)
		return cmd_each(argc - 2, argv + 2);
	if (strcmp(argv[1], "await") == 0)
		return cmd_await(argc - 2, argv + 2);
	if (strcmp(argv[1], "lend") == 0 && argc > 3)
		return cmd_lend(argv[2], argv[3], argc > 4 ? argv[4] : NULL);
	if (strcmp(argv[1], "state") == 0)
		return state(argv[2], stdout);
	if (strcmp(argv[1], "processes") == 0)
		return processes(argv[2], stdout) < 0;
	if (strcmp(argv[1], "called") == 0 && argc == 5)
		return cmd_called(argv[2], argv[3], argv[4]);
	if (strcmp(argv[1], "locks") == 0)
		return locks(argv[2], stdout) > 0;
	if (strcmp(argv[1], "left") == 0)
		return cmd_left(argc - 2, argv + 2);
	return usage();
}
