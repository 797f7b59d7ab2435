/* SPDX-License-Identifier: MIT */
/* A signalfd. (A handler for each signal, reset in the command, would make a
 * short run 5 % slower.) */
#include "proc/signals.h"

#include <stddef.h>
#include <stdio.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/units.h"

/* And the real-time signals. Not those of a fault of our own, nor those that
 * nobody sends. */
static const int caught[] = {SIGHUP,   SIGINT,    SIGQUIT, SIGTERM,   SIGUSR1,
			     SIGUSR2,  SIGALRM,   SIGPOLL, SIGPROF,   SIGPWR,
			     SIGXCPU,  SIGVTALRM, SIGTSTP, SIGSTKFLT, SIGCONT,
			     SIGWINCH, SIGURG};
#define CAUGHT (sizeof(caught) / sizeof(caught[0]))

static void all_caught(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < CAUGHT; i++)
		sigaddset(set, caught[i]);
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		sigaddset(set, sig);
}

static void on_nothing(int sig)
{
	(void)sig;
}

/* What is read from the start. */
static void signals_heard(const struct signals *s, sigset_t *set)
{
	all_caught(set);
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (signal_waits(s, sig))
			sigdelset(set, sig);
}

/* Caught, not ignored: a handler vanishes at exec. */
static void outlive(int sig)
{
	struct sigaction act = {.sa_handler = on_nothing,
				.sa_flags = SA_RESTART},
			 old;

	if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		(void)sigaction(sig, &act, NULL);
}

void signals_outlive_fsize(void)
{
	outlive(SIGXFSZ);
}

int signals_open(struct signals *s, struct fail *why)
{
	struct sigaction act = {.sa_handler = SIG_DFL}, old;
	sigset_t set, heard;

	all_caught(&set);
	(void)sigprocmask(SIG_SETMASK, &set, &s->before);
	signals_heard(s, &heard);
	s->fd = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot create a signalfd");
	outlive(SIGPIPE);
	(void)sigaction(SIGCHLD, NULL, &old);
	s->chld_ignored = old.sa_handler == SIG_IGN;
	(void)sigaction(SIGCHLD, &act, NULL);
	return 0;
}

void signals_for_command(const struct signals *s)
{
	sigset_t set;

	all_caught(&set);
	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		if (sigismember(&set, sig) == 1 && signal_waits(s, sig)) {
			(void)signalfd(s->fd, &set, 0);
			return;
		}
	}
}

/* While it is blocked, the kernel delivers even what is ignored. */
static bool is_ignored(int sig)
{
	struct sigaction act;

	return sigaction(sig, NULL, &act) == 0 && act.sa_handler == SIG_IGN;
}

bool signals_next(const struct signals *s, struct arrival *out)
{
	struct signalfd_siginfo info;

	do {
		if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
			return false;
	} while (is_ignored((int)info.ssi_signo));
	/* terminals say SI_KERNEL, kill(2) SI_USER; of a hang-up the kernel
	 * tells the session's leader alone */
	*out = (struct arrival){
		.sig = (unsigned char)info.ssi_signo,
		/* an alarm set before exec is ours alone, too */
		.from_terminal = info.ssi_code > 0 &&
				 info.ssi_signo != SIGHUP &&
				 info.ssi_signo != SIGALRM,
		.from_timer = info.ssi_code == SI_TIMER,
		.by_kill = info.ssi_code == SI_USER,
		.pid = info.ssi_code == SI_USER ? (int)info.ssi_pid : 0};
	return true;
}

bool signal_ends(int sig)
{
	return sig != SIGTSTP && sig != SIGCONT && sig != SIGWINCH &&
	       sig != SIGURG;
}

bool signal_waits(const struct signals *s, int sig)
{
	return sig != SIGCONT && sigismember(&s->before, sig) == 1;
}

bool signal_is_for_all(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGQUIT ||
	       sig == SIGTSTP || sig == SIGCONT;
}

/* (glibc before 2.32, and musl, have no function for them) */
static const struct {
	const char *name;
	int sig;
} names[] = {{"HUP", SIGHUP},       {"INT", SIGINT},       {"QUIT", SIGQUIT},
	     {"ILL", SIGILL},       {"TRAP", SIGTRAP},     {"ABRT", SIGABRT},
	     {"BUS", SIGBUS},       {"FPE", SIGFPE},       {"KILL", SIGKILL},
	     {"USR1", SIGUSR1},     {"SEGV", SIGSEGV},     {"USR2", SIGUSR2},
	     {"PIPE", SIGPIPE},     {"ALRM", SIGALRM},     {"TERM", SIGTERM},
	     {"STKFLT", SIGSTKFLT}, {"CHLD", SIGCHLD},     {"CONT", SIGCONT},
	     {"STOP", SIGSTOP},     {"TSTP", SIGTSTP},     {"TTIN", SIGTTIN},
	     {"TTOU", SIGTTOU},     {"URG", SIGURG},       {"XCPU", SIGXCPU},
	     {"XFSZ", SIGXFSZ},     {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF},
	     {"WINCH", SIGWINCH},   {"IO", SIGIO},         {"PWR", SIGPWR},
	     {"SYS", SIGSYS}};
#define NAMES (sizeof(names) / sizeof(names[0]))

int signal_number(const char *name)
{
	int64_t number = parse_number(name, 1, SIGRTMAX);

	if (number > 0)
		return (int)number;
	if (strncasecmp(name, "SIG", 3) == 0)
		name += 3;
	for (size_t i = 0; i < NAMES; i++)
		if (strcasecmp(name, names[i].name) == 0)
			return names[i].sig;
	return -1;
}

const char *signal_text(int sig, char buf[SIGNAL_TEXT])
{
	(void)snprintf(buf, SIGNAL_TEXT, "signal %d", sig);
	for (size_t i = 0; i < NAMES; i++)
		if (names[i].sig == sig)
			(void)snprintf(buf, SIGNAL_TEXT, "SIG%s",
				       names[i].name);
	return buf;
}

void signals_stop(void)
{
	struct sigaction act = {.sa_handler = SIG_DFL}, old;
	sigset_t only;

	sigemptyset(&only);
	sigaddset(&only, SIGTSTP);
	(void)sigaction(SIGTSTP, &act, &old);
	(void)raise(SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &only, NULL); /* it stops us here */
	(void)sigprocmask(SIG_BLOCK, &only, NULL);
	(void)sigaction(SIGTSTP, &old, NULL);
}

static struct rlimit core_before;

/* At 1 the kernel does not even start the program that takes cores by a pipe,
 * as it does at 0. */
void signals_leave_no_core(void)
{
	struct rlimit none;

	if (getrlimit(RLIMIT_CORE, &core_before) < 0 ||
	    core_before.rlim_cur == 0)
		return;
	none = core_before;
	none.rlim_cur = 1;
	(void)setrlimit(RLIMIT_CORE, &none);
}

void signals_restore(const struct signals *s)
{
	struct sigaction act = {.sa_handler = SIG_IGN};

	if (core_before.rlim_cur > 0)
		(void)setrlimit(RLIMIT_CORE, &core_before);
	if (s->chld_ignored)
		(void)sigaction(SIGCHLD, &act, NULL);
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
