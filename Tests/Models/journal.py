"""What becomes of acknowledged values when a plain store's journal is deleted, copied, put back or overwritten.

Processes hold a journal open, write into it, fold it into the list and make a transaction with a vault, while somebody else
replaces the journal. Every order of the steps is tried, with deaths. AssuranceCase.md says what holds.

    python3 Tests/Models/journal.py [--short | --whole]   # the worlds, then each rule left out once, which must be refused
    python3 Tests/Models/journal.py WORLD [RULE...]        # a world without some rules: the shortest way to what breaks

A program is a word: W and V set the keys x and y, T sets x together with the vault, S synchronizes, I folds while idle, O opens
the domain for the first time. A process looks at the files between its calls, whenever it likes.
"""
import sys
from collections import namedtuple

from search import Broken, main

# A journal: 0 while it is in use, else GIVEN_UP or the number of its successor; the number that it was made with; its epoch,
# its records, and the holder of its lock. A record is W(rite), P(repare), C(ommit) or D(rop); ids stand in for checksums, and
# None for a record that is not whole.
Journal = namedtuple("Journal", "given number epoch records holder")
Record = namedtuple("Record", "kind key value id before")
# A process: the step at which it stands, its journal, the rest of its program, its memory and how far that follows the journal
# (number, epoch, records, id of the last one), the missing names, and what its call has found so far.
Process = namedtuple("Process", "alive step file program memory at missing plan")
# `knows`, `told`: the processes that had the last acknowledged value of a key, and those that threw `.moved` for it. `base`: what
# a newcomer has to read. `half`: the transaction's plain value. `thrown`: who threw since its last look at another file.
State = namedtuple("State", "journals name list processes vault acked knows told base half clock world saved thrown is_noticed")

KEYS = (0, 1)
NOBODY = frozenset()
GIVEN_UP = -1

# Programs, and how often each thing may happen; the worlds of the long form alone stand apart.
WORLDS = {
    "delete": (("WV", "W"), {"delete": 1}),
    "delete-twice": (("WS", "WV"), {"delete": 2, "death": 1}),
    "delete-newcomer": (("WV", "W", "OW"), {"delete": 1}),
    "delete-old": (("WV", "W"), {"delete": 1, "old": 1}),
    "delete-original": (("WV", "WS"), {"delete": 1, "original": 1, "death": 1}),
    "copy": (("WS", "VW"), {"copy": 1, "death": 1}),
    "copy-idle": (("WI", "WV"), {"copy": 1}),
    "copy-original": (("WV", "WS"), {"copy": 1, "original": 1, "death": 1}),
    "old": (("WS", "WV"), {"old": 1, "death": 1}),
    "old-copy": (("WV", "W"), {"old": 1, "copy": 1}),
    "restore": (("WS", "WV"), {"restore": 1, "death": 1}),
    "overwrite": (("WS", "WV"), {"overwrite": 1, "death": 1}),
    "overwrite-three": (("W", "V", "S"), {"overwrite": 1}),
    "transaction-delete": (("TS", "WS"), {"delete": 1, "death": 1}),
    "transaction-copy": (("TS", "WS"), {"copy": 1, "death": 1}),
    "transaction-old": (("TS", "WS"), {"old": 1, "death": 1}),
    "transaction-overwrite": (("TV", "WS"), {"overwrite": 1}),
    "transaction-deaths": (("T", "W", "OV"), {"copy": 1, "death": 2}),
}
LONG_WORLDS = {
    "copy-twice": (("WS", "VW"), {"copy": 2, "death": 1}),
    "copy-three": (("WS", "VW", "V"), {"copy": 1, "death": 1}),
    "old-three": (("WS", "W", "V"), {"old": 1, "death": 1}),
    "overwrite-twice": (("WV", "WV"), {"overwrite": 2}),
    "overwrite-copy": (("WV", "WV"), {"copy": 1, "overwrite": 1}),
    "transaction-delete-twice": (("TW", "WS"), {"delete": 2, "death": 1}),
    "transaction-original": (("TW", "WS"), {"copy": 1, "original": 1}),
    "transaction-three": (("TS", "W", "V"), {"copy": 1, "death": 1}),
}
SHORT = {"delete", "copy", "copy-idle", "restore", "overwrite", "transaction-delete", "transaction-copy"}

