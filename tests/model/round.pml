/* SPDX-License-Identifier: MIT */
/*
 * Rounds: a client that gave a node back and asks it again, as a SPIN model.
 *
 * What it says about src/lock/core/{minority,question,vote}.c and the scripts:
 * a release that comes late never takes a node that the client counts. So while
 * its command runs, nobody else has a quorum. run.sh checks that completely, and
 * that every rule is needed: each broken twin below drops one.
 *
 * How to read it. One client asks N nodes and runs once it has Q of them. It
 * gives nodes back before that, and asks each again, in the next round, ROUNDS
 * times. MISHAPS of its questions and answers are lost or late; LATE are under
 * way at a time, overtake each other, and a late question may come twice. OTHER
 * is everybody else: takes what is free, lets it go, and hands it over.
 *
 * Time is left out (lease.pml): a node lets a lock go only when the client does
 * not count that node any more, which may be at any moment; a yes that is still
 * under way is too old then. Left out as well: losses of data, fences, who is
 * first in line, slots, and repairs by us or by a run inside our command (R34).
 *
 * Searched: 1.9 million states with one late message and four mishaps, 2.1 and
 * 6.7 with two late messages. (Five nodes, one mishap and two rounds: 30 million,
 * in eight minutes; run.sh leaves that out.)
 */
#ifndef N
#define N 3
#endif
#define Q (N / 2 + 1)
#ifndef LATE
#define LATE 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef MISHAPS
#define MISHAPS 4
#endif

/* Broken twins: -DTWIN=NO_ROUND and so on. */
#define NO_ROUND 1    /* a release does not look at the round */
#define SAME_ROUND 2  /* a renewal after a release starts no new round */
#define UNNOTED 3     /* a renewal does not note its round */
#define UNNOTED_ASK 4 /* an acquire does not note it where we have the lock */
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
byte noted[N]; /* the round in our record; 0 also: it was handed to us */

/* ---- the client ---- */

#define ASKS 0
#define RUNS 1
#define DONE 2
byte phase;
bool has[N];  /* it counts that node */
bool gave[N]; /* a release was sent in this round */
byte round[N];
byte mishaps = MISHAPS;

/* ---- what is late ---- */

#define NOTHING 0
#define ACQUIRE 1
#define CONFIRM 2
#define RELEASE 3
byte kind[LATE], to[LATE];
byte sent_in[LATE]; /* this round */
bool yes[LATE]; /* it is the answer: that */

hidden byte k, l, ours, others, answer;

/* ---- the scripts ---- */

inline notes(i, r)
{
	if
	:: noted[i] < r -> noted[i] = r
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
	   (noted[i] <= r || twin(NO_ROUND)) ->
		lock[i] = NOBODY;
		noted[i] = 0
	:: else
	fi
}

/* ---- the client ---- */

#define asks (phase == ASKS -> ACQUIRE : CONFIRM)
#define may_ask(i) (phase != DONE && (!gave[i] || round[i] < ROUNDS))
#define may_give(i) (phase == ASKS && !gave[i])
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
	:: r == round[i] && !gave[i] || twin(OLD_GRANT) ->
		if
		:: answer -> has[i] = true
		:: else -> loses(i)
		fi
	:: else
	fi;
	answer = false
}

inline asked(i)
{
	round[i] = round[i] +
		   (gave[i] && !(phase == RUNS && twin(SAME_ROUND)));
	gave[i] = false
}

inline gives(i)
{
	has[i] = false;
	gave[i] = true
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
	sent_in[l] = round[i];
	yes[l] = answered;
	l = 0
}

inline drop(m)
{
	kind[m] = NOTHING;
	to[m] = 0;
	sent_in[m] = 0;
	yes[m] = false
}

proctype link(byte i)
{
end:	do
	:: d_step {
		may_ask(i) -> asked(i);
		do_it(i, asks, round[i]);
		hears(i, round[i])
	   }
	:: d_step {
		may_ask(i) && place && mishap;
		asked(i);
		wire(i, asks, false)
	   }
	:: d_step { /* its answer is late; a no may as well be lost */
		may_ask(i) && place && mishap;
		asked(i);
		do_it(i, asks, round[i]);
		if
		:: answer -> wire(i, asks, true)
		:: else
		fi;
		answer = false
	   }
	:: d_step { may_give(i) -> gives(i); do_it(i, RELEASE, round[i]) }
	:: d_step {
		may_give(i) && place && mishap;
		gives(i);
		wire(i, RELEASE, false)
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
end:	do
	:: d_step { /* it arrives; its answer is lost */
		kind[m] && !yes[m] -> do_it(to[m], kind[m], sent_in[m]);
		drop(m);
		answer = false
	   }
	:: d_step { /* its answer is late, too */
		kind[m] && !yes[m] -> do_it(to[m], kind[m], sent_in[m]);
		if
		:: answer -> yes[m] = true
		:: else -> drop(m)
		fi;
		answer = false
	   }
	:: d_step { /* it will come again */
		kind[m] && !yes[m] -> do_it(to[m], kind[m], sent_in[m]);
		answer = false
	   }
	:: d_step {
		yes[m] && phase != DONE -> answer = true;
		hears(to[m], sent_in[m]);
		drop(m)
	   }
	:: d_step { kind[m] -> drop(m) } /* lost */
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
		noted[i] = 0
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
