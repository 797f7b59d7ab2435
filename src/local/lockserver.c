/* SPDX-License-Identifier: MIT */
/* The process that keeps the private server. */
#include "local/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "config.h"
#include "lock/wire/lua.inc"
#include "proc/title.h"
#include "proc/tree.h"

#define STEP_MS 2
#define FILES 10240 /* redis asks for 10,000 clients and 32 more */
#define STACK (8L << 20)
#define NO_PROGRAM 127 /* exit status of a server that cannot be executed */

struct kept {
	const char *socket;     /* its full name */
	char fresh[SOCKET_MAX]; /* that of LOCAL_NEW */
	char aof[LOCALDIR_AOF_MAX];
	bool old_aof; /* there was one */
	pid_t server;
	int said; /* what it writes to its standard output */
	char words[4096];
	size_t used;
};

/* ---- talking to the server ---- */

/* -1: there is no such server or, with EAGAIN, it no longer accepts connections
 * and its queue is full. We do not wait: that could take for ever, and no
 * signal would end it. */
static int socket_at(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -1;
	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Asks, and reads until `until` appears in the reply. false: it never did. */
static bool ask_server(int fd, const char *question, size_t n,
		       const char *until, char *reply, size_t size)
{
	struct instant deadline = after(now(), START_MS);
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	size_t used = 0;

	if (send(fd, question, n, MSG_NOSIGNAL) != (ssize_t)n)
		return false;
	reply[0] = '\0';
	while (used + 1 < size && !strstr(reply, until)) {
		ssize_t got;

		if (poll(&ready, 1, poll_ms(deadline, now())) <= 0)
			return false;
		got = read(fd, reply + used, size - used - 1);
		if (got < 0 && errno == EAGAIN)
			continue;
		if (got <= 0)
			return false;
		used += (size_t)got;
		reply[used] = '\0';
	}
	return strstr(reply, until) != NULL;
}

bool lockserver_answers(const char *path)
{
	static const char ping[] = "*1\r\n$4\r\nPING\r\n";
	int fd = socket_at(path);
	char reply[256];
	bool yes;

	if (fd < 0)
		return errno == EAGAIN; /* it hangs; a second one cannot help */
	yes = ask_server(fd, ping, sizeof(ping) - 1, "\r\n", reply,
			 sizeof(reply)) &&
	      strcmp(reply, "+PONG\r\n") == 0;
	close(fd);
	return yes;
}

/* Whether we are the only client, and only fences are stored. */
static bool is_idle(int fd)
{
	char question[sizeof(LUA_IDLE) + 100], reply[65536];
	int clients = 0;
	int n = snprintf(question, sizeof(question),
			 "*2\r\n$6\r\nCLIENT\r\n$4\r\nLIST\r\n"
			 "*3\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n0\r\n",
			 sizeof(LUA_IDLE) - 1, LUA_IDLE);

	if (!ask_server(fd, question, (size_t)n, "held\r\n", reply,
			sizeof(reply)) ||
	    !strstr(reply, "nothing is held"))
		return false;
	for (const char *p = reply; (p = strstr(p, "\nid=")); p++)
		clients++;
	return clients == 1;
}

/* ---- starting it ---- */

#define KEPT_READY 3
#define KEPT_LOCK 4
#define GIVEN_LOCK 3 /* inherited by the server */

/* The server is for all of the user's processes, so it inherits nothing from
 * the one that starts it, except limits that only root may raise again. */
static void start_from_known_values(void)
{
	static const int limits[] = {
		RLIMIT_AS,     RLIMIT_CPU,       RLIMIT_DATA,  RLIMIT_FSIZE,
		RLIMIT_NOFILE, RLIMIT_MEMLOCK,   RLIMIT_NPROC, RLIMIT_RSS,
		RLIMIT_STACK,  RLIMIT_SIGPENDING};
	const struct sched_param none = {0};
	cpu_set_t all;
	int fd;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		rlim_t most = limits[i] == RLIMIT_NOFILE  ? FILES
			      : limits[i] == RLIMIT_STACK ? STACK
							  : RLIM_INFINITY;
		struct rlimit new = {most, most}, old;

		if (setrlimit(limits[i], &new) == 0 ||
		    getrlimit(limits[i], &old) < 0)
			continue;
		new.rlim_max = old.rlim_max;
		new.rlim_cur = most < old.rlim_max ? most : old.rlim_max;
		(void)setrlimit(limits[i], &new);
	}
	(void)sched_setscheduler(0, SCHED_OTHER, &none);
	(void)setpriority(PRIO_PROCESS, 0, 0);
	memset(&all, 0xff, sizeof(all)); /* those that the cpuset allows */
	(void)sched_setaffinity(0, sizeof(all), &all);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, "0", 1);
		close(fd);
	}
}

