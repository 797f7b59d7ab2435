/* SPDX-License-Identifier: MIT */
/*
 * Starts a command with unusual inherited state, or prints what it inherited.
 *
 *   launch [--default SIG|all] [--ignore SIG|all] [--block SIG|all]
 *          [--close FD] [--umask OCTAL] [--limit NAME=N] [--subreaper]
 *          [--session] [--tell FILE] COMMAND...
 *   launch --show FILE     writes what this process inherited, a fact a line
 *   launch --trace PID     stop PID as a debugger does, until we are killed
 *
 * --limit: both limits of core, nofile, nproc, sigpending, stack.
 * --tell: run the command as a child, and write its pid, a line, then "exit N"
 * or "signal N" to FILE; a shell cannot tell these two apart.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FD_MOST 64

static const struct {
	const char *name;
	int which;
} limits[] = {
	{"core", RLIMIT_CORE},   {"nofile", RLIMIT_NOFILE},
	{"nproc", RLIMIT_NPROC}, {"sigpending", RLIMIT_SIGPENDING},
	{"stack", RLIMIT_STACK},
};

static void die(const char *what)
{
	perror(what);
	_exit(99);
}

/* handler NULL: block */
static void each_signal(const char *which, const __sighandler_t *handler)
{
	int from = 1, to = 31;
	sigset_t set;

	if (strcmp(which, "all") != 0)
		from = to = atoi(which);
	for (int sig = from; sig <= to; sig++) {
		if (handler) {
			(void)signal(sig, *handler);
			continue;
		}
		sigemptyset(&set);
		sigaddset(&set, sig);
		(void)sigprocmask(SIG_BLOCK, &set, NULL);
	}
}

static void limit(const char *text)
{
	const char *value = strchr(text, '=');
	size_t n = value ? (size_t)(value - text) : 0;

	for (size_t i = 0; value && i < sizeof(limits) / sizeof(limits[0]);
	     i++) {
		struct rlimit r;

		if (n != strlen(limits[i].name) ||
		    strncmp(limits[i].name, text, n) != 0)
			continue;
		r.rlim_cur = r.rlim_max = (rlim_t)atoll(value + 1);
		if (setrlimit((__rlimit_resource_t)limits[i].which, &r) < 0)
			die("setrlimit");
		return;
	}
	errno = EINVAL;
	die(text);
}

static void show_fds(FILE *f)
{
	for (int fd = 0; fd < FD_MOST; fd++) {
		char path[32], to[512];
		ssize_t n;
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0 || fd == fileno(f))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		to[n < 0 ? 0 : n] = '\0';
		(void)fprintf(f, "fd %d: %s flags %#x\n", fd, to,
			      (unsigned int)flags);
	}
}

static void show_signals(FILE *f)
{
	struct sigaction act;
	sigset_t mask;

	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int sig = 1; sig < NSIG; sig++) {
		if (sigismember(&mask, sig) == 1)
			(void)fprintf(f, "blocked %d\n", sig);
		if (sigaction(sig, NULL, &act) == 0 &&
		    act.sa_handler == SIG_IGN)
			(void)fprintf(f, "ignored %d\n", sig);
	}
}

static int show(const char *name)
{
	mode_t mask = umask(0);
	FILE *f = fopen(name, "we");
	char cwd[512];

	if (!f)
		die(name);
	show_fds(f);
	show_signals(f);
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit r;

		if (getrlimit((__rlimit_resource_t)i, &r) == 0)
			(void)fprintf(f, "limit %d: %lld %lld\n", i,
				      (long long)r.rlim_cur,
				      (long long)r.rlim_max);
	}
	(void)fprintf(f, "umask %03o\ngroup %d\nsession %d\nnice %d\n",
		      (unsigned int)mask, (int)getpgrp(), (int)getsid(0),
		      getpriority(PRIO_PROCESS, 0));
	(void)fprintf(f, "directory %s\ndumpable %d\nslack %d\n",
		      getcwd(cwd, sizeof(cwd)) ? cwd : "?",
		      prctl(PR_GET_DUMPABLE), prctl(PR_GET_TIMERSLACK));
	return fclose(f) == 0 ? 0 : 1;
}

static int trace(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0)
		die("ptrace");
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	(void)printf("stopped\n");
	(void)fflush(stdout);
	/* until its end, or ours, which sets it free */
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		;
	return 0;
}

static int tell(const char *name, char **argv)
{
	FILE *f = fopen(name, "we");
	int status = 0;
	pid_t pid;

	if (!f)
		die(name);
	pid = fork();
	if (pid == 0) {
		(void)execvp(argv[0], argv);
		die(argv[0]);
	}
	(void)fprintf(f, "%d\n", (int)pid);
	(void)fflush(f);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		(void)fprintf(f, "signal %d%s\n", WTERMSIG(status),
			      WCOREDUMP(status) ? " core" : "");
	else
		(void)fprintf(f, "exit %d\n", WEXITSTATUS(status));
	return fclose(f) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	const __sighandler_t ignore = SIG_IGN, plain = SIG_DFL;
	const char *told = NULL;
	int i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		const char *o = argv[i];
		char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(o, "--subreaper") == 0) {
			(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
			continue;
		}
		if (strcmp(o, "--session") == 0) {
			if (setsid() < 0)
				die("setsid");
			continue;
		}
		if (!value)
			return 64;
		i++;
		if (strcmp(o, "--show") == 0)
			return show(value);
		if (strcmp(o, "--trace") == 0)
			return trace((pid_t)atoi(value));
		if (strcmp(o, "--ignore") == 0)
			each_signal(value, &ignore);
		else if (strcmp(o, "--default") == 0)
			each_signal(value, &plain);
		else if (strcmp(o, "--block") == 0)
			each_signal(value, NULL);
		else if (strcmp(o, "--close") == 0)
			close(atoi(value));
		else if (strcmp(o, "--umask") == 0)
			(void)umask((mode_t)strtol(value, NULL, 8));
		else if (strcmp(o, "--limit") == 0)
			limit(value);
		else if (strcmp(o, "--tell") == 0)
			told = value;
		else
			return 64;
	}
	if (i >= argc)
		return 64;
	if (told)
		return tell(told, argv + i);
	(void)execvp(argv[i], argv + i);
	die(argv[i]);
}
