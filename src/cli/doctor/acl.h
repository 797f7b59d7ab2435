/* SPDX-License-Identifier: MIT */
/* What a user of the servers must be allowed to do, and whether it is. */
#ifndef CLI_DOCTOR_ACL_H
#define CLI_DOCTOR_ACL_H

#include "cli/doctor/exam.h"

/* The user that the server takes us for; `none`: the default user, or
 * unknown. */
const char *user_of(const struct facts *s, const char *none);

/* The user as typed at the prompt of redis-cli. Returns buf. */
#define USER_TYPED_MAX 1100
const char *user_typed(const struct facts *s, char buf[USER_TYPED_MAX]);

void check_rights(const struct exam *e, const struct facts *s);

/* A line for the prompt of redis-cli. It makes a user who may do what redlock
 * needs and nothing else. The caller frees it; NULL: out of memory. */
char *acl_line(const struct exam *e);
/* The same, with what list, top and doctor also need. */
char *acl_line_looking(const struct exam *e);
/* The same for the Sentinels; NULL: there are none. Not to be freed. */
const char *acl_line_sentinel(const struct exam *e);

#endif
