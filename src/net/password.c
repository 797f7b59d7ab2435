/* SPDX-License-Identifier: MIT */
/* Passwords: what a command prints, or a file has. */
#include "net/password.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/trust.h"
#include "base/units.h"

#define TOKEN_MAX (PASSWORD_MAX - 1)
#define FRESH_MS 2000
#define FAILED_MS 500
#define LIMIT_MS 60000 /* for a run that no person waits for */
#define WAITING_MAX 512
#define ARGS_MAX 128

/* `lock` protects all fields after it. */
static struct {
	char **argv, **envp;
	char name[160]; /* for messages */
	char shell[40]; /* what only a shell would have understood; "" */
	pthread_mutex_t lock;
	pid_t owner; /* after a fork, nobody runs it or waits any more */
	bool running;
	int waiting[WAITING_MAX]; /* descriptors to wake */
	int n;
	struct instant ended; /* the latest run */
	char *answer;         /* owned; NULL: it failed */
	struct fail why;
} it = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = LONG_AGO};

/* ---- words ---- */

/* What a shell would have done something about: it stands alone, or begins an
 * expansion. In single quotes it would be as here. */
static void note_shell(const char *at, const char *line, char quote)
{
	static const char signs[] = "|&;<>`";
	size_t n = 1;

	if (it.shell[0] || quote == '\'')
		return;
	if (*at == '$' && (isalpha((unsigned char)at[1]) || at[1] == '_' ||
			   at[1] == '{' || at[1] == '('))
		n = 1 + strcspn(at + 1, " \t\"'|&;");
	else if (quote || !strchr(signs, *at) ||
		 !(*at == '`' || at == line || strchr(" \t", at[-1])))
		return;
	(void)format_bytes(at, n, it.shell, sizeof(it.shell));
}

/* Takes one word off the line, without its quotes. Returns where it ends;
 * NULL: a quote is open. */
static const char *cut_word(const char *line, char *word)
{
	const char *start = line;
	char quote = '\0';

	for (; *line && (quote || !strchr(" \t\r\n", *line)); line++) {
		char c = *line;

		note_shell(line, start, quote);
		if (c == quote) {
			quote = '\0';
		} else if (!quote && (c == '\'' || c == '"')) {
			quote = c;
		} else if (c == '\\' && line[1] &&
			   (!quote ||
			    (quote == '"' && strchr("\"\\$`", line[1])))) {
			*word++ = *++line;
		} else {
			*word++ = c;
		}
	}
	*word = '\0';
	return quote ? NULL : line;
}

int password_command(const char *line, char **envp, struct fail *why)
{
	char *word = malloc(strlen(line) + 1);
	int n = 0;

	it.argv = calloc(ARGS_MAX + 1, sizeof(*it.argv));
	it.envp = envp;
	while (word && it.argv && *(line += strspn(line, " \t\r\n"))) {
		line = cut_word(line, word);
		if (!line || n == ARGS_MAX) {
			free(word);
			return fail(why, FAIL_USAGE, "--password-command: %s",
				    line ? "too many words"
					 : "a quote is not closed");
		}
		it.argv[n] = strdup(word);
		if (!it.argv[n++])
			break;
	}
	free(word);
	if (!word || !it.argv || (n > 0 && !it.argv[n - 1]))
		return fail_memory(why);
	if (n == 0)
		return fail(why, FAIL_USAGE, "--password-command: no command");
	(void)format_bytes(it.argv[0], strlen(it.argv[0]), it.name,
			   sizeof(it.name));
	if (n > 1 && strcmp(it.argv[1], "-c") == 0)
		it.shell[0] = '\0'; /* that is a shell */
	return 0;
}

/* ---- a run ---- */

static const char *say_no_shell(char buf[DOUBT_SIZE])
{
	buf[0] = '\0';
	if (it.shell[0])
		(void)snprintf(buf, DOUBT_SIZE,
			       "no shell was run: '%s' was passed on as it is; "
			       "write sh -c '...'",
			       it.shell);
	return buf;
}

