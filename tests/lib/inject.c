/* SPDX-License-Identifier: MIT */
/*
 * Makes chosen calls of the C library fail: cc -shared -fPIC, LD_PRELOAD.
 *
 *   INJECT=NAME:K:ERRNO   the K-th call of NAME fails with ERRNO; K+: all from
 *                         the K-th on; ERRNO 0: it is delayed instead, until
 *                         INJECT_MARK is removed (5 s at most)
 *   INJECT_MARK=FILE      is made when a call was hit; FILE.over when a delayed
 *                         call goes on
 *   INJECT_IN=NAME        only in programs of this name (default: redlock)
 *   INJECT_TEXT=TEXT      of send(), only calls that send this
 *   INJECT_WHEN=FILE      only while it is there
 *   INJECT_PIPES=FILE     gets the number of each pipe that is written to
 *
 * A fork goes on counting where its parent was.
 */
#include <dlfcn.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): they are glibc's own */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
/* NOLINTEND(bugprone-reserved-identifier): as above */

static char wanted[32];
static const char *mark, *text, *when, *pipes;
static long from, count;
static int onward, error_wanted, here;

static int (*real_open)(const char *, int, ...);

static void make(const char *path)
{
	close(real_open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
}

static void hold_up(void)
{
	const struct timespec step = {0, 1000000};
	char over[256];

	for (int i = 0; i < 5000 && mark && access(mark, F_OK) == 0; i++)
		(void)nanosleep(&step, NULL);
	if (!mark)
		return;
	(void)snprintf(over, sizeof(over), "%s.over", mark);
	make(over);
}

/* Is this call to fail? Sets errno then. May run in a vfork'ed child. */
static int hit(const char *name)
{
	int saved = errno;

	if (!here || strcmp(name, wanted) != 0 ||
	    (when && syscall(SYS_faccessat, AT_FDCWD, when, F_OK) != 0))
		return 0;
	count++;
	if (count != from && !(onward && count > from))
		return 0;
	here = 0; /* what follows is ours */
	if (!real_open)
		real_open = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT,
								   "open");
	if (mark)
		make(mark);
	if (error_wanted == 0)
		hold_up();
	here = 1;
	errno = error_wanted ? error_wanted : saved;
	return error_wanted != 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *spec = getenv("INJECT"), *in = getenv("INJECT_IN");
	char plus = 0;

	if (strcmp(program_invocation_short_name, in ? in : "redlock") != 0)
		return;
	pipes = getenv("INJECT_PIPES");
	if (!spec)
		return;
	if (sscanf(spec, "%31[^:]:%ld+:%d", wanted, &from, &error_wanted) == 3)
		plus = '+';
	else if (sscanf(spec, "%31[^:]:%ld:%d", wanted, &from, &error_wanted) !=
		 3)
		abort();
	onward = plus == '+';
	mark = getenv("INJECT_MARK");
	text = getenv("INJECT_TEXT");
	when = getenv("INJECT_WHEN");
	here = 1;
}

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* ret NAME(params): fails with `bad`, else calls the real one with args */
/* NOLINTBEGIN(bugprone-macro-parentheses): params and args have their own */
#define WRAP(ret, name, params, args, bad)                                     \
	ret name params                                                        \
	{                                                                      \
		if (hit(#name))                                                \
			return (bad);                                          \
		return REAL(name) args;                                        \
	}
/* NOLINTEND(bugprone-macro-parentheses): as above */

WRAP(pid_t, fork, (void), (), -1)
WRAP(pid_t, getppid, (void), (), -1)
WRAP(int, pipe2, (int fds[2], int flags), (fds, flags), -1)
WRAP(int, timer_create, (clockid_t c, struct sigevent *e, timer_t *t),
     (c, e, t), -1)
WRAP(int, timer_settime,
     (timer_t t, int f, const struct itimerspec *n, struct itimerspec *o),
     (t, f, n, o), -1)
WRAP(int, timerfd_create, (clockid_t c, int flags), (c, flags), -1)
WRAP(int, socket, (int d, int t, int p), (d, t, p), -1)
WRAP(int, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n),
     -1)
WRAP(ssize_t, recv, (int fd, void *b, size_t n, int f), (fd, b, n, f), -1)
WRAP(ssize_t, getrandom, (void *b, size_t n, unsigned int f), (b, n, f), -1)
WRAP(DIR *, opendir, (const char *name), (name), NULL)
WRAP(int, setpgid, (pid_t pid, pid_t group), (pid, group), -1)
WRAP(pid_t, setsid, (void), (), -1)
WRAP(int, execvpe, (const char *f, char *const argv[], char *const envp[]),
     (f, argv, envp), -1)

static void note_pipe(int fd)
{
	struct stat its;
	char line[32];
	int to, saved = errno;

	if (!pipes || fstat(fd, &its) != 0 || !S_ISFIFO(its.st_mode))
		return;
	to = (int)syscall(SYS_openat, AT_FDCWD, pipes,
			  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	(void)snprintf(line, sizeof(line), "pipe:[%lu]\n",
		       (unsigned long)its.st_ino);
	(void)syscall(SYS_write, to, line, strlen(line));
	close(to);
	errno = saved;
}

ssize_t write(int fd, const void *b, size_t n)
{
	if (hit("write"))
		return -1;
	note_pipe(fd);
	return REAL(write)(fd, b, n);
}

ssize_t send(int fd, const void *b, size_t n, int f)
{
	if ((!text || memmem(b, n, text, strlen(text))) && hit("send"))
		return -1;
	return REAL(send)(fd, b, n, f);
}

/* malloc, calloc and realloc count as one; dlsym() itself may need them */
void *malloc(size_t n)
{
	return hit("malloc") ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return hit("malloc") ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return hit("malloc") ? NULL : __libc_realloc(p, n);
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *),
		   void *arg)
{
	if (hit("pthread_create"))
		return errno;
	return REAL(pthread_create)(t, a, f, arg);
}

/* Only the one by which a process dies with its parent, as "pdeathsig". */
int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_PDEATHSIG && arg[0] == SIGKILL && hit("pdeathsig"))
		return -1;
	return REAL(prctl)(option, arg[0], arg[1], arg[2], arg[3]);
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return hit("open") ? -1 : REAL(open)(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return hit("openat") ? -1 : REAL(openat)(dir, path, flags, mode);
}

/* what openat() is where files may be large, and where its flags are checked */
/* NOLINTBEGIN(bugprone-reserved-identifier): it is glibc's own */
int openat64(int dir, const char *path, int flags, ...)
	__attribute__((alias("openat")));
int __openat64_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags)
{
	return openat(dir, path, flags, 0);
}
/* NOLINTEND(bugprone-reserved-identifier): as above */

/* The child of a vfork must not return from the frame that called it, so the
 * real one is entered by a jump; GCC would not make one of a returns_twice
 * call, hence the pointer with another name. */
#ifndef __clang__
__attribute__((optimize("O2")))
#endif
pid_t vfork(void)
{
	pid_t (*enter)(void);

	if (hit("vfork"))
		return -1;
	enter = (pid_t(*)(void))dlsym(RTLD_NEXT, "vfork");
	return enter();
}
