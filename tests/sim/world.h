/* SPDX-License-Identifier: MIT */
/*
 * The world of the simulator: time, chance, the network, and clients
 * that run redlock's own lease (src/lock) and are killed, stopped and
 * continued. sim.c decides what a server answers, what is promised, and what
 * fails when.
 *
 * All state is in `w`. Times are microseconds since the schedule's start
 * (.._us), those of the protocol milliseconds (.._ms, T, ttl); clients and
 * servers have numbers. To run a schedule:
 *
 *	world_begin(seed, twin, aloud);
 *	... name the servers, set their clocks, plan what fails ...
 *	world_people();
 *	while (world_step())
 *		;
 *	... w.failed: a promise was broken, and the log has it ...
 *
 * Every draw of chance() counts: one more, and a seed gives another schedule.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/core/lease.h"

#define TOP_MAX 6 /* clients that come by themselves */
#define CLIENTS_MAX 10
#define EVENTS_MAX 8192
#define FLIGHTS_MAX 8192
/* servers' wall clock at 0 */
#define EPOCH_US ((int64_t)1700000000 * 1000000)

enum event_kind {
	EV_WAKE,   /* client: timers */
	EV_ANSWER, /* an answer reaches the client */
	EV_BREAK,  /* a connection breaks */
	EV_NEST,   /* the command starts a redlock of its own */
	EV_COMMAND_END,
	EV_COMMAND_DEAD,      /* killed, and now really gone */
	EV_DEADMAN,           /* a stopped redlock meets its kernel timer */
	EV_CANCEL,            /* a signal while waiting */
	EV_NEXT,              /* the client wants the lock again */
	EV_OF_LIFE = EV_NEXT, /* so far, events of one life of a client */
	EV_KILL,              /* SIGKILL of the client's redlock */
	EV_STOP,              /* for long, if `slot` */
	EV_CONT,
	EV_CRASH,    /* of the client's whole machine */
	EV_ARRIVE,   /* a question reaches a server */
	EV_LISTENED, /* it has kept a listener for as long as it wanted */
	EV_DOWN,     /* or frozen, if `slot`; for `value` us */
	EV_UP,
	EV_FLUSH,
	EV_STEP,    /* the server's clock */
	EV_EVICT,   /* a key vanishes */
	EV_FULL,    /* of memory, if `slot`; or no longer */
	EV_STORM,   /* a holder is stopped, and servers are restarted */
	EV_FORCE,   /* somebody wants the lock */
	EV_REPLACED /* the client's command must be dead by now, if it knew
		       (`slot`), or whether it did or not; `value`: its
		       fence */
};

struct event {
	int64_t us;
	uint64_t order; /* among equals: first in, first out */
	enum event_kind kind;
	int who, life; /* client or server; a later life ignores older events */
	int slot;
	int64_t value;
};

/* A question under way. */
struct flight {
	bool used, dead; /* dead: nobody takes the answer */
	bool arrived;    /* no more than the answer can come of it */
	bool blocked;    /* listens */
	bool refused;    /* the answer is an error */
	int64_t serial;  /* flights are used again */
	struct ask ask;
	struct answer answer;
	struct lease_conf conf;
	int token, client, life, conn;
};

struct client {
	struct lease lease;
	int token; /* of this life, or the last; 0: it had none yet */
	int64_t ttl, rate_ppm, offset_ms;
	int life;                        /* redlock processes so far */
	bool alive, stopped, guard_will; /* guard_will: it gives back */
	bool running; /* the command, or what is left of it */
	bool dying;
	bool ended;      /* the command ended by itself */
	int64_t dead_us; /* deadman: dead at, unless moved on */
	int64_t cont_us; /* last continued */
	int64_t wake_us;
	int todo, conns[NODES_MAX][CHANNELS];
	int mute[NODES_MAX][CHANNELS]; /* the connection that has gone mute */
	bool deaf[NODES_MAX][CHANNELS];
	int64_t front[NODES_MAX][CHANNELS]; /* FIFO of each connection */
	int64_t back[NODES_MAX][CHANNELS];
};

struct server {
	char name[12]; /* in the log */
	bool down;     /* refuses */
	bool frozen;   /* accepts, does not answer */
	int64_t thaw_us, rate_ppm, step_us;
};

struct world {
	uint64_t random, seed, order;
	int64_t us, quiet_us; /* no more faults from then on ... */
	int64_t slow_us; /* ... but what was sent before may take until then */
	int n_clients;   /* that come by themselves */
	int n_events, n_flights, next_conn, tokens, overlaps;
	int64_t T, serial;
	/* gentle: no faults but one short outage; calm: not even that;
	 * steady: whatever else, the network does not fail */
	bool gentle, calm, steady;
	bool unequal; /* some want the lock for eight times as long */
	bool tail;    /* many answers are slower than any lease */
	bool mutes;   /* connections may go mute: see go_mute() */
	bool stalls;  /* clients are stopped as they are granted the lock */
	bool forward_step, backward_step, tell, failed;
	int64_t forward_us;   /* the last step forward */
	unsigned int stepped; /* the nodes that made one: bits */
	int twin;             /* 0: none */
	/* twins in clients: answered is counted as sent; who waits for ever
	 * listens, and asks no more */
	bool late_stamp, no_poll;
	/* others: a renewal counts as a new grant; the guard is our own T */
	bool old_grant, short_guard;
	bool rash; /* another: repairs that nobody has backed */
	struct server server[NODES_MAX];
	struct client client[CLIENTS_MAX];
	struct event heap[EVENTS_MAX];
	struct flight flight[FLIGHTS_MAX];
};

