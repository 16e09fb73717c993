"""What becomes of items while machines sync one vault over a store that only keeps files.

Each machine edits its own copy. A sync merges the heads at the store, each against the newest state that both agreed on, and puts a head of
its own. A store is strict, where a put fails if another was faster, or loose: a folder for each machine, between which heads are copied one
by one. Machines die around a put, clocks are a year off, a store serves an old view or nothing, and a copied home gives two one name.

    python3 Tests/Models/sync.py histories N [SEED] [--without RULE]...   # N histories of random steps
    python3 Tests/Models/sync.py machine N [--without RULE]...            # N histories of a state machine of hypothesis
    python3 Tests/Models/sync.py rules N                                  # each rule left out in up to N histories, which must break

A small history that breaks is printed with what is broken.
"""
import copy
import random
import sys
from collections import Counter, namedtuple
from functools import reduce

# A machine's version of an item: whether it is "present" or "deleted", and its former values.
Item = namedtuple("Item", "kind name value written past")
# The vector names the last put of each machine that is followed: {machine: (generation, commit)}. `events`, which no machine sees, has a bit
# for each edit and put that really is.
Head = namedtuple("Head", "generation commit vector items events")
# An edit or a removal: the values that it is about, its bit, and the events that its machine followed.
Event = namedtuple("Event", "values event before")

RULES = {
    "bases": "a head is merged against the newest state that both agreed on",
    "sixteen": "sixteen of these are kept: the newest may be of a put that no store has",
    "merge-base": "a head is noted as a base with its merge, for the put that follows may fail",
    "own-base": "the own head is noted as one before its put, for the machine may die after it",
    "pasts": "former values are joined, whichever value wins",
    "pruned": "what went for good on one side goes, though a merge pruned or numbered it on the other",
    "moved": "it goes too where a merge has made it a former value of another item",
    "vector": "a store must have what this machine has seen there",
    "forks": "one machine has one put of each generation, and a put in this one's name is its own",
    "own": "the second half of that",
    "numbers": "a generation is above those of all own puts, for one without an answer may be at the store",
}
KINDS = ("set", "set", "set", "new", "delete", "undelete", "rename", "forever")
DEATHS = (None, None, None, None, None, "merged", "noted", "put")
SKEWS = (0, 0, 5, 31_536_000, -31_536_000)


class Broken(AssertionError):
    pass


def follows(later, earlier):
    return all(later.get(name, (0, 0))[0] >= generation for name, (generation, _) in earlier.items())


def join(vectors):
    return dict(sorted(entry for vector in vectors for entry in vector.items()))


def newest(heads):
    return [a for a in heads if not any(follows(b.vector, a.vector) and not follows(a.vector, b.vector) for b in heads)]


def events(heads):
    return reduce(lambda bits, head: bits | head.events, heads, 0)


def plain(name):
    """A name without the number that a merge gave it."""
    return name.split(" ")[0]


def is_same(a, b, rules):
    """Whether only merges made one of the other: former values went, or a number came."""
    return "pruned" in rules and a._replace(name=plain(a.name), past=None) == b._replace(name=plain(b.name), past=None)


def both(a, b, rules):
    """What both sides changed, or what has no base. The sides may be exchanged."""
    if a is None or b is None or a == b:
        return a or b
    if a.kind != b.kind:
        winner = a if a.kind == "present" else b
    elif a.value == b.value or (b.value in a.past) == (a.value in b.past):
        winner = max(a, b, key=lambda item: (item.written, item.value, item.name))
    else:
        winner = a if b.value in a.past else b
    name = max(a, b, key=lambda item: (item.written, item.name)).name if a.value == b.value else winner.name
    past = a.past | b.past | {a.value, b.value} if "pasts" in rules else winner.past
    return winner._replace(name=name, past=past - {winner.value})


def values(items):
    return set().union(*({item.value, *item.past} for item in items))


