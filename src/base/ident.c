/* SPDX-License-Identifier: MIT */
/* Tokens and the host's name. */
#include "base/ident.h"

#include <stdio.h>
#include <unistd.h>
#include <uuid.h>

void token_generate(char token[TOKEN_SIZE])
{
	uuid_t bytes;

	uuid_generate_random(bytes);
	uuid_unparse_lower(bytes, token);
}

void host_name(char host[HOST_SIZE])
{
	if (gethostname(host, HOST_SIZE) < 0 || host[0] == '\0')
		(void)snprintf(host, HOST_SIZE, "?");
	host[HOST_SIZE - 1] = '\0';
}
