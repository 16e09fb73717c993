"""What becomes of acknowledged writes while the writers of a shared vault combine their commits, on a server that is not trusted.

A writer that is alone commits by one pipeline, which ends with the state's row and has the row's old value as its condition. Otherwise it puts
a sealed intent into a table. The writer that gets the lock takes the intents that are there into one commit, and the others look for their rows
of the log. Every order of the steps is tried, with deaths, cut connections, a server that lies about intents, and a standby that takes over.
The program does not combine yet: its protocol is checked here first.

    python3 Tests/Models/combine.py [--short | --whole]   # the worlds, then each rule left out once, which must be refused
    python3 Tests/Models/combine.py WORLD [RULE...]        # a world without some rules: the shortest way to what breaks

A program is a word: W sets the item, C sets it if it is as the writer read it, R removes the first writer by a rotation. Each writer is a
machine. If its process dies, another one goes on with the rest of the program.
"""
import sys
from collections import namedtuple
from itertools import permutations

from search import Broken, main

# What a writer seals. `id`: the writer and the number of its calls that are left. `expects`: the value that the call depends on, or None; a
# combiner compares its length, which stands for the revision. `epoch`: the number of rotations. `born`: the log as it was; its length stands for
# the generation, and the log itself for the chain's head.
Intent = namedtuple("Intent", "id expects epoch born")
# What is sent up to COMMIT: the log that the condition names, its rows, each an intent with an outcome, and the intents that it removes.
# `is_alone`: whether the table of intents must be empty.
Commit = namedtuple("Commit", "base rows removed is_alone")
# A writer: its step, the rest of its program, its call's intent, and the log that its pin names. `plan`: the COMMIT that it is about to send, or
# for which it waits; at the step `queue`, whether its id has been sent before.
Process = namedtuple("Process", "step program intent pin plan")
# `log`: pairs of an id and its outcome, of which a reader gets the last `keep`. `seen`: how many others see. `standby`: how many the standby has.
# `holder`: the writer whose COMMIT waits for the standby. `confirmed`: a log that a combiner confirmed. `late`: intents and commits on their way
# from connections that are gone. `old`: intents that the server can show again. `told`: ids with the outcomes that their callers were told.
# `lost`: ids of rows that an asynchronous standby did not have.
State = namedtuple("State", "log seen standby intents lock holder confirmed late old told lost processes world")

GONE = -1
# The number of intents that a commit takes from the table.
BATCH = 2

# Programs, the number of rows that the log keeps, and how often each thing may happen. `cut`: a connection is lost with what it sent, which
# arrives later or never. `give`: a writer gives up. `take`: the server takes the lock away. `lie`: it shows intents as it likes, or sends a false
# notice. `deny`: it answers with an error, and keeps what was sent. `mute`: it sends no notices. `warn`: a wait for the standby ends early.
# `accept`: a machine accepts a vault that lacks what it saw. `full`: the table takes one intent. `sync`, `async`: the kind of standby.
WORLDS = {
    "two": (("WC", "CW"), 4, {}),
    "three": (("W", "C", "C"), 5, {}),
    "queue": (("WWW", "W"), 3, {}),
    "queue-three": (("WW", "WC", "W"), 4, {}),
    "deaths": (("W", "C", "W"), 4, {"death": 2, "mute": 1}),
    "deaths-two": (("WC", "W"), 4, {"cut": 1, "death": 1}),
    "cut": (("W", "C", "W"), 4, {"cut": 1, "give": 1, "death": 1}),
    "trim": (("W", "WWW"), 2, {"cut": 1, "give": 1}),
    "crash": (("W", "C", "W"), 4, {"crash": 1, "cut": 1}),
    "take": (("W", "W", "C"), 4, {"take": 1, "cut": 1}),
    "lies": (("W", "W", "C"), 4, {"lie": 1, "cut": 1}),
    "lies-old": (("W", "WWW"), 2, {"lie": 1}),
    "deny": (("W", "WWW"), 2, {"deny": 1, "cut": 1}),
    "full": (("W", "W", "W"), 4, {"full": 1, "deny": 1, "death": 1}),
    "rotate": (("W", "R", "W"), 4, {"cut": 1, "death": 1}),
    "rotate-lies": (("W", "R", "W"), 4, {"lie": 1, "give": 1}),
    "standby": (("W", "W", "C"), 4, {"sync": 1, "warn": 1, "failover": 1}),
    "standby-cut": (("W", "W"), 4, {"sync": 1, "warn": 1, "failover": 1, "cut": 1, "give": 1}),
    "async": (("WC", "W"), 4, {"async": 1, "failover": 1}),
    "async-accept": (("WW", "W"), 4, {"async": 1, "failover": 1, "accept": 1, "lie": 1}),
    "async-lies": (("W", "C", "W"), 4, {"async": 1, "failover": 1, "lie": 1}),
}
LONG_WORLDS = {
    "cut-twice": (("WC", "W"), 4, {"cut": 2, "give": 1, "death": 1}),
    "trim-three": (("W", "WW", "W"), 2, {"cut": 1, "give": 1}),
    "lies-death": (("W", "C", "W"), 4, {"lie": 1, "cut": 1, "death": 1}),
    "lies-twice": (("W", "WC"), 3, {"lie": 2, "cut": 1, "give": 1}),
    "rotate-three": (("W", "RW", "W"), 4, {"cut": 1, "death": 1}),
    "standby-lies": (("W", "C", "W"), 4, {"sync": 1, "warn": 1, "failover": 1, "lie": 1}),
    "standby-three": (("W", "C", "W"), 4, {"sync": 1, "failover": 1, "cut": 1}),
    "standby-deaths": (("WC", "W"), 4, {"sync": 1, "warn": 1, "failover": 1, "death": 1, "cut": 1}),
    "async-three": (("WW", "C", "W"), 4, {"async": 1, "failover": 1, "accept": 1}),
}
SHORT = {"two", "three", "queue", "deaths", "deaths-two", "lies-old", "rotate", "rotate-lies", "async"}

