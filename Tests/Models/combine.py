"""What becomes of acknowledged writes while the writers of a shared vault combine their commits, on a server that is not trusted.

A writer whose turn it is holds the lock of the state's row until its COMMIT ends. A writer that finds the lock taken puts a sealed intent
into a table. The writer whose turn comes next takes the intents that are there into its commit, and the others look for their rows of the
log, or get a turn. Every order of the steps is tried, with deaths, cut connections, a server that lies about intents, and a standby that
takes over.

    python3 Tests/Models/combine.py [--short | --whole]   # the worlds, then each rule left out once, which must be refused
    python3 Tests/Models/combine.py WORLD [RULE...]        # a world without some rules: the shortest way to what breaks

A program is a word: a and b set an item, A sets the item a if it is as the writer read it, x removes the item a for good, R removes the first
writer by a rotation. Each writer is a machine. If its process dies, another one goes on with the rest of the program.
"""
import sys
from collections import namedtuple
from itertools import permutations

from search import Broken, main

# What a writer seals. `id`: the writer and the number of its calls that are left. `kind`: what the call does. `base`: the item as it was, of
# which a combiner sees the digest. `epoch`: the number of rotations. `born`: the log as it was, of which the intent names the head.
Intent = namedtuple("Intent", "id kind base epoch born")
# What is sent up to COMMIT: its rows, each an intent, and the intents that it removes.
Commit = namedtuple("Commit", "rows removed")
# A writer: its step, the rest of its program, its call's intent, the log that its pin names, and the COMMIT that it sends or waits for.
# `is_queued`: whether the intent may be in the table, now or later.
Process = namedtuple("Process", "step program intent pin plan is_queued")
# `log`: pairs of an id and a kind. `seen`: how many others see. `standby`: how many the standby has. `lock`: who has the turn, or LATE while
# the server has not read the COMMIT of a connection that is gone. `holder`: the writer whose COMMIT waits for the standby. `late`: intents
# and the COMMIT on their way from such connections. `old`: intents that the server can show again. `told`: ids with the outcomes that their
# callers were told. `lost`: ids of rows that an asynchronous standby did not have.
State = namedtuple("State", "log seen standby intents lock holder late old told lost processes world")

GONE, LATE = -1, -2
# The number of intents that a commit takes from the table.
BATCH = 2

# Programs, the number of rows over which an intent may be old, and how often each thing may happen. `cut`: a connection is lost with what it
# sent, which arrives later or never. `give`: a writer gives up. `lie`: the server shows intents as it likes. `deny`: it answers with an error,
# and keeps what was sent. `fail`: a call fails in its turn, though nothing has changed. `warn`: a wait for the standby ends early. `accept`:
# a machine accepts a vault that lacks what it saw. `sync`, `async`: the kind of standby.
WORLDS = {
    "two": (("aA", "Aa"), 4, {}),
    "three": (("a", "A", "b"), 5, {}),
    "remove": (("ax", "ab"), 4, {"death": 1}),
    "deaths": (("a", "A", "b"), 4, {"death": 2}),
    "deaths-two": (("aA", "a"), 4, {"cut": 1, "death": 1}),
    "cut": (("a", "A", "b"), 4, {"cut": 1, "give": 1, "death": 1}),
    "trim": (("a", "bbb"), 2, {"cut": 1, "give": 1}),
    "crash": (("a", "A", "b"), 4, {"crash": 1, "cut": 1}),
    "lies": (("a", "b", "A"), 4, {"lie": 1, "cut": 1}),
    "lies-old": (("ax", "bbb"), 2, {"lie": 1}),
    "lies-remove": (("ax", "bb"), 4, {"lie": 1}),
    "deny": (("a", "bab"), 3, {"deny": 1, "cut": 1}),
    "fail": (("a", "A", "b"), 4, {"fail": 1, "death": 1}),
    "rotate": (("a", "R", "b"), 4, {"cut": 1, "death": 1}),
    "rotate-lies": (("a", "R", "b"), 4, {"lie": 1, "give": 1}),
    "standby": (("a", "b", "A"), 4, {"sync": 1, "warn": 1, "failover": 1}),
    "standby-cut": (("a", "b"), 4, {"sync": 1, "warn": 1, "failover": 1, "cut": 1, "give": 1}),
    "async": (("aA", "b"), 4, {"async": 1, "failover": 1}),
    "async-accept": (("ab", "b"), 4, {"async": 1, "failover": 1, "accept": 1, "lie": 1}),
    "async-lies": (("a", "A", "b"), 4, {"async": 1, "failover": 1, "lie": 1}),
}
LONG_WORLDS = {
    "cut-twice": (("aA", "a"), 4, {"cut": 2, "give": 1, "death": 1}),
    "remove-three": (("ax", "a", "bA"), 4, {"cut": 1, "death": 1}),
    "trim-three": (("a", "bb", "b"), 2, {"cut": 1, "give": 1}),
    "lies-death": (("a", "A", "b"), 4, {"lie": 1, "cut": 1, "death": 1}),
    "lies-twice": (("a", "bA"), 3, {"lie": 2, "cut": 1, "give": 1}),
    "rotate-three": (("a", "Rb", "a"), 4, {"cut": 1, "death": 1}),
    "standby-lies": (("a", "A", "b"), 4, {"sync": 1, "warn": 1, "failover": 1, "lie": 1}),
    "standby-deaths": (("aA", "a"), 4, {"sync": 1, "warn": 1, "failover": 1, "death": 1, "cut": 1}),
    "async-three": (("aa", "A", "b"), 4, {"async": 1, "failover": 1, "accept": 1}),
}
SHORT = {"two", "three", "remove", "deaths", "deaths-two", "lies-old", "rotate", "rotate-lies", "async"}

