"""What becomes of acknowledged values while a plain store's journal is folded into its list and others go on writing.

A fold holds the fold lock for its whole length, and the writers' lock for moments: to plan, to exchange the list for its draft, and to begin
the next epoch with the records that came meanwhile. Every order of the steps is tried, with deaths, lost power, failing syncs and saves by
other programs. AssuranceCase.md says what holds.

    python3 Tests/Models/fold.py [--short | --whole]   # the worlds, then each rule left out once, which must be refused
    python3 Tests/Models/fold.py WORLD [RULE...]        # a world without some rules: the shortest way to what breaks

A program is a word: W and V set the keys x and y, S synchronizes, I folds while idle, T sets x together with the vault, R reads without a
lock, and O begins after a loss of power. The journal is a row of blocks, with a record in each.
"""
import sys
from collections import namedtuple
from itertools import product

from search import Broken, main

# A record: W(rite), P(repare), C(ommit), D(rop), or K for the name of a committed batch that the vault could not forget. `id` stands in for
# its checksum, and `before` for the one that it covers.
Record = namedtuple("Record", "kind key value epoch before id")
# What a reader knows: how far it has read, the id before that place, the values, the undecided batch, and the list that they are from.
Memory = namedtuple("Memory", "epoch place link values batch list")
# What a fold notes: its epoch, the record at which it ends, what it found and expects, and the batches that it keeps.
Plan = namedtuple("Plan", "epoch mark link values found new pair is_pure kept is_finished")
Process = namedtuple("Process", "alive step program plan memory")
# The disk may have another version of each block, of each field of the header (`word`, `start` and `seed` of even and odd epochs, `put`) and
# of the names of list and draft: these are tuples of versions, the present one last. `stuck`: blocks that a failed sync took for written.
# `listed`, `folded`, `unsynced`: fields that matter while the machine runs. `acked`: the last acknowledged values; `past`: all pairs that a
# loss of power may leave. `read`, `opened`: the list that another program has read, and the file that one has open.
State = namedtuple(
    "State",
    "slots word start seed put names listed folded unsynced stuck fold writers processes vault acked past clock world read opened")

KEYS = (0, 1)

