"""Random vaults: every kind of slot, records, fields, former and deleted contents, rotations, a log that was cut."""

import report
from credentials import KeyFile, Secret, key_file_line, line_of, recovery_text
from editor import Editor
from header import OTHER, RECIPIENT
from log import check_log
from database import decided_rows, log_rows
from primitives import public_key
from rotation import rotate
from source import Source
from writer import NewSlot, Writer

DAY = 86_400_000
YEAR_2100 = 4_102_444_800_000
START = 1_700_000_000_000
LETTERS = ["a", "Z", "7", "-", ".", "/", "é", "e\u0301", "漢", "🔑", "\u200b", " ", "\ufeff"]
CONTROLS = ["\0", "\n", "\t", "\x1b", "\u0085"]


class Sample:
    """One vault made of a seed, with the secrets that open it."""

    def __init__(self, path, seed, light=False, versions=(1, 1)):
        self.source, self.path, self.light = Source(seed), path, light
        self.pick, self.time = self.source.choices, START
        self.files, self.slots, self.invitations = {}, {}, []
        first, *others = self.new_slots()
        self.writer = Writer.new(path, self.source, self.time, first, versions=versions)
        self.editor = Editor(self.writer)
        self.remember()
        self.writer.extension = self.extension
        for slot in others:
            self.commit(lambda: self.writer.add_slot(slot))
        self.life()
        for _ in range(self.pick.randint(2, 4 if light else 14)):
            self.step()
        self.decide()

    # Secrets and slots

    def new_slots(self):
        """Slots of all types, in any order; some types twice, and some not at all."""
        types = self.pick.sample([1, 2, 3, 4, 5], self.pick.randint(1, 5))
        types += [RECIPIENT] * self.pick.randint(0, 3) + [OTHER] * self.pick.choice([0, 0, 1, 3])
        return [self.new_slot(type, number) for number, type in enumerate(types)]

    def new_slot(self, type, number):
        label = self.text(12)
        if type == OTHER:
            return self.other_slot(label + f" {number}")
        secret, files = self.new_secret(type)
        self.files[label + f" {number}"] = {"type": type, **{name: data.hex() for name, data in files.items()}}
        cost = (self.pick.randint(1, 2), 8) if type <= 2 else (0, 0)
        recipient = public_key(secret.identity) if type == RECIPIENT else None
        return NewSlot(type, label + f" {number}", secret, *cost, recipient)

    def other_slot(self, label):
        """A slot that no secret opens: it says anything."""
        pick = self.pick
        cost = [pick.choice([0, 1, (1 << 32) - 1, pick.getrandbits(32)]) for _ in range(2)]
        salt, x = pick.choice([bytes(16), self.source.bytes(16)]), self.source.bytes(pick.choice([0, 1, 176, 1024]))
        return NewSlot(OTHER, label, None, *cost, other=(pick.randint(0, 255), salt, x))

    def new_secret(self, type):
        """A secret that opens a slot of the type, and the content of the files that hold it."""
        draw = self.source.bytes
        if type == 1:
            phrase = draw(self.pick.randint(1, 40))
            return Secret(passphrase=phrase), {"passphrase": phrase}
        if type == 2:
            phrase, file = b"two " + draw(8), draw(self.pick.randint(32, 200))
            if self.pick.random() < 0.5:
                file = key_file_line(draw(32)) + b"\n"
            return Secret(passphrase=phrase, key_file=KeyFile(file)), {"passphrase": phrase, "keyFile": file}
        if type == 3:
            file = key_file_line(draw(32)) + self.pick.choice([b"", b"\n"])
            return Secret(key_file=KeyFile(file)), {"keyFile": file}
        if type == 4:
            code = draw(20)
            text = recovery_text(code)
            return Secret(recovery=code), {"recovery": self.pick.choice([text, text.lower().replace("-", " ")]).encode()}
        key = draw(32)
        return Secret(identity=key), {"identity": self.pick.choice([key, line_of(b"PVID1-", key)])}

    def remember(self):
        self.invitations.append(self.writer.invitation().text().decode())

    # Contents

    def text(self, most, controls=False):
        letters = LETTERS + (CONTROLS if controls else [])
        return "".join(self.pick.choice(letters) for _ in range(self.pick.randint(0, most)))

    def name(self, prefix):
        return prefix + self.text(6)

    def value(self):
        sizes = [0, 1, 254, 255, 256, 2046, 2047, 2048, 2303, 4095, self.pick.randint(0, 9000)]
        sizes += [] if self.light else [100_000]
        return None if self.pick.random() < 0.06 else self.source.bytes(self.pick.choice(sizes))

    def extension(self):
        """What a reader takes and does not look at; mostly nothing."""
        if self.pick.random() < 0.8:
            return b""
        return self.source.bytes(self.pick.choice([1, 7, 300] + ([] if self.light else [4096])))

    def describe(self):
        names = [self.text(8, True) for _ in range(self.pick.choice([0, 0, 1, 3]))]
        return {
            "label": self.text(20, True), "type": self.pick.choice(["", "text/plain", "application/x-" + self.text(3)]),
            "expires": self.pick.choice([0, 0, self.time + 400 * DAY, 1]), "history": self.pick.choice([0, 0, 1, 3, 100]),
            "attributes": [(f"n{number}{name}", self.text(40, True)) for number, name in enumerate(names)],
        }

    def items(self):
        return sorted({key[1] for key in self.editor.contents if key[0] == 0 and key[1][2] == ""})

    # Steps

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

    def expected(self):
        """What the vault holds, from what was written."""
        writer, state = self.writer, self.writer.state
        entries, beginning = check_log(writer.keys, log_rows(writer.connection), (state.log_seq, state.log_head))
        return report.whole(writer.header, writer.sealed, writer.keys, state, list(self.editor.contents.values()), entries,
                            beginning, decided_rows(writer.connection), writer.present_place)

    def result(self):
        """The secrets by slot, the invitations of all epochs, and what a reader has to find."""
        return {"path": self.path, "secrets": self.files, "invitations": self.invitations, "holds": self.expected()}
