/* A commit whose answer is lost: clients write rows of one vault on a server that replicates to a standby.
 *
 * The lock of the state's row orders the writers. A COMMIT is on its way, is flushed, waits for the standby, and is then seen by others and
 * answered. Connections are cut, the server crashes and starts again, and the standby takes its place. A client that got no answer looks its
 * commit up, under the lock, by the row of the log that the commit wrote; its look ends with a COMMIT of its own, which waits for the standby.
 *
 * CLIENTS, WRITES of each, FAULTS of any kind, KEEP rows of the log.
 * Left out: GUESS the look; NO_LOCK its lock; NO_WAIT its wait for the standby; BY_NUMBER the comparison of the commit's id; NO_TRIM the answer
 * that a dropped row tells nothing; ASYNC each commit's wait for the standby; TRUST_WARNED the doubt after a warning.
 */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef WRITES
#define WRITES 1
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef KEEP
#define KEEP 1
#endif

#define IDS (CLIENTS * WRITES + 1)
#define NOBODY 255

/* What a connection's transaction is at, as the server has it; a client has one for writes and one for looks. */
mtype = { idle, locked, sent, flushed, answered, warned, cut }
mtype slot[CLIENTS];
bool looks[CLIENTS], lookCut[CLIENTS];
/* The server has not noticed yet that this connection is cut. */
bool orphan[CLIENTS];
byte mine[CLIENTS];
/* The commits in their order; how many are flushed, seen by others, and at the standby. */
byte id[IDS];
byte inLog, seen, standby;
byte owner = NOBODY;
/* The look's owner of the lock is CLIENTS + its number. */
mtype = { nothing, made, notMade, unknown }
mtype told[IDS + 1] = nothing;
byte faults = FAULTS, running = CLIENTS;

inline cutAll() {
  d_step {
    k = 0;
    do
    :: k < CLIENTS ->
      if
      :: slot[k] != idle && slot[k] != answered && slot[k] != warned -> slot[k] = cut
      :: else
      fi;
      orphan[k] = false;
      if :: looks[k] -> lookCut[k] = true :: else fi;
      k++
    :: else -> break
    od;
    owner = NOBODY;
    k = 0
  }
}

/* What happens to the connection n. */
#define CONNECTION(n) \
  /* A COMMIT arrives, also one whose sender has given up. */ \
  :: d_step { owner == n && (slot[n] == sent || orphan[n]) -> c = n } goto flush \
  /* A connection that was cut before its COMMIT came: rolled back. */ \
  :: atomic { orphan[n] && owner == n && inLog == seen -> orphan[n] = false; owner = NOBODY } \
  /* A connection is cut: its client knows, the server not yet. */ \
  :: atomic { faults > 0 && slot[n] == sent -> faults--; slot[n] = cut; orphan[n] = true } \
  :: atomic { faults > 0 && slot[n] == flushed -> faults--; slot[n] = cut }

active proctype Server() {
  byte k, c;
end:
  do
  CONNECTION(0)
#if CLIENTS > 1
  CONNECTION(1)
#endif
#if CLIENTS > 2
  CONNECTION(2)
#endif
  :: standby < inLog -> standby++
#ifdef ASYNC
  :: atomic { inLog > seen && owner < CLIENTS -> goto reveal }
#else
  :: atomic { inLog > seen && owner < CLIENTS && standby == inLog -> goto reveal }
#endif
  /* Somebody cancels the wait for the standby. */
  :: atomic {
       faults > 0 && inLog > seen && owner < CLIENTS && standby < inLog ->
       faults--;
       seen = inLog;
       if :: slot[owner] == flushed -> slot[owner] = warned :: else fi;
       owner = NOBODY
     }
  /* The server crashes, and starts again with what it had flushed. */
  :: atomic { faults > 0 -> faults--; seen = inLog; cutAll() }
  /* The standby takes its place, with what it has. */
  :: atomic {
       faults > 0 ->
       faults--;
       k = standby;
       do
       :: k < inLog -> assert(told[id[k]] != made) /* kept */; k++
       :: else -> break
       od;
       inLog = standby; seen = standby; cutAll()
     }
  od;
flush:
  atomic {
    orphan[c] = false;
    id[inLog] = mine[c];
    assert(told[mine[c]] != notMade) /* honest */;
    inLog++;
    if :: slot[c] == sent -> slot[c] = flushed :: else fi;
    goto end
  }
reveal:
  atomic {
    seen = inLog;
    if :: slot[owner] == flushed -> slot[owner] = answered :: else fi;
    owner = NOBODY;
    goto end
  }
}

active [CLIENTS] proctype Client() {
  byte me = _pid - 1, turn, number, commit;
  mtype found;
  do
  :: turn == WRITES -> break
  :: else ->
    commit = 1 + me * WRITES + turn;
again:
    atomic { owner == NOBODY -> owner = me; slot[me] = locked; number = seen; mine[me] = commit }
    if
    :: atomic { slot[me] == locked -> slot[me] = sent }
    /* Before the COMMIT: nothing was made, and it is known. */
    :: atomic { slot[me] == cut -> slot[me] = idle; told[commit] = notMade; goto done }
    fi;
    if
    :: atomic { slot[me] == answered -> slot[me] = idle; told[commit] = made; goto done }
#ifdef TRUST_WARNED
    :: atomic { slot[me] == warned -> slot[me] = idle; told[commit] = made; goto done }
#else
    :: atomic { slot[me] == warned -> slot[me] = idle; told[commit] = unknown; goto done }
#endif
    :: slot[me] == cut
    fi;
#ifdef GUESS
    atomic { slot[me] = idle; told[commit] = notMade; goto done };
#endif
look:
#ifdef NO_LOCK
    atomic { looks[me] = true; lookCut[me] = false };
#else
    atomic { owner == NOBODY -> owner = CLIENTS + me; looks[me] = true; lookCut[me] = false };
#endif
    d_step {
      if
      :: seen <= number -> found = notMade
#ifdef NO_TRIM
      :: seen > number && number + KEEP < seen -> found = notMade
#else
      :: seen > number && number + KEEP < seen -> found = unknown
#endif
      :: seen > number && number + KEEP >= seen ->
        if
#ifdef BY_NUMBER
        :: true -> found = made
#else
        :: id[number] == commit -> found = made
        :: else -> found = notMade
#endif
        fi
      fi
    };
    if
    :: atomic { lookCut[me] -> looks[me] = false; lookCut[me] = false; goto look }
#if defined(NO_WAIT) || defined(ASYNC)
    :: atomic { !lookCut[me] ->
#else
    :: atomic { !lookCut[me] && standby >= seen ->
#endif
         looks[me] = false;
         if :: owner == CLIENTS + me -> owner = NOBODY :: else fi;
         slot[me] = idle;
         told[commit] = found
       }
    fi;
done:
    turn++
  od;
  running--;
  /* What was said is so at the end. */
  if
  :: atomic { running == 0 && !orphan[0] && !orphan[CLIENTS - 1] && !orphan[CLIENTS / 2] ->
       turn = 1;
       do
       :: turn < IDS ->
         found = notMade; number = 0;
         do
         :: number < seen -> if :: id[number] == turn -> found = made :: else fi; number++
         :: else -> break
         od;
         assert(told[turn] == unknown || told[turn] == found) /* so it is */;
         turn++
       :: else -> break
       od
     }
  :: running > 0
  fi
}