static int failed(struct fail *why, const char *what)
{
	char doubt[DOUBT_SIZE];

	(void)say_no_shell(doubt);
	return fail(why, FAIL_CONFIG, "password command '%s': %s%s%s%s",
		    it.name, what, doubt[0] ? " (" : "", doubt,
		    doubt[0] ? ")" : "");
}

static int failed_number(struct fail *why, const char *what, int n)
{
	char text[100];

	(void)snprintf(text, sizeof(text), "%s %d", what, n);
	return failed(why, text);
}

static int failed_sys(struct fail *why, int error)
{
	errno = error;
	return fail_sys(why, FAIL_CONFIG, "password command '%s'", it.name);
}

/* Of our descriptors it has standard error, for its own messages. */
static int start(int out, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int error;

	sigemptyset(&none);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return ENOMEM;
	}
	error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawn_file_actions_addopen(
			&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (error == 0)
		error = posix_spawnp(pid, it.argv[0], &actions, &attr, it.argv,
				     it.envp);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Keeps the beginning, and reads to the end: what writes into a pipe without a
 * reader dies. Returns the number of bytes kept; -1: it was not over in time.
 */
static ssize_t read_all(int fd, char out[TOKEN_MAX + 2], struct instant limit)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char rest[512];
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0) {
		bool keeps = used <= TOKEN_MAX;

		if (!before(now(), limit))
			return -1;
		if (poll(&p, 1, poll_ms(limit, now())) <= 0)
			continue;
		n = keeps ? read(fd, out + used, TOKEN_MAX + 1 - used)
			  : read(fd, rest, sizeof(rest));
		if (n > 0 && keeps)
			used += (size_t)n;
		else if (n < 0 && errno == EINTR)
			n = 1;
	}
	explicit_bzero(rest, sizeof(rest));
	out[used] = '\0';
	return (ssize_t)used;
}