# Programs, the block where the records begin, the number of blocks, and how often each thing may happen.
WORLDS = {
    "deaths": (("WV", "S", "W"), 1, 6, {"death": 1}),
    "two-folds": (("WV", "S", "S"), 1, 6, {"death": 1}),
    "read": (("WV", "S", "RR"), 1, 6, {}),
    "read-wrapped": (("WSVV", "R"), 1, 6, {}),
    "read-rename": (("WS", "R"), 1, 6, {"rename": 1}),
    "read-kept": (("TS", "RR", "VV"), 1, 12, {"mute": 1}),
    "power": (("WWV", "S"), 1, 6, {"power": 1}),
    "power-wrapped": (("WWVVVV", "I"), 1, 6, {"power": 1}),
    "power-twice": (("VW", "S", "OSW"), 2, 6, {"power": 2}),
    "power-folds": (("WWI", "SV", "V"), 2, 6, {"power": 1, "death": 1}),
    "fail": (("WWV", "S", "S"), 1, 6, {"fail": 1, "power": 1}),
    "rename": (("W", "S"), 1, 6, {"rename": 1}),
    "rename-twice": (("W", "S"), 1, 6, {"rename": 2}),
    "rename-death": (("W", "S", "S"), 1, 6, {"rename": 1, "death": 1}),
    "rename-power": (("W", "S"), 1, 6, {"rename": 1, "power": 1}),
    "in-place": (("W", "S"), 1, 6, {"in-place": 1}),
    "in-place-death": (("W", "S", "S"), 1, 6, {"in-place": 1, "death": 1}),
    "transaction": (("T", "SW"), 1, 6, {"power": 1, "death": 1}),
    "transaction-mute": (("T", "SV", "S"), 1, 8, {"power": 1, "death": 1, "mute": 1}),
    "transaction-settle": (("T", "S", "VV"), 1, 8, {"power": 1, "death": 1, "mute": 1}),
    "transaction-twice": (("TW", "V", "SV"), 1, 10, {"power": 1, "death": 2, "mute": 2}),
    "transaction-fail": (("T", "SV", "S"), 1, 8, {"power": 1, "death": 1, "mute": 1, "fail": 1}),
    "fail-twice": (("WWV", "S", "SS"), 1, 8, {"fail": 2, "power": 1}),
    "power-copied": (("VWWV", "I", "I"), 1, 8, {"power": 1, "death": 1}),
    "deaths-power": (("WWVI", "I", "I"), 1, 6, {"power": 1, "death": 2}),
    "power-again": (("WVS", "I", "OSWV"), 1, 6, {"power": 2, "death": 1}),
    "read-folds": (("WSWS", "V", "RR"), 1, 8, {}),
    "read-saves": (("WS", "V", "RR"), 1, 8, {"rename": 1}),
    "read-mute": (("T", "S", "RR", "V"), 1, 8, {"mute": 1, "death": 1}),
    "saves-death": (("W", "S", "S"), 1, 6, {"rename": 1, "in-place": 1, "death": 1}),
}
LONG_WORLDS = {
    "saves-power": (("WV", "S", "S"), 1, 6, {"rename": 2, "power": 1, "death": 1}),
    "fail-death": (("WWV", "S", "SS"), 1, 6, {"fail": 1, "power": 1, "death": 1}),
    "folds": (("WWV", "SWS", "VI"), 1, 8, {"power": 1}),
    "folds-death": (("WWV", "SVS", "I"), 1, 8, {"power": 1, "death": 1}),
    "read-death": (("WV", "SS", "RR"), 1, 8, {"in-place": 1, "death": 1}),
    "read-transaction": (("TV", "SS", "RR"), 1, 8, {"mute": 1, "death": 1}),
    "fail-mute": (("T", "SVS", "WI"), 1, 10, {"mute": 1, "death": 1, "fail": 1, "power": 1}),
}
SHORT = {"deaths", "read", "power", "power-twice", "fail", "rename-death", "in-place-death", "transaction-mute"}

# Each rule, and the world that shows what it is for.
RULES = {
    "fold-lock": ("two-folds", "one process folds"),
    "sync-first": ("power", "the journal is synced before the list is exchanged"),
    "put-first": ("rename-power", "what the exchange is to bring is noted before that sync"),
    "newest": ("rename-twice", "a save that came later is not exchanged back"),
    "look-again": ("in-place", "what came out is looked at before the epoch begins"),
    "list-at-epoch": ("rename", "so is the list at the name"),
    "folder": ("power", "the folder is synced before the epoch begins"),
    "put-back": ("rename-death", "the next fold puts back what a dead one brought out"),
    "put-epoch": ("in-place-death", "but only in the epoch of the exchange"),
    "clean-folder": ("rename-power", "what was put back is durable before the note of the exchange is cleared"),
    "clean-journal": ("fail", "the note is cleared durably before there is another draft"),
    "clean-mark": ("deaths-power", "who clears it says first that a sync is due"),
    "clean-seed": ("power-copied", "what a dead fold copied follows nothing"),
    "place": ("power", "an epoch never begins over the records of the last one"),
    "limit": ("power-wrapped", "an epoch before the last one's records does not reach them until it is durable"),
    "tail": ("deaths", "the records since the plan are copied into the epoch"),
    "survivors": ("transaction-mute", "batches that are kept are synced before the word"),
    "seed": ("read", "an epoch follows the record at which the fold ends"),
    "pure": ("read-rename", "nobody follows the fold of a list that another program changed"),
    "no-survivors": ("read-kept", "nobody follows a fold that kept batches"),
    "reader-look": ("read-rename", "a reader looks at list and epoch again after it read the journal"),
    "overwritten": ("read-wrapped", "a reader looks whether what it took from the last epoch was still whole"),
    "transaction-fold": ("transaction-mute", "a transaction holds the fold lock"),
    "settle-fold": ("transaction-settle", "who settles a batch holds the fold lock"),
    "forget-late": ("transaction", "the vault forgets an outcome only when the journal has it durably"),
    "again": ("fail", "after a failed sync the records are stored again"),
    "wipe": ("power-twice", "after a loss of power everything outside the epoch is wiped"),
}
# Rules that no world needs: each look is repeated later, and a fold that is not durable is finished by the next one.
SPARE = ("found-first", "look-out", "epoch", "last-sync")


