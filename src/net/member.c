/* SPDX-License-Identifier: MIT */
/* What servers say about others. */
#include "net/member.h"

#include <limits.h>
#include <string.h>

#include "base/ident.h"
#include "base/units.h"

int member_master(struct place *p, const struct words *reply)
{
	if (reply->n != 2)
		return -1;
	return place_told(p, (struct span){reply->at[0], reply->len[0]},
			  (struct span){reply->at[1], reply->len[1]});
}

static struct span field_of(const struct reply *r, const char *name)
{
	for (size_t i = 0; i + 1 < r->items; i += 2)
		if (strcmp(reply_item(r, i)->bytes, name) == 0)
			return (struct span){reply_item(r, i + 1)->bytes,
					     reply_item(r, i + 1)->len};
	return (struct span){"", 0};
}

int member_sentinels(const struct reply *r, uint64_t id[MEMBER_SENTINELS],
		     struct place at[MEMBER_SENTINELS])
{
	if (!reply_is(r, "[[s*]*]"))
		return -1;
	for (size_t i = 0; i < r->items && i < MEMBER_SENTINELS; i++) {
		const struct reply *its = reply_item(r, i);
		struct span name = field_of(its, "runid");

		id[i] = hash_bytes(name.at, name.n);
		if (place_told(&at[i], field_of(its, "ip"),
			       field_of(its, "port")) < 0)
			at[i].host[0] = '\0';
	}
	return (int)at_most((int64_t)r->items, INT_MAX - 1);
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
