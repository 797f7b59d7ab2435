/* SPDX-License-Identifier: MIT */
/*
 * The fence over several nodes, as a SPIN model.
 *
 * It shows that with src/lua/{acquire,renew,release}.lua and the clients in
 * src/lock, whatever happens, in whatever order, and whatever the clocks do,
 *   A1 no two holds have the same fence;
 *   A2 a client that claims the lock while its keys are in place on a quorum
 *      has a larger fence than everybody who did so before;
 *   A3 a client that began to ask after somebody was fenced gets a larger one;
 *   A4 and a smaller one than a client that has its keys in place on a quorum;
 *   A5 a client that still has its key is not refused its fence there, so
 *      nobody can keep it from getting one.
 * run.sh checks this completely, and that every rule is needed: each broken
 * twin below drops one, and SPIN must find what then goes wrong.
 *
 * How to read it. An attempt is one token: it asks all nodes (ACQUIRE), takes
 * the value that a quorum granted as its fence, or raises their counters to the
 * largest (CONFIRM) and has it once a quorum says so. Later it ends, and
 * releases (RELEASE). There are no clocks and no messages: each script may run
 * at any time after the client began to send it, any number of times, even
 * after the client gave up or died, and the answer may be lost. A client that
 * dies takes no more steps. FAULTS times in one run, in any mixture:
 *   - a lease ends by itself, whatever its client believes;
 *   - a question that comes after its client was done is granted;
 *   - SHARED: see below.
 * LOSSES times a node restarts empty, or only its counter is lost. A lost
 * counter starts from the clock: larger than any before.
 *
 * -DSHARED: a lock that several hold at a time, readers or slots. A node has
 * one counter for all of them, so a raise counts only where it moved the
 * counter to its value, or where that node had granted this value: A1 and A3. A
 * client that was too slow raises to a larger one (a fault), and one that asks
 * again is granted a new value (another fault).
 *
 * Left out: the wait of a restarted node (it only removes orders of events, all
 * of which are safe), healing, renewals by which a node joins later, the line
 * of waiters. Locks of other programs move no counter.
 *
 * Searched to the end: 2 attempts with 4 faults, 16.5 million states, 2 GB, at
 * most five minutes; 3 attempts, 6.0; 5 nodes, 3.7; 2 losses, 6.2; 3 losses,
 * 4.1; SHARED, 7.1. `spin -t -T` prints the events of a trail.
 */
#ifndef N
#define N 3 /* nodes: 3 or 5 */
#endif
#ifndef X
#define X 2 /* attempts: at most 3 */
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef APART
#define APART 3 /* the counters are 1 .. APART at first */
#endif

/* Broken twins: -DTWIN=ORIG_GE and so on. The first four read the proposal that
 * everybody thinks of first: the largest value becomes the fence, when a quorum
 * has accepted it. There no node looks whose the lock is. */
#define ORIG_GE 1       /* accepted: the counter was no larger */
#define ORIG_NEXT 2     /* accepted: it was smaller than the largest + 1 */
#define ORIG_GT 3       /* accepted: it was smaller */
#define ORIG_EXACT 4    /* accepted: it is exactly that, and the key is ours */
#define HALF 5          /* N / 2 nodes are a quorum */
#define KEYLESS 6       /* a raise does not look whose the lock is */
#define PLAIN 7         /* a counter that was lost begins at 1 again */
#define PLAIN_GUARDED 8 /* so it does, but older holds are over first */
#define ROLLED_BACK 9   /* a restart takes one step back; the same */
#define ANY_YES 10      /* a raise counts where the counter is beyond it, too */
#define NOT_STRICT 11   /* SHARED: a raise counts where it moved nothing */
#ifndef TWIN
#define TWIN 0
#endif
#define twin(t) (TWIN == t)
#define original (TWIN >= ORIG_GE && TWIN <= ORIG_EXACT)
#define keyless (original || twin(KEYLESS))
#define plain (twin(PLAIN) || twin(PLAIN_GUARDED))
#define guards (twin(PLAIN_GUARDED) || twin(ROLLED_BACK))
#if TWIN == HALF
#define Q (N / 2)
#else
#define Q (N / 2 + 1)
#endif
#ifdef SHARED
#define ROOM 2 /* so many hold the lock at a time */
#define ANEW 1 /* a client that asks again is granted a new value */
#else
#define ROOM 1
#define ANEW 0
#endif

/* ---- the nodes ---- */

byte lock[N];   /* whose tokens it holds: a bit for each */
byte c[N];      /* the counter; 0: none */
byte newest;    /* no counter was ever larger: the clocks are ahead of all */
byte awaits[N]; /* twins: who had the lock anywhere as the node restarted */

#define has(x, i) ((lock[i] >> (x)) & 1)
#define full(i) ((lock[i] & 1) + (lock[i] >> 1 & 1) + (lock[i] >> 2) >= ROOM)

/* ---- the attempts ---- */

