/* SPDX-License-Identifier: MIT */
/*
 * The line of waiters on one Redis node, as a SPIN model.
 *
 * It shows that with src/lua/{line,acquire,release}.lua and the clients in
 * src/lock, whatever happens, in whatever order, no two commands run at once,
 * no grant passes a living waiter in line, a waiter that left leaves nothing
 * behind, and every waiter that neither dies nor gives up runs in the end.
 * run.sh checks this completely, and that every rule is needed: each broken
 * twin below drops one, and SPIN must find what then goes wrong.
 *
 * How to read it. Redis runs one script at a time, so acquire() and release()
 * are one step each; the clients' steps in between are tried in every order.
 * There is no clock. "A lease ends" is a step that may be taken whenever a real
 * clock could get there:
 *   - after a hand-over, before the claim: at any moment;
 *   - after the claim, before the start: at any moment, too. The client knows
 *     by its own clock, does not start, and asks again (see timing.h);
 *   - while the command runs: never. It is renewed, or the command is dead
 *     first: the timing rule, which is not the subject here;
 *   - of a dead client: at some time.
 *
 * Any number of times a waiter dies, or gives up, at any moment; a word is lost
 * on its way to the waiter; a waiter asks although nobody woke it. And FAULTS
 * times in one run, in any mixture:
 *   - the lease of a living waiter ends before its start (a slow network, a
 *     process that was stopped);
 *   - a living waiter is skipped (silent for three heartbeats);
 *   - the server restarts without line and grant lists. The holder keeps the
 *     lock: it is healed, and waiters remember;
 *   - memory is full: a place in line, or the hand-over, is refused;
 *   - a copy of a question stays under way on a second connection and runs
 *     whenever it likes, even after its waiter has left.
 *
 * Left out: several nodes, --supersede, --priority, --max-waiters, fences and
 * healing, other programs' locks. A killed redlock whose guard releases the
 * lock is the same as one that gives up.
 */
#ifndef N
#define N 4 /* waiters */
#endif
#ifndef FAULTS
#define FAULTS 3
#endif

/* Broken twins: -DTWIN=NO_POLL and so on. */
#define NO_POLL 1       /* a waiter listens for ever, and never asks again */
#define GRANT_FOREVER 2 /* a lock handed over, but not claimed, has no end */
#define NO_SKIP 3       /* the first in line stays there until it claims */
#define CANCEL_KEEPS 4  /* a client that gives up keeps a new grant */
#define DEL_AFTER 5     /* the release deletes what it has handed over */
#define DEL_APART 6     /* the same, by a second request */
#define RELEASE_ANY 7   /* a release does not look whose the lock is */
#define STALE_START 8   /* the word alone is enough to start on */
#define START_LATE 9    /* who stood still starts without a look at the clock */
#define CLAIM_SHORT 10  /* a claim does not prolong the hand-over's lease */
#define BARGE 11        /* a free lock goes to the first that asks */
#define LEAVE_UNTOLD 12 /* who heard no answer leaves without a word */
#define BEHIND_BLIND 13 /* a release behind a late question forgets the line */
#ifndef TWIN
#define TWIN 0
#endif
#define twin(t) (TWIN == t)

/* ---- the server ---- */

#define NOBODY N
byte lock = NOBODY; /* the user's key: whose token */
bool brief;         /* with the lease of a hand-over, not yet with T */
bool line[N];       /* KEY:redlock:{KEY}:queue, who is in it ... */
byte ticket[N];     /* ... and its score; the waiter knows it. 0: none yet */
byte tickets;       /* the last one given out: the server's clock */
bool word[N];       /* KEY:redlock:{KEY}:grant:TOKEN, what wakes a waiter */

#define end_lease lock = NOBODY; brief = false

/* ---- the clients ---- */