def apply(values, records, batch=None):
    """The values after `records`, and the undecided batch."""
    values = list(values)
    for record in records:
        if record.kind == "W":
            values[record.key] = record.value
        elif record.kind == "P":
            batch = record
        elif record.kind in "CD":
            if record.kind == "C" and batch:
                values[batch.key] = batch.value
            batch = None
    return tuple(values), batch


class Model:
    def __init__(self, programs, begin, slots, world, left_out=()):
        self.left_out = set(left_out)
        self.is_lossy, self.is_alone, self.is_durable = "power" in world, not {"rename", "in-place"} & set(world), "in-place" not in world
        memory = Memory(2, begin, 0, (0, 0), None, 0)
        self.first = State(
            slots=((None,),) * slots, word=((2, begin),), start=((begin,), (0,)), seed=((0,), (0,)), put=(None,), names=(((0, 0, 0), None),),
            listed=0, folded=None, unsynced=0, stuck=frozenset(), fold=None, writers=None,
            processes=tuple(Process(word[0] != "O", "idle", word, None, memory) for word in programs),
            vault="none", acked=(0, 0), past=((0, 0),), clock=1, world=tuple(sorted(world.items())), read=None, opened=None)
        self.disks = set()

    def has(self, rule):
        return rule not in self.left_out

    # -- What files say

    def records(self, state, begin=None):
        """The records of the epoch, from `begin` on."""
        (epoch, end), first = state.word[-1], self.start(state)
        before, records = state.seed[epoch % 2][-1], []
        for record, in (slot[-1:] for slot in state.slots[first:end]):
            if record is None or (record.epoch, record.before) != (epoch, before):
                raise Broken("a record of the journal is not whole")
            before = record.id
            records.append(record)
        return tuple(records[(begin - first if begin is not None else 0):])

    def start(self, state):
        return state.start[state.word[-1][0] % 2][-1]

    def batch(self, state):
        return apply((0, 0), self.records(state))[1]

    def decided(self, state, values, batch):
        return tuple(batch.value if k == batch.key else values[k] for k in KEYS) if batch and state.vault == "committed" else values

    def cleaned(self, names, put, epoch):
        """The list after somebody looked at the draft that a fold left."""
        there, draft = names
        is_saved = draft and put and there[2] == put[0] and draft[2] != put[1] and (put[2] == epoch or not self.has("put-epoch"))
        return draft if is_saved and self.has("put-back") else there

    def truth(self, state):
        """What a newcomer reads, once a dead fold's draft was looked at."""
        there = state.names[-1][0]
        if state.fold is None:
            there = self.cleaned(state.names[-1], state.put[-1], state.word[-1][0])
        return self.decided(state, *apply(there[:2], self.records(state)))

    # -- Changes of a state

    def kept(self, versions, value):
        return versions if versions[-1] == value else versions + (value,) if self.is_lossy else (value,)

    def of(self, fields, epoch, value):
        return tuple(self.kept(field, value) if i == epoch % 2 else field for i, field in enumerate(fields))

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

    def named(self, state, there, draft=None):
        return state._replace(names=self.kept(state.names, (there, draft)))

    def store(self, state, place, record):
        slots = tuple(self.kept(slot, record) if i == place else slot for i, slot in enumerate(state.slots))
        return state._replace(slots=slots, stuck=state.stuck - {place}, clock=record.id)

    def append(self, state, kind, key):
        (epoch, end), records, clock = state.word[-1], self.records(state), state.clock + 1
        before = records[-1].id if records else state.seed[epoch % 2][-1]
        state = self.store(state, end, Record(kind, key, clock, epoch, before, clock))
        return state._replace(word=self.kept(state.word, (epoch, end + 1)))

    def acknowledged(self, state, key, value):
        acked = tuple(value if k == key else state.acked[k] for k in KEYS)
        return state._replace(acked=acked, past=state.past + (acked,) if self.is_lossy else state.past)

    def settled(self, state):
        """The vault's word on the undecided batch, written down."""
        state = state._replace(vault="dropped") if state.vault == "none" else state
        return self.append(state, "C" if state.vault == "committed" else "D", 0)

    def sync(self, state, p):
        """The states after `p` synced the journal, and whether it succeeded."""
        syncing = ("store", "last", "keep", "clean_journal", "prepared", "committed")
        if any(p != i and q.step in syncing for i, q in enumerate(state.processes)):
            raise Broken("two sync at once: one may clear the other's failure")
        stuck = state.stuck
        if state.unsynced and self.has("again"):
            stuck -= set(range(self.start(state), state.word[-1][1]))
        yield state._replace(
            slots=tuple(slot if i in stuck else slot[-1:] for i, slot in enumerate(state.slots)), stuck=stuck, unsynced=0,
            word=state.word[-1:], put=state.put[-1:], start=tuple(s[-1:] for s in state.start), seed=tuple(s[-1:] for s in state.seed)), True
        if self.may(state, "fail"):
            stuck |= {i for i, slot in enumerate(state.slots) if len(slot) > 1}
            yield self.once(state, "fail")._replace(stuck=stuck, unsynced=max(state.unsynced, 1)), False

    def synced(self, state, p, step):
        return [self.process(after, p, step=step) if is_made else self.done(after, p) for after, is_made in self.sync(state, p)]

    def free(self, state, p):
        return state._replace(fold=None if state.fold == p else state.fold, writers=None if state.writers == p else state.writers)

    def done(self, state, p, **fields):
        return self.process(self.free(state, p), p, step="idle", plan=None, program=state.processes[p].program[1:], **fields)

    def promised(self, state, p, pair):
        if state.processes[p].program[0] == "S" and self.is_alone and pair in state.past:
            state = state._replace(past=state.past[state.past.index(pair):])
        return self.done(state, p)

    # -- A write

    def steps(self, state, p):
        process = state.processes[p]
        if not process.alive or not process.program:
            return []
        first = {"W": "write", "V": "write", "T": "transact", "R": "read"}.get(process.program[0], "fold")
        return getattr(self, "at_" + (first if process.step == "idle" else process.step))(state, p, process)

    def is_limited(self, state):
        """Whether the next record would go over one that the disk's epoch still needs."""
        epoch, end = state.word[-1]
        return self.has("limit") and state.unsynced == 2 and self.start(state) < state.start[1 - epoch % 2][-1] <= end

    def under_fold(self, state, p, work):
        """`work`, then a sync, by a write that takes the fold lock for it."""
        return [(after._replace(fold=None), is_made) for after, is_made in self.sync(work(state._replace(fold=p)), p)]

    def at_write(self, state, p, process):
        if state.writers is not None:
            return []
        key = "WV".index(process.program[0])
        is_held = state.fold is not None
        if state.word[-1][1] == len(state.slots):
            return [self.done(state, p)]  # Full.
        if self.is_limited(state):
            return [] if is_held else [after if is_made else self.done(after, p)
                                       for after, is_made in self.under_fold(state, p, lambda state: state)]
        batch = self.batch(state)
        if not batch:
            return [self.written(state, p, key)]
        if is_held and self.has("settle-fold"):
            return []
        results = []
        if self.may(state, "mute"):
            mute = self.once(state, "mute")
            results.append(self.done(mute, p) if key == batch.key else self.written(mute, p, key))
        for after, is_made in self.under_fold(state, p, self.settled):
            is_over = is_made and after.vault == "committed"
            results.append(after._replace(fold=state.fold, vault="forgotten" if is_over else after.vault))
        return results

    def written(self, state, p, key):
        state = self.append(state, "W", key)
        return self.done(self.acknowledged(state, key, state.clock), p)

    # -- A transaction

    def at_transact(self, state, p, process):
        if state.writers is not None or state.fold is not None and self.has("transaction-fold"):
            return []
        state = state._replace(writers=p, fold=p if self.has("transaction-fold") else state.fold)
        if self.is_limited(state):
            return [self.free(after, p) if is_made else self.done(after, p) for after, is_made in self.sync(state, p)]
        if state.word[-1][1] + 3 > len(state.slots):
            return [self.done(state, p)]
        return self.step(self.append(self.settled(state) if self.batch(state) else state, "P", 0), p, "prepared")

    def at_prepared(self, state, p, process):
        return [self.process(after, p, step="decide") if is_made else self.done(self.append(after, "D", 0), p)
                for after, is_made in self.sync(state, p)]

    def at_decide(self, state, p, process):
        if state.vault != "none":
            return [self.done(self.append(state, "D", 0), p)]
        state = self.acknowledged(state._replace(vault="committed"), 0, self.batch(state).value)
        return self.step(state._replace(past=state.past[-1:]), p, "commit")

    def at_commit(self, state, p, process):
        return self.step(self.append(state, "C", 0), p, "committed")

    def at_committed(self, state, p, process):
        return [self.done(after, p) for after, _ in self.sync(state, p)]

    # -- A fold

    def at_fold(self, state, p, process):
        if state.fold is not None and self.has("fold-lock"):
            return []
        return self.step(state._replace(fold=p), p, "clean")

    def at_clean(self, state, p, process):
        """Whatever a fold left that did not get to its end, another one or this one."""
        if state.put[-1] is None and state.unsynced == 0:
            return self.step(state, p, "plan")
        if state.writers is not None:
            return []
        return self.step(self.named(state, self.cleaned(state.names[-1], state.put[-1], state.word[-1][0])), p, "clean_folder")

    def at_clean_folder(self, state, p, process):
        put, epoch = state.put[-1], state.word[-1][0]
        state = state._replace(names=state.names[-1:] if self.has("clean-folder") else state.names, put=self.kept(state.put, None),
                               unsynced=max(state.unsynced, 1) if self.has("clean-mark") else state.unsynced)
        if put and put[2] == epoch and self.has("clean-seed"):
            state = state._replace(seed=self.of(state.seed, epoch + 1, 0))
        return self.step(state, p, "clean_journal" if self.has("clean-journal") else "plan")

    def at_clean_journal(self, state, p, process):
        return self.synced(state, p, "plan")

    def at_plan(self, state, p, process):
        if state.writers is not None:
            return []
        batch, results = self.batch(state), []
        if batch and self.may(state, "mute"):
            results.append(self.planned(self.once(state, "mute"), p, (batch,)))
        if batch and state.word[-1][1] == len(state.slots):
            return results + [self.done(state, p)]
        return results + [self.planned(self.settled(state) if batch else state, p, ())]

    def planned(self, state, p, kept):
        records, there, (epoch, mark) = self.records(state), state.names[-1][0], state.word[-1]
        if not any(record.kind in "WC" for record in records):
            return self.promised(state, p, state.acked)
        is_finished = any(record.kind in "CK" for record in records) and state.vault == "committed"
        if is_finished and not self.has("forget-late"):
            state = state._replace(vault="forgotten")
        values = apply(there[:2], records)[0] + (0,)
        plan = Plan(epoch, mark, records[-1].id, values, there[2], None, state.acked, state.listed == there[2], kept, is_finished)
        return self.process(state, p, step="draft" if self.has("put-first") else "store", plan=plan)

    def at_draft(self, state, p, process):
        new = process.plan.values[:2] + (state.clock + 1,)
        state = self.named(state._replace(clock=new[2]), state.names[-1][0], new)
        plan = process.plan._replace(new=new)
        if self.has("put-first"):
            return self.step(self.noted(state, plan), p, "store", plan=plan)
        return self.step(state, p, "look", plan=plan)

    def noted(self, state, plan):
        return state._replace(put=self.kept(state.put, (plan.new[2], plan.found, plan.epoch)))

    def at_store(self, state, p, process):
        step = "look" if self.has("put-first") else "draft"
        return self.synced(state, p, step) if self.has("sync-first") else self.step(state, p, step)

    def again(self, state, p, there):
        return self.step(self.named(state, there)._replace(writers=None), p, "clean", plan=None)

    def at_look(self, state, p, process):
        if state.writers is not None:
            return []
        plan, there = process.plan, state.names[-1][0]
        if state.word[-1][0] != plan.epoch and self.has("epoch") or there[2] != plan.found and self.has("found-first"):
            return self.again(state, p, there)
        return self.step((state if self.has("put-first") else self.noted(state, plan))._replace(writers=p), p, "exchange")

    def at_exchange(self, state, p, process):
        there, draft = state.names[-1]
        return self.step(self.named(state, draft, there), p, "out") if draft else self.again(state, p, there)

    def belongs(self, state, plan):
        """What belongs at the name if another program saved meanwhile, else nothing."""
        there, draft = state.names[-1]
        if draft and draft[2] == plan.found:
            return None
        return draft if draft and (there[2] == plan.new[2] or not self.has("newest")) else there

    def at_out(self, state, p, process):
        right = self.belongs(state, process.plan)
        return self.again(state, p, right) if right and self.has("look-out") else self.step(state._replace(writers=None), p, "folder")

    def at_folder(self, state, p, process):
        if self.has("folder"):
            state = state._replace(names=state.names[-1:])
        plan = process.plan
        results = self.step(state._replace(vault="forgotten") if plan.is_finished else state, p, "epoch")
        if plan.is_finished and self.may(state, "mute"):
            plan = plan._replace(kept=plan.kept + (Record("K", 0, 0, 0, 0, 0),))
            results += self.step(self.once(state, "mute"), p, "epoch", plan=plan)
        return results

    def at_epoch(self, state, p, process):
        if state.writers is not None:
            return []
        plan, there, (epoch, end), right = process.plan, state.names[-1][0], state.word[-1], self.belongs(state, process.plan)
        if epoch != plan.epoch and self.has("epoch"):
            return self.again(state, p, there)
        if right and self.has("look-again"):
            return self.again(state, p, right)
        if there[2] != plan.new[2] and self.has("list-at-epoch"):
            return self.again(state, p, there)
        records = plan.kept + (self.records(state, plan.mark) if self.has("tail") else ())
        begin = 0 if self.start(state) >= max(1, len(records)) or not self.has("place") else end
        if begin + len(records) > len(state.slots):
            return [self.done(self.named(state, there), p)]
        link = plan.link if self.has("seed") else self.records(state)[-1].id
        state = state._replace(start=self.of(state.start, epoch + 1, begin), seed=self.of(state.seed, epoch + 1, link), writers=p)
        for place, record in enumerate(records, begin):
            state = self.store(state, place, record._replace(epoch=epoch + 1, before=link, id=state.clock + 1))
            link = state.clock
        plan = plan._replace(values=(begin + len(records),))
        return self.step(state, p, "keep" if plan.kept and self.has("survivors") else "word", plan=plan)

    def at_keep(self, state, p, process):
        return self.synced(state, p, "word")

    def at_word(self, state, p, process):
        plan = process.plan
        is_followed = (plan.is_pure or not self.has("pure")) and (not plan.kept or not self.has("no-survivors"))
        state = state._replace(
            unsynced=2, folded=(plan.epoch, plan.mark) if is_followed else None,
            word=self.kept(state.word, (plan.epoch + 1,) + plan.values))
        return self.step(state, p, "finish")

    def at_finish(self, state, p, process):
        state = self.named(state._replace(listed=process.plan.new[2], writers=None), state.names[-1][0])
        return self.step(state, p, "last") if self.has("last-sync") else [self.promised(state, p, process.plan.pair)]

    def at_last(self, state, p, process):
        return [self.promised(after._replace(put=self.kept(after.put, None)), p, process.plan.pair) if is_made else self.done(after, p)
                for after, is_made in self.sync(state, p)]

    # -- A reader

    def at_read(self, state, p, process):
        memory, (epoch, _), (there, _), floor = process.memory, state.word[-1], state.names[-1], self.truth(state)
        if (memory.epoch, memory.list) == (epoch, there[2]):
            return [self.known(state, p, memory, self.records(state, memory.place), floor)]
        if not state.folded or state.folded[0] != memory.epoch or memory.epoch != epoch - 1:
            return self.step(state, p, "list", plan=(floor, there))
        ahead = memory.place - state.folded[1]
        if ahead <= 0:
            return self.step(state, p, "follow", plan=floor)
        records = self.records(state)[:ahead]
        if state.listed == there[2] and apply(there[:2], records) != (memory.values, memory.batch):
            raise Broken("a reader goes on at another record's place")
        memory = memory._replace(epoch=epoch, place=self.start(state) + ahead, link=records[-1].id, list=state.listed)
        return self.step(state, p, "idle", memory=memory)

    def at_follow(self, state, p, process):
        """What the reader lacks of the last epoch has its checksums."""
        memory, link = process.memory, process.memory.link
        if not state.folded or state.folded[0] != memory.epoch:
            return self.step(state, p, "idle", plan=None)
        for record, in (slot[-1:] for slot in state.slots[memory.place:state.folded[1]]):
            if record is None or (record.epoch, record.before) != (memory.epoch, link):
                return self.step(state, p, "list", plan=(process.plan, state.names[-1][0]))
            link = record.id
        return self.step(state, p, "take", plan=(process.plan, state.folded[1], link))

    def at_take(self, state, p, process):
        memory, (floor, mark, link), (epoch, end) = process.memory, process.plan, state.word[-1]
        is_whole = epoch == memory.epoch + 1 and (self.start(state) >= mark or end <= memory.place)
        if not is_whole and self.has("overwritten"):
            return self.step(state, p, "list", plan=(floor, state.names[-1][0]))
        seed = state.seed[epoch % 2][-1]
        if is_whole and seed != link:
            raise Broken("a reader takes its own journal for another one")
        taken = apply(memory.values, [slot[-1] for slot in state.slots[memory.place:mark]], memory.batch)
        return [self.known(state, p, Memory(epoch, self.start(state), seed, *taken, state.listed), self.records(state), floor)]

    def at_list(self, state, p, process):
        (floor, there), (epoch, _) = process.plan, state.word[-1]
        memory = Memory(epoch, self.start(state), state.seed[epoch % 2][-1], there[:2], None, there[2])
        return self.step(state, p, "compare", plan=(floor, memory, self.records(state)))

    def at_compare(self, state, p, process):
        floor, memory, records = process.plan
        if (memory.epoch, memory.list) != (state.word[-1][0], state.names[-1][0][2]) and self.has("reader-look"):
            return self.step(state, p, "idle", plan=None)
        return [self.known(state, p, memory, records, floor)]

    def known(self, state, p, memory, records, floor):
        """A read returns."""
        values, batch = apply(memory.values, records, memory.batch)
        memory = memory._replace(
            place=memory.place + len(records), link=records[-1].id if records else memory.link, values=values, batch=batch)
        shown, truth = self.decided(state, values, batch), self.truth(state)
        keys = [k for k in (KEYS if self.is_alone else KEYS[:1]) if not batch or k != batch.key]
        if any(shown[k] < min(floor[k], truth[k]) for k in keys):
            raise Broken(f"a reader shows {shown}, where {floor} was before")
        is_last = (memory.epoch, memory.place) == state.word[-1] and (memory.list, None) == (state.names[-1][0][2], state.names[-1][1])
        if is_last and state.fold is None and shown != truth:
            raise Broken(f"a reader keeps {shown}, where {truth} is")
        return self.done(state, p, memory=memory)

    # -- The world

    def others(self, state):
        for p, process in enumerate(state.processes):
            if self.may(state, "death") and process.alive and process.step != "idle":
                yield f"{p} dies", self.process(self.free(self.once(state, "death"), p), p, alive=False, step="dead", plan=None)
        (there, draft), clock = state.names[-1], state.clock + 1
        # A save between a fold's last look and the word is like one after the word.
        is_between = any(q.step in ("keep", "word") for q in state.processes)
        if self.may(state, "rename") and state.read is None:
            yield "another program reads", state._replace(read=there)
        elif self.may(state, "rename") and not is_between:
            saved = (state.read[0], clock, clock)
            yield "another program saves", self.saved(
                self.once(state, "rename")._replace(read=None, clock=clock, names=((saved, draft),)), saved)
        if self.may(state, "in-place") and state.opened is None:
            yield "Foundation opens", state._replace(opened=there)
        elif self.may(state, "in-place") and not is_between:
            saved = (state.opened[0], clock, clock)
            names = tuple(tuple(saved if file == state.opened else file for file in pair) for pair in state.names)
            after = self.once(state, "in-place")._replace(opened=None, clock=clock, names=names)
            # Once the fold has begun the epoch, the file is nobody's.
            is_out = draft == state.opened and state.put[-1] and (there[2], state.word[-1][0]) == state.put[-1][::2]
            yield "Foundation writes", self.saved(after, saved) if there == state.opened or is_out else after
        if self.may(state, "power") and any(not q.alive and q.program[:1] == "O" for q in state.processes):
            yield from (("power is lost", after) for after in self.opened(self.once(state, "power")))

    def saved(self, state, saved):
        """After a durable save, its value counts unless the journal has one of that key. What the program had not read is its loss."""
        values = self.decided(state, *apply(saved[:2], self.records(state)))
        # While an epoch is not durable, the disk still has the last one's.
        is_sure = values[1] == saved[1] and state.unsynced != 2
        first, second = ({pair[k] for pair in state.past} for k in KEYS)
        past = tuple(product(sorted(first | {saved[0], values[0]}), [saved[1]] if is_sure else sorted(second | {saved[1]})))
        return state._replace(acked=values, past=past if self.is_lossy else state.past)

    def losses(self, state):
        """All that the disk may have."""
        def chains(place, before, epoch):
            for record in set(state.slots[place]) if place < len(state.slots) else (None,):
                if record is None or (record.epoch, record.before) != (epoch, before):
                    yield ()
                else:
                    yield from ((record,) + rest for rest in chains(place + 1, record.id, epoch))

        for epoch in {word[0] for word in state.word}:
            for begin, seed in product(set(state.start[epoch % 2]), set(state.seed[epoch % 2])):
                for records in set(chains(begin, seed, epoch)):
                    for names, put in product(set(state.names), set(state.put)):
                        values = self.decided(state, *apply(self.cleaned(names, put, epoch)[:2], records))
                        yield epoch, begin, seed, records, names, put, values

    def opened(self, state):
        """After a loss of power, the first process takes the records that follow one another, wipes the rest and syncs."""
        processes = tuple(
            q._replace(alive=q.program[:1] == "O", program=q.program[1:] if q.program[:1] == "O" else "", step="idle", plan=None)
            for q in state.processes)
        for epoch, begin, seed, records, names, put, values in self.losses(state):
            end = begin + len(records)
            blocks = [(None,) if self.has("wipe") or i >= end else set(slot) for i, slot in enumerate(state.slots)]
            blocks[begin:end] = [(record,) for record in records]
            for slots in product(*blocks):
                yield state._replace(
                    slots=tuple((slot,) for slot in slots), word=((epoch, end),), put=(put,), names=(names,), listed=None, folded=None,
                    start=tuple((begin,) if i == epoch % 2 else s[-1:] for i, s in enumerate(state.start)),
                    seed=tuple((seed,) if i == epoch % 2 else s[-1:] for i, s in enumerate(state.seed)), unsynced=0, stuck=frozenset(),
                    fold=None, writers=None, processes=processes, acked=values, past=(values,), read=None, opened=None)

    # -- What must hold

    def must_go_on(self, state):
        return any(q.alive and q.program for q in state.processes)

    def check(self, state):
        truth = self.truth(state)
        # While a fold looks at it, another program's save may be the draft.
        if truth != state.acked and (self.is_alone or state.fold is None):
            raise Broken(f"{truth} is there, and {state.acked} was acknowledged")
        disk = (state.slots, state.word, state.start, state.seed, state.put, state.names, state.vault, state.past)
        if not self.is_lossy or disk in self.disks:
            return
        self.disks.add(disk)
        for *_, values in self.losses(state):
            # A program that writes in place does not sync.
            if values not in state.past and (self.is_durable or values[0] not in [x for x, _ in state.past]):
                raise Broken(f"a loss of power leaves {values} of {state.past}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Model, WORLDS, LONG_WORLDS, SHORT, RULES, SPARE))
