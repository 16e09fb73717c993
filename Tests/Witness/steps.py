"""What happens to a random vault, commit by commit: each step draws what it does."""

from database import log_rows
from header import OTHER
from rotation import rotate

DAY = 86_400_000
YEAR_2100 = 4_102_444_800_000


class Steps:
    """The steps in the life of a `Sample`, whose writer, editor and choices they use."""

    def commit(self, change):
        self.time += self.pick.randint(0, 3 * DAY)
        slots = [slot for slot in self.writer.header.slots if slot.type != OTHER]
        self.writer.slot = self.pick.choice(slots).id
        self.writer.begin(self.time)
        change()
        self.writer.commit()

    def step(self):
        items = self.items()
        steps = [self.add, self.add]
        if items:
            steps += [self.add_field, self.replace, self.replace, self.delete, self.undelete, self.revert, self.relabel,
                      self.move]
        steps += [self.rotate, self.trim, self.note_replica]
        self.pick.choice(steps)()

    def life(self):
        """All that can happen to one item and its field, as a random walk may leave out one of them."""
        names, target = (self.name("life"), "", ""), (self.name("later"), "", "")
        field, editor = names[:2] + ("pin",), self.editor
        for change in (
            lambda: editor.set(names, self.value(), history=3), lambda: editor.set(field, self.value(), **self.describe()),
            lambda: editor.set(names, self.value(), history=3), lambda: editor.describe(names, self.text(20)),
            lambda: editor.revert(names), lambda: editor.rename(names, target), lambda: editor.copy(target, names),
            lambda: editor.delete(target, until=self.until()),
        ):
            self.commit(change)
        gone = editor.deleted_with(target)
        if self.pick.random() < 0.5:
            self.commit(lambda: [editor.undelete(each) for each in gone])

    def until(self):
        return self.pick.choice([0, 1, self.time, YEAR_2100])

    def add(self):
        names = [(self.name("s"), self.text(6), "") for _ in range(self.pick.randint(1, 2 if self.light else 8))]
        self.commit(lambda: [self.editor.set(one, self.value(), **self.describe()) for one in names])

    def add_field(self):
        names = self.pick.choice(self.items())[:2] + (self.name("f"),)
        self.commit(lambda: self.editor.set(names, self.value(), **self.describe()))

    def replace(self):
        names = self.pick.choice(sorted(key[1] for key in self.editor.contents if key[0] == 0))
        self.commit(lambda: self.editor.set(names, self.value(), **self.describe()))

    def delete(self):
        names = self.pick.choice(sorted(key[1] for key in self.editor.contents if key[0] == 0))
        self.commit(lambda: self.editor.delete(names, for_good=self.pick.random() < 0.3, until=self.until()))

    def undelete(self):
        gone = sorted({key[1] for key in self.editor.contents if key[0] == 2})
        gone = [names for names in gone if self.editor.present(names) is None
                and (names[2] == "" or self.editor.present(names[:2] + ("",)))]
        if gone:
            names = self.pick.choice(gone)
            together = self.editor.deleted_with(names) if names[2] == "" and self.pick.random() < 0.5 else [names]
            self.commit(lambda: [self.editor.undelete(each) for each in together])

    def relabel(self):
        names = self.pick.choice(sorted(key[1] for key in self.editor.contents if key[0] == 0))
        self.commit(lambda: self.editor.describe(names, self.text(20, True)))

    def move(self):
        names, target = self.pick.choice(self.items()), (self.name("s"), self.text(6), "")
        if self.editor.present(target):
            return
        if self.pick.random() < 0.7:
            self.commit(lambda: self.editor.rename(names, target, with_past=self.pick.random() < 0.5))
        else:
            self.commit(lambda: self.editor.copy(names, target))

    def revert(self):
        kept = sorted({key[1] for key in self.editor.contents if key[0] == 1 and self.editor.present(key[1])})
        if kept:
            self.commit(lambda: self.editor.revert(self.pick.choice(kept)))

    def rotate(self):
        """A new key, now and then without one of the slots, but for the last that anyone opens."""
        slots = self.writer.header.slots
        if sum(slot.type != OTHER for slot in slots) == 1:
            slots = [slot for slot in slots if slot.type == OTHER]
        without = [self.pick.choice(slots).id] if slots and self.pick.random() < 0.5 else []
        for id, _, label in self.writer.sealed.names:
            if id in without:
                self.files.pop(label, None)
        self.commit(lambda: rotate(self.writer, without))
        self.remember()
        if self.pick.random() < 0.7:
            self.time += 1000
            self.writer.scrub(self.time)

    def trim(self):
        rows = log_rows(self.writer.connection)
        if len(rows) > 2:
            first = rows[self.pick.randint(1, len(rows) - 1)][0]
            if first > rows[0][0] + (len(rows[0][1]) == 32):
                self.commit(lambda: self.writer.trim(first))

    def note_replica(self):
        self.writer.replica = self.source.bytes(16)
        self.commit(lambda: self.writer.entry(11))

    def decide(self):
        for _ in range(self.pick.randint(0, 3)):
            row = self.source.bytes(16), self.pick.randint(1, 2), self.time
            self.writer.connection.execute("INSERT INTO decided (txid, outcome, time) VALUES (?, ?, ?)", row)
