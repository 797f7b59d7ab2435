/* SPDX-License-Identifier: MIT */
/*
 * The lease in time, on one node and on three, as a SPIN model.
 *
 * It shows that with src/lock/core/{timing,lease,acquire}.c and the scripts two
 * commands never run at once, whatever is late or lost, and whatever restarts
 * empty. run.sh checks this completely, and that every rule is needed: each
 * broken twin below drops one, and SPIN must find what then goes wrong.
 *
 * How to read it. Time passes in ticks, the same for all; but a client may miss
 * one in DRIFT of them, and then its clock is behind. A lock lasts T ticks of
 * the server. A client counts from the time of the send, per node; its lease is
 * that of the q-th newest, and at KILL its command is dead. (A command may
 * start until then, not only before T/3.) All else may happen in any order, any
 * number of times:
 *   - clients ask (again), renew, give a grant back and ask again with the same
 *     token, end, or die: then another token is tried;
 *   - a request or its answer is lost; LATE of them at a time are under way for
 *     any length of time. A question that is lost was never asked;
 *   - others take the lock and release it: OTHER. So do requests of tokens that
 *     are given up; but a late renewal of such a token can heal;
 *   - a node restarts empty, and grants nothing for T (the guard).
 * On three nodes this has to be bounded: ONCE, a token for each client, and
 * nobody else; RESTARTS; MISHAPS, the number of messages that are lost or late;
 * no drift.
 *
 * A counter is one bit for each client that remembers it: nobody was granted or
 * has released since. Healing looks at nothing else. A client that finds its
 * lock vanished on one of three nodes, and the counter moved, counts that as
 * the last it saw, once both others have said yes to a later question.
 *
 * Left out: fences (fence.pml), the line of waiters (queue.pml), clocks that
 * are set, keys removed by hand.
 *
 * Searched: one node, 2.0 million states; with two messages late at a time, but
 * shorter leases, 2.6; three nodes, 7.5 million, 1.3 GB, two minutes. (Two
 * restarts there, or two mishaps, were not searched to the end: the former are
 * more than 18 million.)
 */
#ifndef N
#define N 1 /* nodes: 1 or 3 */
#endif
#ifndef LATE
#define LATE 1 /* 1 or 2 */
#endif
#define ANY 9 /* number of times */
#if N == 1
#ifndef T
#define T 5
#define KILL 4
#define DRIFT 6
#endif
#define ONCE false
#define RESTARTS ANY
#define MISHAPS ANY
#define Q 1
#else
#define T 2
#define KILL 2
#define DRIFT 0 /* never */
#define ONCE true
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef MISHAPS
#define MISHAPS 1
#endif
#define Q 2
#endif

/* Broken twins: -DTWIN=AT_ARRIVAL and so on. */
#define AT_ARRIVAL 1    /* a lease counts from the answer, not from the send */
#define KILL_AT_T 2     /* the command is killed as the lease ends, no sooner */
#define NO_GUARD 3      /* who restarts with nothing grants at once */
#define HEAL_BLIND 4    /* whatever has vanished is set again */
#define REPAIR_BLIND 5  /* so it is once the other nodes have said yes */
#define MISSING_EVER 6  /* no counter, guard or not: healed at any time */
#define AGAIN_AT_ONCE 7 /* gives back, and asks again before the answer */
#define OLD_GRANT 8     /* a grant counts that was given back behind it */
#ifndef TWIN
#define TWIN 0
#endif
#define twin(t) (TWIN == t)
#if TWIN == KILL_AT_T
#undef KILL
#define KILL T
#endif

/* ---- the nodes ---- */

#define NOBODY 3
#define OTHER 2      /* tokens that nobody runs on: others', or of the past */
byte lock[N] = NOBODY;
byte ttl[N];         /* ticks */
byte guard[N];       /* ticks until it grants */
bool missing[N];     /* there is no counter */

/* ---- the clients ---- */

#define IDLE 0
#define ASKS 1
#define RUNS 2
#define DONE 3
byte phase[2];
byte restarts = RESTARTS, mishaps = MISHAPS;
byte age[2 * N] = KILL; /* of the stamp of the last yes; KILL: there is none */
bool seen[2 * N];       /* the counter is the one that came with it */
bool owed[2 * N];       /* a release was sent: no answer, so far or for ever */
byte even[2];           /* ticks since one was lost */
#if N > 1
byte known[2 * N];    /* ticks until the lease of that yes ends, over there */
bool vanished[2 * N]; /* it said "absent" ... */
bool still[2 * N];    /* its counter is the same since ... */
byte yes[2 * N];      /* and these said yes to what was asked since: bits */
#endif
#define of(x, i) ((x) * N + (i))
#if N == 1
#define UNTIL(x, i) 0
#define LEFT 0
#else
#define LEFT T
#define UNTIL(x, i) known[of(x, i)]
#endif