/* Closes everything of the caller's, and cuts the server off from its signals
 * and terminal. */
static void leave_caller(int ready, int lock)
{
	struct sigaction act = {.sa_handler = SIG_DFL};
	sigset_t none;
	int null;

	(void)setsid();
	(void)!chdir("/");
	(void)umask(077);
	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &act, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* move both first: either may be 3 or 4 already */
	ready = fcntl(ready, F_DUPFD, 10);
	lock = fcntl(lock, F_DUPFD, 10);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(null, fd);
	(void)dup3(ready, KEPT_READY, O_CLOEXEC);
	(void)dup3(lock, KEPT_LOCK, O_CLOEXEC);
	descriptors_close(KEPT_LOCK + 1, ~0U);
	start_from_known_values();
}

/* In the server's process. The file is plain commands, so that any of the three
 * reads what another has written, and is rewritten when it has doubled. */
static void exec_server(const struct kept *k, pid_t keeper, int own, int said)
{
	static const char *const names[] = {"redis-server", "valkey-server",
					    "redict-server"};
	char *const nothing[] = {NULL}; /* of our environment */

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != keeper || chdir(k->aof) < 0 ||
	    dup2(own, GIVEN_LOCK) < 0)
		_exit(1);
	for (int fd = 1; fd <= 2; fd++)
		(void)dup2(said, fd);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		/* (exec takes them as char *, and changes none) */
		const char *const argv[] = {
			names[i],     "--port",
			"0",          "--unixsocket",
			k->fresh,     "--unixsocketperm",
			"700",        "--save",
			"",           "--appendonly",
			"yes",        "--appendfsync",
			"no",         "--aof-use-rdb-preamble",
			"no",         "--aof-load-truncated",
			"yes",        "--auto-aof-rewrite-percentage",
			"100",        "--auto-aof-rewrite-min-size",
			"1mb",        "--maxmemory-policy",
			"noeviction", "--loglevel",
			"warning",    NULL};

		(void)execvpe(names[i], (char *const *)argv, nothing);
	}
	_exit(NO_PROGRAM);
}

/* Keeps the end of what the server writes; the last line says why it did not
 * start. Reads on later, or a server whose disk fails could not write that and
 * would hang, or fail for that reason (Redis 6.0). */
static bool hear(struct kept *k)
{
	ssize_t n;

	if (k->used > sizeof(k->words) / 2) {
		k->used -= sizeof(k->words) / 2;
		memmove(k->words, k->words + sizeof(k->words) / 2, k->used);
	}
	n = read(k->said, k->words + k->used, sizeof(k->words) - 1 - k->used);
	if (n > 0)
		k->used += (size_t)n;
	k->words[k->used] = '\0';
	return n > 0;
}

/* "12:M 22 Nov 2026 13:31:00.000 # What is wrong" */
static const char *last_words(struct kept *k)
{
	char *end = k->words + k->used, *line, *mark;

	while (end > k->words && (end[-1] == '\n' || end[-1] == ' '))
		*--end = '\0';
	line = strrchr(k->words, '\n');
	line = line ? line + 1 : k->words;
	mark = strstr(line, " # ");
	return mark ? mark + 3 : line;
}

