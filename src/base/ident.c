/* SPDX-License-Identifier: MIT */
/* Tokens and the host's name. */
#include "base/ident.h"

#include <fcntl.h>
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

int boot_id(char id[BOOT_ID_SIZE])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, id, BOOT_ID_SIZE - 1) : -1;

	if (fd >= 0)
		close(fd);
	id[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : -1;
}

uint64_t hash_bytes(const char *bytes, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)bytes[i]) * 0x100000001b3ULL;
	return h;
}
