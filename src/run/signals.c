/* SPDX-License-Identifier: MIT */
/* The self-pipe. */
#include "run/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

/* And the real-time signals. Not those of a fault of our own, nor those that
 * nobody sends. */
static const int caught[] = {SIGHUP,  SIGINT,    SIGQUIT, SIGTERM,
			     SIGUSR1, SIGUSR2,   SIGALRM, SIGPOLL,
			     SIGPROF, SIGPWR,    SIGXCPU, SIGVTALRM,
			     SIGTSTP, SIGSTKFLT, SIGCONT, SIGWINCH};
#define CAUGHT ((int)(sizeof(caught) / sizeof(caught[0])))

/* The i-th signal that we catch; 0: there are no more. */
static int caught_at(int i)
{
	if (i < CAUGHT)
		return caught[i];
	return i - CAUGHT <= SIGRTMAX - SIGRTMIN ? SIGRTMIN + i - CAUGHT : 0;
}

static int wake_fd = -1; /* a handler can have no argument */

static void on_signal(int sig, siginfo_t *info, void *context)
{
	/* terminals say SI_KERNEL, kill(2) SI_USER; of a hang-up the kernel
	 * tells the session's leader alone */
	struct arrival a = {(unsigned char)sig,
			    info->si_code > 0 && sig != SIGHUP,
			    info->si_code == SI_TIMER,
			    info->si_code == SI_USER ? info->si_pid : 0};
	int saved = errno;

	(void)context;
	(void)!write(wake_fd, &a, sizeof(a)); /* full is awake */
	errno = saved;
}

static void on_nothing(int sig)
{
	(void)sig;
}

int signals_open(struct signals *s, struct fail *why)
{
	struct sigaction act = {.sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction old;
	sigset_t none;
	int fds[2];

	sigemptyset(&none);
	sigfillset(&act.sa_mask);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot create a pipe");
	wake_fd = fds[1];
	s->fd = fds[0];
	sigemptyset(&s->ignored);
	for (int i = 0, sig; (sig = caught_at(i)); i++) {
		if (sigaction(sig, &act, &old) < 0 || old.sa_handler != SIG_IGN)
			continue;
		(void)sigaction(sig, &old, NULL);
		sigaddset(&s->ignored, sig);
	}
	/* caught, not ignored: a handler vanishes at exec */
	act = (struct sigaction){.sa_handler = on_nothing};
	(void)sigaction(SIGPIPE, NULL, &old);
	if (old.sa_handler != SIG_IGN)
		(void)sigaction(SIGPIPE, &act, NULL);
	act.sa_handler = SIG_DFL;
	(void)sigaction(SIGCHLD, NULL, &old);
	s->chld_ignored = old.sa_handler == SIG_IGN;
	(void)sigaction(SIGCHLD, &act, NULL);
	(void)sigaction(SIGCONT, NULL, &old);
	s->cont_ignored = old.sa_handler == SIG_IGN;
	(void)sigprocmask(SIG_SETMASK, &none, &s->before);
	return 0;
}

bool signals_next(const struct signals *s, struct arrival *out)
{
	return read(s->fd, out, sizeof(*out)) == (ssize_t)sizeof(*out);
}

bool signal_ends(int sig)
{
	return sig != SIGTSTP && sig != SIGCONT && sig != SIGWINCH;
}

bool signal_is_for_all(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGQUIT ||
	       sig == SIGTSTP || sig == SIGCONT;
}

void signals_stop(void)
{
	struct sigaction act = {.sa_handler = SIG_DFL}, old;

	(void)sigaction(SIGTSTP, &act, &old);
	(void)raise(SIGTSTP);
	(void)sigaction(SIGTSTP, &old, NULL);
}

void signals_restore(const struct signals *s)
{
	struct sigaction act = {.sa_handler = SIG_DFL};

	for (int i = 0, sig; (sig = caught_at(i)); i++)
		if (!sigismember(&s->ignored, sig))
			(void)sigaction(sig, &act, NULL);
	act.sa_handler = SIG_IGN;
	if (s->chld_ignored)
		(void)sigaction(SIGCHLD, &act, NULL);
	if (s->cont_ignored) /* the guard had to be woken by it */
		(void)sigaction(SIGCONT, &act, NULL);
	(void)sigprocmask(SIG_SETMASK, &s->before, NULL);
}

void signals_die(int sig)
{
	const struct rlimit none = {0, 0};
	struct sigaction act = {.sa_handler = SIG_DFL}, old;
	sigset_t only;

	(void)sigaction(sig, NULL, &old);
	if (old.sa_handler == SIG_IGN)
		return;
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)sigaction(sig, &act, NULL);
	sigemptyset(&only);
	sigaddset(&only, sig);
	(void)sigprocmask(SIG_UNBLOCK, &only, NULL);
	(void)raise(sig);
}