/* ---- what is late ---- */

#define NOTHING 0
#define ACQUIRE 1
#define CONFIRM 2
#define RELEASE 3
byte kind[LATE], from[LATE], to[LATE];
byte old[LATE];   /* since it was sent */
bool same[LATE];  /* the counter that it speaks of is the one there is */
byte lasts[LATE]; /* ticks: of a question, `known`; of an answer, that lease */
byte back[LATE];  /* it is the answer: this one */
bool early[LATE]; /* sent before a node was found to have nothing */
bool stale[LATE]; /* sent before what it brings was given back */

#define UNSAID 0
#define YES 1
#define ABSENT 2
#define NO 3
hidden byte answer, k, j, y, l, d;
hidden byte who, where, what, since, unchanged, until, before;

#if N == 1
#define fresh(x) (age[x] < KILL)
#else
#define fresh(x) \
	((age[of(x, 0)] < KILL) + (age[of(x, 1)] < KILL) + \
	 (age[of(x, 2)] < KILL))
#endif

/* ---- the scripts ---- */

inline moves(i)
{
	for (y : 0 .. 1) {
		seen[of(y, i)] = seen[of(y, i)] && twin(REPAIR_BLIND);
#if N > 1
		still[of(y, i)] = false;
#endif
	}
	for (y : 0 .. LATE - 1) {
		same[y] = same[y] && to[y] != i
	}
	missing[i] = false
}

inline take(x, i)
{
	lock[i] = x;
	ttl[i] = T;
	answer = YES
}

inline acquire(x, i)
{
	answer = NO;
	if
	:: lock[i] == x -> take(x, i)
	:: lock[i] == NOBODY && !guard[i] -> moves(i); take(x, i)
	:: else
	fi
}

/* An unchanged counter proves that nobody was granted since. */
#if N == 1
#define heals(i, unchanged, until) \
	(unchanged || missing[i] || twin(HEAL_BLIND))
#else
#define heals(i, unchanged, until) \
	((unchanged && \
	  (twin(REPAIR_BLIND) || !missing[i] && (!guard[i] || until))) || \
	 (missing[i] && until) || \
	 ((unchanged || missing[i]) && twin(MISSING_EVER)) || twin(HEAL_BLIND))
#endif

inline confirm(x, i, unchanged, until)
{
	answer = NO;
	if
	:: lock[i] == x || lock[i] == NOBODY && (heals(i, unchanged, until)) ->
		if :: missing[i] -> moves(i) :: else fi;
		take(x, i)
	:: lock[i] == NOBODY && !(heals(i, unchanged, until)) ->
		answer = ABSENT
	:: else
	fi
}

inline release(x, i)
{
	if
	:: lock[i] == x -> moves(i); lock[i] = NOBODY; ttl[i] = 0
	:: else
	fi;
	answer = YES
}

/* ---- a client ---- */

inline drop(m)
{
#if LATE > 1
	d = m + 1;
	do
	:: d < LATE ->
		kind[d - 1] = kind[d];
		from[d - 1] = from[d];
		to[d - 1] = to[d];
		old[d - 1] = old[d];
		same[d - 1] = same[d];
		lasts[d - 1] = lasts[d];
		back[d - 1] = back[d];
		early[d - 1] = early[d];
		stale[d - 1] = stale[d];
		d++
	:: else -> break
	od;
#endif
	kind[LATE - 1] = NOTHING;
	from[LATE - 1] = 0;
	to[LATE - 1] = 0;
	old[LATE - 1] = 0;
	same[LATE - 1] = false;
	lasts[LATE - 1] = 0;
	back[LATE - 1] = UNSAID;
	early[LATE - 1] = false;
	stale[LATE - 1] = false
}

/* It gives back what it has, or dies and does not; with another token it may
 * come again. */
inline becomes_idle(x)
{
	for (k : 0 .. N - 1) {
		if
		:: lock[k] == x -> lock[k] = OTHER
		:: else
		fi;
		age[of(x, k)] = KILL;
		seen[of(x, k)] = false;
		owed[of(x, k)] = false;
#if N > 1
		known[of(x, k)] = 0;
		vanished[of(x, k)] = false;
		still[of(x, k)] = false;
		yes[of(x, k)] = 0;
#endif
	}
	for (k : 1 .. LATE) { /* from the last on: drop() moves them up */
		l = LATE - k;
		if
		:: kind[l] && from[l] == x &&
		   (kind[l] != CONFIRM || back[l]) -> drop(l)
		:: kind[l] == CONFIRM && from[l] == x && !back[l] ->
			from[l] = OTHER;
			old[l] = 0;
			early[l] = false
		:: else
		fi
	}
	phase[x] = (ONCE -> DONE : IDLE)
}

