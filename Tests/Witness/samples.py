"""Random vaults: every kind of slot, records, fields, former and deleted contents, rotations, a log that was cut."""

import report
from credentials import KeyFile, Secret, key_file_line, line_of, recovery_text
from editor import Editor
from header import OTHER, RECIPIENT
from log import check_log
from database import decided_rows, log_rows
from primitives import public_key
from source import Source
from steps import DAY, Steps
from writer import NewSlot, Writer

START = 1_700_000_000_000
LETTERS = ["a", "Z", "7", "-", ".", "/", "é", "e\u0301", "漢", "🔑", "\u200b", " ", "\ufeff"]
CONTROLS = ["\0", "\n", "\t", "\x1b", "\u0085"]


class Sample(Steps):
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

    # The end

    def expected(self):
        """What the vault holds, from what was written."""
        writer, state = self.writer, self.writer.state
        entries, beginning = check_log(writer.keys, log_rows(writer.connection), (state.log_seq, state.log_head))
        return report.whole(writer.header, writer.sealed, writer.keys, state, list(self.editor.contents.values()), entries,
                            beginning, decided_rows(writer.connection), writer.present_place)

    def result(self):
        """The secrets by slot, the invitations of all epochs, and what a reader has to find."""
        return {"path": self.path, "secrets": self.files, "invitations": self.invitations, "holds": self.expected()}
