/* What the programs of one machine believe about a vault's generation: they read and write it, die between a commit and its pin, and
 * somebody puts older copies back, or copies on which another machine has written. AssuranceCase.md says what follows.
 *
 * A commit is a number of its own, so that two of one generation can be told apart. A state is known by its generation, its commit, the
 * last commit of this machine that it knows of, and, for the properties alone, by all commits that it comes from.
 *
 * DEATHS=n   how many deaths there are
 * COPIES=n   how often somebody puts a copy back
 * Each of these leaves out one rule, and breaks a property:
 * PIN_FIRST, STATE_FIRST, NO_OWN, ANY_ORDER, UNLOCKED_PIN
 */
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef COPIES
#define COPIES 1
#endif
#ifndef WRITES
#define WRITES 4
#endif

/* The steps, as PinModelTests names them: a process reads the pin, takes the vault's lock, looks at the vault and finds that it fits or fails,
 * remembers what it saw, commits, remembers that. The world, process 5, keeps a copy, has it written on elsewhere, and puts it back. */
#define READ 1
#define BEGIN 2
#define FITS 3
#define FAILS 4
#define REMEMBER 5
#define COMMIT 6
#define PIN 7
#define DIES 8
#define KEEP 9
#define ELSEWHERE 10
#define PUT 11
#define END 12

#define LOCAL Pprocess
#include "Steps.h"

/* Where one caller makes all steps, each is made alone. */
#if defined(REPLAY) || defined(ACCEPT)
#define TRACED
#endif
/* In a trace that is chosen at random nobody is at work now and then, so that a copy can be put back, and a copy is written on once. */
#ifdef REPLAY
#define MAY_START (length % 12 < 9 || copies == COPIES)
#define MAY_WRITE_COPY (!copyIsWritten && length > 6)
#else
#define MAY_START true
#define MAY_WRITE_COPY true
#endif

/* A state of the file. `made` is the last commit of this machine in it, and `past` holds a bit for each commit that it comes from. */
typedef Vault {
  byte generation, commit, made, past
};
Vault file, copy;
/* Whether `copy` was written on elsewhere: the pin can tell that it lacks another's commit only where it lacks generations. */
bool copyIsWritten = false, fileIsForeign = false;
byte lastCommit = 1, copies = 0;

/* The pin: the newest commit seen, and the newest made here, with their generations. */
byte seenGeneration = 1, seenCommit = 1, ownGeneration = 0, ownCommit = 0;
byte vaultLock = 0;

bool killed[4], isAtWork[4];
byte deaths = 0;

/* For the properties: this machine's commits that somebody was told of, and the last that a call of it has shown. */
byte acknowledged = 0, shown = 1;
bool wasMeddled = false;

#define BIT(commit) (1 << (commit - 1))
/* The generation of this machine's last commit in a state: commits are numbered as they are made, and carry their generation. */
byte generationOf[8];

/* What the pin, as `p` read it, says of a state. */
#ifdef NO_OWN
#define FITS_OWN true
#else
#define FITS_OWN (ownRead == 0 || generationOf[state.made] > ownGenerationRead || state.made == ownRead)
#endif
#define FITS_SEEN (state.generation > seenGenerationRead || (state.generation == seenGenerationRead && state.commit == seenRead))

inline readPin() {
  atomic { seenGenerationRead = seenGeneration; seenRead = seenCommit; ownGenerationRead = ownGeneration; ownRead = ownCommit }
}

inline readFile() {
  atomic { state.generation = file.generation; state.commit = file.commit; state.made = file.made; state.past = file.past; foreign = fileIsForeign }
}

inline forgetPin() { seenGenerationRead = 0; seenRead = 0; ownGenerationRead = 0; ownRead = 0 }

inline forget() {
  state.generation = 0; state.commit = 0; state.made = 0; state.past = 0; foreign = false;
  forgetPin();
  mustHave = 0; mustShow = 0; isWrite = false
}

/* Brings the pin up to the state, under its lock. It never goes back. */
inline remember(p) {
#ifdef UNLOCKED_PIN
  readPin();
  atomic {
    if
    :: state.generation > seenGenerationRead -> seenGeneration = state.generation; seenCommit = state.commit
    :: else -> seenGeneration = seenGenerationRead; seenCommit = seenRead
    fi;
    if
    :: state.made != 0 && generationOf[state.made] > ownGenerationRead -> ownGeneration = generationOf[state.made]; ownCommit = state.made
    :: else -> ownGeneration = ownGenerationRead; ownCommit = ownRead
    fi;
    forgetPin()
  }
#else
  /* One write under the pin's own lock: nobody notices anything between. */
  atomic {
    seenGenerationRead = seenGeneration; seenRead = seenCommit; ownGenerationRead = ownGeneration; ownRead = ownCommit;
    if
#ifdef ANY_ORDER
    :: true ->
       seenGeneration = state.generation; seenCommit = state.commit;
       ownGeneration = (state.made == 0 -> 0 : generationOf[state.made]); ownCommit = state.made;
       ownGenerationRead = ownGeneration
#else
    :: state.generation > seenGenerationRead -> seenGeneration = state.generation; seenCommit = state.commit
#endif
    :: else
    fi;
    if
    :: state.made != 0 && generationOf[state.made] > ownGenerationRead -> ownGeneration = generationOf[state.made]; ownCommit = state.made
    :: else
    fi;
    forgetPin()
  }
#endif
}