static int not_started(struct kept *k, int status, struct fail *why)
{
	bool failed = WIFEXITED(status) && WEXITSTATUS(status) != 0;
	char shown[121], advice[200] = "";
	const char *words;

	while (hear(k))
		;
	/* (the last words of a killed server are not the reason) */
	words = failed ? last_words(k) : "";
	if (failed && WEXITSTATUS(status) == NO_PROGRAM && words[0] == '\0')
		return fail(why, FAIL_CONFIG,
			    "local: needs redis-server, valkey-server or "
			    "redict-server, and none of them is in PATH "
			    "(apt-get install redis-server)");
	if (failed && k->old_aof)
		(void)snprintf(advice, sizeof(advice),
			       "; if nothing runs under its locks, remove "
			       "'%.*s%s'",
			       (int)(strrchr(k->socket, '/') + 1 - k->socket),
			       k->socket, k->aof);
	return fail(why, FAIL_UNAVAILABLE,
		    "local: the private server on '%s' did not start%s%s%s",
		    k->socket, words[0] ? ": " : "",
		    format_bytes(words, strlen(words), shown, sizeof(shown)),
		    advice);
}

/* The server listens before it has read its file, and answers LOADING: show its
 * socket to clients only when it is ready. */
static int await_answer(struct kept *k, struct instant deadline,
			struct fail *why)
{
	const struct timespec step = {0, STEP_MS * 1000000L};
	int status = 0;

	while (!lockserver_answers(LOCAL_NEW)) {
		(void)hear(k);
		if (waitpid(k->server, &status, WNOHANG) == k->server)
			return not_started(k, status, why);
		if (!before(now(), deadline)) {
			(void)kill(k->server, SIGKILL);
			(void)waitpid(k->server, NULL, 0);
			return not_started(k, 0, why);
		}
		(void)nanosleep(&step, NULL);
	}
	if (rename(LOCAL_NEW, LOCAL_SOCKET) < 0)
		return fail_sys(why, FAIL_UNAVAILABLE,
				"local: cannot create '%s'", k->socket);
	return 0;
}

