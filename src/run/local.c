/* SPDX-License-Identifier: MIT */
/* The private server and its keeper. */
#include "run/local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "config.h"
#include "run/title.h"
#include "run/tree.h"

#define START_MS 5000 /* the server answers within 12..33 ms as a rule */
#define STEP_MS 2
#define NO_PROGRAM 127 /* exit status of a server that cannot be executed */

/* Keys that may go with the server, when nobody holds or waits: fences are born
 * from the clock again, and the history ends with it. */
static const char idle_lua[] =
	"local may_go = {fence = 1, log = 1, moves = 1, newest = 1} "
	"for _, k in ipairs(redis.call('keys', '*')) do "
	"if not may_go[string.match(k, '^redlock:{.-}:(%l+):')] then "
	"return 'held' end end "
	"return 'nothing is held'";

int local_path(const char *runtime_dir, char *path, size_t size,
	       struct fail *why)
{
	char dir[100];
	struct stat st;
	int n;

	if (runtime_dir && runtime_dir[0] == '/')
		n = snprintf(dir, sizeof(dir), "%s/redlock", runtime_dir);
	else
		n = snprintf(dir, sizeof(dir), "/tmp/redlock-%ld",
			     (long)getuid());
	if (n >= (int)sizeof(dir) ||
	    snprintf(path, size, "%s/redis.sock", dir) >= (int)size)
		return fail(why, FAIL_CONFIG,
			    "local: XDG_RUNTIME_DIR is too long for a socket");
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return fail_sys(why, FAIL_CONFIG, "local: cannot make '%s'",
				dir);
	if (lstat(dir, &st) < 0)
		return fail_sys(why, FAIL_CONFIG, "local: '%s'", dir);
	if (!S_ISDIR(st.st_mode) || st.st_uid != getuid() || st.st_mode & 077)
		return fail(why, FAIL_CONFIG,
			    "local: '%s' must be a directory that only you "
			    "own and can enter (chmod 700)",
			    dir);
	return 0;
}

static int start_lock(const char *path)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "%s.lock", path);
	return open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static int socket_at(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Asks and reads until `until` stands in the reply; false: it never came. */
static bool ask(int fd, const char *question, size_t n, const char *until,
		char *reply, size_t size)
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
		if (got <= 0)
			return false;
		used += (size_t)got;
		reply[used] = '\0';
	}
	return strstr(reply, until) != NULL;
}

static bool answers(const char *path)
{
	static const char ping[] = "*1\r\n$4\r\nPING\r\n";
	int fd = socket_at(path);
	char reply[64];
	bool yes;

	if (fd < 0)
		return false;
	yes = ask(fd, ping, sizeof(ping) - 1, "+PONG\r\n", reply,
		  sizeof(reply));
	close(fd);
	return yes;
}

/* ---- in the keeper ---- */

#define KEPT_READY 3
#define KEPT_LOCK 4

/* Nothing of the caller's stays open, and no signal or terminal of its
 * reaches the server. */
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
	/* out of the way first: either may be 3 or 4 already */
	ready = fcntl(ready, F_DUPFD, 10);
	lock = fcntl(lock, F_DUPFD, 10);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(null, fd);
	(void)dup3(ready, KEPT_READY, O_CLOEXEC);
	(void)dup3(lock, KEPT_LOCK, O_CLOEXEC);
#ifdef HAVE_CLOSE_RANGE
	if (close_range(KEPT_LOCK + 1, ~0U, 0) == 0)
		return;
#endif
	for (int fd = KEPT_LOCK + 1; fd < sysconf(_SC_OPEN_MAX); fd++)
		close(fd);
}

static void exec_server(const char *path)
{
	static const char *const names[] = {"redis-server", "valkey-server"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)execlp(names[i], names[i], "--port", "0", "--unixsocket",
			     path, "--unixsocketperm", "700", "--save", "",
			     "--appendonly", "no", "--maxmemory-policy",
			     "noeviction", "--loglevel", "warning",
			     (char *)NULL);
	_exit(NO_PROGRAM);
}

/* The asker is the only client, and nothing but fences is stored. */
static bool is_idle(int fd)
{
	char question[512], reply[65536];
	int clients = 0;
	int n = snprintf(question, sizeof(question),
			 "*2\r\n$6\r\nCLIENT\r\n$4\r\nLIST\r\n"
			 "*3\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n0\r\n",
			 sizeof(idle_lua) - 1, idle_lua);

	if (!ask(fd, question, (size_t)n, "held\r\n", reply, sizeof(reply)) ||
	    !strstr(reply, "nothing is held"))
		return false;
	for (const char *p = reply; (p = strstr(p, "\nid=")); p++)
		clients++;
	return clients == 1;
}

/* Whoever comes between the rename and the end waits for the start lock, and
 * then finds no server, or this one again. */
