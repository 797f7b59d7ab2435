/* SPDX-License-Identifier: MIT */
/*
 * Numbers: a client that released a node and asks it again, as a SPIN model.
 *
 * It is about src/lock/core/{minority,question,acquire}.c and the scripts,
 * which keep in a client's entry the largest number of a request that touched
 * it. It shows that a late release never takes a node that the client counts.
 * So while its command runs, nobody else has a quorum. run.sh checks this
 * completely, and that every rule is needed: each broken twin below drops one.
 *
 * How to read it. One client asks N nodes and runs once it has Q of them. It
 * releases nodes before that, and asks each again, any number of times. MISHAPS
 * of its questions and answers are lost or late; LATE are under way at a time,
 * overtake each other, and a late question may come twice. OTHER is everybody
 * else: takes a free node, releases it, and hands it over.
 *
 * Numbers grow without end, but only their order counts: tidy() closes the gaps
 * between those that somebody still knows.
 *
 * Time is left out (lease.pml): a node lets a lock go only when the client does
 * not count that node any more, which may be at any moment; a yes that is still
 * under way is then too old. Also left out: losses of data, fences, the order
 * of the line, slots, and repairs by us or by a run inside our command.
 *
 * Searched: 0.13 million states with one late message and four mishaps, 1.1
 * with two late messages and three mishaps.
 */
#ifndef N
#define N 3
#endif
#define Q (N / 2 + 1)
#ifndef LATE
#define LATE 2
#endif
#ifndef MISHAPS
#define MISHAPS 4
#endif

/* Broken twins: -DTWIN=NO_ROUND and so on. */
#define ANY_RELEASE 1 /* a release does not look at the entry's number */
#define UNNOTED 2     /* a renewal does not leave its number */
#define UNNOTED_ASK 3 /* an acquire does not where we have the lock */
#define SET_BACK 4    /* what comes late leaves a smaller one */
#define OLD_GRANT 5   /* an answer from before a release counts */
#ifndef TWIN
#define TWIN 0
#endif
#define twin(t) (TWIN == t)

/* ---- the nodes ---- */

#define NOBODY 0
#define OURS 1
#define OTHER 2
byte lock[N];
byte noted[N]; /* ours: the largest number that touched the entry */

/* ---- the client ---- */

#define ASKS 0
#define RUNS 1
#define DONE 2
byte phase;
bool has[N];  /* it counts that node */
byte number[N];  /* of its last question to that node, or release */
byte settled[N]; /* what it asked before this one does not count */
byte mishaps = MISHAPS;

/* ---- what is late ---- */

#define NOTHING 0
#define ACQUIRE 1
#define CONFIRM 2
#define RELEASE 3
byte kind[LATE], to[LATE];
byte its[LATE];     /* number */
bool yes[LATE]; /* it is the answer: that */

hidden byte k, l, ours, others, answer;

/* ---- the scripts ---- */

inline notes(i, r)
{
	if
	:: noted[i] < r || twin(SET_BACK) -> noted[i] = r
	:: else
	fi
}

inline do_it(i, what, r)
{
	answer = false;
	if
	:: what == ACQUIRE && lock[i] == NOBODY ->
		lock[i] = OURS;
		noted[i] = r;
		answer = true
	:: what == ACQUIRE && lock[i] == OURS ->
		if :: twin(UNNOTED_ASK) :: else -> notes(i, r) fi;
		answer = true
	:: what == CONFIRM && lock[i] == OURS ->
		if :: twin(UNNOTED) :: else -> notes(i, r) fi;
		answer = true
	:: what == RELEASE && lock[i] == OURS &&
	   (noted[i] < r || twin(ANY_RELEASE)) ->
		lock[i] = NOBODY;
		noted[i] = 0
	:: else
	fi
}

/* ---- the client ---- */

#define asks (phase == ASKS -> ACQUIRE : CONFIRM)
#define mishap mishaps -> mishaps--

inline adds_up()
{
	ours = 0;
	others = 0;
	for (k : 0 .. N - 1) {
		ours = ours + has[k];
		others = others + (lock[k] == OTHER)
	}
	l = 0 /* a d_step cannot end with a loop */
}

/* With too few left, the command is killed. */
inline loses(i)
{
	has[i] = false;
	adds_up();
	if
	:: phase == RUNS && ours < Q -> phase = DONE
	:: else
	fi
}

inline hears(i, r)
{
	if
	:: r >= settled[i] || twin(OLD_GRANT) ->
		settled[i] = (r > settled[i] -> r : settled[i]);
		if
		:: answer -> has[i] = true
		:: else -> loses(i)
		fi
	:: else
	fi;
	answer = false
}

inline gives(i)
{
	has[i] = false;
	number[i]++;
	settled[i] = number[i]
}

