/* The agent's locking: three clients ask to unlock, to lock, to change the vault and to stop, each on a thread of the agent's, while time
 * passes, the machine is suspended, and clients and the agent die. AssuranceCase.md says what follows.
 *
 * DEATHS=n   how many deaths there are, of a client or of the agent
 * Each of these leaves out one rule, and breaks a property:
 * HOLD_ANYWAY, FORGET_SLEEP, HOLD_AFTER_END, NO_LAPSE, LOOK_OUTSIDE, TELL_FAILURE
 */
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef REQUESTS
#define REQUESTS 5
#endif

/* The steps, as AgentModelTests names them, by whom they are made: threads 1 to 3, the thread that accepts clients 4, the world 5. An unlock is
 * asked for, and then opens the vault or is refused; a change is made or refused. */
#define ASK 1
#define OPENED 2
#define SHUT 3
#define LOCK 4
#define CHANGED 5
#define CLOSED 6
#define STOP 7
#define FINISH 8
#define TIME 9
#define SLEEP 10
#define LAPSE 11
#define SEE_OPEN 12
#define SEE_SHUT 13
#define END 14

#define LOCAL Pthread
#include "Steps.h"

/* Where one caller makes all steps, each is made alone; nobody dies, and nobody is limited. */
#if defined(REPLAY) || defined(ACCEPT)
#define TRACED
#endif
/* A trace that is chosen at random shall not end or sleep early: nothing would be open in it. */
#if defined(ACCEPT)
#define MOST_SLEEPS 200
#define MAY_STOP true
#elif defined(REPLAY)
#define MOST_SLEEPS (1 + length / 8)
#define MAY_STOP (!isStopping && length > 30)
#else
#define MOST_SLEEPS 2
#endif

/* The vault as the agent holds it; its lock lets one thread in at a time. */
bool held = false, hasEnded = false;
byte locks = 0, sleeps = 0, sleepsHeld = 0;
bool isOver = false;
byte inside = 0;
/* One unlock at a time. */
byte guess = 0;

bool agentLives = true, isStopping = false, isGone = false;
byte deaths = 0, requests = 0;
/* Whether a client waits for its answer; it dies, or is told. */
bool waits[4], busy[4];

/* For the properties: unlocks that the agent has taken up, those of them after which a lock was asked for and answered, changes that are in the vault, and what clients were told of theirs. */
bool isUnlocking[4], isOvertaken[4], isOver1[4], isOver2[4], isOver3[4];
bool isMade[4], wasTold[4], wasRefused[4];

inline drop() { held = false; isOver = false; sleepsHeld = 0 }

/* What every use begins with. */
inline lapse() {
#ifndef NO_LAPSE
  if
  :: held && (isOver || sleeps != sleepsHeld) -> drop()
  :: else
  fi
#else
  skip
#endif
}

#ifdef TRACED
inline enter(p) { skip }
#else
inline enter(p) { atomic { inside == 0 && agentLives -> inside = p } }
#endif
inline exit() { inside = 0 }

inline answer(p) { atomic { waits[p] = false; busy[p] = false } }

/* Locks that are under way are no longer about it. */
inline endUnlock(p) {
  if
  :: p == 1 -> isOver1[1] = false; isOver1[2] = false; isOver1[3] = false
  :: p == 2 -> isOver2[1] = false; isOver2[2] = false; isOver2[3] = false
  :: p == 3 -> isOver3[1] = false; isOver3[2] = false; isOver3[3] = false
  fi
}

/* Whether an unlock that is under way may open the vault. */
#if defined(HOLD_ANYWAY)
#define MAY_HOLD (!hasEnded)
#elif defined(HOLD_AFTER_END)
#define MAY_HOLD (asked == locks)
#else
#define MAY_HOLD (asked == locks && !hasEnded)
#endif

inline leaveUnlock(p) {
  asked = 0; slept = 0; isUnlocking[p] = false; isOvertaken[p] = false;
  endUnlock(p);
  exit();
  guess = 0
}

inline unlock(p) {
  /* The request is there: what it was asked before is noted before anything else. */
  enter(p);
  atomic { WHEN(p, ASK, true) -> MADE_NOW(p, ASK) asked = locks; slept = sleeps; isUnlocking[p] = true; exit() };
  atomic { guess == 0 && agentLives -> guess = p };
  /* Here the passphrase is hashed, for as long as that takes. */
  enter(p);
  if
  :: atomic {
       WHEN(p, OPENED, MAY_HOLD) -> MADE_NOW(p, OPENED)
       assert(!isOvertaken[p]);
       held = true;
#ifdef FORGET_SLEEP
       sleepsHeld = sleeps;
       assert(sleeps == slept);
#else
       sleepsHeld = slept;
#endif
       isOver = false;
       leaveUnlock(p)
     }
  :: atomic { WHEN(p, SHUT, !MAY_HOLD) -> MADE_NOW(p, SHUT) leaveUnlock(p) }
  fi;
  answer(p)
}

inline lock(p) {
  atomic { isOver1[p] = isUnlocking[1]; isOver2[p] = isUnlocking[2]; isOver3[p] = isUnlocking[3] };
  enter(p);
  atomic { WHEN(p, LOCK, true) -> MADE_NOW(p, LOCK) locks++; if :: held -> drop() :: else fi; exit() };
  /* It is answered: an unlock that was asked for before must not open the vault now. */
  atomic {
    isOvertaken[1] = isOvertaken[1] || (isOver1[p] && waits[p]);
    isOvertaken[2] = isOvertaken[2] || (isOver2[p] && waits[p]);
    isOvertaken[3] = isOvertaken[3] || (isOver3[p] && waits[p]);
    isOver1[p] = false; isOver2[p] = false; isOver3[p] = false;
    waits[p] = false; busy[p] = false
  }
}

