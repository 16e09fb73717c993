/* A transaction over the plain store and the vault: three processes, a plain key and a secret that only transactions write, deaths, power
 * losses, and syncs that report an error. AssuranceCase.md says what follows from it, and its limits.
 *
 * Each process makes one transaction, whose id and value is its own number; 0 is what both keys have at first.
 *
 * AGENT      process 3 keeps the vault unlocked and commits for the two others; else each process opens the vault itself
 * DEATHS=n   how many deaths there are: of one process or, with POWER, of all of them and of what is not synced
 * FAULTS=n   how many syncs of the vault's log report an error
 *
 * Each of these leaves out one rule, and breaks a property:
 * EARLY_VAULT, NO_SETTLE, NO_LATE_CHECK, NO_UNDO, DROP_UNKNOWN, FORGET_EARLY, TRUST_FOUND
 */
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef FAULTS
#define FAULTS 0
#endif

/* The steps, as the test tool names them; then what a process is told, and answers. */
#define LOCK 1
#define UNLOCK 2
#define APPEND 3
#define SYNC 4
#define BEGIN 5
#define WRITE 6
#define PUBLISH 7
#define RELEASE 8
#define ASK 9
#define START 10
#define OPEN 11
#define TRANSACT 12
#define TOUCH 13
#define OK 14
#define ERROR 15
#define DIES 16
#define END 17
#define FOLD 18
#define UNFOLD 19

#define LOCAL Pprocess
#include "Steps.h"

/* The journal as readers see it: the plain key's value, and the batch that is prepared, 0 for none. */
#define PREPARED 1
#define COMMIT 2
#define DROP 3
byte plain = 0, prepared = 0;
byte plainLock = 0;
/* The right to fold, under which alone batches are prepared and settled. It is taken before the journal's lock. */
byte foldLock = 0;

/* The vault as readers see it: the secret's value, and the outcome of each transaction. */
#define NONE 0
#define COMMITTED 1
#define DROPPED 2
byte secret = 0, outcome[4];
byte vaultLock = 0;
/* The commit whose frames are whole in the log, and that no process sees yet. */
#define NOTHING 0
#define DECISION 1
#define GIVEN_UP 2
#define FORGOTTEN 3
#define SAME 4
byte frames = NOTHING, framesID = 0;
/* Who has the vault's file open for as long as it lives, and who for one question: where nobody has, the next one recovers the log. */
bool holds[4], looks[4];

#ifdef POWER
/* What is on the disk, and the journal's records that are not known to be: these reach it in their order, all or the first of them. */
byte plainOnDisk = 0, preparedOnDisk = 0, recordKind[5], recordID[5], records = 0;
byte secretOnDisk = 0, outcomeOnDisk[4];
bool framesOnDisk = false;
#endif

#if defined(REPLAY) || defined(ACCEPT)
byte commits = 0;
#endif
bool alive[4], killed[4], began[4];
byte deaths = 0, faults = 0;
#ifdef REPLAY
byte touches = 0, starts = 0;
#endif

/* What each client has asked the agent, and how that stands. */
#define SILENT 0
#define ASKED 1
#define MADE_IT 2
#define REFUSED 3
#define LOST 4
byte question[4], wants[4];

/* For the properties: the transaction that was completed last, and those of which it was said that nothing was changed. */
byte complete = 0;
bool denied[4];

inline record(recorded, whose) {
  if
  :: recorded == PREPARED -> prepared = whose
  :: recorded == COMMIT -> plain = whose; prepared = 0
  :: recorded == DROP -> prepared = 0
  fi;
#ifdef POWER
  assert(records < 5);
  recordKind[records] = recorded;
  recordID[records] = whose;
  records++
#endif
}

inline syncJournal() {
#ifdef POWER
  plainOnDisk = plain;
  preparedOnDisk = prepared;
  do
  :: records > 0 -> records--; recordKind[records] = 0; recordID[records] = 0
  :: else -> break
  od
#else
  skip
#endif
}

inline syncVault() {
#ifdef POWER
  secretOnDisk = secret;
  outcomeOnDisk[1] = outcome[1];
  outcomeOnDisk[2] = outcome[2];
  outcomeOnDisk[3] = outcome[3];
  framesOnDisk = false
#else
  skip
#endif
}

