/* SPDX-License-Identifier: MIT */
/*
 * A command that prints the password: for tokens that live for minutes. It is
 * run for each new connection, in a thread of its own: it may take long, and a
 * renewal or a kill must not wait. There is one such command in a process, one
 * run of it at a time, and all connections that wait get what it prints. A
 * connection that is given up leaves it running: the next one takes the answer.
 * An answer counts for 2 s, longer than the pause before a connection is tried
 * again, and a failure for 0.5 s: a server that is away does not have the
 * command run many times a second.
 */
#ifndef NET_PASSWORD_H
#define NET_PASSWORD_H

#include "base/clock.h"
#include "net/endpoint.h"

/* Reads the words of a command line as a shell does, with ', " and \, but
 * expands nothing. Call it at most once, with the environment for the command,
 * which must last. -1: a quote is open, or there is no word. */
int password_command(const char *line, char **envp, struct fail *why);

/* Runs it, and waits for its end, up to `limit`: at the start, when a person
 * may be asked. Does nothing if it was just run. */
int password_first(struct instant limit, struct fail *why);

/* Has it run, unless there is a fresh answer: then it returns -1, as it does if
 * that is impossible; password_take() knows. Else the caller polls this
 * descriptor for POLLIN, and closes it with password_leave(), then or before.
 */
int password_ask(void);
void password_leave(int fd);

/* The latest answer, a copy for password_free(). NULL: see *why. */
char *password_take(struct fail *why);
void password_free(char *password);

/* The password to use now: the first line of the file, read each time (a
 * password may be rotated during a hold), or the one given. Returns -1 if the
 * file cannot be read or cannot be relied upon (base/trust.h). *has false:
 * there is none, and out is "". */
int secret_password(const struct secret *s, char out[PASSWORD_MAX], bool *has,
		    struct fail *why);

/* Why a password that a server has refused may not be the one that was meant;
 * "": nothing looks wrong. Returns buf. */
#define DOUBT_SIZE 200
const char *password_doubt(const struct secret *s, char buf[DOUBT_SIZE]);

/* A password that can be read only once, from a pipe or a descriptor that we
 * were given (/dev/fd/3): reads it now and keeps it in *s instead of the file.
 */
int secret_take(struct secret *s, struct fail *why);

#endif