#define me _pid /* the waiters are the processes 0 .. N-1 */
#define COMING 0
#define WAITS 1
#define GRANTED 2 /* so it heard, and its own clock does not object */
#define RUNS 3
#define LEFT 4 /* done, or given up */
#define DEAD 5
byte status[N];
byte came, running; /* how many */
#define lives(w) (status[w] < LEFT)

/* In the search for starvation one waiter, whichever, neither dies nor gives
 * up: fairness would make it do that, were nothing else left for it to do. */
byte resolute = NOBODY;

/* ---- the world ---- */

byte faults = FAULTS;
#define fault faults > 0 -> faults--
byte late = NOBODY; /* whose question is under way a second time */
bool behind;        /* it has run: now the release that was sent behind it */

/* ---- the scripts ---- */

hidden byte i;
byte head = NOBODY; /* of the line; nobody again after each script */
bool refused;

/* After each. I2: no token is in the lock and in line. I5: who has left is
 * nowhere, unless a copy of its question is still to come. */
inline check()
{
	d_step {
		for (i : 0 .. N - 1) {
			assert(lock != i || !line[i]);
			assert(status[i] != LEFT || late == i ||
			       (lock != i && !line[i]))
		}
		head = NOBODY
	}
}

inline find_head()
{
	d_step {
		head = NOBODY;
		for (i : 0 .. N - 1) {
			if
			:: line[i] && (head == NOBODY ||
				       ticket[i] < ticket[head]) -> head = i
			:: else
			fi
		}
	}
}

/* I1: only a lock that is free, or the caller's, changes hands. I4: nobody in
 * line who lives, and came before, is passed. */
inline grant(w, caller, handed_over)
{
	d_step {
		assert(lock == NOBODY || lock == caller);
		for (i : 0 .. N - 1) {
			assert(!line[i] || !lives(i) || i == w ||
			       (ticket[w] > 0 && ticket[w] < ticket[i]))
		}
		lock = w;
		brief = handed_over
	}
}

/* The first in line that lives. The dead are known by their silence; or not
 * yet, and then the grant finds no taker. */
inline hand_over(caller)
{
	do
	:: find_head();
		if
		:: head == NOBODY -> break
		:: head != NOBODY && !lives(head) && !twin(NO_SKIP) ->
			line[head] = false
		:: head != NOBODY && lives(head) && fault; line[head] = false
		:: head != NOBODY ->
			line[head] = twin(NO_SKIP);
			grant(head, caller, true);
			/* no need to wake itself; and a word may be lost */
			if :: head != caller -> word[head] = true :: true fi;
			break
		fi
	od
}

/* The first question, every look, and the claim of a grant. */
inline acquire(w)
{
	if
	:: lock == NOBODY ->
		/* who was skipped has its place still */
		if :: ticket[w] -> line[w] = true :: else fi;
		if :: twin(BARGE) -> line[w] = false :: else -> hand_over(w) fi;
		if :: lock == NOBODY -> grant(w, w, false) :: else fi
	:: else
	fi;
	if
	:: lock == w ->
		line[w] = line[w] && !twin(NO_SKIP);
		brief = brief && twin(CLAIM_SHORT)
	:: lock != w ->
		if :: ticket[w] :: else -> tickets++; ticket[w] = tickets fi;
		line[w] = true
	:: lock != w && fault /* memory is full: it waits outside */
	fi;
	check()
}

inline leave_line(w)
{
	line[w] = false;
	word[w] = false
}

/* I3: the lock is left free, with nobody told, only when nobody stands in line
 * (or memory is full: then the waiters' looks must do). */
inline release(w)
{
	if
	:: lock == w && !(twin(CANCEL_KEEPS) && status[w] != RUNS) ||
	   lock != NOBODY && twin(RELEASE_ANY) ->
		if :: hand_over(w) :: fault; refused = true fi;
		if
		:: lock == w || refused || twin(DEL_AFTER) -> end_lease
		:: else
		fi;
		find_head();
		assert(lock != NOBODY || head == NOBODY || refused);
		refused = false
	:: else
	fi
}

