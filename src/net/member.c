/* SPDX-License-Identifier: MIT */
/* What servers say about others. */
#include "net/member.h"

#include <string.h>

int member_master(struct place *p, const struct words *reply)
{
	if (reply->n != 2)
		return -1;
	return place_told(p, (struct span){reply->at[0], reply->len[0]},
			  (struct span){reply->at[1], reply->len[1]});
}

static bool names(struct span host, struct span port,
		  const struct place *wanted)
{
	struct place p;

	return place_told(&p, host, port) == 0 && place_same(&p, wanted);
}

/* {first, last, {host, port, ...} of the primary, ... of its replicas} ... */
bool member_in_slots(const struct reply *r, const char *here,
		     const struct place *wanted)
{
	for (size_t i = 0; i < r->items; i++) {
		const struct reply *range = reply_item(r, i);

		for (size_t node = 2; node < range->items; node++) {
			const struct reply *at = reply_item(range, node);
			const struct reply *host = reply_item(at, 0);
			const struct reply *port = reply_item(at, 1);
			struct span name = {host->bytes, host->len};

			if (name.n == 0)
				name = (struct span){here, strlen(here)};
			if (names(name, (struct span){port->bytes, port->len},
				  wanted))
				return true;
		}
	}
	return false;
}

/* "ID HOST:PORT@BUS,NAME,... FLAGS ...": by its address or its name. */
static bool is_in_line(struct span line, const struct place *wanted)
{
	struct span at, port, host, name;

	(void)span_cut(&line, ' ');
	at = span_cut(&line, ' ');
	host = span_cut(&at, '@');
	(void)span_cut(&at, ',');
	name = span_cut(&at, ',');
	port = host;
	while (memchr(port.at, ':', port.n))
		(void)span_cut(&port, ':');
	if (port.n == host.n)
		return false;
	host.n -= port.n + 1;
	return names(host, port, wanted) || names(name, port, wanted);
}

bool member_in_nodes(const struct reply *r, const struct place *wanted)
{
	struct span rest = {r->bytes, r->len};

	while (rest.n > 0)
		if (is_in_line(span_cut(&rest, '\n'), wanted))
			return true;
	return false;
}