static int check_end(int status, struct fail *why)
{
	if (WIFSIGNALED(status))
		return failed_number(why, "killed by signal", WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return failed_number(why, "ended with status",
				     WEXITSTATUS(status));
	return 0;
}

static int check_answer(char *out, size_t n, struct fail *why)
{
	size_t line = strcspn(out, "\r\n");

	if (line == strlen(out) && line < n)
		return failed(why, "a NUL byte, which no password has");
	if (line > TOKEN_MAX)
		return failed_number(why, "it printed a line longer than",
				     TOKEN_MAX);
	if (line == 0)
		return failed(why, "it printed no password");
	out[line] = '\0';
	return 0;
}

static int run(char out[TOKEN_MAX + 2], struct instant limit, struct fail *why)
{
	int ends[2], error, status = 0;
	pid_t pid, got;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return failed_sys(why, errno);
	error = start(ends[1], &pid);
	close(ends[1]);
	n = error ? 0 : read_all(ends[0], out, limit);
	close(ends[0]);
	if (error)
		return failed_sys(why, error);
	if (n < 0)
		(void)kill(pid, SIGKILL);
	while ((got = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	if (n < 0)
		return failed_number(why, "killed: not done after seconds:",
				     LIMIT_MS / 1000);
	/* if it is no longer our child, somebody else has its status */
	if (got == pid && check_end(status, why) < 0)
		return -1;
	return check_answer(out, (size_t)n, why);
}

/* Runs it, and keeps how that went. */
static void run_and_keep(struct instant limit)
{
	char *out = malloc(TOKEN_MAX + 2), *answer = NULL, *was;
	const uint64_t one = 1;
	struct fail why;

	(void)fail_memory(&why);
	if (out && run(out, limit, &why) == 0) {
		answer = strdup(out);
		if (!answer)
			(void)fail_memory(&why);
	}
	if (out)
		explicit_bzero(out, TOKEN_MAX + 2);
	free(out);
	(void)pthread_mutex_lock(&it.lock);
	was = it.answer;
	it.answer = answer;
	it.why = why;
	it.ended = now();
	it.running = false;
	while (it.n > 0)
		(void)!write(it.waiting[--it.n], &one, sizeof(one));
	(void)pthread_mutex_unlock(&it.lock);
	password_free(was);
}

static void *thread_main(void *arg)
{
	(void)arg;
	run_and_keep(after(now(), LIMIT_MS));
	return NULL;
}

static int start_thread(void)
{
	sigset_t all, old;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, thread_main, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		(void)pthread_detach(thread);
	return rc;
}

/* ---- for connections ---- */

/* In a fork, the thread is gone, which may have had the lock. */
static void enter(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	if (it.owner != getpid()) {
		it.owner = getpid();
		it.lock = unlocked;
		it.running = false;
		it.n = 0;
	}
	(void)pthread_mutex_lock(&it.lock);
}

static bool is_fresh(void)
{
	return before(now(), after(it.ended, it.answer ? FRESH_MS : FAILED_MS));
}

int password_first(struct instant limit, struct fail *why)
{
	const struct sigaction usual = {.sa_handler = SIG_DFL};
	struct sigaction old;
	char *answer;

	if (!is_fresh()) {
		/* else it cannot be waited for */
		(void)sigaction(SIGCHLD, &usual, &old);
		run_and_keep(limit);
		(void)sigaction(SIGCHLD, &old, NULL);
	}
	answer = password_take(why);
	password_free(answer);
	if (!answer && !before(now(), limit))
		return fail(why, FAIL_UNAVAILABLE,
			    "password command '%s': killed: not done in time "
			    "(-w)",
			    it.name);
	return answer ? 0 : -1;
}

/* Nothing runs that could answer. */
static void give_up(int error)
{
	password_free(it.answer);
	it.answer = NULL;
	it.ended = now();
	(void)failed_sys(&it.why, error);
}

int password_ask(void)
{
	int fd = -1, error = 0;

	enter();
	if (it.running || !is_fresh()) {
		fd = it.n < WAITING_MAX ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
					: -1;
		if (fd < 0)
			error = it.n < WAITING_MAX ? errno : EAGAIN;
		else if (!it.running)
			error = start_thread();
		if (error == 0) {
			it.running = true;
			it.waiting[it.n++] = fd;
		} else if (!it.running) {
			give_up(error);
		}
	}
	(void)pthread_mutex_unlock(&it.lock);
	if (error && fd >= 0)
		close(fd);
	return error ? -1 : fd;
}

void password_leave(int fd)
{
	enter();
	for (int i = 0; i < it.n; i++)
		if (it.waiting[i] == fd)
			it.waiting[i--] = it.waiting[--it.n];
	(void)pthread_mutex_unlock(&it.lock);
	close(fd);
}

char *password_take(struct fail *why)
{
	char *copy = NULL;

	enter();
	if (it.answer)
		copy = strdup(it.answer);
	if (!it.answer)
		*why = it.why;
	else if (!copy)
		(void)fail_memory(why);
	(void)pthread_mutex_unlock(&it.lock);
	return copy;
}

void password_free(char *password)
{
	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
}

/* ---- a password in a file ---- */

/* The number in "/dev/fd/3", or -1. We have that descriptor, but perhaps no
 * right to open it by this name: it may be a pipe of root's shell. */
static int descriptor_of(const char *path)
{
	static const char *const at[] = {"/dev/fd/", "/proc/self/fd/"};

	if (strcmp(path, "/dev/stdin") == 0)
		return 0;
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		size_t n = strlen(at[i]);

		if (strncmp(path, at[i], n) == 0 && path[n] != '\0' &&
		    strlen(path + n) < 8 &&
		    path[n + strspn(path + n, "0123456789")] == '\0')
			return (int)parse_number(path + n, 0, 1000000);
	}
	return -1;
}

static int open_secret(const char *path)
{
	int given = descriptor_of(path);

	return given >= 0 ? fcntl(given, F_DUPFD_CLOEXEC, 0)
			  : open(path,
				 O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Up to the end of the first line. A writer of a pipe may take its time. */
static ssize_t read_first_line(int fd, bool pipe, char *out, size_t size)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0 && used < size && !memchr(out, '\n', used)) {
		if (pipe)
			(void)poll(&p, 1, -1);
		n = pipe ? read(fd, out + used, size - used)
			 : pread(fd, out + used, size - used, (off_t)used);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			n = 1;
		else if (n > 0)
			used += (size_t)n;
	}
	return n < 0 ? -1 : (ssize_t)used;
}

static int check_secret(const char *path, char *out, size_t n, struct fail *why)
{
	size_t line = 0;

	while (line < n && out[line] != '\r' && out[line] != '\n')
		line++;
	if (memchr(out, '\0', line))
		return fail(why, FAIL_CONFIG,
			    "password file '%.150s': a NUL byte, which no "
			    "password has",
			    path);
	if (line == PASSWORD_MAX)
		return fail(why, FAIL_CONFIG,
			    "password file '%.150s': longer than %d bytes",
			    path, PASSWORD_MAX - 1);
	out[line] = '\0';
	if (line == 0)
		return fail(why, FAIL_CONFIG, "password file '%.150s' is empty",
			    path);
	return 0;
}

static int read_secret(const char *path, bool once, char out[PASSWORD_MAX],
		       struct fail *why)
{
	int rc, fd = open_secret(path);
	struct stat st;
	ssize_t n;
	bool pipe;

	if (fd < 0)
		return fail_sys(why, FAIL_CONFIG, "password file '%.150s'",
				path);
	rc = trust_file(TRUST_SECRET, fd, "password file ", path, &st, why);
	pipe = rc == 0 && S_ISFIFO(st.st_mode) && once;
	if (rc == 0 && !S_ISREG(st.st_mode) && !pipe)
		rc = fail(why, FAIL_CONFIG,
			  "password file '%.150s' is not a regular file%s",
			  path, once ? " or pipe" : "");
	if (rc == 0) {
		n = read_first_line(fd, pipe, out, PASSWORD_MAX);
		if (n < 0)
			rc = fail_sys(why, FAIL_CONFIG,
				      "password file '%.150s'", path);
		else
			rc = check_secret(path, out, (size_t)n, why);
	}
	close(fd);
	return rc;
}

int secret_take(struct secret *s, struct fail *why)
{
	struct stat st;

	if (s->file[0] == '\0' ||
	    (descriptor_of(s->file) < 0 &&
	     (stat(s->file, &st) < 0 || !S_ISFIFO(st.st_mode))))
		return 0;
	if (read_secret(s->file, true, s->password, why) < 0)
		return -1;
	s->file[0] = '\0';
	s->has_password = true;
	return 0;
}

int secret_password(const struct secret *s, char out[PASSWORD_MAX], bool *has,
		    struct fail *why)
{
	*has = s->file[0] != '\0' || s->has_password;
	if (s->file[0] != '\0')
		return read_secret(s->file, false, out, why);
	memcpy(out, s->password, strlen(s->password) + 1);
	return 0;
}

static bool is_quoted(const char *password)
{
	size_t n = strlen(password);

	return n > 2 && (password[0] == '"' || password[0] == '\'') &&
	       password[n - 1] == password[0];
}

const char *password_doubt(const struct secret *s, char buf[DOUBT_SIZE])
{
	char password[PASSWORD_MAX] = "", file[DOUBT_SIZE / 2] = "";
	struct fail why;
	bool has;

	if (s->by_command)
		return say_no_shell(buf);
	buf[0] = '\0';
	if (secret_password(s, password, &has, &why) < 0 ||
	    !is_quoted(password))
		return buf;
	if (s->file[0])
		(void)format_bytes(s->file, strlen(s->file), file,
				   sizeof(file));
	explicit_bzero(password, strlen(password));
	(void)snprintf(buf, DOUBT_SIZE,
		       "the password%s%s begins and ends with a quote",
		       file[0] ? " in " : "", file);
	return buf;
}
