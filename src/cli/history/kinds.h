/* SPDX-License-Identifier: MIT */
/* How a hold may have ended, as the picture shows it. */
#ifndef CLI_HISTORY_KINDS_H
#define CLI_HISTORY_KINDS_H

#include <stdbool.h>

#include "lock/wire/history.h"

enum kind {
	RAN,
	FAILED,
	LOST,
	EXPIRED,
	MAX_HOLD,
	FORCED,
	RELEASED,
	ENDED,
	HELD,
	OTHER,
	KINDS
};
struct kind_look {
	const char *outcome;
	const char *style;  /* its class */
	const char *letter; /* above its bar */
	bool told;          /* also in words, beside the bar */
	bool loud;
};
extern const struct kind_look kinds[KINDS];

enum kind kind_of(const struct history_hold *p);

/* The <style> of the picture. */
extern const char kinds_style[];

#endif