/* `since` the send, by its own clock. */
inline hear(x, i, since, unchanged, until, late)
{
	if
	:: answer == YES ->
		age[of(x, i)] = (age[of(x, i)] < since -> age[of(x, i)] : since);
		seen[of(x, i)] = unchanged;
#if N > 1
		known[of(x, i)] = (known[of(x, i)] > until -> known[of(x, i)]
							   : until);
		vanished[of(x, i)] = false;
		still[of(x, i)] = false;
		yes[of(x, i)] = 0;
		for (k : 0 .. N - 1) {
			if
			:: vanished[of(x, k)] && !late ->
				yes[of(x, k)] = yes[of(x, k)] | (1 << i);
				if
				:: yes[of(x, k)] == 7 - (1 << k) ->
					seen[of(x, k)] =
						still[of(x, k)] || twin(REPAIR_BLIND);
					vanished[of(x, k)] = false;
					still[of(x, k)] = false;
					yes[of(x, k)] = 0
				:: else
				fi
			:: else
			fi
		}
#endif
	:: else ->
		age[of(x, i)] = KILL;
#if N > 1
		seen[of(x, i)] = false;
		vanished[of(x, i)] = phase[x] == RUNS && answer == ABSENT;
		still[of(x, i)] = vanished[of(x, i)] && unchanged;
		yes[of(x, i)] = 0;
		for (k : 0 .. LATE - 1) {
			early[k] = early[k] || kind[k] && from[k] == x
		}
#endif
	fi;
	if
	:: phase[x] == RUNS && fresh(x) < Q -> becomes_idle(x)
	:: else
	fi
}

inline do_it(x, i, what, unchanged, until)
{
	if
	:: what == ACQUIRE -> acquire(x, i)
	:: what == CONFIRM -> confirm(x, i, unchanged, until)
	:: what == RELEASE -> release(x, i)
	fi
}

inline hear_of(x, i, what, since, unchanged, until, late)
{
	if
	:: what == RELEASE -> owed[of(x, i)] = false
	:: else -> hear(x, i, since, unchanged, until, late)
	fi
}

#define mishap mishaps -> if :: MISHAPS < ANY -> mishaps-- :: else fi

inline free_place()
{
	l = 0;
	do
	:: kind[l] -> l++
	:: else -> break
	od
}

#if LATE == 1
#define place (!kind[0])
#else
#define place (!kind[0] || !kind[1])
#endif
#define can(x, i) \
	(!owed[of(x, i)] && (phase[x] == ASKS || phase[x] == RUNS))
#define asks(x) (phase[x] == ASKS -> ACQUIRE : CONFIRM)
#define may_give(x, i) (phase[x] == ASKS && !owed[of(x, i)])

inline wire(x, i, what)
{
	kind[l] = what;
	from[l] = x;
	to[l] = i
}

inline sends_release(x, i)
{
	for (k : 0 .. LATE - 1) {
		stale[k] = stale[k] || kind[k] == ACQUIRE &&
			   from[k] == x && to[k] == i && !twin(OLD_GRANT)
	}
	age[of(x, i)] = KILL;
	seen[of(x, i)] = false;
#if N > 1
	known[of(x, i)] = 0;
#endif
	owed[of(x, i)] = !twin(AGAIN_AT_ONCE)
}

proctype link(byte x; byte i)
{
end:	do
	:: d_step {
		can(x, i) -> do_it(x, i, asks(x), seen[of(x, i)], UNTIL(x, i));
		hear(x, i, 0, true, T, false);
		answer = 0
	   }
	:: d_step {
		can(x, i) && mishap;
		do_it(x, i, asks(x), seen[of(x, i)], UNTIL(x, i));
		answer = 0
	   }
	:: d_step {
		can(x, i) && place && mishap;
		free_place();
		wire(x, i, asks(x));
		same[l] = kind[l] == CONFIRM && seen[of(x, i)];
		lasts[l] = (kind[l] == CONFIRM -> UNTIL(x, i) : 0)
	   }
	:: d_step {
		can(x, i) && place && mishap;
		free_place();
		wire(x, i, asks(x));
		do_it(x, i, asks(x), seen[of(x, i)], UNTIL(x, i));
		same[l] = true;
		lasts[l] = LEFT;
		back[l] = answer;
		answer = 0
	   }
	/* a minority: others shall have it */
	:: d_step {
		may_give(x, i) -> sends_release(x, i);
		release(x, i);
		owed[of(x, i)] = false;
		answer = 0
	   }
	:: d_step { may_give(x, i) && mishap; sends_release(x, i) }
	:: d_step {
		may_give(x, i) && mishap;
		sends_release(x, i);
		release(x, i);
		answer = 0
	   }
	:: d_step {
		may_give(x, i) && place && mishap;
		sends_release(x, i);
		free_place();
		wire(x, i, RELEASE)
	   }
	:: d_step {
		may_give(x, i) && place && mishap;
		sends_release(x, i);
		release(x, i);
		free_place();
		wire(x, i, RELEASE);
		back[l] = YES;
		answer = 0
	   }
	od
}