# Each rule, and the world that shows what it is for.
RULES = {
    "count": ("overwrite", "a word that goes back is another file"),
    "check": ("overwrite", "a last record that is not the remembered one makes another file"),
    "new-file": ("overwrite", "a file that was overwritten in place is replaced by a new one"),
    "draft": ("transaction-delete", "a deleted journal's draft has all its records, prepared batches too, before its name"),
    "no-replace": ("delete-old", "the draft is named without replacing"),
    "given": ("delete", "the old journal is marked as given up"),
    "successor": ("delete", "who finds its journal given up for the one at the name goes on there without comparing"),
    "memory": ("restore", "what a process knows is its memory, and not the list that is there by now"),
    "old-journal": ("delete-old", "what a process knows includes what the old journal still says"),
    "settle-first": ("transaction-overwrite", "what is prepared in the new file is settled before values are compared"),
    "keep-missing": ("old-copy", "missing names are kept across further replacements"),
    "stays": ("copy", "nobody's value is written over what was put back"),
    "sync-throws": ("copy", "synchronize() throws .moved too"),
    "idle-keeps": ("copy-idle", "an idle fold does not use .moved up"),
    "once": ("copy", ".moved is thrown once"),
    "name-again": ("restore", "a look asks for the name again after it read the list"),
    "undecided": ("transaction-delete", "no write stands behind an undecided batch"),
    "decide-at-name": ("transaction-deaths", "a transaction looks at the name before its decision"),
    "forget-late": ("transaction-deaths", "the vault forgets an outcome only when the list has it"),
    "fold-look": ("old", "a fold looks at the name before it replaces the list"),
    "tail": ("copy-idle", "what was written since the plan is in the new epoch"),
    "fold-lock": ("transaction-delete", "a transaction, and who settles one, holds the fold lock"),
}


