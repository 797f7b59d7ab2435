/* SPDX-License-Identifier: MIT */
/* What may be shown of a URL. */
#include "cli/mask.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/optrows.h"
#include "net/place.h"

size_t mask_length(const char *text)
{
	const char *password = strcasestr(text, "password=");
	size_t shown = password ? (size_t)(password - text) + 9 : strlen(text);
	struct span rest = {text, strlen(text)};

	(void)span_cut(&rest, '?');
	while (rest.n > 0) {
		struct span item = span_cut(&rest, '&');
		struct span value = item, name = span_cut(&value, '=');
		size_t until = (size_t)(value.at - text);

		if (value.n > 0 && !opt_in_url(name.at, name.n))
			return until < shown ? until : shown;
	}
	return shown;
}

/* The length of the "scheme://" at the start; 0: none. */
static size_t scheme_length(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");

	return n > 0 && strncmp(text + n, "://", 3) == 0 ? n + 3 : 0;
}

/* How many bytes of hosts and ports are no password: "user:password" without
 * its host reads like a host and a port that is not a number. */
static size_t places_shown(const char *text)
{
	const char *end = text + strcspn(text, "/?#"), *from = text;

	while (from < end) {
		const char *stop = from + strcspn(from, ",/?#"), *colon;
		struct span port;
		char digits[8];

		if (*from == '[' && memchr(from, ']', (size_t)(stop - from)))
			from = memchr(from, ']', (size_t)(stop - from));
		colon = memchr(from, ':', (size_t)(stop - from));
		if (colon && colon + 1 < stop) {
			port = (struct span){colon + 1,
					     (size_t)(stop - colon) - 1};
			(void)snprintf(digits, sizeof(digits), "%.*s",
				       (int)(port.n < 7 ? port.n : 7), port.at);
			if (strlen(digits) != port.n ||
			    parse_number(digits, 0, 65535) < 0)
				return (size_t)(colon + 1 - text);
		}
		from = stop + (*stop == ',');
	}
	return strlen(text);
}

/* A misread URL must not show half a password. */
const char *endpoint_masked(const char *url, char buf[160])
{
	size_t n = scheme_length(url), used = 0, shown, places;
	const char *at = strrchr(url, '@');

	(void)format_bytes(url, n, buf, 160);
	used = strlen(buf);
	url += n;
	if (at) {
		(void)snprintf(buf + used, 160 - used, "***");
		used = strlen(buf);
		url = at;
	}
	shown = mask_length(url);
	places = at ? shown : places_shown(url);
	shown = places < shown ? places : shown;
	(void)format_bytes(url, shown, buf + used, 160 - used);
	used = strlen(buf);
	if (url[shown] != '\0')
		(void)snprintf(buf + used, 160 - used, "***");
	return buf;
}