/* Nothing that was acknowledged before the call began is missing in what it believes, and nobody complains without a reason. */
inline believe() {
  assert((state.past & mustHave) == mustHave);
  assert(foreign || (state.past & mustShow) == mustShow);
  mustHave = 0;
  mustShow = 0
}

inline complain() { assert(wasMeddled) }

inline look(p) {
#ifdef STATE_FIRST
  readFile();
  readPin();
#else
  readPin();
  readFile();
#endif
}

#ifdef TRACED
/* The same call by its steps: a look is judged as it is made. */
#define FILE_FITS \
  ((file.generation > seenGenerationRead || (file.generation == seenGenerationRead && file.commit == seenRead)) && \
   (ownRead == 0 || generationOf[file.made] > ownGenerationRead || file.made == ownRead))
inline takeFile() {
  state.generation = file.generation; state.commit = file.commit; state.made = file.made; state.past = file.past; foreign = fileIsForeign
}
inline leaveUse(p) { isAtWork[p] = false; forget() }
inline useVault(p) {
  atomic { WHEN(p, READ, MAY_START) -> MADE_NOW(p, READ) isAtWork[p] = true; mustHave = acknowledged; mustShow = BIT(shown); readPin() };
  if
  :: if
     :: atomic { WHEN(p, FITS, FILE_FITS) -> MADE_NOW(p, FITS) takeFile(); believe() }
     :: atomic { WHEN(p, FAILS, !FILE_FITS) -> MADE_NOW(p, FAILS) forgetPin() };
        atomic { WHEN(p, READ, true) -> MADE_NOW(p, READ) readPin() };
        if
        :: atomic { WHEN(p, FITS, FILE_FITS) -> MADE_NOW(p, FITS) takeFile(); believe() }
        :: atomic { WHEN(p, FAILS, !FILE_FITS) -> MADE_NOW(p, FAILS) complain(); leaveUse(p); goto idle }
        fi
     fi;
     atomic { WHEN(p, REMEMBER, true) -> MADE_NOW(p, REMEMBER) remember(p); shown = state.commit; leaveUse(p) }
  :: atomic { WHEN(p, BEGIN, vaultLock == 0 && lastCommit < WRITES + 1) -> MADE_NOW(p, BEGIN) vaultLock = p };
     if
     :: atomic { WHEN(p, FAILS, !FILE_FITS) -> MADE_NOW(p, FAILS) complain(); vaultLock = 0; leaveUse(p) }
     :: atomic { WHEN(p, FITS, FILE_FITS) -> MADE_NOW(p, FITS) takeFile(); believe() };
        atomic { WHEN(p, REMEMBER, true) -> MADE_NOW(p, REMEMBER) remember(p) };
        if
        :: atomic { lastCommit == WRITES + 1 -> vaultLock = 0; leaveUse(p) }
        :: atomic {
             WHEN(p, COMMIT, lastCommit < WRITES + 1) -> MADE_NOW(p, COMMIT)
             lastCommit++;
             generationOf[lastCommit] = state.generation + 1;
             state.generation++;
             state.commit = lastCommit;
             state.made = lastCommit;
             state.past = state.past | BIT(lastCommit);
             file.generation = state.generation; file.commit = state.commit; file.made = state.made; file.past = state.past; vaultLock = 0
           };
           atomic {
             WHEN(p, PIN, true) -> MADE_NOW(p, PIN)
             remember(p); acknowledged = acknowledged | BIT(state.commit); shown = state.commit; leaveUse(p)
           }
        fi
     fi
  fi;
idle: skip
}
#else
inline useVault(p) {
  atomic {
    isAtWork[p] = true;
    mustHave = acknowledged;
    mustShow = BIT(shown);
    if
    :: isWrite = false
    :: lastCommit < WRITES + 1 -> isWrite = true
    fi
  };
  if
  :: !isWrite ->
     look(p);
     if
     :: FITS_SEEN && FITS_OWN
     :: else -> look(p)
     fi;
     if
     :: atomic { FITS_SEEN && FITS_OWN -> believe(); forgetPin() }; remember(p); atomic { shown = state.commit; isAtWork[p] = false; forget() }
     :: atomic { else -> complain(); isAtWork[p] = false; forget() }
     fi
  :: else ->
     readPin();
     atomic { vaultLock == 0 -> vaultLock = p };
     readFile();
     if
     :: atomic { !(FITS_SEEN && FITS_OWN) -> complain(); vaultLock = 0; isAtWork[p] = false; forget() }
     :: atomic { else -> believe(); forgetPin() };
        remember(p);
        if
        :: atomic { lastCommit == WRITES + 1 -> vaultLock = 0; isAtWork[p] = false; forget() }
        :: atomic {
             lastCommit < WRITES + 1 ->
             lastCommit++;
             generationOf[lastCommit] = state.generation + 1;
             state.generation++;
             state.commit = lastCommit;
             state.made = lastCommit;
             state.past = state.past | BIT(lastCommit)
           };
#ifdef PIN_FIRST
           remember(p);
#endif
           atomic {
             file.generation = state.generation; file.commit = state.commit; file.made = state.made; file.past = state.past; vaultLock = 0
           };
#ifndef PIN_FIRST
           remember(p);
#endif
           atomic { acknowledged = acknowledged | BIT(state.commit); shown = state.commit; isAtWork[p] = false; forget() }
        fi
     fi
  fi
}
#endif

