/* SPDX-License-Identifier: MIT */
/* What a user of the servers must be allowed, and whether it is. */
#ifndef CLI_ACL_H
#define CLI_ACL_H

#include "cli/checks.h"

/* The user that it takes us for; `none`: the default one, or unknown. */
const char *user_of(const struct facts *s, const char *none);

/* As it is to be typed at the prompt of redis-cli; returns buf. */
#define USER_TYPED_MAX 1100
const char *user_typed(const struct facts *s, char buf[USER_TYPED_MAX]);

void check_rights(const struct exam *e, const struct facts *s);

/* A line for the prompt of redis-cli that makes a user who may do what redlock
 * does, and nothing else; NULL: no memory. It is to be freed. */
char *acl_line(const struct exam *e);
/* What list, top and doctor need besides; likewise. */
char *acl_line_looking(const struct exam *e);
/* The same for the Sentinels; NULL: there are none. */
const char *acl_line_sentinel(const struct exam *e);

#endif