static bool stop_if_idle(const char *path)
{
	static const char stop[] = "*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n";
	int lock = start_lock(path);
	char aside[128], reply[64];
	bool idle = false;
	int fd;

	(void)snprintf(aside, sizeof(aside), "%s.idle", path);
	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 &&
	    rename(path, aside) == 0) {
		fd = socket_at(aside);
		idle = fd >= 0 && is_idle(fd);
		if (idle)
			(void)ask(fd, stop, sizeof(stop) - 1, "never", reply,
				  sizeof(reply));
		if (fd >= 0)
			close(fd);
		(void)(idle ? unlink(aside) : rename(aside, path));
	}
	if (lock >= 0)
		close(lock);
	return idle;
}

/* Lives as long as the server does, and looks twice per idle time. */
static void keep(const char *path, int64_t idle_ms, pid_t server)
{
	int64_t quiet = 0, step = idle_ms / 2 > 0 ? idle_ms / 2 : 1;
	const struct timespec pause = {(time_t)(step / 1000),
				       (long)(step % 1000) * 1000000};
	struct stat ours = {0}, there;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &chld, NULL);
	(void)stat(path, &ours);
	while (waitpid(server, NULL, WNOHANG) == 0) {
		int fd;

		(void)sigtimedwait(&chld, NULL, &pause);
		/* removed, or another server's by now: nobody can come */
		if (stat(path, &there) < 0 || there.st_ino != ours.st_ino ||
		    there.st_dev != ours.st_dev) {
			(void)kill(server, SIGTERM);
			continue;
		}
		fd = socket_at(path);
		quiet = fd >= 0 && is_idle(fd) ? quiet + step : 0;
		if (fd >= 0)
			close(fd);
		if (quiet >= idle_ms && stop_if_idle(path))
			return;
	}
}

static void keeper_main(const char *path, int64_t idle_ms)
{
	const struct timespec step = {0, STEP_MS * 1000000L};
	struct instant deadline = after(now(), START_MS);
	unsigned char result = 0;
	int status = 0;
	pid_t server;

	(void)prctl(PR_SET_NAME, "lockserver", 0, 0, 0);
	title_set("lockserver", path);
	server = fork();
	if (server == 0)
		exec_server(path);
	while (!answers(path)) {
		bool ended = server < 0 ||
			     waitpid(server, &status, WNOHANG) == server;

		if (ended || !before(now(), deadline)) {
			result = ended && WIFEXITED(status) &&
						 WEXITSTATUS(status) ==
							 NO_PROGRAM
					 ? NO_PROGRAM
					 : 1;
			if (!ended)
				(void)kill(server, SIGKILL);
			break;
		}
		(void)nanosleep(&step, NULL);
	}
	(void)!write(KEPT_READY, &result, 1);
	close(KEPT_READY);
	close(KEPT_LOCK);
	if (result == 0)
		keep(path, idle_ms, server);
}

/* ---- in the caller ---- */

/* Forks twice, and disowns, so that the keeper is nobody's child: it must not
 * die with our tree. */
static int start_keeper(const char *path, int64_t idle_ms, int lock,
			struct fail *why)
{
	unsigned char result = 1;
	int ready[2];
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot make a pipe");
	tree_adopt(false);
	pid = fork();
	if (pid == 0) {
		if (fork() != 0)
			_exit(0);
		leave_caller(ready[1], lock);
		keeper_main(path, idle_ms);
		_exit(0);
	}
	close(ready[1]);
	if (pid > 0) {
		(void)waitpid(pid, NULL, 0);
		while (read(ready[0], &result, 1) < 0 && errno == EINTR)
			;
	}
	close(ready[0]);
	tree_adopt(true);
	if (pid < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot fork");
	if (result == NO_PROGRAM)
		return fail(why, FAIL_CONFIG,
			    "local: needs redis-server or valkey-server, and "
			    "neither is in PATH (apt-get install "
			    "redis-server)");
	if (result != 0)
		return fail(why, FAIL_UNAVAILABLE,
			    "local: the private server on '%s' does not start",
			    path);
	return 0;
}

int local_start(const char *path, int64_t idle_ms, struct fail *why)
{
	const struct timespec step = {0, STEP_MS * 1000000L};
	struct instant deadline = after(now(), START_MS);
	int lock = start_lock(path);
	int rc;

	if (lock < 0)
		return fail_sys(why, FAIL_CONFIG,
				"local: cannot open '%s.lock'", path);
	/* another redlock may be starting it, or be stopped while it does */
	while ((rc = flock(lock, LOCK_EX | LOCK_NB)) < 0 &&
	       (errno == EINTR || errno == EWOULDBLOCK) &&
	       before(now(), deadline))
		(void)nanosleep(&step, NULL);
	if (rc < 0)
		(void)fail_sys(why, FAIL_UNAVAILABLE,
			       "local: cannot lock '%s.lock'", path);
	else if (!answers(path))
		rc = start_keeper(path, idle_ms, lock, why);
	close(lock);
	return rc;
}