def merge(ours, theirs, base, rules):
    known, merged, names = base or {}, {}, set()
    # What a side has no more in any item: a merge may have moved it to another one.
    gone = values(known.values()) - (values(ours.values()) & values(theirs.values())) if "moved" in rules else set()
    made = {item.name: i for i, item in ours.items() if item.kind == "present" and i not in theirs and i not in known}
    # Items that both sides made under one name are one.
    twins = {made[item.name]: i for i, item in theirs.items()
             if item.kind == "present" and i not in ours and i not in known and item.name in made}
    for i in ours.keys() | theirs.keys() - set(twins.values()):
        twin = twins.get(i, i)
        a, b, old = ours.get(i), theirs.get(twin), known.get(i)
        if base is None or twin != i or a and b and not old:
            item = both(a, b, rules)
        elif a == old or b == old:
            item = b if a == old else a
        elif a and b:
            item = b if is_same(a, old, rules) else a if is_same(b, old, rules) else both(a, b, rules)
            pruned = (old.past - a.past - {a.value}) | (old.past - b.past - {b.value})
            item = item._replace(past=(item.past | a.past | b.past) - pruned - {item.value}) if "pruned" in rules else item
        else:
            # Removed for good on one side, changed on the other: the change stays, without the values that the remover knew.
            item = (a or b)._replace(past=(a or b).past - old.past - {old.value})
            is_known = not item.past and item.value == old.value
            item = None if is_known and (item.kind == "deleted" or is_same(item, old, rules)) else item
        if item:
            merged[max(i, twin)] = item if old else item._replace(past=item.past - gone)
    for i in sorted(merged, key=lambda i: (-merged[i].written, i)):
        item, number = merged[i], 2
        while item.kind == "present" and item.name in names:
            item, number = item._replace(name=f"{plain(item.name)} ({number})"), number + 1
        merged[i] = item
        names |= {item.name} if item.kind == "present" else set()
    return merged


class Machine:
    def __init__(self, label, skew, head):
        # `puts`: its own that may be at the store. `events`: those that its items follow. `told`: those of the view that it has seen.
        self.label = self.name = label
        self.skew, self.items, self.bases, self.puts, self.events = skew, head.items, [head], set(), head.events
        self.told = 0
        self.see(head)

    def see(self, head):
        own = head.vector.get(self.name, (0, 0))
        self.seen, self.told, self.puts = head.vector, self.told | head.events, {own} | {put for put in self.puts if put > own}