# Each rule, and the world that shows what it is for.
RULES = {
    "condition": ("take", "the state's old value decides, and not the lock"),
    "at-server": ("two", "the server fails the whole transaction of a commit that misses"),
    "in-turn": ("three", "a combiner compares a precondition with what its batch has made so far"),
    "once": ("lies-old", "it takes no id that is in the kept log"),
    "batch-once": ("lies", "and none twice in a batch"),
    "expire": ("lies-old", "an intent is taken only while the log keeps the rows since it was sealed"),
    "history": ("async-lies", "and only if the log has the head over which it was sealed"),
    "order": ("deaths-two", "and only if no later call of its machine has a row"),
    "key": ("rotate", "and only under the present key"),
    "alone": ("queue", "a writer commits alone only while no intent is there"),
    "anyone": ("deaths", "any waiter may combine, and not only the writer of the oldest intent"),
    "poll": ("deaths", "a waiter looks for its row without a notice"),
    "row": ("lies", "and believes no notice without the row"),
    "look": ("cut", "a writer that gives up looks for its row"),
    "settle": ("cut", "it says that nothing was changed only after it committed that its id is dropped"),
    "trimmed": ("trim", "where the log was trimmed since, it says that the outcome is not known"),
    "look-first": ("deny", "a writer that queues looks whether its pipeline was made after all"),
    "settle-busy": ("deny", "a writer that was refused after it sent its id settles, too"),
    "warned": ("standby", "a COMMIT with a warning is not acknowledged"),
    "confirmed": ("standby-cut", "nor confirmed to waiters"),
    "wait": ("standby", "a waiter without a confirmation waits for the standby"),
    "pin": ("async", "a writer refuses a log that lacks what its pin names"),
    "pin-first": ("async", "it writes the pin before it returns"),
}
# A rule that no world needs: the lock only saves work.
SPARE = ("lock",)


def made(log):
    """The item's value: the ids of the calls that set it."""
    return tuple(id for id, outcome in log if outcome == "made")


def epoch(log):
    return sum(outcome == "rotated" for _, outcome in log)


