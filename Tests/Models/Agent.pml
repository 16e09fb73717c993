/* The agent's locking: three clients ask to unlock, to lock, to change the vault and to stop, each on a thread of the agent's, while time
 * passes, the machine is suspended, and clients and the agent die. The page Models.md of the catalogue says what follows.
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

#include "Steps.h"

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

inline enter(p) { atomic { inside == 0 && agentLives -> inside = p } }
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

inline unlock(p) {
  /* The request is there: what it was asked before is noted before anything else. */
  enter(p);
  atomic { asked = locks; slept = sleeps; isUnlocking[p] = true; exit() };
  atomic { guess == 0 && agentLives -> guess = p };
  /* Here the passphrase is hashed, for as long as that takes. */
  enter(p);
  atomic {
    if
#ifdef HOLD_ANYWAY
    :: !hasEnded ->
#else
#ifdef HOLD_AFTER_END
    :: asked == locks ->
#else
    :: asked == locks && !hasEnded ->
#endif
#endif
       assert(!isOvertaken[p]);
       held = true;
#ifdef FORGET_SLEEP
       sleepsHeld = sleeps;
       assert(sleeps == slept);
#else
       sleepsHeld = slept;
#endif
       isOver = false
    :: else
    fi;
    asked = 0; slept = 0; isUnlocking[p] = false; isOvertaken[p] = false;
    endUnlock(p);
    exit();
    guess = 0
  };
  answer(p)
}

inline lock(p) {
  atomic { isOver1[p] = isUnlocking[1]; isOver2[p] = isUnlocking[2]; isOver3[p] = isUnlocking[3] };
  enter(p);
  atomic { locks++; if :: held -> drop() :: else fi; exit() };
  /* It is answered: an unlock that was asked for before must not open the vault now. */
  atomic {
    isOvertaken[1] = isOvertaken[1] || (isOver1[p] && waits[p]);
    isOvertaken[2] = isOvertaken[2] || (isOver2[p] && waits[p]);
    isOvertaken[3] = isOvertaken[3] || (isOver3[p] && waits[p]);
    isOver1[p] = false; isOver2[p] = false; isOver3[p] = false;
    waits[p] = false; busy[p] = false
  }
}

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

inline stop(p) {
  enter(p);
  atomic { locks++; if :: held -> drop() :: else fi; exit() };
  atomic { isStopping = true; waits[p] = false; busy[p] = false }
}

proctype thread(byte p) {
  byte asked = 0, slept = 0;

  bool isOpen = false;
end_idle:
  do
  :: { end_ask:
       do
       :: atomic { agentLives && !isGone && requests < REQUESTS -> requests++; waits[p] = true; busy[p] = true };
          if
          :: unlock(p)
          :: lock(p)
          :: atomic { !isMade[p] && !wasRefused[p] -> skip }; change(p)
          :: stop(p)
          fi
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
  atomic { run thread(1); run thread(2); run thread(3); run main() };
end_world:
  do
  :: atomic { held && !isOver -> isOver = true }
  :: atomic { sleeps < 2 -> sleeps++ }
  /* It looks at its time by itself. */
  :: atomic { held && inside == 0 && agentLives -> lapse() }
  /* A client dies, or gives up: its socket is closed. */
  :: atomic { deaths < DEATHS && waits[1] -> deaths++; waits[1] = false }
  :: atomic { deaths < DEATHS && waits[2] -> deaths++; waits[2] = false }
  :: atomic { deaths < DEATHS && waits[3] -> deaths++; waits[3] = false }
  :: atomic { deaths < DEATHS && agentLives -> deaths++; agentLives = false; held = false; inside = 0 }
  od
}

active proctype properties() {
end_watch:
  atomic {
    (wasTold[1] && !isMade[1]) || (wasTold[2] && !isMade[2]) || (wasTold[3] && !isMade[3]) ||
    (wasRefused[1] && isMade[1]) || (wasRefused[2] && isMade[2]) || (wasRefused[3] && isMade[3]) -> assert(false)
  }
}