class History:
    def __init__(self, is_loose, skews, has_copies=False, without=(), count=None):
        self.rules, self.is_loose, self.has_copies = RULES.keys() - set(without), is_loose, has_copies
        self.now, self.clock, self.commits, self.copies, self.kept, self.trace = 0, 0, 1, set(), None, []
        self.count, self.is_broken, self.is_settling = Counter() if count is None else count, False, False
        first = {i: Item("present", name, f"v{i}", 0, frozenset()) for i, name in enumerate("abc")}
        head = Head(1, 1, {"m0": (1, 1)}, first, 1)
        self.machines = [Machine(f"m{k}", skew, head) for k, skew in enumerate(skews)]
        # A strict store has one view.
        self.views = [[head] for _ in skews] if is_loose else [[head]] * len(skews)
        self.written, self.edits, self.removals = {item.value: i for i, item in first.items()}, [], []

    def broken(self, text):
        self.is_broken = True
        raise Broken(text)

    def event(self):
        self.clock += 1
        return 1 << self.clock

    # -- Steps

    def edit(self, k, what, number, name, seconds=1):
        m = self.machines[k % len(self.machines)]
        self.now += seconds
        taken = {item.name for item in m.items.values() if item.kind == "present"}
        choice = [len(self.written)] if what == "new" else sorted(
            i for i, item in m.items.items() if (item.kind == "deleted") == (what == "undelete"))
        i = choice[number % len(choice)] if choice else None
        item, value, time = m.items.get(i), f"v{len(self.written)}", self.now + m.skew
        if i is None or (item.name if what == "undelete" else name if what in ("new", "rename") else None) in taken:
            return
        self.trace.append(f"{m.label}: {what} {i}" + f" as {name}" * (what in ("new", "rename")) + f", {value}" * (what in ("new", "set")))
        event, before = self.event(), m.events
        m.events |= event
        self.count["edits"] += 1
        if what == "forever":
            m.items = {j: other for j, other in m.items.items() if j != i}
            kept = [other.past | {other.value} for other in m.items.values()]
            self.removals.append(Event((item.past | {item.value}).difference(*kept), event, before))
            return
        if what == "new":
            item = Item("present", name, value, time, frozenset())
        elif what == "set":
            item = item._replace(value=value, written=time, past=item.past | {item.value})
        else:
            item = item._replace(name=name) if what == "rename" else item._replace(kind="deleted" if what == "delete" else "present")
        self.written.setdefault(item.value, i)
        self.edits.append(Event({item.value}, event, before))
        m.items = {**m.items, i: item}

    def lie(self, k, what):
        """A store serves nothing, or what it had when it was to be kept."""
        k %= len(self.views)
        if what == "keep":
            self.trace.append(f"the view of {self.machines[k].label} is kept")
            self.kept = list(self.views[k])
        elif what == "nothing" or self.kept:
            self.sync(k, view=[] if what == "nothing" else self.kept)

    def copy(self, k):
        """A home is copied to another machine."""
        if self.has_copies and not self.copies:
            self.copies = {k % len(self.machines), len(self.machines)}
            self.machines.append(copy.copy(self.machines[min(self.copies)]))
            self.machines[-1].label = f"m{max(self.copies)}"
            self.views.append(self.views[min(self.copies)][:] if self.is_loose else self.views[0])
            self.trace.append(f"the home of m{min(self.copies)} is copied to m{max(self.copies)}")

    def deliver(self, a, b, number):
        """The service behind a loose store copies one head."""
        a, b = a % len(self.views), b % len(self.views)
        missing = [head for head in self.views[a] if head not in self.views[b]]
        if self.is_loose and missing:
            self.views[b].append(missing[number % len(missing)])
            self.trace.append(f"one of {len(missing)} heads is copied from the folder of m{a} to that of m{b}")

    def sync(self, k, death=None, rival=None, *edit, view=None):
        """The machine `rival` makes an edit and syncs just before this one's put. Returns whether anything changed."""
        k %= len(self.machines)
        m, items, is_lie = self.machines[k], self.machines[k].items, view is not None
        how = f", dies when {death}" if death else ", served nothing" if view == [] else ", served the kept view" if is_lie else ""
        self.trace += [] if self.is_settling else [f"{m.label}: sync{how}"]
        self.count["syncs"] += 1
        while True:
            view = self.views[k] if view is None else view
            heads, refusal, accepts = newest(view), self.refusal(m, newest(view)), False
            lost = m.told & ~events(view)
            self.count[f"refused: {refusal}"] += refusal is not None
            self.trace += [f"  {m.label}: {refusal}"] if refusal else []
            if not self.copies and refusal != ("rolled back" if lost else None):
                self.broken(f"{refusal}, though nothing was missing or copied" if refusal else "an old view was taken")
            if refusal and (is_lie or not self.copies):
                return False
            if refusal:
                # A person says that it may go on, without bases, and as a new machine where the home was copied.
                m.bases, m.told, accepts = [], 0, True
                m.name = f"{m.label}+{self.commits}" if k in self.copies else m.name
            for head in sorted(heads, key=lambda head: head[:2]):
                if accepts or not any(follows(base.vector, head.vector) for base in m.bases[:1]):
                    bases = [base.items for base in m.bases if follows(head.vector, base.vector)]
                    m.items = merge(m.items, head.items, bases[0] if bases and not accepts and "bases" in self.rules else None, self.rules)
                    self.note(m, head, "merge-base")
            m.events |= events(heads)
            if death == "merged":
                return True
            if len(heads) == 1 and heads[0].items == m.items:
                self.note(m, heads[0])
                m.see(heads[0])
                return m.items != items
            self.commits += 1
            numbers = [head.generation for head in heads] + [put[0] for put in m.puts if "numbers" in self.rules]
            put, m.events = (1 + max(numbers, default=0), self.commits), m.events | self.event()
            head = Head(*put, {**join(head.vector for head in heads), m.name: put}, m.items, m.events)
            m.puts = m.puts | {put}
            self.note(m, head, "own-base")
            if death == "noted":
                return True
            if rival is not None and not self.is_loose and rival % len(self.machines) != k:
                self.edit(rival, *edit)
                self.sync(rival)
                rival = None
            if not self.is_loose and self.views[k] != heads:
                self.count["races lost"] += 1
                view = None
                continue
            old = sorted((head for head in self.views[k] if head not in heads), key=lambda head: head.generation)
            self.views[k][:] = old[-4:] + heads + [head] if self.is_loose else [head]
            if death != "put":
                self.note(m, head)
                m.see(head)
            return True

    def note(self, m, base, rule="bases"):
        if rule in self.rules and base not in m.bases[:1]:
            m.bases = [base, *m.bases][:16 if "sixteen" in self.rules else 1]

    def refusal(self, m, heads):
        vectors, joint = [m.seen] + [head.vector for head in heads], join(head.vector for head in heads)
        puts = {(name, *put) for vector in vectors for name, put in vector.items()}
        if len(puts) > len({put[:2] for put in puts}) and "forks" in self.rules:
            return "forked"
        if not follows(joint, m.seen) and "vector" in self.rules:
            return "rolled back"
        return "forked" if joint.get(m.name) not in m.puts | {None} and {"forks", "own"} <= self.rules else None

    # -- What must hold

    def finish(self):
        """Everybody syncs until nothing changes."""
        self.trace.append("nobody writes, and all sync")
        self.is_settling, rounds, changed = True, 0, True
        while changed:
            changed = False
            for k in range(len(self.machines)):
                every = {head.commit: head for view in self.views for head in view}
                for view in self.views:
                    view[:] = every.values()
                changed |= self.sync(k)
            rounds += 1
            self.count["most rounds"] = max(self.count["most rounds"], rounds)
            if rounds > 12:
                self.broken("the machines never agree")
        items = self.machines[0].items
        names = [item.name for item in items.values() if item.kind == "present"]
        if any(m.items != items for m in self.machines) or len(names) > len(set(names)):
            self.broken("the machines differ, or two items have one name")
        self.judge([(item.value, item.past | {item.value}) for item in items.values()])

    def judge(self, items):
        """`items`: the value of each that is there at the end, deleted ones too, and all its values."""
        kind, values = "with a copied home" if self.copies else "loose" if self.is_loose else "strict", set().union(*(all for _, all in items))
        self.count.update({"histories": 1, kind: 1, "values written": len(self.written)})
        lost = self.written.keys() - values.union(*(removal.values for removal in self.removals))
        if lost:
            self.broken(f"lost: {', '.join(sorted(lost))}")
        for removal in self.removals:
            back = removal.values & values
            same = {self.written[value] for value in removal.values.union(*(all for value, all in items if value in back))}
            # A change that the remover did not know, by a machine that did not know of the removal, keeps an item.
            if back and not any(same & {self.written[value] for value in edit.values} and not edit.event & removal.before
                                and not removal.event & edit.before for edit in self.edits):
                self.count[f"removed for good and back, {kind}"] += 1
                if kind == "strict":
                    self.broken(f"removed for good and back: {', '.join(sorted(back))}")


