/* SPDX-License-Identifier: MIT */
/*
 * The table of what each script answers: tests/sim/rules, one case after the
 * other, on the small Redis of redis.c. A case is a few lines:
 *
 *   -- NAME                begins a case: the server is empty
 *   acquire TOKEN [A=V]...
 *                          runs the script; renew, release, force, inspect and
 *                          history as well.
 *                          A: a name of src/lua/arguments, or `slots`, `flags`
 *                          and `about` of its identity, or `db`: -1 in a
 *                          Cluster
 *   idle, rights WORDS, rights-write WORDS
 *                          runs these scripts, which have no keys
 *   > WORD...              so it answers; it may say more than that
 *   fails WORD             it fails, and says so
 *   says WORD...           so the script or command answered, all of it
 *   do COMMAND...          on the server, by hand
 *   times N LINE           the same line N times; $i in it is the number
 *   +MS, -MS               time passes, or is set back
 *   full on, full off      whether memory is full
 *   info SERVER REPLICATION
 *                          what both parts of INFO say, or "refused"
 *   refuse COMMAND WORD ERROR
 *                          every such command with such a word fails with it
 *   allow                  and no longer
 *   state FIELD TEXT       the field of the state; none: it is missing
 *   key TEXT               the lock itself; none: it is free
 *   calls N                the script before made so many calls
 *
 * A word is in quotes if it has blanks in it; \n ends a line there. "*" stands
 * for any word, and in quotes for any bytes up to a blank. "$x" is whatever it
 * was the first time, and has that value from then on; "$x+5" is five more than
 * it. $9x: nine times x. $now and $us: the server's clock, in ms and in us. A
 * line that begins with # is a comment.
 */
#ifndef SIM_RULES_H
#define SIM_RULES_H

/* Prints TAP, a line for each case; returns the exit status. */
int rules_check(const char *path);

#endif