#define TO_COME 0
#define ASKS 1
#define RAISES 2
#define FENCED 3
#define OVER 4 /* given up, or released */
byte phase[X], came;
byte m[X];        /* what it raises the counters to; once fenced, the fence */
bool fenced[X];   /* it was, at least */
byte before[X];   /* the largest fence there was as it began */
byte v[X * N];    /* what a node granted, as far as it was heard; 0: nothing */
bool yes[X * N];  /* the node counts: it is in S */
bool kept[X * N]; /* the tenure that it spoke of has not ended */
#ifdef SHARED
byte was[X]; /* the m before: that raise may still be under way */
#endif
#define of(x, i) ((x) * N + (i))

byte largest; /* of all fences */
byte claimed; /* of those whose keys were in place as they were claimed */

byte faults = FAULTS, losses = LOSSES;
#define fault faults > 0 -> faults--
#define loss losses > 0 -> losses--

/* Where a raise counts: the answer says what is stored now and, where others
 * may move it as well, whether it was smaller. */
#if TWIN == ORIG_GE
#define counted(x, i) (c[i] <= m[x])
#elif TWIN == ORIG_NEXT || TWIN == ORIG_GT
#define counted(x, i) (c[i] < m[x])
#elif TWIN == KEYLESS || TWIN == ANY_YES || TWIN == NOT_STRICT
#define counted(x, i) true
#elif defined(SHARED)
#define counted(x, i) (c[i] && c[i] < m[x] || v[of(x, i)] == m[x])
#else /* ORIG_EXACT is right in that */
#define counted(x, i) (has(x, i) && c[i] <= m[x] && (c[i] || plain))
#endif
#if defined(SHARED) || LOSSES || TWIN && TWIN != ORIG_EXACT
#define refused(x, i) false
#else
#define refused(x, i) (phase[x] == RAISES && kept[of(x, i)] && !ok)
#endif

#if N == 3
#define sum(p, x, n) (p(x, 0, n) + p(x, 1, n) + p(x, 2, n))
#else
#define sum(p, x, n) \
	(p(x, 0, n) + p(x, 1, n) + p(x, 2, n) + p(x, 3, n) + p(x, 4, n))
#endif
#define heard(x, i, n) (v[of(x, i)] > 0)
#define said(x, i, n) (v[of(x, i)] == n)
#define counts(x, i, n) yes[of(x, i)]
#define in_place(x, i, n) (kept[of(x, i)] && (yes[of(x, i)] || keyless))

hidden byte k, n;
hidden byte ok;

inline tenure_ends(x, i)
{
	lock[i] = lock[i] & ~(1 << x);
	kept[of(x, i)] = false
}

/* A node that has none makes one from its clock. */
#define born (newest + 1)
inline note(i)
{
	if :: LOSSES > 0 && c[i] > newest -> newest = c[i] :: else fi
}

/* The promises. */
inline becomes_fenced(x)
{
	printf("%d is fenced: %d\n", x, m[x]);
	assert(m[x] > before[x]); /* A3 */
	for (k : 0 .. X - 1) {
		assert(!fenced[k] || m[k] != m[x]) /* A1 */
#ifndef SHARED
		;
		assert(!fenced[k] || m[k] > m[x] ||
		       sum(in_place, k, 0) < Q) /* A4 */
#endif
	}
#ifndef SHARED
	if
	:: sum(in_place, x, 0) >= Q ->
		assert(m[x] > claimed); /* A2 */
		claimed = m[x]
	:: else
	fi;
#endif
	if :: m[x] > largest -> largest = m[x] :: else fi;
	fenced[x] = true;
	before[x] = 0;
	for (k : 0 .. N - 1) {
		v[of(x, k)] = 0
	}
	phase[x] = FENCED
}

/* One value from a quorum is the fence; else the largest shall become it. */
inline decide(x)
{
	n = 0;
	for (k : 0 .. N - 1) {
		if
		:: v[of(x, k)] && sum(said, x, v[of(x, k)]) >= Q ->
			n = v[of(x, k)]
		:: else
		fi;
		if :: v[of(x, k)] > m[x] -> m[x] = v[of(x, k)] :: else fi
	}
	if
	:: n ->
		m[x] = n;
		for (k : 0 .. N - 1) {
			yes[of(x, k)] = v[of(x, k)] == n
		}
		becomes_fenced(x)
	:: else ->
		m[x] = m[x] + twin(ORIG_NEXT);
#ifndef SHARED
		for (k : 0 .. N - 1) {
			v[of(x, k)] = 0
		}
#endif
		phase[x] = RAISES
	fi
}

inline give_up(x)
{
	for (k : 0 .. N - 1) {
		v[of(x, k)] = 0;
		yes[of(x, k)] = false;
		kept[of(x, k)] = false;
		awaits[k] = awaits[k] & ~(1 << x)
	}
	before[x] = 0;
	phase[x] = OVER;
	printf("%d is over\n", x)
}