/* The frames become what readers see. */
inline takeFrames() {
  if
  :: frames == DECISION ->
     secret = framesID;
     outcome[framesID] = COMMITTED;
     complete = (complete == framesID -> complete : 0)
  :: frames == GIVEN_UP -> outcome[framesID] = DROPPED
  :: frames == FORGOTTEN -> outcome[framesID] = NONE
  :: else
  fi;
#if defined(REPLAY) || defined(ACCEPT)
  commits = (frames == NOTHING -> commits : commits + 1);
#endif
  frames = NOTHING;
  framesID = 0
}

#define NOBODY_HAS_IT !(holds[1] || holds[2] || holds[3] || looks[1] || looks[2] || looks[3])

/* Whoever opens the vault's file first recovers its log. What is recovered is seen, and need not be durable. */
inline recover() {
  if
  :: NOBODY_HAS_IT ->
     takeFrames();
#ifdef POWER
     if
     :: framesOnDisk -> syncVault()
     :: else
     fi
#endif
  :: else
  fi
}

/* Whoever closes it last moves the log into the file, durably. */
inline lookAway(p) {
  looks[p] = false;
  if
  :: NOBODY_HAS_IT -> syncVault()
  :: else
  fi
}

/* What became of a commit of the vault. */
#define WAS_MADE 0
#define WAS_NOT 1
#define UNKNOWN 2

/* The frames of `kind` and `id` are written over what stands there, and made durable. They are whole with the last one. */
inline writeFrames(p) {
  STEP(p, WRITE, true, frames = NOTHING; framesID = 0);
#ifdef POWER
  QUIET(frames = kind; framesID = id; framesOnDisk = false)
#else
  QUIET(frames = kind; framesID = id)
#endif
}

/* Takes the vault's lock for a commit. SQLite begins with what readers see, and begins again where that is older than the last commit. Who
 * has waited for the lock has looked anew. */
inline takeVault(p, wanted) {
#if defined(REPLAY) || defined(ACCEPT)
  do
  :: QUIET(seen = commits);
     STEP(p, BEGIN, vaultLock == 0, vaultLock = p);
     if
#ifdef REPLAY
     :: atomic { seen == commits -> seen = 0; kind = wanted; break }
#else
     :: atomic { seen = 0; kind = wanted; break }
#endif
     :: seen != commits -> STEP(p, RELEASE, true, vaultLock = 0)
     fi
  od
#else
  STEP(p, BEGIN, vaultLock == 0, vaultLock = p; kind = wanted)
#endif
}

inline publish(p) {
#ifdef POWER
  STEP(p, PUBLISH, true, secretOnDisk = secret; outcomeOnDisk[1] = outcome[1]; outcomeOnDisk[2] = outcome[2];
       outcomeOnDisk[3] = outcome[3]; framesOnDisk = true);
  QUIET(takeFrames(); syncVault());
#else
  STEP(p, PUBLISH, true, takeFrames());
#endif
  STEP(p, RELEASE, true, vaultLock = 0)
}

/* One commit of the vault, of which `wanted` is asked under the lock. */
inline commitVault(p, wanted) {
  how = WAS_MADE;
  takeVault(p, wanted);
  if
  :: kind == NOTHING -> how = WAS_NOT; STEP(p, RELEASE, true, vaultLock = 0)
  :: else ->
     writeFrames(p);
     if
     :: publish(p)
#if FAULTS > 0
     :: atomic { faults < FAULTS -> faults++; vaultLock = 0; how = WAS_NOT };
#ifndef NO_UNDO
        /* A commit that failed may be in the log: another takes its place before anybody is told. */
        takeVault(p, SAME);
        writeFrames(p);
        if
        :: publish(p)
        :: atomic { faults < FAULTS -> faults++; vaultLock = 0; how = UNKNOWN }
        fi
#endif
#endif
     fi
  fi;
  QUIET(kind = NOTHING)
}

#ifdef TRUST_FOUND
#define FOUND(was) (was == NONE -> GIVEN_UP : NOTHING)
#else
#define FOUND(was) (was == NONE -> GIVEN_UP : SAME)
#endif

/* Asks the vault's file what became of `id`, which is dropped where nothing is recorded. `how` is UNKNOWN where that fails. */
inline settle(p) {
  QUIET(recover(); looks[p] = true);
#ifdef NO_SETTLE
  if
  :: atomic { outcome[id] == NONE -> found = DROPPED; how = WAS_MADE }
  :: outcome[id] != NONE ->
#endif
  commitVault(p, FOUND(outcome[id]));
#ifdef TRUST_FOUND
  QUIET(how = (outcome[id] == NONE -> how : WAS_MADE));
#endif
  QUIET(found = outcome[id]);
#ifdef NO_SETTLE
  fi;
#endif
  QUIET(lookAway(p); how = (how == WAS_MADE -> WAS_MADE : UNKNOWN))
}