# Each rule, and the world that shows what it is for.
RULES = {
    "lock": ("two", "a writer reads in its turn what it writes over"),
    "untouched": ("remove", "an intent is taken only if the log has no row about what it was made of since"),
    "in-turn": ("three", "and not beside another change of that in one commit"),
    "batch-once": ("lies", "nor twice in a commit"),
    "expire": ("lies-old", "an intent is taken only while as many rows are remembered as there are since"),
    "history": ("async-lies", "and only if the log has the head over which it was sealed"),
    "key": ("rotate", "and only under the present key"),
    "anyone": ("deaths", "any waiter gets a turn, and not only the writer of the oldest intent"),
    "row": ("lies", "a waiter believes nothing but its row"),
    "again": ("cut", "it looks for its row before it makes its commit itself"),
    "look-locked": ("cut", "a lost COMMIT is looked for in a turn"),
    "unchanged": ("fail", "a queued call that failed over what it was made of has no known outcome"),
    "remove": ("standby", "before a conflict is told, the intent is removed by a COMMIT that waits for the standby"),
    "withdraw": ("standby", "and what the call wrote before the conflict is taken back"),
    "unknown": ("cut", "nor has one whose writer gives up"),
    "trimmed": ("trim", "nor one with more rows since than are remembered"),
    "warned": ("standby", "a COMMIT with a warning is not acknowledged"),
    "wait": ("standby", "a waiter waits for the standby"),
    "pin": ("async", "a writer refuses a log that lacks what its pin names"),
    "pin-first": ("async", "it writes the pin before it returns"),
}
# Rules that no world needs: what "untouched" refuses is refused by the items' digests and by the id, too.
SPARE = ("base", "once")


def item(kind):
    return kind.lower().replace("x", "a")


def value(log, kind):
    """The item of a call of that kind: the ids of the calls that set it since its last removal."""
    ids = ()
    for id, made in log:
        if made != "R" and item(made) == item(kind):
            ids = () if made == "x" else ids + (id,)
    return ids


def epoch(log):
    return sum(kind == "R" for _, kind in log)


def touches(log, kind):
    return any(made != "R" and item(made) == item(kind) for _, made in log)


