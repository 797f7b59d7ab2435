/* SPDX-License-Identifier: MIT */
/*
 * Asks for a password on our controlling terminal, whatever standard input is,
 * without echo. A signal that ends or stops us restores the terminal first;
 * after a stop, the question is asked again.
 */
#ifndef CLI_ASKPASS_H
#define CLI_ASKPASS_H

#include "net/endpoint.h"

/* user "": the default user. -1: no terminal, or nothing was typed. */
int askpass(const char *user, const char *server, char password[PASSWORD_MAX],
	    struct fail *why);

/* The same for a line that is not secret: it is echoed, and may be empty. */
#define ASK_MAX 4097
int ask_line(const char *prompt, char line[ASK_MAX], struct fail *why);

#endif
