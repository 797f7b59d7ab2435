/* SPDX-License-Identifier: MIT */
/*
 * A bad network between redlock and one server.
 *
 *   proxy LISTEN TARGET CONTROL
 *
 * LISTEN is a path, or ADDRESS:PORT (IPv4); TARGET is the path of a socket.
 * The file CONTROL has the mode. It is read before every event, so when a test
 * replaces it (by rename), the mode applies to the next byte:
 *
 *   pass               forward
 *   delay A [B]        requests come A ms late, replies B ms
 *   hold               replies wait until the mode changes
 *   silent             both directions wait: half-open
 *   drop-replies       the server hears everything, the client nothing
 *   drop-requests      the reverse
 *   reset              close at once, by RST where there is one
 *   cut K              close after K bytes of reply; 0: after the request was
 *                      done and before its reply
 *   dribble            byte by byte
 *   duplicate MS       every request a second time, on another connection,
 *                      MS ms after the first
 *   refuse             nobody listens
 *   answer FILE        FILE's bytes are the answer to every request
 *   idle MS            close what was silent for so long
 *
 * "old" before a mode confines it to connections older than the mode.
 * A line on standard output tells each thing done. It ends with its parent.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LINKS_MAX 64
#define LOOK_MS 2 /* at the control file, when nothing happens */

enum { CLIENT, SERVER, SECOND, ENDS };

struct chunk {
	struct chunk *next;
	int64_t due;
	size_t n, at;
	char bytes[];
};

struct link {
	int fd[ENDS];            /* -1: none */
	struct chunk *out[ENDS]; /* on its way to this end */
	bool ended[ENDS];        /* said end of file */
	unsigned int born;       /* the mode's number then */
	unsigned int counted;    /* the mode whose bytes `passed` counts */
	size_t passed;
	int64_t active;
};

static const char *listen_at, *target, *control;
static char text[256], mode[32], file[200];
static long arg[2];
static bool only_old;
static unsigned int generation;
static struct link links[LINKS_MAX];
static int listener = -1;

static void tell(const char *what)
{
	(void)dprintf(STDOUT_FILENO, "%s\n", what);
}

static int64_t now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void read_control(void)
{
	char fresh[sizeof(text)] = "", *from = fresh;
	int fd = open(control, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (read(fd, fresh, sizeof(fresh) - 1) < 0)
		fresh[0] = '\0';
	close(fd);
	if (strcmp(fresh, text) == 0)
		return;
	memcpy(text, fresh, sizeof(text));
	generation++;
	arg[0] = arg[1] = 0;
	file[0] = '\0';
	only_old = strncmp(from, "old ", 4) == 0;
	from += only_old ? 4 : 0;
	(void)sscanf(from, "%31s %199s", mode, file);
	(void)sscanf(from, "%*s %ld %ld", &arg[0], &arg[1]);
}

static bool does(const struct link *l, const char *name)
{
	return strcmp(mode, name) == 0 && (!only_old || l->born < generation);
}

/* The name of a unix socket appears once somebody listens: a test waits for it.
 */
static int open_socket(const char *where, bool listens)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET};
	const char *colon = strrchr(where, ':');
	bool tcp = where[0] != '/';
	struct sockaddr *sa = tcp ? (void *)&in : (void *)&un;
	socklen_t len = tcp ? sizeof(in) : sizeof(un);
	char host[64] = "";
	int one = 1, fd;

	fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (tcp && colon) {
		(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - where),
			       where);
		in.sin_port = htons((uint16_t)atoi(colon + 1));
		(void)inet_pton(AF_INET, host, &in.sin_addr);
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one,
				 sizeof(one));
	} else {
		(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s%s", where,
			       listens ? ".new" : "");
	}
	if (listens ? bind(fd, sa, len) < 0 || listen(fd, 64) < 0 ||
			      (!tcp && rename(un.sun_path, where) < 0)
		    : connect(fd, sa, len) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void close_link(struct link *l, bool reset)
{
	struct linger at_once = {.l_onoff = 1};

	if (reset)
		(void)setsockopt(l->fd[CLIENT], SOL_SOCKET, SO_LINGER, &at_once,
				 sizeof(at_once));
	for (int e = 0; e < ENDS; e++) {
		if (l->fd[e] >= 0)
			close(l->fd[e]);
		while (l->out[e]) {
			struct chunk *next = l->out[e]->next;

			free(l->out[e]);
			l->out[e] = next;
		}
	}
	*l = (struct link){.fd = {-1, -1, -1}};
}

static void accept_link(void)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), one = 1, i = 0;
	struct link *l;

	while (i < LINKS_MAX && links[i].fd[CLIENT] >= 0)
		i++;
	if (fd < 0 || i == LINKS_MAX) {
		close(fd);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	l = &links[i];
	*l = (struct link){.fd = {fd, open_socket(target, false), -1},
			   .born = generation,
			   .active = now()};
	tell("accept");
	/* a dead server behind us is a refusal, as near as can be */
	if (l->fd[SERVER] < 0)
		close_link(l, true);
}