class Model:
    def __init__(self, programs, keep, world, left_out=()):
        self.left_out, self.keep, self.faults = set(left_out), keep, set(world)
        processes = tuple(Process("idle", word, None, (), None, False) for word in programs)
        self.first = State((), 0, 0, (), None, None, (), frozenset(), frozenset(), frozenset(), processes, tuple(sorted(world.items())))

    def has(self, rule):
        return rule not in self.left_out

    # -- Changes of a state

    def process(self, state, p, **fields):
        processes = list(state.processes)
        processes[p] = processes[p]._replace(**fields)
        return state._replace(processes=tuple(processes))

    def may(self, state, what):
        return any(k == what and n for k, n in state.world)

    def once(self, state, what):
        return state._replace(world=tuple((k, n - (k == what)) for k, n in state.world))

    def free(self, state, p):
        return state._replace(lock=None if state.lock == p else state.lock)

    def done(self, state, p, **fields):
        """The call ends. If nothing is told, the outcome is not known, the vault was rolled back, or the process died."""
        program = state.processes[p].program[1:]
        return self.process(self.free(state, p), p, step="idle", program=program, intent=None, plan=None, is_queued=False, **fields)

    def told(self, state, p, outcome):
        id, base = state.processes[p].intent.id, state.log[:state.seen]
        fields = {"pin": base} if self.has("pin-first") and id in dict(base) else {}
        return self.done(state._replace(told=state.told | {(id, outcome)}), p, **fields)

    # -- A writer

    def steps(self, state, p):
        process = state.processes[p]
        return getattr(self, "at_" + process.step)(state, p, process) if process.program else []

    def refused(self, state, p, process):
        """Whether the writer sees a vault that was rolled back, or that it cannot open."""
        base = state.log[:state.seen]
        if self.has("pin") and base[:len(process.pin)] != process.pin:
            return True
        gone = [id for id, _ in state.told if id[0] == p and id not in dict(base) and id in state.lost]
        if gone:
            raise Broken(f"{p} goes on without {gone[0]}, which was acknowledged")
        return p == 0 and epoch(base) > 0

    def turn(self, state, p):
        """The states in which the writer got the lock."""
        free = state.lock is None or not self.has("lock")
        return [self.process(state._replace(lock=p), p, step="turn")] if free else []

    def looked(self, state, p, process):
        """The states after the writer looked for its row, or None if the call goes on."""
        base, intent = state.log[:state.seen], process.intent
        if self.may(state, "lie") and not self.has("row"):
            return [self.told(self.once(state, "lie"), p, "made")]
        if len(base) - len(intent.born) > self.keep and self.has("trimmed"):
            return [self.done(state, p)]
        since = base[max(len(intent.born), len(base) - self.keep):]
        if intent.id not in dict(since):
            return None
        place = [id for id, _ in base].index(intent.id) + 1
        if state.standby >= place or "async" in self.faults or not self.has("wait"):
            return [self.told(state, p, "made")]
        return [self.done(self.once(state, "warn"), p)] if self.may(state, "warn") else []

    def at_idle(self, state, p, process):
        base, kind = state.log[:state.seen], process.program[0]
        if self.refused(state, p, process):
            return [self.process(state, p, program="")]
        intent = Intent((p, len(process.program)), kind, value(base, kind), epoch(base), base)
        state = self.process(state, p, intent=intent, pin=base)
        return self.turn(state, p) + ([self.process(state, p, step="queue")] if kind != "R" else [])

    def at_queue(self, state, p, process):
        if self.refused(state, p, process):
            return [self.done(state, p)]
        intent = process.intent
        state = self.process(state, p, step="wait", is_queued=True)
        is_there = any(other.id == intent.id for other in state.intents)
        results = [state._replace(intents=state.intents if is_there else state.intents + (intent,), old=self.shows(state, intent))]
        late = state._replace(late=state.late + ((intent,) if intent not in state.late else ()), old=self.shows(state, intent))
        for fault in "cut", "deny":
            if self.may(state, fault):
                # It queues again, or is content with a turn.
                results += [self.once(late, fault), self.process(self.once(late, fault), p, step="queue")]
        return results

    def shows(self, state, intent):
        return state.old | {intent} if {"lie", "failover"} & self.faults else state.old

    def at_wait(self, state, p, process):
        if self.refused(state, p, process):
            return [self.done(state, p)]
        ended = self.looked(state, p, process)
        if ended is not None:
            # Its row may have come after it looked, and before its turn.
            return ended + self.turn(state, p)
        results = []
        if self.may(state, "give"):
            given = self.once(state, "give")
            results.append(self.done(given, p) if self.has("unknown") else self.told(given, p, "failed"))
        if not self.has("anyone") and state.intents and state.intents[0].id[0] != p:
            return results
        return results + self.turn(state, p)

    def at_turn(self, state, p, process):
        """The writer reads the log and the intents. What it does in its turn up to COMMIT is one step, but for a failure."""
        if self.refused(state, p, process):
            return [self.done(state, p)]
        if process.is_queued and self.has("again"):
            ended = self.looked(state, p, process)
            if ended is not None:
                return ended
        base, own = state.log[:state.seen], process.intent
        is_unchanged = value(base, own.kind) == own.base
        results = []
        if self.may(state, "fail"):
            failed = self.once(state, "fail")
            is_known = not process.is_queued or not self.has("unchanged")
            results.append(self.told(failed, p, "failed") if is_known else self.done(failed, p))
        if own.kind == "A" and not is_unchanged:
            if not process.is_queued or not self.has("remove"):
                return results + [self.told(state, p, "conflict")]
            # A change of several items may have written some of its rows before it met the conflict.
            written = () if self.has("withdraw") else (own,)
            return results + [self.process(state, p, step="send", plan=Commit(written, (own,)))]
        for shown, after in self.shown(state):
            results.append(self.process(after, p, step="send", plan=self.combined(base, own, shown)))
        return results

    def shown(self, state):
        """The intents that the server shows, in its order."""
        yield state.intents, state
        if self.may(state, "lie"):
            pool, lied = sorted(state.old | set(state.intents), key=repr), self.once(state, "lie")
            for count in range(BATCH + 1):
                yield from ((shown, lied) for shown in permutations(pool, count) if shown != state.intents)
            yield from (((intent, intent), lied) for intent in pool)

    def combined(self, base, own, shown):
        if own.kind == "R":
            return Commit((own,), ())
        rows = []
        for intent in shown[:BATCH]:
            since = base[max(len(intent.born), len(base) - self.keep):]
            is_taken = intent.id in dict(since) and self.has("once") or intent.id in [row.id for row in rows] and self.has("batch-once")
            is_old = len(base) - len(intent.born) > self.keep and self.has("expire")
            is_other = base[:len(intent.born)] != intent.born and self.has("history")
            is_locked = intent.epoch != epoch(base) and self.has("key")
            is_past = touches(since, intent.kind) and self.has("untouched")
            is_over_other = intent.base != value(base, intent.kind) and self.has("base")
            beside = [row.kind for row in rows if row.id != intent.id] + [own.kind]
            is_beside = item(intent.kind) in map(item, beside) and self.has("in-turn")
            if not (is_taken or is_old or is_other or is_locked or is_past or is_over_other or is_beside or intent.id == own.id):
                rows.append(intent)
        removed = tuple(intent for intent in shown[:BATCH]) + (own,)
        # In its turn it computes its own change anew.
        return Commit((*rows, own._replace(base=value(base, own.kind), epoch=epoch(base), born=base)), removed)

    def at_send(self, state, p, process):
        results, plan = [], process.plan
        if state.holder is None:
            after = self.arrives(state, plan, p)
            results.append(self.process(after, p, step="flush") if after.holder == p else self.answered(after, p))
        late = self.process(state._replace(lock=LATE if state.lock == p else state.lock, late=state.late + (plan,)), p, step="lost")
        if self.may(state, "cut"):
            results.append(self.once(late, "cut"))
        return results

    def at_lost(self, state, p, process):
        """Its COMMIT got no answer."""
        if state.lock is not None and self.has("look-locked"):
            return []
        if self.refused(state, p, process):
            return [self.done(state, p)]
        if process.intent.id in dict(state.log[:state.seen]):
            return self.looked(state, p, process) or []
        return [self.process(state, p, step="wait", plan=None)] if process.is_queued else [self.told(state, p, "failed")]

    def at_flush(self, state, p, process):
        return []

    # -- The server

    def arrives(self, state, message, holder):
        """The state after a COMMIT."""
        log = state.log
        for intent in message.rows:
            if intent.epoch != epoch(log):
                raise Broken(f"{intent.id} is made under a new key")
            if len(state.log) - len(intent.born) > self.keep:
                raise Broken(f"{intent.id} is made {len(state.log) - len(intent.born)} rows later")
            if intent.kind != "R" and intent.base != value(log, intent.kind):
                raise Broken(f"{intent.id} is made over {value(log, intent.kind)}, and was made of {intent.base}")
            if intent.kind != "R" and touches(log[len(intent.born):], intent.kind):
                raise Broken(f"{intent.id} is made over a later change")
            if log[:len(intent.born)] != intent.born:
                raise Broken(f"{intent.id} is made in another history")
            log += ((intent.id, intent.kind),)
        ids = {intent.id for intent in message.removed}
        state = self.free(state, holder)._replace(log=log, intents=tuple(intent for intent in state.intents if intent.id not in ids))
        if "sync" in self.faults and state.standby < len(log):
            # The lock is held while the COMMIT waits.
            return state._replace(holder=holder, lock=holder)
        return state._replace(seen=len(log), standby=state.standby if "async" in self.faults else len(log))

    def answered(self, state, p, is_warned=False):
        """The COMMIT of `p` returned."""
        if is_warned and self.has("warned"):
            return self.done(state, p)
        return self.told(state, p, "made" if state.processes[p].plan.rows else "conflict")

    # -- The world

    def others(self, state):
        for p, process in enumerate(state.processes):
            if self.may(state, "death") and process.step != "idle":
                dead = self.once(state, "death")
                if state.holder == p:
                    dead = dead._replace(holder=GONE, lock=GONE)
                yield f"{p} dies", self.done(dead, p)
        if self.may(state, "crash"):
            # The server does not flush intents.
            crashed = self.cut(self.once(state, "crash"))._replace(late=())
            yield "the server starts again", crashed
            yield "the server starts again without intents", crashed._replace(intents=())
        for p, process in enumerate(state.processes):
            if self.may(state, "accept") and process.step == "idle" and process.pin != state.log[:len(process.pin)]:
                told = frozenset((id, outcome) for id, outcome in state.told if id[0] != p or id not in state.lost)
                yield f"{p} accepts the vault", self.process(self.once(state, "accept")._replace(told=told), p, pin=())
        for message in state.late:
            rest = state._replace(late=tuple(other for other in state.late if other != message))
            if isinstance(message, Intent):
                if all(other.id != message.id for other in state.intents):
                    yield f"{message.id} arrives late", rest._replace(intents=state.intents + (message,))
            elif state.holder is None:
                freed = rest._replace(lock=None if state.lock == LATE else state.lock)
                yield "a COMMIT arrives late", self.arrives(freed, message, GONE)
                yield "a COMMIT never arrives", freed
        if state.standby < len(state.log):
            yield "the standby follows", self.returned(state._replace(standby=len(state.log)))
        if self.may(state, "warn") and state.holder is not None:
            # Somebody cancels the wait, or the server crashes and starts again.
            yield "the wait is cancelled", self.returned(self.once(state, "warn"), is_warned=True)
            yield "the server starts again", self.returned(self.cut(self.once(state, "warn"))._replace(late=()))
        if self.may(state, "failover"):
            log, lost = state.log[:state.standby], state.log[state.standby:]
            after = self.cut(self.once(state, "failover"))._replace(
                log=log, seen=len(log), late=(), holder=None, lock=None,
                lost=state.lost | {id for id, _ in lost} if "async" in self.faults else state.lost)
            there = sorted((intent for intent in state.old if intent.id not in dict(log) and log[:len(intent.born)] == intent.born), key=repr)
            ids = [intent.id for intent in there]
            there = tuple(intent for place, intent in enumerate(there) if intent.id not in ids[:place])
            yield "the standby takes over", after._replace(intents=there)
            yield "the standby takes over without intents", after._replace(intents=())

    def returned(self, state, is_warned=False):
        """The COMMIT that waits becomes visible."""
        holder = state.holder
        if holder is None:
            return state
        state = state._replace(seen=len(state.log), holder=None, lock=None if state.lock == holder else state.lock)
        return state if holder == GONE else self.answered(state, holder, is_warned)

    def cut(self, state):
        """The connections are cut: nobody has a turn but a COMMIT that waits."""
        for p, process in enumerate(state.processes):
            if process.step in ("flush", "send"):
                state = self.process(state, p, step="lost")
            elif process.step == "turn":
                state = self.process(state, p, step="wait") if process.is_queued else self.done(state, p)
        holder = GONE if state.holder is not None else None
        return state._replace(lock=holder, holder=holder)

    # -- What must hold

    def must_go_on(self, state):
        return any(q.program for q in state.processes) and state.standby == len(state.log) and not state.late

    def check(self, state):
        ids = [id for id, _ in state.log]
        if len(set(ids)) < len(ids):
            raise Broken(f"a call is made twice: {ids}")
        for id, outcome in state.told:
            if id in state.lost:
                continue
            if outcome == "made" and id not in ids:
                raise Broken(f"{id} was acknowledged, and is not in the log")
            # An asynchronous standby may lack the row that was in conflict.
            if outcome != "made" and id in ids and not state.lost:
                raise Broken(f"{id} was told {outcome}, and is made")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Model, WORLDS, LONG_WORLDS, SHORT, RULES, SPARE))