/* Whoever holds the plain store's lock learns what became of a batch that is prepared. Where that fails it stays so. */
inline resolve(p) {
  if
  :: prepared != 0 ->
     QUIET(id = prepared);
#if !defined(REPLAY) && !defined(ACCEPT)
     if
     :: settle(p)
     :: atomic { vaultLock != 0 -> how = UNKNOWN }
     fi;
#else
     settle(p);
#endif
     if
     :: how != WAS_MADE
     :: else ->
        STEP(p, APPEND, true, record((found == COMMITTED -> COMMIT : DROP), id));
        STEP(p, SYNC, true, syncJournal());
        if
        :: found == COMMITTED ->
           QUIET(recover(); looks[p] = true);
           if
           :: outcome[id] != NONE -> commitVault(p, FORGOTTEN)
           :: else
           fi;
           QUIET(lookAway(p))
        :: else
        fi
     fi;
     QUIET(id = 0; found = NONE; how = WAS_MADE)
  :: else
  fi
}

/* The vault's half of `p`'s transaction, made by itself or by the agent; with `wanted` FORGOTTEN, the end of its record. */
inline decide(p, wanted) {
#ifdef AGENT
  STEP(p, ASK, true, how = WAS_NOT; if :: alive[3] -> question[p] = ASKED; wants[p] = wanted :: else fi; RESTS(p));
  if
  :: question[p] == SILENT
  :: else ->
     atomic {
       if
       :: question[p] == MADE_IT && MAY(p) -> how = WAS_MADE
       :: question[p] == REFUSED && MAY(p) -> how = WAS_NOT
       :: question[p] == LOST && MAY(p) -> how = UNKNOWN
#if !defined(REPLAY) && !defined(ACCEPT)
       /* The client's patience ends. */
       :: question[p] == ASKED -> how = UNKNOWN
#endif
       fi;
       question[p] = SILENT;
       wants[p] = NOTHING;
#ifdef REPLAY
       turn = p
#endif
     }
  fi
#else
  QUIET(id = p);
  commitVault(p, wanted);
  QUIET(id = 0)
#endif
}

inline unlock(p) {
  STEP(p, UNLOCK, true, plainLock = 0);
  STEP(p, UNFOLD, true, foldLock = 0)
}

/* Where another process folds, nothing is done. */
inline foldIfFree(p) {
  STEP(p, FOLD, true, found = (foldLock == 0); foldLock = (foldLock == 0 -> p : foldLock))
}

inline deny(p) {
  STEP(p, APPEND, true, record(DROP, p); denied[p] = true);
  unlock(p);
  ANSWERS(p, ERROR)
}

inline transact(p) {
  TOLD(p, TRANSACT, !began[p], began[p] = true);
  STEP(p, FOLD, foldLock == 0, foldLock = p);
  STEP(p, LOCK, plainLock == 0, plainLock = p);
  resolve(p);
  if
  :: prepared != 0 -> unlock(p); ANSWERS(p, ERROR)
  :: else ->
     STEP(p, APPEND, true, record(PREPARED, p));
#ifndef EARLY_VAULT
     STEP(p, SYNC, true, syncJournal());
#endif
     decide(p, DECISION);
#ifdef EARLY_VAULT
     STEP(p, SYNC, true, syncJournal());
#endif
     if
     :: how == UNKNOWN ->
#ifdef DROP_UNKNOWN
        QUIET(how = WAS_NOT)
#else
        QUIET(id = p);
        settle(p);
        QUIET(how = (how == UNKNOWN -> UNKNOWN : (found == COMMITTED -> WAS_MADE : WAS_NOT)); id = 0; found = NONE)
#endif
     :: else
     fi;
     if
     :: how == UNKNOWN ->
        QUIET(how = WAS_MADE);
        unlock(p);
        ANSWERS(p, ERROR)
     :: how == WAS_NOT -> QUIET(how = WAS_MADE); deny(p)
     :: else ->
        STEP(p, APPEND, true, record(COMMIT, p));
#ifdef FORGET_EARLY
        decide(p, FORGOTTEN);
#endif
        STEP(p, SYNC, true, syncJournal(); complete = p);
        unlock(p);
#ifndef FORGET_EARLY
        decide(p, FORGOTTEN);
#endif
        QUIET(how = WAS_MADE);
        ANSWERS(p, OK)
     fi
  fi
}