static void send_later(struct link *l, int end, const char *bytes, size_t n,
		       long ms)
{
	struct chunk **at = &l->out[end];
	struct chunk *c = malloc(sizeof(*c) + n);

	if (!c)
		_exit(1);
	*c = (struct chunk){.due = now() + ms, .n = n};
	memcpy(c->bytes, bytes, n);
	while (*at)
		at = &(*at)->next;
	*at = c;
}

static void answer_from_file(struct link *l)
{
	char bytes[4096];
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		send_later(l, CLIENT, bytes, (size_t)n, 0);
	close(fd);
	tell("answer");
}

static void take_request(struct link *l, const char *bytes, size_t n)
{
	if (does(l, "drop-requests")) {
		tell("dropped a request");
		return;
	}
	if (does(l, "answer")) {
		answer_from_file(l);
		return;
	}
	send_later(l, SERVER, bytes, n, does(l, "delay") ? arg[0] : 0);
	if (!does(l, "duplicate"))
		return;
	if (l->fd[SECOND] < 0)
		l->fd[SECOND] = open_socket(target, false);
	send_later(l, SECOND, bytes, n, arg[0]);
	tell("duplicate");
}

static void take_reply(struct link *l, const char *bytes, size_t n)
{
	if (does(l, "drop-replies")) {
		tell("dropped a reply");
		return;
	}
	if (does(l, "cut")) {
		size_t limit = (size_t)arg[0];

		if (l->counted != generation)
			l->passed = 0;
		l->counted = generation;
		if (n > limit - l->passed)
			n = limit - l->passed;
		l->passed += n;
		if (l->passed == limit) {
			(void)!send(l->fd[CLIENT], bytes, n, MSG_NOSIGNAL);
			tell("cut");
			close_link(l, false);
			return;
		}
	}
	send_later(l, CLIENT, bytes, n, does(l, "delay") ? arg[1] : 0);
}

static void take_bytes(struct link *l, int end)
{
	char bytes[16384];
	ssize_t n = recv(l->fd[end], bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	l->active = now();
	if (n <= 0)
		l->ended[end] = true;
	else if (end == CLIENT)
		take_request(l, bytes, (size_t)n);
	else if (end == SERVER)
		take_reply(l, bytes, (size_t)n);
}

static void deliver(struct link *l, int end)
{
	while (l->out[end] && l->out[end]->due <= now()) {
		struct chunk *c = l->out[end];
		size_t n = does(l, "dribble") ? 1 : c->n - c->at;
		ssize_t sent = send(l->fd[end], c->bytes + c->at, n,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EAGAIN)
			return;
		/* an end that is gone swallows the rest */
		c->at = sent < 0 ? c->n : c->at + (size_t)sent;
		if (c->at == c->n) {
			l->out[end] = c->next;
			free(c);
		}
		if (does(l, "dribble"))
			return;
	}
}

static bool may_read(const struct link *l, int end)
{
	if (l->fd[end] < 0 || l->ended[end] || does(l, "silent"))
		return false;
	return end != SERVER || !does(l, "hold");
}

/* What the mode itself does, and ends whose last byte is through. */
static void tend(struct link *l)
{
	if (does(l, "reset") || does(l, "refuse")) {
		tell(mode);
		close_link(l, true);
		return;
	}
	if (does(l, "idle") && now() - l->active > arg[0]) {
		tell("idle");
		close_link(l, false);
		return;
	}
	for (int e = 0; e < ENDS; e++)
		if (l->fd[e] >= 0)
			deliver(l, e);
	if ((l->ended[CLIENT] && !l->out[SERVER] && !l->out[SECOND]) ||
	    (l->ended[SERVER] && !l->out[CLIENT]))
		close_link(l, false);
}

static void turn(void)
{
	struct pollfd fds[1 + LINKS_MAX * ENDS];
	bool refuses = strcmp(mode, "refuse") == 0;
	int wait = strcmp(mode, "dribble") == 0 ? 0 : LOOK_MS;

	if (refuses && listener >= 0) {
		close(listener);
		listener = -1;
	} else if (!refuses && listener < 0) {
		listener = open_socket(listen_at, true);
	}
	fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
	for (int i = 0; i < LINKS_MAX * ENDS; i++) {
		const struct link *l = &links[i / ENDS];

		fds[i + 1] = (struct pollfd){
			.fd = may_read(l, i % ENDS) ? l->fd[i % ENDS] : -1,
			.events = POLLIN};
	}
	if (poll(fds, sizeof(fds) / sizeof(fds[0]), wait) < 0)
		return;
	read_control();
	for (int i = 0; i < LINKS_MAX * ENDS; i++)
		if (fds[i + 1].revents && may_read(&links[i / ENDS], i % ENDS))
			take_bytes(&links[i / ENDS], i % ENDS);
	for (int i = 0; i < LINKS_MAX; i++)
		if (links[i].fd[CLIENT] >= 0)
			tend(&links[i]);
	if (fds[0].revents && strcmp(mode, "refuse") != 0)
		accept_link();
}

int main(int argc, char **argv)
{
	pid_t parent = getppid();

	if (argc != 4)
		return 64;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return 0;
	listen_at = argv[1];
	target = argv[2];
	control = argv[3];
	for (int i = 0; i < LINKS_MAX; i++)
		links[i] = (struct link){.fd = {-1, -1, -1}};
	read_control();
	for (;;)
		turn();
}