/* No number of this node is left out, up to the last one. */
#define sent(m, i, r) (kind[m] && to[m] == i && its[m] == r)
#define knows(i, r)                                                            \
	(noted[i] == r || settled[i] == r || sent(0, i, r) ||                  \
	 sent(LATE - 1, i, r))
inline close(x, r)
{
	if
	:: x > r -> x--
	:: else
	fi
}
inline tidy(i)
{
	for (k : 0 .. 2 * LATE + 3) {
		/* from above: what is closed leaves the smaller ones alone */
		l = 2 * LATE + 4 - k;
		if
		:: l <= number[i] && !knows(i, l) ->
			close(noted[i], l);
			close(settled[i], l);
			number[i]--;
			if
			:: kind[0] && to[0] == i -> close(its[0], l)
			:: else
			fi;
			if
			:: LATE > 1 && kind[LATE - 1] && to[LATE - 1] == i ->
				close(its[LATE - 1], l)
			:: else
			fi
		:: else
		fi
	}
	k = 0;
	l = 0
}

#if LATE == 1
#define place (!kind[0])
#else
#define place (!kind[0] || !kind[1])
#endif

inline wire(i, what, answered)
{
	l = (LATE > 1 && kind[0] -> LATE - 1 : 0);
	kind[l] = what;
	to[l] = i;
	its[l] = number[i];
	yes[l] = answered;
	l = 0
}

inline drop(m)
{
	kind[m] = NOTHING;
	to[m] = 0;
	its[m] = 0;
	yes[m] = false
}

proctype link(byte i)
{
end:	do
	:: d_step {
		phase != DONE -> number[i]++;
		do_it(i, asks, number[i]);
		hears(i, number[i]);
		tidy(i)
	   }
	:: d_step {
		phase != DONE && place && mishap;
		number[i]++;
		wire(i, asks, false);
		tidy(i)
	   }
	:: d_step { /* its answer is late; a no may as well be lost */
		phase != DONE && place && mishap;
		number[i]++;
		do_it(i, asks, number[i]);
		if
		:: answer -> wire(i, asks, true)
		:: else
		fi;
		answer = false;
		tidy(i)
	   }
	:: d_step {
		phase == ASKS -> gives(i);
		do_it(i, RELEASE, number[i]);
		tidy(i)
	   }
	:: d_step {
		phase == ASKS && place && mishap;
		gives(i);
		wire(i, RELEASE, false);
		tidy(i)
	   }
	:: d_step { has[i] -> loses(i) } /* too old, by our clock */
	od
}

active proctype client()
{
end:	do
	:: d_step {
		phase == ASKS -> adds_up();
		phase = (ours >= Q -> RUNS : ASKS)
	   }
	/* At every moment: P1 */
	:: d_step {
		phase == RUNS -> adds_up();
		assert(others < Q)
	   }
	od
}

proctype late(byte m)
{
	byte i;

end:	do
	:: d_step { /* it arrives; its answer is lost */
		kind[m] && !yes[m] -> i = to[m];
		do_it(i, kind[m], its[m]);
		drop(m);
		answer = false;
		tidy(i);
		i = 0
	   }
	:: d_step { /* its answer is late, too */
		kind[m] && !yes[m] -> i = to[m];
		do_it(i, kind[m], its[m]);
		if
		:: answer -> yes[m] = true
		:: else -> drop(m)
		fi;
		answer = false;
		tidy(i);
		i = 0
	   }
	:: d_step { /* it will come again */
		kind[m] && !yes[m] -> i = to[m];
		do_it(i, kind[m], its[m]);
		answer = false;
		tidy(i);
		i = 0
	   }
	:: d_step {
		yes[m] && phase != DONE -> answer = true;
		i = to[m];
		hears(i, its[m]);
		drop(m);
		tidy(i);
		i = 0
	   }
	:: d_step { /* lost */
		kind[m] -> i = to[m];
		drop(m);
		tidy(i);
		i = 0
	   }
	od
}

proctype node(byte i)
{
end:	do
	:: d_step { /* the lease is over */
		lock[i] == OURS && !has[i] ->
		for (k : 0 .. LATE - 1) {
			if
			:: yes[k] && to[k] == i -> drop(k)
			:: else
			fi
		}
		lock[i] = NOBODY;
		noted[i] = 0;
		tidy(i)
	   }
	:: d_step { lock[i] == NOBODY -> lock[i] = OTHER }
	:: d_step { lock[i] == OTHER -> lock[i] = NOBODY }
	:: d_step { lock[i] == OTHER -> lock[i] = OURS; noted[i] = 0 }
	od
}

init {
	atomic {
		for (k : 0 .. N - 1) {
			run node(k);
			run link(k)
		}
		for (k : 0 .. LATE - 1) { run late(k) }
	}
}