proctype process(byte p) {
  Vault state;
  byte seenGenerationRead = 0, seenRead = 0, ownGenerationRead = 0, ownRead = 0, mustHave = 0, mustShow = 0;
  bool isWrite = false, foreign = false;
end_idle:
  do
  :: { end_use: do :: useVault(p) od } unless { atomic { killed[p] -> killed[p] = false; forget() } }
  od
}

/* What the others notice of a death. */
inline leave(p) {
  deaths++;
  killed[p] = true;
  isAtWork[p] = false;
  vaultLock = (vaultLock == p -> 0 : vaultLock)
}

active proctype world() {
  byte victim = 0;
  atomic {
    file.generation = 1; file.commit = 1; file.past = 1; generationOf[1] = 1;
    copy.generation = 1; copy.commit = 1; copy.past = 1;
    run process(1);
    run process(2);
    run process(3)
  };
#ifdef ACCEPT
  c_code { record_load(63); };
  do
  :: c_expr { now.which + 1 < record_count } -> which++
  :: break
  od;
#endif
end_world:
  do
#ifdef TRACED
  :: atomic { WHEN_ALONE(1, DIES, deaths < DEATHS && isAtWork[1]) -> MADE_NOW(1, DIES) leave(1) }
  :: atomic { WHEN_ALONE(2, DIES, deaths < DEATHS && isAtWork[2]) -> MADE_NOW(2, DIES) leave(2) }
  :: atomic { WHEN_ALONE(3, DIES, deaths < DEATHS && isAtWork[3]) -> MADE_NOW(3, DIES) leave(3) }
#ifdef REPLAY
  /* How far the pin is, and the vault. */
  :: timeout -> printf("STEP 0 %d %d\n", END, seenGeneration * 100 + ownGeneration * 10 + file.generation); break
#endif
#else
  :: atomic {
       deaths < DEATHS && (isAtWork[1] || isAtWork[2] || isAtWork[3]) ->
       deaths++;
       if
       :: isAtWork[1] -> victim = 1
       :: isAtWork[2] -> victim = 2
       :: isAtWork[3] -> victim = 3
       fi;
       killed[victim] = true;
       isAtWork[victim] = false;
       vaultLock = (vaultLock == victim -> 0 : vaultLock);
       victim = 0
     }
#endif
  /* Somebody keeps a copy, */
  :: atomic {
       WHEN_ALONE(5, KEEP, copies < COPIES && copy.commit != file.commit && vaultLock == 0) -> MADE_NOW(5, KEEP)
       copy.generation = file.generation; copy.commit = file.commit; copy.made = file.made; copy.past = file.past; copyIsWritten = fileIsForeign
     }
  /* another machine writes on it, */
  :: atomic {
       WHEN_ALONE(5, ELSEWHERE, MAY_WRITE_COPY && copies < COPIES && lastCommit < WRITES + 1) -> MADE_NOW(5, ELSEWHERE)
       lastCommit++;
       copy.generation++;
       generationOf[lastCommit] = copy.generation;
       copy.commit = lastCommit;
       copy.past = copy.past | BIT(lastCommit);
       copyIsWritten = true
     }
  /* and it is put in the vault's place, while no call is under way: what happens in the midst of one is no promise. */
  :: atomic {
       WHEN_ALONE(5, PUT, copies < COPIES && copy.commit != file.commit && !isAtWork[1] && !isAtWork[2] && !isAtWork[3]) -> MADE_NOW(5, PUT)
       copies++;
       file.generation = copy.generation; file.commit = copy.commit; file.made = copy.made; file.past = copy.past; fileIsForeign = copyIsWritten;
       wasMeddled = true
     }
  od
}