class Model:
    def __init__(self, programs, world, left_out=()):
        self.rules = set(RULES) - set(left_out)
        journal = Journal(0, 1, 1, (), None)
        at = (1, 1, 0, 0)
        processes = tuple(Process(True, "idle", None if "O" in word else 0, word, (0, 0), at, NOBODY, None) for word in programs)
        self.first = State(
            (journal,), 0, (0, 0), processes, "none", (0, 0), (NOBODY, NOBODY), (NOBODY, NOBODY), (0, 0), None, 1,
            tuple(sorted(world.items())), None, NOBODY, False)
        # Without deaths, and with one deletion alone, nobody may be told anything.
        self.is_quiet = world == {"delete": 1} and not any("O" in word for word in programs)

    def has(self, rule):
        return rule in self.rules

    @property
    def whole(self):
        """The model with all its rules."""
        return self if len(self.rules) == len(RULES) else Model(*WORLDS["delete"])

    # -- What files say

    def read(self, journal, values):
        """The values of `journal` over `values`, its undecided batch, and whether all records follow."""
        values, batch, before = list(values), None, 0
        for record in journal.records:
            if record is None or (record.before != before):
                return tuple(values), batch, False
            before = record.id
            if record.kind == "W":
                values[record.key] = record.value
            elif record.kind == "P":
                batch = record
            else:
                if record.kind == "C" and batch:
                    values[batch.key] = batch.value
                batch = None
        return tuple(values), batch, True

    def view(self, state, file):
        return self.read(state.journals[file], state.list)

    def at(self, journal):
        last = journal.records[-1].id if journal.records and journal.records[-1] else 0
        return (journal.number, journal.epoch, len(journal.records), last)

    def follows(self, journal, at):
        """Whether the file goes on from where `at` remembers it."""
        number, epoch, count, last = at
        if journal.number != number or not self.read(journal, (0, 0))[2]:
            return False
        if self.has("count") and (journal.epoch, len(journal.records)) < (epoch, count):
            return False
        if journal.epoch == epoch and count and self.has("check"):
            return len(journal.records) >= count and journal.records[count - 1].id == last
        return True

    # -- Changes of a state

    def journal(self, state, file, **fields):
        journals = list(state.journals)
        journals[file] = journals[file]._replace(**fields)
        return state._replace(journals=tuple(journals))

    def process(self, state, p, **fields):
        processes = list(state.processes)
        processes[p] = processes[p]._replace(**fields)
        state = state._replace(processes=tuple(processes))
        if "memory" in fields:
            knows = tuple(
                state.knows[k] | {p} if fields["memory"][k] == state.acked[k] else state.knows[k] for k in KEYS)
            state = state._replace(knows=knows)
        return state

    def made(self, state, journal):
        """A new file of `journal`'s content, under a number of its own, which nobody has open; and its place."""
        clock = state.clock + 1
        journal = journal._replace(given=0, number=clock, holder=None)
        return state._replace(journals=state.journals + (journal,), clock=clock), len(state.journals)

    def rebased(self, state):
        """What a newcomer reads by now is what was put there."""
        return state._replace(base=None if state.name is None else self.view(state, state.name)[0])

    def free(self, state, p):
        file = state.processes[p].file
        if file is not None and state.journals[file].holder == p:
            state = self.journal(state, file, holder=None)
        return state

    def done(self, state, p, **fields):
        state = self.free(state, p)
        return self.process(state, p, step="idle", plan=None, program=state.processes[p].program[1:], **fields)

    def again(self, state, p):
        return self.process(self.free(state, p), p, step="idle", plan=None)

    def append(self, state, p, kind, key, value=None):
        """A record behind what `p` remembers, and the word: whatever has become of the file since it looked."""
        process = state.processes[p]
        number, epoch, count, last = process.at
        journal = state.journals[process.file]
        clock = state.clock + 1
        old = journal.records[:count] if journal.epoch == epoch else ()
        old += (None,) * (count - len(old))
        record = Record(kind, key, clock if value is None else value, clock, last)
        state = self.journal(state._replace(clock=clock), process.file, epoch=epoch, records=old + (record,))
        if self.at(journal) != process.at and process.file == state.name:
            state = self.rebased(state)  # Overwritten in place since it looked, and now overwritten by it.
        return self.process(state, p, at=(number, epoch, count + 1, clock)), record

    def acknowledged(self, state, p, key, value):
        def put(values, new):
            return tuple(new if k == key else values[k] for k in KEYS)

        state = state._replace(acked=put(state.acked, value), knows=put(state.knows, NOBODY), told=put(state.told, NOBODY))
        if state.processes[p].file == state.name:
            state = state._replace(base=put(state.base, value))
        return self.process(state, p, memory=put(state.processes[p].memory, value))

    def settled(self, state, p):
        """`p` has the lock of its journal, which has a batch: the vault's word on it, written down durably."""
        batch = self.view(state, state.processes[p].file)[1]
        if state.vault == "none":
            state = state._replace(vault="dropped")
        state = self.process(state, p, at=self.at(state.journals[state.processes[p].file]))
        state, _ = self.append(state, p, "C" if state.vault == "committed" else "D", batch.key)
        if state.vault == "committed":
            if batch.value >= state.acked[batch.key]:
                state = self.acknowledged(state, p, batch.key, batch.value)
            elif state.processes[p].file == state.name:
                state = self.rebased(state)
            if not self.has("forget-late"):
                state = state._replace(vault="forgotten")
        return state

    # -- A process notices that its journal is not the one at the name, or not what it was

    def known(self, state, p):
        process = state.processes[p]
        journal = state.journals[process.file]
        start = process.memory if self.has("memory") else state.list
        is_used = self.has("old-journal") and self.follows(journal, process.at)
        return self.read(journal, start)[:2] if is_used else (start, None)

    def noticed(self, state, p):
        """The states after `p`, which is between two steps, has opened what is there."""
        process = state.processes[p]
        old = state.journals[process.file]
        if old.holder is not None:
            return []
        if state.name is None and not old.given:
            state = self.journal(state, process.file, holder=p)
            return [self.process(state, p, step="carry", plan=self.known(state, p))]
        known, batch = self.known(state, p)
        if state.name is None:
            state, file = self.made(state, Journal(0, 0, 1, (), None))
            state = self.rebased(state._replace(name=file))
        elif process.file != state.name and self.has("given"):
            there = state.journals[state.name]
            if self.has("successor") and old.given == there.number:
                return [self.process(state, p, file=state.name, memory=self.view(state, state.name)[0], at=self.at(there))]
            if not old.given:
                state = self.journal(state, process.file, given=GIVEN_UP)
        return self.opened(state, p, known, batch)

    def opened(self, state, p, known, batch):
        """`p` opens what is at the name, and compares it with what it knew; a newcomer knew nothing."""
        file, process = state.name, state.processes[p]
        journal = state.journals[file]
        if journal.holder is not None:
            return []
        is_whole = self.view(state, file)[2]
        if not is_whole and known is None:
            return []  # Damaged.
        if not is_whole or self.has("new-file") and file == process.file and not journal.given:
            count = len(journal.records)
            while not self.read(journal._replace(records=journal.records[:count]), (0, 0))[2]:
                count -= 1
            state = self.journal(state, file, given=GIVEN_UP)
            state, file = self.made(state, journal._replace(records=journal.records[:count]))
            state = self.rebased(state._replace(name=file))
        elif journal.given:
            state = self.journal(state, file, given=0)
        elif file == process.file:
            state = state._replace(is_noticed=True)
        state = self.process(state._replace(thrown=state.thrown - {p}), p, file=file)
        if self.has("settle-first") and self.view(state, file)[1]:
            if self.is_folding(state, p):
                return []
            state = self.settled(state, p)
        there = self.view(state, file)[0]
        missing = NOBODY
        if known is not None:
            missing = frozenset(k for k in KEYS if known[k] != there[k])
            if batch and batch.value != there[batch.key]:
                missing |= {batch.key}
            if not self.has("stays"):
                for key in sorted(missing):
                    state = self.process(state, p, at=self.at(state.journals[file]))
                    state, _ = self.append(state, p, "W", key, known[key])
                missing, there = NOBODY, self.view(state, file)[0]
            elif self.has("keep-missing"):
                missing |= process.missing
        state = self.process(state, p, memory=there, at=self.at(state.journals[file]), missing=missing, step="idle", plan=None)
        return [state]


    # -- The steps of a process

    def thrown(self, state, p):
        missing = state.processes[p].missing
        if self.is_quiet:
            raise Broken("a deletion alone made somebody throw .moved")
        if p in state.thrown:
            raise Broken(".moved was thrown twice for one replacement")
        told = tuple(state.told[k] | {p} if k in missing else state.told[k] for k in KEYS)
        state = state._replace(told=told, thrown=state.thrown | {p})
        return self.process(state, p, missing=NOBODY if self.has("once") else missing)

    def steps(self, state, p):
        process = state.processes[p]
        if not process.alive:
            return []
        if process.step != "idle":
            return getattr(self, "at_" + process.step.replace(" ", "_"))(state, p, process)
        call = process.program[:1]
        if process.file is None:
            if state.name is None:
                state, file = self.made(state, Journal(0, 0, 1, (), None))
                state = self.rebased(state._replace(name=file))
            return [self.process(s, p, program=process.program[1:]) for s in self.opened(state, p, None, None)]
        journal = state.journals[process.file]
        is_at_name = state.name == process.file
        is_sound = is_at_name and not journal.given and self.follows(journal, process.at)
        results = []
        if not is_sound:
            results = self.noticed(state, p)
        elif process.at != self.at(journal) or process.memory != self.view(state, process.file)[0]:
            results.append(self.process(state, p, step="look"))
        if not call:
            return results
        if process.missing and (call in "WVT" or call == "S" and self.has("sync-throws")):
            return results + [self.thrown(state, p)]
        # A write need not look at the name: it does so now and then.
        is_usable = not journal.given and journal.epoch == process.at[1] and self.follows(journal, process.at)
        if journal.holder is not None or not is_usable or call in "SI" and not is_at_name:
            return results
        if (call != "W" and call != "V" or self.view(state, process.file)[1]) and self.is_folding(state, p):
            return results
        state = self.journal(state, process.file, holder=p)
        memory, batch, _ = self.read(journal, process.memory)
        state = self.process(state, p, memory=memory, at=self.at(journal))
        if batch and (self.has("undecided") or call != "W"):
            state = self.settled(state, p)
        return results + [self.process(state, p, step={"T": "prepare", "S": "fold", "I": "fold"}.get(call, "write"))]

    def at_look(self, state, p, process):
        """The name was looked at; now the list is, then the name again."""
        journal = state.journals[process.file]
        if self.has("name-again") and (state.name != process.file or not self.follows(journal, process.at)):
            return [self.process(state, p, step="idle")]
        return [self.process(state, p, step="idle", memory=self.view(state, process.file)[0], at=self.at(journal))]

    def at_carry(self, state, p, process):
        """After a deletion a draft gets the name, then the old journal is given up. The lock is held."""
        if state.name is not None and self.has("no-replace"):
            return [self.again(state, p)]
        old, was_free = state.journals[process.file], state.name is None
        if not self.has("draft"):
            state, old = state._replace(list=process.plan[0]), old._replace(epoch=1, records=())
        state, file = self.made(state, old)
        state = state._replace(name=file)
        return [self.process(self.rebased(state) if was_free else state, p, step="give up", plan=file)]

    def at_give_up(self, state, p, process):
        old, new = process.file, process.plan
        state = self.free(state, p)
        if self.has("given"):
            state = self.journal(state, old, given=state.journals[new].number)
        return [self.process(state, p, step="idle", plan=None, file=new, memory=self.view(state, new)[0],
                             at=self.at(state.journals[new]))]

    def at_write(self, state, p, process):
        key = 0 if process.program[0] == "W" else 1
        state, record = self.append(state, p, "W", key)
        return [self.done(self.acknowledged(state, p, key, record.value), p)]

    def at_prepare(self, state, p, process):
        state, record = self.append(state, p, "P", 0)
        return [self.process(state._replace(half=record.value), p, step="decide", plan=record.value)]

    def at_decide(self, state, p, process):
        is_at_name = state.name == process.file and self.follows(state.journals[process.file], process.at)
        if state.vault != "none" or self.has("decide-at-name") and not is_at_name:
            state, _ = self.append(state, p, "D", 0)
            return [self.done(state, p)]
        return [self.process(state._replace(vault="committed"), p, step="complete")]

    def at_complete(self, state, p, process):
        state, _ = self.append(state, p, "C", 0)
        return [self.done(self.acknowledged(state, p, 0, process.plan), p)]

    def is_folding(self, state, p):
        """Whether another process holds the fold lock: it folds, or makes a transaction."""
        steps = ("fold", "replace", "exchange", "begin", "prepare", "decide", "complete")
        return self.has("fold-lock") and any(i != p and other.step in steps for i, other in enumerate(state.processes))

    def at_fold(self, state, p, process):
        """The plan. Without the writers' lock it becomes a draft."""
        journal = state.journals[process.file]
        is_complete = any(record.kind == "C" for record in journal.records)
        plan = (self.view(state, process.file)[0], False, is_complete)
        return [self.process(self.journal(state, process.file, holder=None), p, step="replace", plan=plan)]

    def at_replace(self, state, p, process):
        journal = state.journals[process.file]
        if journal.holder is not None:
            return []
        is_looked = state.name == process.file and not journal.given and self.follows(journal, process.at)
        if self.has("fold-look") and not is_looked:
            return [self.again(state, p)]
        plan = (process.plan[0], is_looked, process.plan[2])
        return [self.process(self.journal(state, process.file, holder=p), p, step="exchange", plan=plan)]

    def at_exchange(self, state, p, process):
        values, is_looked, _ = process.plan
        state = self.free(state._replace(list=values), p)
        # What is replaced after the fold's last look was replaced before it, as far as anybody can tell.
        return [self.process(self.rebased(state) if is_looked else state, p, step="begin")]

    def at_begin(self, state, p, process):
        journal = state.journals[process.file]
        if journal.holder is not None:
            return []
        if state.name != process.file or journal.given or not self.follows(journal, process.at):
            return [self.again(state, p)]
        # Who remembers more than what was put in place takes the next epoch for a fold: this is not promised.
        passed = {q for q, other in enumerate(state.processes) if other.at[0] == journal.number and not state.is_noticed
                  and not Model.follows(self.whole, journal, other.at)}
        state = state._replace(told=tuple(told | passed for told in state.told))
        number, epoch, _, _ = process.at
        tail = journal.records[process.at[2]:] if self.has("tail") else ()
        state = self.journal(state, process.file, epoch=epoch + 1, records=())
        before, records = 0, ()
        for record in tail:
            state = state._replace(clock=state.clock + 1)
            records += (record._replace(id=state.clock, before=before),)
            before = state.clock
        state = self.journal(state, process.file, records=records)
        values, _, is_complete = process.plan
        if is_complete and state.vault == "committed":
            state = state._replace(vault="forgotten")
        if process.program[0] == "S" and process.missing:
            raise Broken("synchronize() said yes while a value was missing")
        if process.program[0] == "I" and not self.has("idle-keeps"):
            state = self.process(state, p, missing=NOBODY)
        return [self.done(state, p, at=(number, epoch + 1, 0, 0), memory=values)]

    # -- Somebody else

    def others(self, state):
        world = dict(state.world)

        def once(what):
            return state._replace(world=tuple((k, n - (k == what)) for k, n in state.world))

        name = state.name
        if world.get("death"):
            for p, process in enumerate(state.processes):
                if process.alive and (process.step != "idle" or process.program or process.missing):
                    dead = self.free(once("death"), p)
                    yield f"{p} dies", self.process(dead, p, alive=False, step="dead", plan=None, missing=NOBODY)
        if name is not None:
            if world.get("delete"):
                yield "delete", self.replaced(once("delete"), None)
            if world.get("copy"):
                yield "copy", self.put(once("copy"), state.journals[name])
            if state.saved is None and ({"old", "restore", "overwrite"} & set(world)):
                yield "save", state._replace(saved=(state.journals[name], name, state.list))
        if state.saved:
            journal, file, values = state.saved
            if world.get("old"):
                yield "put the old copy back", self.put(once("old"), journal)
            if world.get("restore"):
                yield "restore both", self.put(once("restore")._replace(list=values), journal)
            if world.get("overwrite") and name is not None:
                fields = journal._replace(holder=state.journals[name].holder)._asdict()
                yield "overwrite in place", self.rebased(self.journal(once("overwrite"), name, **fields))
        if world.get("original") and name != 0:
            yield "put the original back", self.replaced(once("original"), 0)

    def put(self, state, journal):
        state = state._replace(journals=state.journals + (journal._replace(holder=None),))
        return self.replaced(state, len(state.journals) - 1)

    def replaced(self, state, name):
        """Another file, or none, is at the name. Whoever has the old one open could know what it says."""
        if state.name is not None:
            values = self.read(state.journals[state.name], (0, 0))[0]
            users = [(p, q) for p, q in enumerate(state.processes) if q.alive and q.file == state.name]
            # A fold that has replaced the list takes the records away.
            is_folded = any(q.step in ("exchange", "begin") for _, q in users)
            holders = NOBODY if is_folded else frozenset(p for p, _ in users)
            state = state._replace(
                knows=tuple(state.knows[k] | holders if values[k] == state.acked[k] else state.knows[k] for k in KEYS))
            batch = self.view(state, state.name)[1]
            is_open = any(q.step != "complete" for _, q in users)
            # A transaction that was decided before, and whose makers all die.
            if state.vault in ("committed", "forgotten") and not (batch and is_open):
                state = state._replace(half=None)
        return self.rebased(state._replace(name=name))

    # -- What must hold

    def settle_down(self, state):
        """Whether everybody alive has done its work and knows what is there."""
        return state.name is not None and all(
            not q.alive or q.step == "idle" and not q.program and q.file == state.name
            and not state.journals[q.file].given and q.at == self.at(state.journals[q.file])
            and self.follows(state.journals[q.file], q.at) for q in state.processes)

    def check(self, state):
        if not self.settle_down(state):
            return
        values, batch, is_whole = self.view(state, state.name)
        alive = {p for p, q in enumerate(state.processes) if q.alive}
        if not is_whole:
            return  # damaged, which nobody takes for anything else
        if values != state.base:
            raise Broken(f"a newcomer reads {values} where {state.base} was put or written")
        is_committed = batch and state.vault == "committed"
        if is_committed:
            values = tuple(batch.value if k == batch.key else values[k] for k in KEYS)
        for key in KEYS:
            for p in state.knows[key] & alive:
                if is_committed and key == batch.key:
                    continue
                if values[key] != state.acked[key] and p not in state.told[key] and key not in state.processes[p].missing:
                    raise Broken(f"process {p} was not told that key {key} is {values[key]} and not {state.acked[key]}")
        if state.half is not None and values[0] == state.half and state.vault == "dropped":
            raise Broken("the plain half of a transaction that the vault dropped is there")
        is_missed = any(0 in q.missing for q in state.processes) or state.told[0]
        is_due = state.vault in ("committed", "forgotten") and state.half is not None and state.half >= state.acked[0]
        if is_due and alive and not is_missed and values[0] != state.half:
            raise Broken("the vault has its half of a transaction, and the plain store has not")

    def must_go_on(self, state):
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Model, WORLDS, LONG_WORLDS, SHORT, RULES))