proctype attempt(byte x)
{
	d_step { /* numbered as they come */
		came == x ->
		came++;
		phase[x] = ASKS;
		before[x] = largest;
		printf("%d begins\n", x)
	}
end:	do
	:: d_step {
		phase[x] == ASKS && sum(heard, x, 0) >= Q -> decide(x)
	   }
	:: d_step {
		phase[x] == RAISES && sum(counts, x, 0) >= Q ->
		becomes_fenced(x)
	   }
	:: d_step { phase[x] != OVER -> give_up(x) }
#ifdef SHARED
	:: d_step { /* others were quicker: a larger one */
		phase[x] == RAISES && !was[x] && fault;
		was[x] = m[x];
		for (k : 0 .. N - 1) {
			yes[of(x, k)] = false;
			if
			:: has(x, k) && c[k] > m[x] -> m[x] = c[k]
			:: else
			fi
		}
		m[x]++
	   }
#endif
	od
}

/* A request, once sent, may run at any time, however often, or never; and its
 * answer, if that is waited for still, be heard or not. */
proctype link(byte x; byte i)
{
end:	do
	:: atomic { /* ACQUIRE */
		phase[x] != TO_COME && !has(x, i) && !full(i) && !awaits[i] &&
		(phase[x] != OVER || faults) ->
		if :: phase[x] == OVER -> faults-- :: else fi;
		c[i] = (c[i] || plain -> c[i] + 1 : born);
		note(i);
		lock[i] = lock[i] | (1 << x);
		printf("%d granted at %d: %d\n", x, i, c[i]);
		if
		:: phase[x] == ASKS ->
			v[of(x, i)] = c[i];
			kept[of(x, i)] = true;
			printf("  heard\n")
		:: true
		fi
	   }
	:: d_step { /* it has it already; a counter that others moved, too, is
		       of no use, and it gets another one */
		phase[x] == ASKS && has(x, i) && v[of(x, i)] != c[i] && c[i] &&
		faults >= ANEW ->
		faults = faults - ANEW;
		c[i] = c[i] + ANEW;
		note(i);
		v[of(x, i)] = c[i];
		kept[of(x, i)] = true;
		printf("%d again at %d: %d\n", x, i, c[i])
	   }
	:: atomic { /* CONFIRM */
		m[x] && (has(x, i) || keyless) &&
		(c[i] < m[x] || phase[x] == RAISES && !yes[of(x, i)]) ->
		ok = (counted(x, i) -> true : false);
		assert(!(refused(x, i))); /* A5 */
		if
		:: !c[i] && !plain -> c[i] = born
		:: (c[i] || plain) && c[i] < m[x] -> c[i] = m[x]
		:: else
		fi;
		note(i);
		printf("%d raises %d to %d: %d\n", x, i, m[x], c[i]);
		if
		:: phase[x] == RAISES && ok ->
			yes[of(x, i)] = true;
			printf("  counts\n");
			if :: has(x, i) -> kept[of(x, i)] = true :: else fi
		:: true
		fi
	   }
	:: d_step { /* RELEASE */
		phase[x] == OVER && has(x, i) ->
		if :: !c[i] && !plain -> c[i] = born :: else fi;
		c[i] = (m[x] > c[i] -> m[x] : c[i]) + 1;
		note(i);
		tenure_ends(x, i);
		printf("%d releases %d: %d\n", x, i, c[i])
	   }
	:: d_step { /* its lease ends */
		has(x, i) && fault;
		tenure_ends(x, i);
		printf("%d ends at %d\n", x, i)
	   }
#ifdef SHARED
	:: d_step { has(x, i) && c[i] < was[x] -> c[i] = was[x]; note(i) }
#endif
	od
}

proctype node(byte i)
{
end:	do
	:: d_step { /* it restarts with nothing */
		loss;
		for (k : 0 .. N - 1) {
			awaits[i] = awaits[i] | (guards -> lock[k] : 0)
		}
		for (n : 0 .. X - 1) {
			tenure_ends(n, i)
		}
		c[i] = (twin(ROLLED_BACK) && c[i] -> c[i] - 1 : 0);
		printf("%d restarts: %d\n", i, c[i])
	   }
	:: d_step { /* the counter is evicted, the lock is not */
		lock[i] && c[i] && !guards && loss;
		c[i] = 0;
		printf("%d lost its counter\n", i)
	   }
	od
}

init {
	atomic {
		/* the nodes' order does not matter, nor where they begin */
		c[0] = 1;
		k = 1;
		do
		:: k == N -> break
		:: k < N ->
			n = c[k - 1];
			do
			:: n < APART -> n++
			:: break
			od;
			c[k] = n;
			k++
		od;
		printf("counters %d %d %d\n", c[0], c[1], c[2]);
		newest = (LOSSES > 0 -> APART : 0);
		for (n : 0 .. X - 1) {
			run attempt(n);
			for (k : 0 .. N - 1) {
				run link(n, k)
			}
		}
		if
		:: LOSSES > 0 -> for (k : 0 .. N - 1) { run node(k) }
		:: else
		fi
	}
}