static int start(struct kept *k, struct fail *why)
{
	struct instant deadline = after(now(), START_MS);
	int own = localdir_enter(k->socket, deadline, why);
	pid_t keeper = getpid();
	int said[2], rc;

	if (own < 0)
		return -1;
	rc = localdir_aof(k->aof);
	k->old_aof = rc > 0;
	if (rc < 0)
		return fail_sys(why, FAIL_UNAVAILABLE,
				"local: cannot create '%s' beside '%s'", k->aof,
				k->socket);
	if (pipe2(said, O_CLOEXEC) < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot create a pipe");
	k->said = said[0];
	(void)fcntl(k->said, F_SETFL, O_NONBLOCK);
	k->server = fork();
	if (k->server == 0)
		exec_server(k, keeper, own, said[1]);
	close(own);
	close(said[1]);
	if (k->server < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot fork");
	return await_answer(k, deadline, why);
}

/* ---- keeping it ---- */

/* A server that was idle, and then wrote nothing before it ended, had nothing
 * to remember. */
static void stop(const struct kept *k, int fd, int64_t length)
{
	static const char word[] = "*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n";
	char reply[64];

	(void)ask_server(fd, word, sizeof(word) - 1, "never", reply,
			 sizeof(reply));
	(void)kill(k->server, SIGKILL);
	(void)waitpid(k->server, NULL, 0);
	(void)unlink(LOCAL_RENAMED);
	if (localdir_length(k->aof) == length)
		localdir_forget(k->aof);
}

/* A client that comes between the rename and the end waits for the start lock,
 * and then finds no server, or this one again. A client that found the socket
 * just before may still be granted a lock, which is then in the file. */
static bool stop_if_idle(const struct kept *k)
{
	int lock = localdir_lock(LOCAL_SOCKET, now());
	bool idle = false;

	if (lock >= 0 && rename(LOCAL_SOCKET, LOCAL_RENAMED) == 0) {
		int fd = socket_at(LOCAL_RENAMED);
		int64_t length =
			fd >= 0 && is_idle(fd) ? localdir_length(k->aof) : -1;

		idle = length >= 0 && is_idle(fd);
		if (idle)
			stop(k, fd, length);
		else
			(void)rename(LOCAL_RENAMED, LOCAL_SOCKET);
		if (fd >= 0)
			close(fd);
	}
	if (lock >= 0)
		close(lock);
	return idle;
}

#define SOURCES 3

/* Tells us at once when the server ends or the socket is removed; without it,
 * we see that at the next check. */
static void open_sources(struct pollfd from[SOURCES], const struct kept *k)
{
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &chld, NULL);
	from[0].fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	from[1].fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (from[1].fd >= 0)
		(void)inotify_add_watch(from[1].fd, ".",
					IN_DELETE | IN_MOVED_FROM |
						IN_MOVED_TO | IN_MOVE_SELF);
	from[2].fd = k->said;
	for (int i = 0; i < SOURCES; i++)
		from[i].events = POLLIN;
}

static void wait_for_events(struct pollfd from[SOURCES], struct instant until)
{
	char news[4096];

	(void)poll(from, SOURCES, poll_ms(until, now()));
	for (int i = 0; i < SOURCES; i++) {
		ssize_t n = 1;

		while (from[i].fd >= 0 && from[i].revents && n > 0)
			n = read(from[i].fd, news, sizeof(news));
		if (n == 0) { /* it has closed it */
			close(from[i].fd);
			from[i].fd = -1;
		}
	}
}

/* Lives as long as the server, and checks twice per idle time. */
static void keep(const struct kept *k, int64_t idle_ms)
{
	int64_t quiet = 0, step = idle_ms / 2 > 0 ? idle_ms / 2 : 1;
	struct stat ours = {0}, there;
	struct instant look = after(now(), step);
	struct pollfd from[SOURCES];

	(void)stat(k->socket, &ours);
	open_sources(from, k);
	while (waitpid(k->server, NULL, WNOHANG) == 0) {
		int fd;

		wait_for_events(from, look);
		/* removed, moved, or another server's by now: no client can
		 * find us */
		if (stat(k->socket, &there) < 0 ||
		    there.st_ino != ours.st_ino ||
		    there.st_dev != ours.st_dev) {
			(void)kill(k->server, SIGKILL);
			(void)waitpid(k->server, NULL, 0);
			return;
		}
		if (before(now(), look))
			continue;
		look = after(now(), step);
		fd = socket_at(LOCAL_SOCKET);
		quiet = fd >= 0 && is_idle(fd) ? quiet + step : 0;
		if (fd >= 0)
			close(fd);
		if (quiet >= idle_ms && stop_if_idle(k))
			return;
	}
}

void lockserver_keep(const char *socket, int64_t idle_ms, int ready, int lock)
{
	struct kept k = {.socket = socket};
	struct fail why = {.kind = FAIL_NONE};
	int dir = (int)(strrchr(socket, '/') - socket);

	(void)snprintf(k.fresh, sizeof(k.fresh), "%.*s/%s", dir, socket,
		       LOCAL_NEW);

	leave_caller(ready, lock);
	(void)prctl(PR_SET_NAME, LOCKSERVER, 0, 0, 0);
	title_set(LOCKSERVER, socket);
	(void)start(&k, &why);
	/* who waited may have given up */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)!write(KEPT_READY, &why, sizeof(why));
	(void)signal(SIGPIPE, SIG_DFL);
	close(KEPT_READY);
	close(KEPT_LOCK);
	if (why.kind == FAIL_NONE)
		keep(&k, idle_ms);
}