#ifdef TRACED
#ifdef NO_LAPSE
#define IS_USABLE held
#else
#define IS_USABLE (held && !isOver && sleeps == sleepsHeld)
#endif
inline change(p) {
  if
  :: atomic { WHEN(p, CHANGED, IS_USABLE) -> MADE_NOW(p, CHANGED) assert(held && sleeps == sleepsHeld && !isOver) }
  :: atomic { WHEN(p, CLOSED, !IS_USABLE) -> MADE_NOW(p, CLOSED) lapse() }
  fi
}
#else
inline change(p) {
  if
  :: atomic { !waits[p] -> busy[p] = false }
  :: atomic { waits[p] -> skip };
#ifdef LOOK_OUTSIDE
     enter(p);
     atomic { lapse(); isOpen = held; exit() };
     enter(p);
     atomic {
#else
     enter(p);
     atomic {
       lapse();
       isOpen = held;
#endif
       if
       :: isOpen ->
          assert(held && sleeps == sleepsHeld && !isOver);
          isMade[p] = true
       :: else
       fi;
       exit()
     };
     /* The answer may not reach the client, which then does not know. One that is told of a failure was not served. */
     if
     :: atomic { isOpen -> wasTold[p] = (waits[p] -> true : wasTold[p]); isOpen = false; waits[p] = false; busy[p] = false }
     :: atomic { isOpen -> isOpen = false;
#ifdef TELL_FAILURE
          wasRefused[p] = true;
#endif
          waits[p] = false; busy[p] = false }
     :: atomic { !isOpen -> wasRefused[p] = true; waits[p] = false; busy[p] = false }
     fi
  fi
}
#endif

inline stop(p) {
  enter(p);
  atomic { WHEN(p, STOP, true) -> MADE_NOW(p, STOP) locks++; if :: held -> drop() :: else fi; exit() };
  atomic { isStopping = true; waits[p] = false; busy[p] = false }
}

proctype thread(byte p) {
  byte asked = 0, slept = 0;

  bool isOpen = false;
end_idle:
  do
  :: { end_ask:
       do
#ifdef TRACED
       :: unlock(p)
       :: lock(p)
       :: change(p)
       :: atomic { MAY_STOP -> skip }; stop(p)
#else
       :: atomic { agentLives && !isGone && requests < REQUESTS -> requests++; waits[p] = true; busy[p] = true };
          if
          :: unlock(p)
          :: lock(p)
          :: atomic { !isMade[p] && !wasRefused[p] -> skip }; change(p)
          :: stop(p)
          fi
#endif
       od
     } unless { atomic { !agentLives -> break } }
  od
}

/* The thread that accepts clients, until it is told to stop. */
proctype main() {
end_main:
  do
  :: { atomic { isStopping -> skip };
       enter(4);
       /* Nothing opens the vault from here on; then who is asked last is waited for. */
       atomic {
         WHEN_ALONE(4, FINISH, true) -> MADE_NOW(4, FINISH)
         hasEnded = true;
         locks++;
         if :: held -> drop() :: else fi;
         exit()
       };
       atomic { isGone = true };
       atomic { !busy[1] && !busy[2] && !busy[3] -> assert(!held) };
       break
     } unless { atomic { !agentLives -> break } }
  od
}

active proctype world() {
#ifdef ACCEPT
  c_code { record_load(63); };
  do
  :: c_expr { now.which + 1 < record_count } -> which++
  :: break
  od;
#endif
  atomic { run thread(1); run thread(2); run thread(3); run main() };
end_world:
  do
  :: atomic { WHEN_ALONE(5, TIME, held && !isOver) -> MADE_NOW(5, TIME) isOver = true }
  :: atomic { WHEN_ALONE(5, SLEEP, sleeps < MOST_SLEEPS) -> MADE_NOW(5, SLEEP) sleeps++ }
  /* It looks at its time by itself. */
  :: atomic { WHEN_ALONE(5, LAPSE, held && inside == 0 && agentLives) -> MADE_NOW(5, LAPSE) lapse() }
#ifdef TRACED
  :: atomic { WHEN_ALONE(5, SEE_OPEN, held) -> MADE_NOW(5, SEE_OPEN) skip }
  :: atomic { WHEN_ALONE(5, SEE_SHUT, !held) -> MADE_NOW(5, SEE_SHUT) skip }
#ifdef REPLAY
  :: atomic { length == TRACE_LENGTH -> printf("STEP 0 %d\n", END); break }
#endif
#else
  /* A client dies, or gives up: its socket is closed. */
  :: atomic { deaths < DEATHS && waits[1] -> deaths++; waits[1] = false }
  :: atomic { deaths < DEATHS && waits[2] -> deaths++; waits[2] = false }
  :: atomic { deaths < DEATHS && waits[3] -> deaths++; waits[3] = false }
  :: atomic { deaths < DEATHS && agentLives -> deaths++; agentLives = false; held = false; inside = 0 }
#endif
  od
}

#ifndef TRACED
active proctype properties() {
end_watch:
  atomic {
    (wasTold[1] && !isMade[1]) || (wasTold[2] && !isMade[2]) || (wasTold[3] && !isMade[3]) ||
    (wasRefused[1] && isMade[1]) || (wasRefused[2] && isMade[2]) || (wasRefused[3] && isMade[3]) -> assert(false)
  }
}
#endif