/* A write of another preference. */
inline touch(p) {
#ifdef REPLAY
  TOLD(p, TOUCH, touches < 2, touches++);
#elif defined(ACCEPT)
  TOLD(p, TOUCH, true, skip);
#else
  /* Where nothing is prepared, it does nothing that counts here. */
  TOLD(p, TOUCH, prepared != 0, skip);
#endif
  STEP(p, LOCK, plainLock == 0, plainLock = p);
  if
  :: prepared != 0 ->
     foldIfFree(p);
     if
     :: found -> QUIET(found = NONE); resolve(p); STEP(p, UNFOLD, true, foldLock = 0)
     :: else
     fi
  :: else
  fi;
#if defined(REPLAY) || defined(ACCEPT)
  STEP(p, APPEND, true, skip);
#endif
  STEP(p, UNLOCK, true, plainLock = 0);
  ANSWERS(p, OK)
}

/* The stores are opened: the journal is looked at under its lock, batches that are prepared are settled unless another process folds, then
 * the vault is opened. */
inline start(p) {
#ifdef REPLAY
  TOLD(p, START, starts < 5, starts++; alive[p] = true);
#else
  TOLD(p, START, true, alive[p] = true);
#endif
#if defined(REPLAY) || defined(ACCEPT)
  STEP(p, LOCK, plainLock == 0, plainLock = p);
  STEP(p, UNLOCK, true, plainLock = 0);
#endif
  STEP(p, LOCK, plainLock == 0, plainLock = p);
  QUIET(id = prepared);
  STEP(p, UNLOCK, true, plainLock = 0);
  if
  :: id != 0 ->
     QUIET(id = 0);
     foldIfFree(p);
     if
     :: found -> QUIET(found = NONE); STEP(p, LOCK, plainLock == 0, plainLock = p); resolve(p); unlock(p)
     :: else
     fi
  :: else
  fi;
#ifndef AGENT
  QUIET(recover(); holds[p] = true);
#endif
  ANSWERS(p, OPEN)
}

#ifdef NO_LATE_CHECK
#define IS_WANTED 1
#else
#define IS_WANTED (question[id] == ASKED && outcome[id] != DROPPED)
#endif

/* The agent, which answers one question after the other. */
inline serve(p) {
#ifdef REPLAY
  TOLD(p, START, starts < 5, starts++; alive[p] = true);
#else
  TOLD(p, START, true, alive[p] = true);
#endif
  QUIET(recover(); holds[p] = true);
  ANSWERS(p, OPEN);
end_asked:
  do
  :: atomic {
       (question[1] == ASKED || question[2] == ASKED) && MAY(p) ->
       if
       :: question[1] == ASKED -> id = 1
       :: question[2] == ASKED -> id = 2
       fi;
       found = wants[id];
#ifdef REPLAY
       turn = p
#endif
     };
     commitVault(p, found * IS_WANTED);
     atomic {
       if
       :: question[id] == ASKED -> question[id] = (how == WAS_MADE -> MADE_IT : (how == WAS_NOT -> REFUSED : LOST))
       :: else
       fi;
       id = 0;
       found = NONE;
       how = WAS_MADE;
       RESTS(p)
     }
  od
}

proctype process(byte p) {
  byte kind = NOTHING, id = 0, found = NONE, how = WAS_MADE;
#if defined(REPLAY) || defined(ACCEPT)
  byte seen = 0;
#endif
end_off:
  do
  :: {
#ifdef AGENT
       if
       :: p == 3 -> serve(p)
       :: p != 3 ->
#endif
       start(p);
end_idle:
       do
       :: transact(p)
       :: touch(p)
       od
#ifdef AGENT
       fi
#endif
     } unless {
       atomic {
         killed[p] ->
         killed[p] = false;
         kind = NOTHING;
         id = 0;
         found = NONE;
         how = WAS_MADE
       }
     }
  od
}

