/* SPDX-License-Identifier: MIT */
/*
 * Asks for a password on the terminal that we belong to, whatever our standard
 * input is, and shows nothing of it. A signal that ends or stops us finds the
 * terminal as it was before; who goes on after a stop is asked again.
 */
#ifndef CLI_ASKPASS_H
#define CLI_ASKPASS_H

#include "net/endpoint.h"

/* user "": the default one. -1: no terminal, or nothing was typed. */
int askpass(const char *user, const char *server, char password[PASSWORD_MAX],
	    struct fail *why);

/* Likewise a line of no secret, which is shown. It may be empty. */
#define ASK_MAX 4097
int ask_line(const char *prompt, char line[ASK_MAX], struct fail *why);

#endif
