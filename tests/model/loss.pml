/* SPDX-License-Identifier: MIT */
/*
 * One server that loses data, as a SPIN model: the one rule of
 * src/lua/counter.lua, data_lost(), and the return of a holder in renew.lua.
 *
 * What is checked is the promise of "When a server loses data" in
 * docs/protocol.md. A command may start while another one runs only after a
 * loss that nobody has noticed, and only while the other one has not been
 * answered since. With its next answer the other one is dead. run.sh checks
 * that completely, and that every rule is needed: each broken twin below drops
 * one.
 *
 * How to read it. C clients ask, wait, run, renew and release, as often as
 * COUNTS allows; their answers may be lost. Time goes in ticks, the same for
 * all. A lease lasts T of them; a command whose last yes is KILL old is dead. A
 * loss of data, LOSSES times, empties the state or brings an older one back:
 * any that there was. (Its leases have gone on, for their ends are times.)
 *
 * The counter moves to the next of 1 .. COUNTS, which is TIME: no state that
 * comes back has had it. `had` is what a state knows of its past, one bit for
 * each value; the scripts have `trail` and `born` for it.
 *
 * Left out: late messages and numbers (round.pml), several in one family,
 * unequal T, the line of waiters.
 *
 * Searched: 3 clients, 2 losses, COUNTS 6: 6.9 million states.
 */
#ifndef C
#define C 3
#endif
#ifndef LOSSES
#define LOSSES 2
#endif
#ifndef COUNTS
#define COUNTS 6
#endif
#define T 3
#define KILL 2

/* Broken twins: -DTWIN=NO_SHUT and so on. */
#define NO_SHUT 1      /* who notices a loss does not shut the key */
#define NO_TRAIL 2     /* only a counter that is behind is noticed */
#define UNNOTICED 3    /* only holders tell what they have seen */
#define RETURN_BLIND 4 /* registers again though somebody was granted it */
#ifndef TWIN
#define TWIN 0
#endif
#define twin(t) (TWIN == t)

#define NOBODY C

/* The state of the key, and an older one. */
typedef state {
	byte lock = NOBODY;
	byte ttl;        /* ticks until that lease ends */
	byte shut;       /* ticks until something is granted */
	byte counter;    /* 0: it is missing */
	byte moved;      /* the counter when the slot was taken or left */
	short had        /* the values of the counter: bits */
};
state now, older;

#define IDLE 0
#define WAITS 1
#define RUNS 2
byte phase[C];
byte seen[C]; /* the counter of the newest yes, or answer to a waiter */
byte age[C];  /* ticks since the last yes was asked for */
byte next = 1, losses = LOSSES;

bool unheard[C];     /* no answer since the last loss ... */
bool met[C];         /* ... and another command has started beside it */
bool noticed = true; /* that loss */
hidden byte i, lost, fits;

inline copy(to, from)
{
	to.lock = from.lock;
	to.ttl = from.ttl;
	to.shut = from.shut;
	to.counter = from.counter;
	to.moved = from.moved;
	to.had = from.had
}

inline move()
{
	now.counter = next;
	now.had = now.had | (1 << next);
	next++
}

/* data_lost(). The monitor knows the rule as it should be. */
inline notice(x)
{
	lost = seen[x] > 0 && !(now.had & (1 << seen[x]));
	if
	:: lost -> noticed = true
	:: else
	fi;
	lost = lost && (!twin(NO_TRAIL) || now.counter < seen[x]) &&
	       !(twin(UNNOTICED) && phase[x] == WAITS);
	if
	:: lost && !twin(NO_SHUT) -> now.shut = T
	:: else
	fi;
	if
	:: lost -> move()
	:: else
	fi
}

inline starts(x)
{
	phase[x] = RUNS;
	age[x] = 0;
	unheard[x] = false;
	met[x] = false;
	i = 0;
	do
	:: i < C ->
		assert(i == x || phase[i] != RUNS ||
		       (unheard[i] && !noticed));
		met[i] = met[i] || (i != x && phase[i] == RUNS);
		i++
	:: else -> break
	od
}

inline goes_on(x)
{
	assert(!met[x]);
	age[x] = 0;
	unheard[x] = false;
	seen[x] = now.counter;
	i = 0;
	do
	:: i < C ->
		assert(i == x || phase[i] != RUNS || unheard[i]);
		i++
	:: else -> break
	od
}

inline ends(x)
{
	phase[x] = IDLE;
	seen[x] = 0;
	age[x] = 0;
	unheard[x] = false;
	met[x] = false
}

/* A token that is heard again, or for the first time. */
inline acquire(x)
{
	notice(x);
	if
	:: now.lock == NOBODY && now.shut == 0 ->
		move();
		now.moved = now.counter;
		now.lock = x;
		now.ttl = T;
		if
		:: seen[x] = now.counter; starts(x)
		:: phase[x] = IDLE; seen[x] = 0 /* it dies, and does not start */
		fi
	:: else ->
		phase[x] = WAITS;
		if
		:: seen[x] = now.counter
		:: skip /* the answer is lost */
		fi
	fi
}

inline renew(x)
{
	notice(x);
	fits = now.lock == NOBODY &&
	       (now.moved <= seen[x] || twin(RETURN_BLIND));
	if
	:: now.lock != x && fits ->
		if
		:: !lost && !twin(NO_SHUT) && now.shut < T -> now.shut = T
		:: else
		fi;
		move();
		now.lock = x
	:: else
	fi;
	if
	:: now.lock == x ->
		now.ttl = T;
		if
		:: goes_on(x)
		:: skip
		fi
	:: else ->
		if
		:: ends(x)
		:: skip
		fi
	fi
}

inline release(x)
{
	if
	:: now.lock == x ->
		move();
		now.moved = now.counter;
		now.lock = NOBODY;
		now.ttl = 0
	:: else
	fi;
	ends(x)
}

inline pass(s)
{
	if
	:: s.ttl > 1 -> s.ttl--
	:: else -> s.ttl = 0; s.lock = NOBODY
	fi;
	if
	:: s.shut > 0 -> s.shut--
	:: else
	fi
}

inline tick()
{
	pass(now);
	pass(older);
	i = 0;
	do
	:: i < C ->
		if
		:: phase[i] == RUNS ->
			age[i]++;
			if
			:: age[i] >= KILL -> ends(i)
			:: else
			fi
		:: else
		fi;
		i++
	:: else -> break
	od
}

inline lose()
{
	losses--;
	noticed = false;
	i = 0;
	do
	:: i < C ->
		unheard[i] = phase[i] == RUNS;
		met[i] = false;
		i++
	:: else -> break
	od
}

/* Each move takes two values of the counter at most. */
#define may_move (next + 1 <= COUNTS)

proctype client(byte x)
{
	do
	:: atomic { phase[x] != RUNS && may_move -> acquire(x) }
	:: atomic { phase[x] == WAITS -> ends(x) }
	:: atomic { phase[x] == RUNS && may_move -> renew(x) }
	:: atomic { phase[x] == RUNS && may_move -> release(x) }
	od
}

init {
	atomic {
		i = 0;
		do
		:: i < C -> run client(i); i++
		:: else -> break
		od
	}
	do
	:: atomic { true -> tick() }
	:: atomic { losses > 0 -> copy(older, now) }
	:: atomic { losses > 0 -> copy(now, older); lose() }
	:: atomic { losses > 0 ->
		now.lock = NOBODY;
		now.ttl = 0;
		now.shut = 0;
		now.counter = 0;
		now.moved = 0;
		now.had = 0;
		lose()
	}
	od
}
