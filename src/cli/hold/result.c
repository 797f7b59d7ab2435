/* SPDX-License-Identifier: MIT */
/* --result-file. */
#include "cli/hold/result.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"

int result_open(int *fd, const char *path, struct fail *why)
{
	*fd = -1;
	if (!path)
		return 0;
	*fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		   0600); /* the token is the right to unlock */
	if (*fd < 0)
		return fail_sys(why, FAIL_CONFIG, "--result-file '%s'", path);
	return 0;
}

static void print(FILE *f, const struct result *r)
{
	struct json out = {.f = f};

	json_text(&out, "schema", "redlock.result/1");
	json_text(&out, "outcome", r->outcome);
	json_number(&out, "exit", r->status);
	json_bytes(&out, "key", r->key, strlen(r->key));
	if (r->fence >= 0)
		json_number(&out, "fence", r->fence);
	if (r->slot >= 0)
		json_number(&out, "slot", r->slot);
	if (r->token[0] != '\0')
		json_text(&out, "token", r->token);
	json_text(&out, "scope", r->host_only ? "host" : "shared");
	if (r->servers > 1)
		json_number(&out, "servers", r->servers);
	json_number(&out, "waited_ms", r->waited_ms);
	json_number(&out, "held_ms", r->held_ms);
	json_close(&out);
	(void)fputc('\n', f);
}

void result_write(int fd, const char *path, const struct result *r)
{
	char *line = NULL;
	size_t n = 0;
	FILE *f;

	if (fd < 0)
		return;
	f = open_memstream(&line, &n);
	if (!f)
		return;
	print(f, r);
	if (fclose(f) == 0) {
		(void)!ftruncate(fd, 0);
		if (write(fd, line, n) != (ssize_t)n)
			log_error("result-file", "--result-file '%s': %s", path,
				  strerror(errno));
	}
	free(line);
	close(fd);
}