extern struct world w;

/* ---- what a simulator has to have ---- */

/* One schedule. False: a promise was broken. */
bool sim_run(uint64_t seed, int twin, bool aloud);
/* The result of `--runs`: "N schedules ..." */
const char *sim_scope(void);
/* The name of a twin, counted from 1; NULL: there are not so many. */
const char *sim_twin(int twin);
/* On so many nodes what it breaks is seen. */
int sim_twin_nodes(int twin);
/* A seed shortly before one that catches it, if few do; else 1. */
uint64_t sim_twin_from(int twin);

/* A question has reached a server that is neither down nor frozen: it is to be
 * run, and then reply(), listen() or break_off(). */
void sim_arrived(int node, int slot);
/* A word for the token that listens with f; true: there was one, taken. */
bool sim_take_word(const struct flight *f);
/* f may be used again: nothing more can come of it. */
bool sim_spent(const struct flight *f);

void sim_start(int who); /* the command may start, and does */
void sim_lost(int who);  /* the lease is, while the command runs */
void sim_over(int who);  /* LEASE_OVER */

/* What the world does not do by itself: EV_NEST, EV_COMMAND_END,
 * EV_COMMAND_DEAD, EV_NEXT, EV_CRASH, EV_FLUSH (of a server that is not
 * frozen), EV_STEP, EV_EVICT, EV_FULL, EV_STORM,
 * EV_FORCE. */
void sim_event(const struct event *e);

/* ---- one schedule ---- */

/* All is forgotten; T, and how many come, are drawn. */
void world_begin(uint64_t seed, int twin, bool aloud);
/* Clients are given clocks and something to do. */
void world_people(void);
/* One event. False: none is left, or a promise was broken. */
bool world_step(void);

/* `who`, `slot` and `value` are as the kind wants them; us in the past is
 * now. */
void post(int64_t us, enum event_kind kind, int who, int slot, int64_t value);

/* One outage below 0.48 T, of server 0; none where all is calm. */
void plan_outage(void);
/* Kills and stops of the first n clients, and a crash of one of those that come
 * by themselves. */
void plan_deaths(int64_t span_us, int n);

/* ---- chance, and the log ---- */

/* From 0 to range - 1; 0 where the range is empty. */
int64_t chance(int64_t range);
bool one_in(int64_t n);
/* Of a clock. Two of them differ by at most 1.174 : 1. */
int64_t any_rate_ppm(void);

/* A line of the log, if it is wanted. */
void __attribute__((format(printf, 1, 2))) tell(const char *fmt, ...);
/* A promise is broken: the schedule has failed, and ends. */
void __attribute__((format(printf, 1, 2))) violated(const char *fmt, ...);

/* ---- clocks ---- */

/* What its clock shows now, and showed at `us` of the simulated time. */
struct instant clock_of(const struct client *c);

/* Whether too few nodes have its lease besides those whose clock was set
 * forward. */
bool hangs_on_stepped(const struct client *c);
struct instant clock_at(const struct client *c, int64_t us);
/* Of a server: since 1970. */
int64_t wall_us(int node);
/* Steps it, to either side. Returns by how many ms. */
double step_clock(int node);
void set_clock(int node, int64_t us); /* steps it by so much */

/* ---- the network ---- */

/* It may fail now. */
bool rough(void);
/* Nobody waits for the answer. */
bool nobodys(const struct flight *f);
/* f->answer (or f->refused) goes back on its connection. */
void reply(int slot);
/* f blocks until a word comes, or it has listened for long enough. */
void listen_on(int slot);
/* The connection breaks. */
void break_off(const struct flight *f);
/* One of the connections that it uses has gone mute. */
bool is_cut_off(const struct client *c);
/* Words were put into grant lists: each listener takes one. `lossy`: a
 * connection that the client gave up may swallow it, should the server not know
 * yet. */
void wake_listeners(int node, bool lossy);

/* ---- clients ---- */

/* A new life, with nothing but the token left to be given: completes conf
 * (wait_ms), and begins the lease with it. pump() then sets it going. */
void new_life(int who, struct lease_conf *conf);
/* Whatever the lease has to ask or to do now; after every change to it. */
void pump(int who);
/* The decision to kill; the tree takes up to 2 % of T to die. */
void kill_command(int who);
/* It ran, and no process of it is left: redlock gives back, or its guard. */
void command_gone(int who);

/* ---- the command line ---- */

/* SEED, --runs, --from, --twin, --twins and, if nodes is given, --nodes.
 * Returns the exit status. */
int world_main(int argc, char **argv, int *nodes);

#endif
