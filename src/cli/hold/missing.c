/* SPDX-License-Identifier: MIT */
/* A command that could not be executed: why, and what was meant. */
#include "cli/hold/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/mask.h"

/* Opens the file that a shell would run; -1: there is none. */
static int open_command(const char *command)
{
	const char *path = strchr(command, '/') ? "" : getenv("PATH");
	char file[PATH_MAX];

	for (; path; path = *path ? path + 1 : NULL) {
		int n = (int)strcspn(path, ":"), fd;

		(void)snprintf(file, sizeof(file), "%.*s%s%s", n, path,
			       n ? "/" : "", command);
		path += n;
		fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* The file is there, but not what it needs: in the words of the kernel, both
 * are "No such file or directory". */
static void say_missing(const char *command, char buf[400])
{
	char head[256], shown[160];
	const char *name = head + 2;
	int fd = open_command(command);
	ssize_t got = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
	size_t n;

	if (fd >= 0)
		close(fd);
	head[got > 0 ? got : 0] = '\0';
	buf[0] = '\0';
	if (got > 2 && head[0] == '#' && head[1] == '!') {
		name += strspn(name, " \t");
		n = strcspn(name, " \t\n");
		if (n > 0 && name[n - 1] == '\r')
			(void)snprintf(buf, 400,
				       "; its first line ends with a carriage "
				       "return, as in a file from Windows: "
				       "remove them (sed -i 's/\\r$//')");
		else
			(void)snprintf(
				buf, 400, "; its interpreter '%s' is missing",
				format_bytes(name, n, shown, sizeof(shown)));
	} else if (got > 0) {
		(void)snprintf(buf, 400,
			       "; the file is there, but not the loader or the "
			       "C library that it was built for");
	}
}

/* What only a shell knows: its words, and VARIABLE=value. */
static bool is_for_shell(const char *word)
{
	static const char *const words[] = {
		":",      ".",       "[[",       "!",      "{",       "(",
		"((",     "alias",   "bg",       "case",   "cd",      "command",
		"coproc", "declare", "eval",     "exec",   "exit",    "export",
		"fg",     "for",     "function", "if",     "jobs",    "let",
		"local",  "read",    "readonly", "return", "select",  "set",
		"shift",  "shopt",   "source",   "time",   "times",   "trap",
		"type",   "typeset", "ulimit",   "umask",  "unalias", "unset",
		"until",  "while"};
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	size_t name = strspn(word, "0123456789_abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return strchr(letters, word[0]) && word[name] == '=';
}

static void name_path(char buf[160])
{
	const char *path = getenv("PATH");

	if (path && *path)
		(void)format_bytes(path, strlen(path), buf, 160);
	else
		(void)snprintf(buf, 160, "%s",
			       path ? "which is empty" : "which is not set");
}

/* It was searched for and not found. */
static void say_not_found(const char *command, const char *key)
{
	const char *cure = strpbrk(command, " \t;|&<>$")
				   ? "; -c runs a shell command line: redlock "
				     "-k KEY -c '...'"
				   : "";
	char text[200], path[160], word[120], verb[300] = "";

	(void)format_bytes(command, strlen(command), text, sizeof(text));
	if (is_for_shell(command)) {
		log_error("cannot-execute",
			  strchr(command, '=')
				  ? "'%s' is for a shell: use -c '...', or "
				    "env %s ..."
				  : "'%s' is for a shell: use -c '%s ...'",
			  text, text);
		return;
	}
	if (command_named(command)) {
		if (key[0] == '-' || !format_word(key, word, sizeof(word)))
			(void)snprintf(word, sizeof(word), "KEY");
		(void)snprintf(verb, sizeof(verb),
			       "; '%s' is a verb, which comes first: redlock "
			       "%s %s",
			       command, command, word);
		cure = verb;
	}
	name_path(path);
	log_error("cannot-execute", "'%s' is not in PATH (%s)%s", text, path,
		  cure);
}

/* A URL may stand there by mistake, without its -u. */
void missing_say(char *const *argv, int error, const char *key)
{
	char masked[160], text[860], missing[400] = "";
	const char *command = argv[0];

	if (error == ENOENT)
		say_missing(command, missing);
	if (error == ENOENT && missing[0] == '\0' && !strchr(command, '/')) {
		say_not_found(command, key);
		return;
	}
	if (strstr(command, "://"))
		command = endpoint_masked(command, masked);
	log_error("cannot-execute", "cannot execute '%s': %s%s",
		  format_bytes(command, strlen(command), text, sizeof(text)),
		  strerror(error),
		  missing[0] ? missing
		  : error == ENOENT && strpbrk(argv[0], " \t;|&<>$")
			  ? "; -c runs a shell command line: redlock -k KEY -c "
			    "'...'"
			  : "");
}