proctype client(byte x)
{
end:	do
	:: d_step {
		phase[x] == IDLE && (!ONCE || !x || phase[0] != IDLE) ->
		phase[x] = ASKS
	   }
	:: d_step {
		phase[x] == ASKS && fresh(x) >= Q ->
		phase[x] = RUNS;
		assert(phase[1 - x] != RUNS) /* P1 */
	   }
	/* The command has ended, or the client died or gave up. What it gives
	 * back then may be given back at any time. */
	:: d_step { phase[x] == ASKS || phase[x] == RUNS -> becomes_idle(x) }
	od
}

proctype late(byte m)
{
end:	do
	:: d_step { /* it arrives: the answer is heard, or late, or lost */
		kind[m] && !back[m] ->
		do_it(from[m], to[m], kind[m], same[m], lasts[m]);
		if
		:: from[m] == OTHER -> drop(m)
		:: from[m] != OTHER ->
			same[m] = kind[m] != RELEASE;
			lasts[m] = (kind[m] == RELEASE -> 0 : LEFT);
			back[m] = answer
		fi;
		answer = 0
	   }
	:: d_step { /* the answer arrives */
		back[m] ->
		who = from[m];
		where = to[m];
		answer = back[m];
		what = kind[m];
		since = (twin(AT_ARRIVAL) -> 0 : old[m]);
		unchanged = same[m];
		until = lasts[m];
		before = early[m];
		if
		:: stale[m] -> drop(m)
		:: !stale[m] ->
			drop(m);
			hear_of(who, where, what, since, unchanged, until,
				before)
		fi;
		answer = 0
	   }
	:: d_step { kind[m] -> drop(m); answer = 0 } /* lost */
	od
}

/* Anybody else, and requests of tokens that are given up. */
proctype node(byte i)
{
end:	do
	:: d_step { !ONCE -> acquire(OTHER, i); answer = 0 }
	:: d_step { lock[i] == OTHER -> release(OTHER, i); answer = 0 }
	:: d_step { /* it restarts with nothing */
		restarts ->
		if :: RESTARTS < ANY -> restarts-- :: else fi;
		moves(i);
		missing[i] = true;
		lock[i] = NOBODY;
		ttl[i] = 0;
		guard[i] = (twin(NO_GUARD) -> 0 : T)
	   }
	od
}

inline less(what)
{
	what = (what -> what - 1 : 0)
}

/* A tick, of which client z has no notion: 2 means nobody. */
inline tick(z)
{
	for (k : 0 .. N - 1) {
		less(guard[k]);
		less(ttl[k]);
		if :: !ttl[k] -> lock[k] = NOBODY :: else fi
	}
	for (k : 0 .. LATE - 1) {
		if
		:: kind[k] && kind[k] != RELEASE && old[k] < KILL &&
		   from[k] != z && from[k] != OTHER ->
			old[k]++
		:: else
		fi;
		less(lasts[k])
	}
	for (j : 0 .. 1) {
		for (k : 0 .. N - 1) {
#if N > 1
			less(known[of(j, k)]);
#endif
			if
			:: j != z && age[of(j, k)] < KILL -> age[of(j, k)]++
			:: else
			fi
		}
		if
		:: j == z -> even[j] = 0
		:: j != z && even[j] + 1 < DRIFT -> even[j]++
		:: else
		fi
	}
	for (j : 0 .. 1) {
		if
		:: phase[j] == RUNS && fresh(j) < Q -> becomes_idle(j)
		:: else
		fi
	}
	j = 0
}

active proctype time()
{
end:	do
	:: d_step { tick(2) }
	:: d_step { DRIFT && even[0] == DRIFT - 1 -> tick(0) }
	:: d_step { DRIFT && even[1] == DRIFT - 1 -> tick(1) }
	od
}

init {
	atomic {
		for (k : 0 .. N - 1) {
			run node(k);
			for (j : 0 .. 1) { run link(j, k) }
		}
		for (j : 0 .. 1) { run client(j) }
		for (k : 0 .. LATE - 1) { run late(k) }
	}
}