/* What the others notice of a death: locks are free, files closed, sockets ended. */
inline leave(p) {
  alive[p] = false;
  killed[p] = true;
  holds[p] = false;
  looks[p] = false;
  plainLock = (plainLock == p -> 0 : plainLock);
  foldLock = (foldLock == p -> 0 : foldLock);
  vaultLock = (vaultLock == p -> 0 : vaultLock);
  question[p] = SILENT;
  wants[p] = NOTHING;
#ifdef AGENT
  if
  :: p == 3 ->
     question[1] = (question[1] == ASKED -> LOST : question[1]);
     question[2] = (question[2] == ASKED -> LOST : question[2])
  :: else
  fi
#endif
}

#ifdef POWER
inline losePower() {
  leave(1);
  leave(2);
  leave(3);
  if
  :: !framesOnDisk -> secret = secretOnDisk; outcome[1] = outcomeOnDisk[1]; outcome[2] = outcomeOnDisk[2]; outcome[3] = outcomeOnDisk[3];
     frames = NOTHING; framesID = 0
  :: !framesOnDisk -> frames = NOTHING; framesID = 0
  :: takeFrames()
  fi;
  syncVault();
  plain = plainOnDisk;
  prepared = preparedOnDisk;
  victim = 0;
  do
  :: victim < records ->
     if
     :: recordKind[victim] == PREPARED -> prepared = recordID[victim]
     :: recordKind[victim] == COMMIT -> plain = recordID[victim]; prepared = 0
     :: recordKind[victim] == DROP -> prepared = 0
     fi;
     victim++
  :: break
  od;
  victim = 0;
  syncJournal()
}
#endif

active proctype world() {
  byte victim = 0;
#ifdef REPLAY
  byte when = 0;
#endif
#ifdef ACCEPT
  c_code { record_load(DIES); };
  do
  :: c_expr { now.which + 1 < record_count } -> which++
  :: break
  od;
#endif
  atomic {
    run process(1);
    run process(2);
    run process(3)
  };
#ifdef REPLAY
  /* A death at a step that is chosen first: else most would come early. */
  do
  :: when < 60 -> when++
  :: break
  :: break
  od;
#endif
end_world:
  do
#ifdef ACCEPT
  :: atomic { alive[1] && c_expr { RECORD_KILLS(1) } -> leave(1) }
  :: atomic { alive[2] && c_expr { RECORD_KILLS(2) } -> leave(2) }
  :: atomic { alive[3] && c_expr { RECORD_KILLS(3) } -> leave(3) }
  :: atomic {
       (!alive[1] && c_expr { RECORD_SAYS(1, DIES) }) || (!alive[2] && c_expr { RECORD_SAYS(2, DIES) }) ||
       (!alive[3] && c_expr { RECORD_SAYS(3, DIES) }) ->
       place++;
       c_code { record_pass(now.which, now.place); }
     }
#else
  :: atomic {
       deaths < DEATHS && MAY(0) && (alive[1] || alive[2] || alive[3]) ->
       deaths++;
       if
       :: alive[1] -> victim = 1
       :: alive[2] -> victim = 2
       :: alive[3] -> victim = 3
       fi;
       MADE(victim, DIES)
       leave(victim);
       victim = 0;
       RESTS(0)
     }
#ifdef POWER
  :: atomic { deaths < DEATHS -> deaths++; losePower() }
#endif
#ifdef REPLAY
  :: timeout -> printf("STEP 0 %d %d\n", END, (prepared != 0 && (outcome[prepared] == COMMITTED || frames == DECISION) -> prepared : plain)); break
#endif
#endif
  od
}

/* Once nothing is prepared, both keys have the same value. Until then the plain key has its old one, and the secret that or the new. */
#define WHOLE (secret == plain || (prepared != 0 && secret == prepared))
/* What was completed stays, until another transaction comes after it. */
#define KEPT (complete == 0 || (prepared == 0 -> plain == complete : (plain == complete || prepared == complete)))
/* Of what was denied nothing is ever seen. */
#define HONEST !((denied[1] && (secret == 1 || plain == 1)) || (denied[2] && (secret == 2 || plain == 2)) || \
                 (denied[3] && (secret == 3 || plain == 3)))
/* A batch is prepared that nobody works on only where its process died or gave up: whoever has no lock prepares nothing. */

#if !defined(REPLAY) && !defined(ACCEPT)
active proctype properties() {
end_watch:
  atomic { !(WHOLE && KEPT && HONEST) -> assert(WHOLE); assert(KEPT); assert(HONEST) }
}
#endif