/* ---- a waiter ---- */

inline ask()
{
	acquire(me);
	if :: true :: late == NOBODY && fault; late = me fi;
	if
	:: lock == me -> status[me] = GRANTED; goto granted
	:: else -> status[me] = WAITS; goto listen
	fi
}

inline be(over)
{
	status[me] = over;
	check();
	goto out
}

inline give_back()
{
	leave_line(me);
	release(me);
	be(LEFT)
}

active [N] proctype waiter()
{
	/* numbered as they come: other orders are the same with other names */
	atomic {
		came == me ->
		came++;
#ifdef LIVENESS
		if :: resolute == NOBODY -> resolute = me :: true fi;
#endif
		ask()
	}
listen:
	if
	:: atomic { word[me] -> word[me] = false; goto woken }
	:: atomic { !twin(NO_POLL) -> ask() }
	:: atomic { me != resolute -> give_back() }
	:: atomic { me != resolute -> be(DEAD) }
	:: atomic { twin(LEAVE_UNTOLD) -> be(LEFT) }
	fi;
woken: /* the word may be as old as it likes, and says nothing */
	if
	:: atomic { ask() }
	:: atomic { me != resolute -> give_back() }
	:: atomic { me != resolute -> be(DEAD) }
	:: atomic { twin(STALE_START) -> status[me] = GRANTED; goto granted }
	fi;
granted:
	if
	:: atomic {
		status[me] == GRANTED || twin(START_LATE) ->
		status[me] = RUNS;
		running++;
		assert(running == 1) /* P1 */
	   }
	:: atomic { status[me] == WAITS -> ask() }
	:: atomic { me != resolute -> give_back() }
	:: atomic { me != resolute -> be(DEAD) }
	fi;
	if /* the command has ended, or was killed: only now it gives back */
	:: atomic { !twin(DEL_APART) -> running--; give_back() }
	:: atomic { me != resolute -> running--; be(DEAD) }
	:: atomic { twin(DEL_APART) -> running--; leave_line(me); release(me) }
	fi;
	atomic { end_lease; be(LEFT) } /* DEL_APART only */
out:
	skip
}

/* ---- the world ---- */

active proctype time() /* what is sure to come */
{
end:	do
	:: atomic {
		lock != NOBODY && !lives(lock) &&
		!(brief && twin(GRANT_FOREVER)) -> end_lease
	   }
	/* never, as long as a claim makes a full lease of it */
	:: atomic { brief && status[lock] == RUNS -> end_lease }
	od
}

active proctype mishaps() /* what need not come */
{
end:	do
	:: faults > 0 /* but does not */
	:: atomic { /* the lease of one that lives ends */
		lock != NOBODY && lives(lock) && status[lock] != RUNS &&
		!(brief && twin(GRANT_FOREVER)) && fault;
		status[lock] = WAITS;
		end_lease
	   }
	:: atomic { /* the server restarts */
		fault;
		d_step { for (i : 0 .. N - 1) { leave_line(i) } }
		if
		:: lock != NOBODY && status[lock] != GRANTED &&
		   status[lock] != RUNS -> end_lease
		:: else
		fi
	   }
	od
}

active proctype second_connection()
{
end:	do
	:: atomic {
		late != NOBODY && !behind ->
		acquire(late);
		if /* a client that left has sent a release behind it */
		:: status[late] == LEFT -> behind = true
		:: else -> late = NOBODY
		fi
	   }
	:: atomic {
		behind ->
		if :: twin(BEHIND_BLIND) :: else -> leave_line(late) fi;
		release(late);
		late = NOBODY;
		behind = false;
		check()
	   }
	od
}

/* Who neither dies nor gives up runs in the end. */
ltl everybody_runs {
	<> (came == N && (resolute == NOBODY || status[resolute] == LEFT))
}