# The steps, by weight, and what each may be given.
MACHINES, NUMBERS, NAMES = range(4), range(8), "abcdef"
STEPS = ["edit"] * 12 + ["sync"] * 6 + ["deliver"] * 3 + ["lie"] * 2 + ["copy"]
GIVEN = {
    "edit": (MACHINES, KINDS, NUMBERS, NAMES, (1, 60, 3600)), "sync": (MACHINES, DEATHS, (None, None, *MACHINES), KINDS, NUMBERS, NAMES),
    "deliver": (MACHINES, MACHINES, NUMBERS), "lie": (MACHINES, ("keep", "kept", "nothing")), "copy": (MACHINES,)}


def play(history, steps):
    """What is broken in a history of these steps, or None."""
    try:
        for name, *words in steps:
            getattr(history, name)(*words)
        history.finish()
    except Broken as broken:
        return str(broken)


def histories(seeds, without, count, History=History, given=GIVEN):
    """A small part of the first history that breaks, and what is broken in it."""
    for seed in seeds:
        draw = random.Random(seed).choice
        start = draw((False, True)), [draw(SKEWS) for _ in range(draw((2, 3, 3, 4)))], draw(range(8)) == 0, without
        steps = [(step, *map(draw, given[step])) for step in (draw(STEPS) for _ in range(draw(range(6, 36))))]
        if play(History(*start, count), steps):
            size = len(steps)
            while size:
                k, size = 0, size // 2
                while size and k < len(steps):
                    fewer = steps[:k] + steps[k + size:]
                    steps, k = (fewer, k) if play(History(*start), fewer) else (steps, k + size)
            history = History(*start)
            return history, play(history, steps)
    return None, None


def machine(examples, without, count, History=History, given=GIVEN):
    try:
        from hypothesis import HealthCheck, settings, strategies as st
    except ImportError:
        print("skipped: hypothesis is not there (apt-get install python3-hypothesis)")
        sys.exit(77)
    from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
    steps = {step: st.tuples(st.just(step), *map(st.sampled_from, words)) for step, words in given.items()}

    class Machines(RuleBasedStateMachine):
        @initialize(is_loose=st.booleans(), skews=st.lists(st.sampled_from(SKEWS), min_size=2, max_size=4), copies=st.integers(0, 7))
        def begin(self, is_loose, skews, copies):
            self.history = Machines.last = History(is_loose, skews, copies == 7, without, count)

        @rule(step=st.sampled_from(STEPS).flatmap(steps.get))
        def step(self, step):
            getattr(self.history, step[0])(*step[1:])

        def teardown(self):
            if not self.history.is_broken:
                self.history.finish()

    try:
        run_state_machine_as_test(Machines, settings=settings(
            max_examples=examples, stateful_step_count=35, deadline=None, database=None, derandomize=True,
            suppress_health_check=list(HealthCheck)))
    except Broken as broken:
        return Machines.last, str(broken)
    return None, None


def main(words):
    without, count, wrong = [rule for word, rule in zip(words, words[1:]) if word == "--without"], Counter(), 0
    size, seed = (*map(int, words[1:words.index("--without") if without else None]), 0)[:2]
    for left_out in [[rule] for rule in RULES] if words[0] == "rules" else [without]:
        history, broken = machine(size, left_out, count) if words[0] == "machine" else histories(range(seed, seed + size), left_out, count)
        wrong += (broken is None) == (words[0] == "rules")
        print("\n".join([*history.trace, ""] if history else []), end="")
        print(f"without {', '.join(left_out)}: " if left_out else "", broken or "nothing is broken", sep="", flush=True)
    print(", ".join(f"{name}: {number}" for name, number in sorted(count.items()) if number))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
