/* SPDX-License-Identifier: MIT */
/* The process, and our questions to it. */
#include "proc/recorder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/title.h"

#define NOTES 16
#define FRESH_MS                                                               \
	1000 /* a signal that nobody asked about by then was for it alone */
#define ANSWER_MS 50

struct note {
	int sig; /* 0: none, or asked for */
	pid_t sender;
};

struct noted {
	struct note note;
	struct instant at;
};

/* ---- in it ---- */

static void take_signals(int fd, struct noted all[NOTES], int *next)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_code != SI_USER)
			continue;
		all[*next] = (struct noted){
			{(int)info.ssi_signo, (pid_t)info.ssi_pid}, now()};
		*next = (*next + 1) % NOTES;
	}
}

static bool was_noted(struct noted all[NOTES], const struct note *asked)
{
	for (int i = 0; i < NOTES; i++) {
		struct note *n = &all[i].note;

		if (n->sig != asked->sig || n->sender != asked->sender ||
		    !before(now(), after(all[i].at, FRESH_MS)))
			continue;
		n->sig = 0;
		return true;
	}
	return false;
}

static void accompany(int line, int signals)
{
	struct pollfd fds[] = {{.fd = line, .events = POLLIN},
			       {.fd = signals, .events = POLLIN}};
	struct noted all[NOTES] = {{{0, 0}, {0}}};
	struct note asked;
	int next = 0;

	for (;;) {
		bool answer;
		ssize_t n;

		if (poll(fds, 2, -1) < 0)
			continue;
		take_signals(signals, all, &next);
		if (!fds[0].revents)
			continue;
		n = recv(line, &asked, sizeof(asked), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n != (ssize_t)sizeof(asked))
			return; /* redlock is gone */
		take_signals(signals, all, &next);
		answer = was_noted(all, &asked);
		(void)send(line, &answer, sizeof(answer), MSG_NOSIGNAL);
	}
}

/* All signals are blocked. What is redlock's is closed first: the guard waits
 * for the end of a pipe. */
static void be_recorder(int line, pid_t tool, const sigset_t *all)
{
	char number[16];
	int signals;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != tool || dup2(line, 0) < 0)
		return;
	descriptors_close(1, ~0U);
	(void)prctl(PR_SET_NAME, "lockgroup", 0, 0, 0);
	(void)snprintf(number, sizeof(number), "%d", (int)tool);
	title_set("lockgroup", number);
	signals = signalfd(-1, all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals >= 0)
		accompany(0, signals);
}

/* ---- in redlock ---- */

void recorder_start(struct recorder *m)
{
	pid_t tool = getpid();
	sigset_t all, old;
	int ends[2];

	m->pid = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	m->pid = fork();
	if (m->pid == 0) {
		be_recorder(ends[1], tool, &all);
		_exit(0);
	}
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	close(ends[1]);
	m->line = ends[0];
	if (m->pid > 0)
		return;
	m->pid = 0;
	close(m->line);
}

bool recorder_got(struct recorder *m, int sig, pid_t sender)
{
	struct note asked = {sig, sender};
	struct pollfd line = {.fd = m->line, .events = POLLIN};
	struct instant limit = after(now(), ANSWER_MS);
	bool answer = false;

	if (m->pid <= 0)
		return false;
	if (send(m->line, &asked, sizeof(asked), MSG_NOSIGNAL | MSG_DONTWAIT) ==
	    (ssize_t)sizeof(asked))
		while (poll(&line, 1, poll_ms(limit, now())) < 0)
			;
	if (line.revents && recv(m->line, &answer, sizeof(answer),
				 MSG_DONTWAIT) == (ssize_t)sizeof(answer))
		return answer;
	recorder_end(m); /* a late answer would be taken for another one's */
	return false;
}

static void end(struct recorder *m, int how)
{
	if (m->pid <= 0)
		return;
	close(m->line);
	(void)kill(m->pid, SIGKILL);
	while (waitpid(m->pid, NULL, how) < 0 && errno == EINTR)
		;
	m->pid = 0;
}

void recorder_kill(struct recorder *m)
{
	end(m, WNOHANG);
}

void recorder_end(struct recorder *m)
{
	end(m, 0);
}
