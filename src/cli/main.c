/* SPDX-License-Identifier: MIT */
/* Finds the verb, runs it, exits. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "base/log.h"
#include "base/page.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/optrows.h"
#include "cli/render.h"
#include "cli/servers.h"
#include "config.h"
#include "net/resp.h"
#include "net/tls.h"
#include "proc/init.h"
#include "proc/signals.h"
#include "proc/title.h"
#include "proc/tree.h"

/* `broken`: what is wrong with the settings, or NULL. */
static void show_settings(const struct opts *o, const struct fail *broken)
{
	char text[800];

	if (o->urls == 0)
		(void)printf("url = " DEFAULT_URL "  (default)\n");
	opt_show(o, stdout);
	if (broken)
		(void)printf("broken: %s\n",
			     format_bytes(broken->text, strlen(broken->text),
					  text, sizeof(text)));
}

static void show_versions(void)
{
	const char *trouble = tree_trouble();
	char running[64], tls[400];

	resp_running(running, sizeof(running));
	(void)printf("redlock %s\n", PACKAGE_VERSION);
	(void)printf("hiredis: built with %s, running %s\n", resp_built_with(),
		     running);
#ifdef __GLIBC__
	(void)printf("libc: built with %d.%d, running %s\n", __GLIBC__,
		     __GLIBC_MINOR__, gnu_get_libc_version());
#else
	(void)printf("libc: not glibc\n");
#endif
	tls_version(tls, sizeof(tls));
	(void)printf("TLS: %s\n", tls);
	if (trouble)
		(void)printf(
			"guard process: NO: /proc does not show the children "
			"of a process: %s; redlock cannot run commands\n",
			trouble);
	else
		(void)printf("guard process: yes (descendants found through "
			     "/proc%s)\n",
			     tree_is_veiled()
				     ? ", which hides those of other users"
				     : "");
	(void)printf("kernel deadman: yes\n");
}

static int version(const struct opts *o, const struct fail *broken)
{
	show_versions();
	if (o->loudness <= 0)
		return render_end(STATUS_OK);
	show_settings(o, broken);
	return render_end(broken ? status_of_kind(broken->kind) : STATUS_OK);
}

/* doctor --config: shows the settings, and whether they can be used. Asks for
 * no password and connects to no server. */
static int config(const struct opts *o, const struct fail *broken)
{
	static struct servers servers;
	struct fail why;

	if (o->json) {
		log_error("usage", "--config and --json cannot be combined");
		return STATUS_USAGE;
	}
	if (!broken && !o->askpass && servers_find(&servers, o, &why) < 0)
		broken = &why;
	show_settings(o, NULL);
	if (o->loudness >= 0)
		opt_show_defaults(o, stdout);
	settings_report_typos();
	if (broken)
		log_error("failed", "%s", broken->text);
	return render_end(broken ? status_of_kind(broken->kind) : STATUS_OK);
}

/* A socket must not become descriptor 0, 1 or 2. A closed one stays closed for
 * the command: the stand-ins vanish at exec. Writing an answer to a closed
 * standard output fails. */
static void fill_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null",
				   (fd == 1 ? O_RDONLY : O_RDWR) | O_CLOEXEC);
}

static void use_messages(const struct opts *o)
{
	bool able = !o->log_json && terminal_is_able();
	const struct log_conf conf = {
		.most = o->loudness < 0   ? LOG_SAY_ERROR
			: o->loudness > 1 ? LOG_SAY_TRACE
			: o->loudness > 0 ? LOG_SAY_DETAIL
					  : LOG_SAY_NOTICE,
		.json = o->log_json,
		.live = able,
		.color = o->color == COLOR_ALWAYS,
		.color_auto = able && colors_are_wanted(o),
	};

	log_init(&conf);
}

static int refuse(const struct opts *o, char **argv, int status,
		  const char *text)
{
	if (check_is(o, argv))
		return check_unknown("", text);
	if (o->verb && o->verb->refuse)
		o->verb->refuse(argv, status);
	return status;
}

int main(int argc, char **argv)
{
	static PAGE_ALIGNED struct opts
		o; /* what it owns lives as long as we do */
	struct fail why, wrong;
	bool broken;

	fill_standard_fds();
	signals_outlive_fsize();
	signals_leave_no_core();
	argv = title_init(argc, argv);
	if (!argv) {
		log_error("failed", "out of memory");
		return STATUS_INTERNAL;
	}
	opts_init(&o);
	broken = settings_load(&o, &wrong) < 0;
	if (cmdline_parse(&o, argc, argv, &why) < 0) {
		log_error("usage", "%s", why.text);
		opts_close(&o);
		return refuse(&o, argv, status_of_kind(why.kind), why.text);
	}
	use_messages(&o);
	render_use(&o);
	switch (o.show) {
	case SHOW_HELP:
		help_print(o.verb, stdout);
		return render_end(STATUS_OK);
	case SHOW_VERSION:
		return version(&o, broken ? &wrong : NULL);
	case SHOW_NOTHING:
		break;
	}
	if (o.config)
		return config(&o, broken ? &wrong : NULL);
	if (broken) {
		log_error("failed", "%s", wrong.text);
		return refuse(&o, argv, status_of_kind(wrong.kind), wrong.text);
	}
	if (o.verb == &cmd_run)
		init_split();
	return o.verb->run(&o);
}
