/* SPDX-License-Identifier: MIT */
/*
 * The command under test, and the oracle for exclusion.
 *
 *   witness DIR [--hold MS] [--until FILE] [--spawn] [--stubborn]
 *           [--started FILE]
 *
 * Takes flock() on DIR/witness without waiting: if another holder of the same
 * redlock key is alive, or any descendant of one, that fails and a line goes
 * to DIR/errors. No clock is involved, and the kernel frees the lock on death.
 * Under it: REDLOCK_FENCE must exceed DIR/fence, which it then becomes; and
 * DIR/counter is incremented by an unprotected read, pause and write.
 *
 * --spawn: a child and a setsid() grandchild inherit the lock and ignore every
 * signal they can; only when the witness ends by itself does it kill them.
 * --stubborn: the witness, too, ignores what it can.
 * --until: it goes on until FILE is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *dir;

static void __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n, fd;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fd = openat(AT_FDCWD, "errors", O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		_exit(99);
	close(fd);
}

/* Once: who is alive, and whether it runs, waits, is stopped, or hangs in the
 * kernel. Later nobody can tell why another holder was still there. */
static void show_all(void)
{
	static const char command[] =
		"test -e shown || { >shown; "
		"ps -eo pid,ppid,stat,psr,etimes,wchan:20,args |"
		" grep -e redlock -e lockguard -e witness; } >>errors";

	/* NOLINTNEXTLINE(cert-env33-c): it is the same command each time */
	(void)!system(command);
}

static long long read_number(const char *name)
{
	long long value = 0;
	FILE *f = fopen(name, "r");

	if (f && fscanf(f, "%lld", &value) != 1)
		value = 0;
	if (f)
		(void)fclose(f);
	return value;
}

static void write_number(const char *name, long long value)
{
	FILE *f = fopen(name, "w");

	if (!f || fprintf(f, "%lld\n", value) < 0 || fclose(f) != 0)
		complain("%s: cannot write\n", name);
}

static void ignore_signals(void)
{
	for (int sig = 1; sig < 32; sig++)
		(void)signal(sig, SIG_IGN);
}

static void pause_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static pid_t spawn(int report)
{
	pid_t child = fork(), below;

	if (child != 0)
		return child;
	ignore_signals();
	below = fork();
	if (below == 0) {
		(void)setsid();
		for (;;)
			pause();
	}
	if (write(report, &below, sizeof(below)) != sizeof(below))
		_exit(98);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const char *fence = getenv("REDLOCK_FENCE"), *started = NULL;
	const char *until = NULL;
	pid_t child = 0, below = 0;
	long hold = 0;
	int spawns = 0, stubborn = 0, fd;
	long long count;
	char own[32];

	dir = argc > 1 ? argv[1] : ".";
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--hold") == 0 && i + 1 < argc)
			hold = atol(argv[++i]);
		else if (strcmp(argv[i], "--until") == 0 && i + 1 < argc)
			until = argv[++i];
		else if (strcmp(argv[i], "--started") == 0 && i + 1 < argc)
			started = argv[++i];
		else if (strcmp(argv[i], "--spawn") == 0)
			spawns = 1;
		else if (strcmp(argv[i], "--stubborn") == 0)
			stubborn = 1;
		else
			return 64;
	}
	if (chdir(dir) < 0)
		return 97;
	fd = open("witness", O_RDWR | O_CREAT, 0666);
	if (fd < 0)
		return 97;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		complain("exclusion violated: fence %s, pid %d\n",
			 fence ? fence : "none", (int)getpid());
		show_all();
		return 96;
	}
	if (!fence || atoll(fence) <= read_number("fence"))
		complain("fence %s is not above %lld\n", fence ? fence : "none",
			 read_number("fence"));
	else
		write_number("fence", atoll(fence));
	if (stubborn)
		ignore_signals();
	if (spawns) {
		int report[2];

		if (pipe(report) < 0)
			return 97;
		child = spawn(report[1]);
		if (read(report[0], &below, sizeof(below)) != sizeof(below))
			return 97;
	}
	/* a process that waits for the file finds it complete */
	if (started) {
		(void)snprintf(own, sizeof(own), "started.%d", (int)getpid());
		write_number(own, getpid());
		(void)rename(own, started);
	}
	count = read_number("counter");
	pause_ms(hold);
	while (until && access(until, F_OK) < 0)
		pause_ms(10);
	write_number("counter", count + 1);
	if (spawns) {
		/* below is to be a child of ours, so that we see it gone */
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
		(void)kill(child, SIGKILL);
		(void)kill(below, SIGKILL);
		while (waitpid(-1, NULL, 0) > 0)
			;
	}
	return 0;
}