class Model:
    def __init__(self, programs, keep, world, left_out=()):
        self.left_out, self.keep, self.faults = set(left_out), keep, set(world)
        processes = tuple(Process("idle", word, None, (), None) for word in programs)
        self.first = State((), 0, 0, (), None, None, (), frozenset(), frozenset(), frozenset(), frozenset(), processes,
                           tuple(sorted(world.items())))

    def has(self, rule):
        return rule not in self.left_out

    # -- Changes of a state

    def process(self, state, p, **fields):
        processes = list(state.processes)
        processes[p] = processes[p]._replace(**fields)
        return state._replace(processes=tuple(processes))

    def step(self, state, p, step, **fields):
        return [self.process(state, p, step=step, **fields)]

    def may(self, state, what):
        return any(k == what and n for k, n in state.world)

    def once(self, state, what):
        return state._replace(world=tuple((k, n - (k == what)) for k, n in state.world))

    def free(self, state, p):
        return state._replace(lock=None if state.lock == p else state.lock)

    def done(self, state, p, **fields):
        """The call ends. If nothing is told, the outcome is not known, the vault was rolled back, or the process died."""
        return self.process(self.free(state, p), p, step="idle", program=state.processes[p].program[1:], intent=None, plan=None, **fields)

    def told(self, state, p, outcome):
        id, base = state.processes[p].intent.id, state.log[:state.seen]
        fields = {"pin": base} if self.has("pin-first") and id in dict(base) else {}
        return self.done(state._replace(told=state.told | {(id, outcome)}), p, **fields)

    def saw(self, state, intent):
        """The server can show this intent later."""
        return state._replace(old=state.old | {intent}) if {"lie", "failover"} & self.faults else state

    # -- The server

    def arrives(self, state, message, holder):
        """The state after a COMMIT, or None if it misses."""
        is_met = message.base == state.log or not self.has("condition")
        if message.is_alone and state.intents and self.has("alone"):
            is_met = False
        if not is_met:
            if not self.has("at-server"):
                raise Broken("the log has a row that the state does not know")
            return None
        log = message.base
        for intent, outcome in message.rows:
            if outcome == "made" and intent.epoch != epoch(log):
                raise Broken(f"{intent.id} is made under a new key")
            if outcome == "made" and len(message.base) - len(intent.born) >= self.keep:
                raise Broken(f"{intent.id} is made {len(message.base) - len(intent.born)} rows later")
            if intent.expects is not None and (outcome, intent.expects == made(log)) in (("made", False), ("conflict", True)):
                raise Broken(f"{intent.id} expects {intent.expects}, and is {outcome} over {made(log)}")
            log += ((intent.id, outcome),)
        intents = tuple(intent for intent in state.intents if intent not in message.removed)
        state = state._replace(log=log, intents=intents)
        if "sync" in self.faults and message.rows:
            return state._replace(holder=holder)
        return state._replace(seen=len(log), standby=state.standby if "async" in self.faults else len(log))

    def send(self, state, p, message, missed):
        """The states after a COMMIT was sent. `missed` is the step after an error."""
        results, plan = [], message.is_alone or None
        if state.holder is None:
            after = self.arrives(state, message, p)
            if after is None:
                results += self.step(self.free(state, p), p, missed, plan=plan)
            elif after.holder == p:
                results += self.step(after, p, "flush", plan=message)
            else:
                results.append(self.answered(self.process(after, p, plan=message), p))
        late = self.free(state, p)._replace(late=state.late | {message})
        if self.may(state, "cut"):
            results += self.step(self.once(late, "cut"), p, "wait", plan=None)
        if self.may(state, "deny"):
            results += self.step(self.once(late, "deny"), p, missed, plan=plan)
        return results

    def answered(self, state, p, is_warned=False):
        """The COMMIT of `p` returned."""
        outcome = {intent.id: outcome for intent, outcome in state.processes[p].plan.rows}.get(state.processes[p].intent.id)
        if is_warned and not self.has("confirmed"):
            state = state._replace(confirmed=state.log)
        if outcome and is_warned and self.has("warned"):
            return self.done(state, p)
        return self.told(state, p, outcome) if outcome else self.process(self.free(state, p), p, step="wait", plan=None)

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

    def looked(self, state, p, process):
        """The states after the writer looked for its row, or None if the call goes on."""
        base, intent = state.log[:state.seen], process.intent
        outcome = dict(base[-self.keep:]).get(intent.id)
        if outcome and "mute" in self.faults and not self.has("poll"):
            return []
        if not outcome and self.may(state, "lie") and not self.has("row"):
            return [self.told(self.once(state, "lie"), p, "made")]
        if outcome:
            place = base.index((intent.id, outcome)) + 1
            is_sure = state.standby >= place or "async" in self.faults or not self.has("wait")
            if is_sure or base[:place] == state.confirmed[:place]:
                return [self.told(state, p, outcome)]
            return [self.done(self.once(state, "warn"), p)] if self.may(state, "warn") else []
        if len(base) - len(intent.born) > self.keep and self.has("trimmed"):
            return [self.done(state, p)]
        return None

    def at_idle(self, state, p, process):
        base = state.log[:state.seen]
        if self.refused(state, p, process):
            return [self.process(state, p, program="")]
        intent = Intent((p, len(process.program)), made(base) if process.program[0] == "C" else None, epoch(base), base)
        if process.program[0] == "R":
            return self.step(state, p, "wait", intent=intent, pin=base)
        return [after for step in ("alone", "queue") for after in self.step(state, p, step, intent=intent, pin=base)]

    def at_alone(self, state, p, process):
        return self.send(state, p, Commit(process.intent.born, ((process.intent, "made"),), (), True), "queue")

    def at_queue(self, state, p, process):
        if self.refused(state, p, process):
            return [self.done(state, p)]
        if process.plan and self.has("look-first"):
            ended = self.looked(state, p, process)
            if ended is not None:
                return ended
        base, is_sent = state.log[:state.seen], process.plan
        intent = process.intent._replace(epoch=epoch(base), born=base)
        state = self.process(state, p, step="wait", intent=intent, pin=base, plan=None)
        if state.intents and self.may(state, "full"):
            # It waits for the lock, or ends with `.busy`.
            return [state] if is_sent and self.has("settle-busy") else [state, self.told(state, p, "busy")]
        results = [state] if state.lock is None else []  # The writer that gets the lock needs no intent in the table.
        state = self.saw(state, intent)
        results.append(state._replace(intents=state.intents + (intent,)))
        late = state._replace(late=state.late | {intent})
        if self.may(state, "cut"):
            results.append(self.once(late, "cut"))
        if self.may(state, "deny"):
            late = self.once(late, "deny")
            results.append(late if self.has("settle-busy") else self.told(late, p, "busy"))
        return results

    def at_wait(self, state, p, process):
        if self.refused(state, p, process):
            return [self.done(state, p)]
        ended = self.looked(state, p, process)
        if ended is not None and (self.has("look") or not self.may(state, "give")):
            return ended
        if self.may(state, "give") and not self.has("settle"):
            return [self.told(self.once(state, "give"), p, "dropped")]
        if state.lock is not None and self.has("lock") or not self.has("anyone") and state.intents and state.intents[0].id[0] != p:
            return []
        locked = state._replace(lock=p) if self.has("lock") else state
        results = []
        for shown, after in self.shown(locked):
            results += self.step(after, p, "send", plan=self.combined(after, process, shown, False))
            if self.may(after, "give"):
                results += self.step(self.once(after, "give"), p, "send", plan=self.combined(after, process, shown, True))
        return results

    def shown(self, state):
        """The intents that the server shows, in its order."""
        yield state.intents, state
        if self.may(state, "lie"):
            pool, lied = sorted(state.old | set(state.intents), key=repr), self.once(state, "lie")
            for count in range(BATCH + 1):
                yield from ((shown, lied) for shown in permutations(pool, count) if shown != state.intents)
            yield from (((intent, intent), lied) for intent in pool)

    def combined(self, state, process, shown, is_given_up):
        """A COMMIT of the oldest intents. The writer's own call is made from memory if its intent is not there, or it is dropped."""
        base, own = state.log[:state.seen], process.intent
        if process.program[0] == "R":
            return Commit(base, ((own, "dropped" if is_given_up else "rotated"),), state.intents, False)
        kept, rows, later = dict(base[-self.keep:]), [], shown[BATCH:]
        for intent in shown[:BATCH]:
            ids = [row.id for row, _ in rows]
            is_taken = intent.id in kept and self.has("once") or intent.id in ids and self.has("batch-once")
            is_old = len(base) - len(intent.born) >= self.keep and self.has("expire")
            is_other = base[:len(intent.born)] != intent.born and self.has("history")
            is_past = any(p == intent.id[0] and left < intent.id[1] for p, left in [*kept, *ids]) and self.has("order")
            is_locked = intent.epoch != epoch(base) and self.has("key")
            is_own = is_given_up and intent.id == own.id
            if not (is_taken or is_old or is_other or is_past or is_locked or is_own):
                rows.append((intent, self.outcome(intent, base, rows)))
        if is_given_up:
            rows.append((own, "dropped"))
        elif own.id not in [intent.id for intent, _ in rows] and own not in later:
            own = own._replace(epoch=epoch(base), born=base)
            rows.append((own, self.outcome(own, base, rows)))
        removed = tuple(intent for intent in shown if intent not in later or is_given_up and intent.id == own.id)
        return Commit(base, tuple(rows), removed, False)

    def outcome(self, intent, base, rows):
        log = base + tuple((intent.id, outcome) for intent, outcome in rows if self.has("in-turn"))
        return "made" if intent.expects is None or len(intent.expects) == len(made(log)) else "conflict"

    def at_send(self, state, p, process):
        return self.send(state, p, process.plan, "wait")

    def at_flush(self, state, p, process):
        return []

    # -- The world

    def others(self, state):
        for p, process in enumerate(state.processes):
            if self.may(state, "death") and process.step != "idle":
                dead = self.done(self.once(state, "death"), p)
                yield f"{p} dies", dead._replace(holder=GONE if state.holder == p else state.holder)
        if self.may(state, "take") and state.lock is not None:
            yield "the server takes the lock", self.once(state, "take")._replace(lock=None)
        if self.may(state, "crash"):
            # The server does not flush intents.
            crashed = self.cut(self.once(state, "crash"))._replace(late=frozenset())
            yield "the server starts again", crashed
            yield "the server starts again without intents", crashed._replace(intents=())
        for p, process in enumerate(state.processes):
            if self.may(state, "accept") and process.step == "idle" and process.pin != state.log[:len(process.pin)]:
                told = frozenset((id, outcome) for id, outcome in state.told if id[0] != p or id not in state.lost)
                yield f"{p} accepts the vault", self.process(self.once(state, "accept")._replace(told=told), p, pin=())
        for message in state.late:
            rest = state._replace(late=state.late - {message})
            if isinstance(message, Intent):
                yield f"{message.id} arrives late", rest._replace(intents=state.intents + (message,))
            elif state.holder is None:
                yield "a COMMIT arrives late", self.arrives(rest, message, GONE) or rest
        if state.standby < len(state.log):
            yield "the standby follows", self.returned(state._replace(standby=len(state.log)))
        if self.may(state, "warn") and state.holder is not None:
            # Somebody cancels the wait, or the server crashes and starts again.
            yield "the wait is cancelled", self.returned(self.once(state, "warn"), is_warned=True)
            yield "the server starts again", self.returned(self.cut(self.once(state, "warn")))
        if self.may(state, "failover"):
            log, lost = state.log[:state.standby], state.log[state.standby:]
            after = self.cut(self.once(state, "failover"))._replace(
                log=log, seen=len(log), confirmed=(), late=frozenset(), holder=None,
                lost=state.lost | {id for id, _ in lost} if "async" in self.faults else state.lost)
            there = sorted((intent for intent in state.old if intent.id not in dict(log) and log[:len(intent.born)] == intent.born), key=repr)
            yield "the standby takes over", after._replace(intents=tuple(there))
            yield "the standby takes over without intents", after._replace(intents=())

    def returned(self, state, is_warned=False):
        """The COMMIT that waits becomes visible."""
        holder = state.holder
        state = state._replace(seen=len(state.log), holder=None, confirmed=())
        return state if holder in (None, GONE) else self.answered(state, holder, is_warned)

    def cut(self, state):
        """The connections are cut."""
        for p, process in enumerate(state.processes):
            if process.step == "flush":
                state = self.process(state, p, step="wait", plan=None)
        return state._replace(lock=None, holder=GONE if state.holder is not None else None)

    # -- What must hold

    def must_go_on(self, state):
        return any(q.program for q in state.processes) and state.standby == len(state.log)

    def check(self, state):
        value = made(state.log)
        if len(set(value)) < len(value):
            raise Broken(f"an intent is made twice: {value}")
        outcomes = dict(state.log)
        if len(outcomes) < len(state.log):
            raise Broken("an intent has two outcomes")
        for place, (p, left) in enumerate(value):
            if any(p == q and left > later for q, later in value[:place]):
                raise Broken(f"{p, left} is made over a later write of its machine")
        for id, outcome in state.told:
            if id in state.lost:
                continue
            if outcome in ("made", "rotated") and outcomes.get(id) != outcome:
                raise Broken(f"{id} was acknowledged, and is not in the log")
            if outcome not in ("made", "rotated") and id in value:
                raise Broken(f"{id} was told {outcome}, and is made")
        if not self.faults:
            for intent in state.intents:
                if len(state.log) - len(intent.born) >= self.keep:
                    raise Broken(f"{intent.id} gets old in the queue")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Model, WORLDS, LONG_WORLDS, SHORT, RULES, SPARE))
