"""The vaults that the negative vectors are made of, and what is known of them: every byte comes from a seed."""

import os
import shutil

from cases import start
from credentials import KeyFile, Secret, key_file_line, line_of, recovery_text
from editor import Editor
from primitives import public_key
from rotation import rotate
from source import Source
from writer import NewSlot, Writer

DAY = 86_400_000
TIME = 1_750_000_000_000
MAIL, BANK, NOTE, GONE = ("mail", "ann", ""), ("bank", "ann", ""), ("note", "", ""), ("gone", "bob", "")
REPLICAS = [bytes([number]) * 16 for number in range(1, 4)]
ONE, WHOLE, PAST, EARLIER = "one-slot.sqlite", "whole.sqlite", "past.sqlite", "earlier.sqlite"
VERSION = (3_037_000).to_bytes(4, "big")  # What SQLite notes of itself at offset 96, and no reader looks at.


class Scene:
    """The vaults in a folder: one with one slot and one item, and one with all there is, now, one commit ago and in epoch 1."""

    def __init__(self, folder):
        self.folder, self.source = folder, Source("secrets of the negative vectors")
        draw = self.source.bytes
        code, self.identity, self.stranger, self.chip = draw(20), draw(32), draw(32), draw(32)
        files = {name: {"keyFile": key_file_line(draw(32)) + b"\n"} for name in ("owner", "member", "another key file")}
        phrase, photo = b"a passphrase of the negative vectors", draw(64)
        self.secrets = {
            **files, "passphrase": {"passphrase": phrase}, "both": {"passphrase": phrase + b", too", "keyFile": photo},
            "recovery": {"recovery": recovery_text(code).encode()}, "friend": {"identity": line_of(b"PVID1-", self.identity) + b"\n"},
        }
        self.slots = [
            NewSlot(1, "passphrase", Secret(passphrase=phrase), 1, 8),
            NewSlot(2, "both", Secret(passphrase=phrase + b", too", key_file=KeyFile(photo)), 1, 8),
            NewSlot(4, "recovery", Secret(recovery=code)), NewSlot(5, "friend", recipient=public_key(self.identity)),
            NewSlot(6, "chip", ops=7, mem=9, other=(200, draw(16), draw(20))),
        ]
        start(self.path(ONE), self.key_file(), "one slot")
        self.make()
        for name in (ONE, WHOLE, PAST, EARLIER):
            settle(self.path(name))

    def path(self, name):
        return os.path.join(self.folder, name)

    def key_file(self, name="owner"):
        return self.secrets[name]["keyFile"]

    def key_slot(self, name):
        return NewSlot(3, name, Secret(key_file=KeyFile(self.key_file(name))))

    def make(self):
        self.time, self.invitations, self.pins = TIME, [], {}
        self.writer = Writer.new(self.path(WHOLE), Source("whole"), TIME, self.key_slot("owner"))
        self.editor = Editor(self.writer)
        self.commit(self.add_slots)
        self.commit(self.fill)
        self.keep(PAST)
        self.commit(lambda: rotate(self.writer, without=[self.member]))
        self.commit(lambda: self.editor.set(BANK, b"account"))
        self.commit(lambda: rotate(self.writer))
        self.commit(lambda: self.writer.trim(9))
        self.writer.scrub(self.time)
        self.keep(EARLIER)
        self.commit(self.change)
        self.state, self.keys = self.writer.state, self.writer.keys
        self.writer.close()

    def commit(self, change):
        self.time += DAY
        self.writer.replica = REPLICAS[len(self.writer.state.replicas) % 3]
        self.writer.begin(self.time)
        change()
        self.writer.commit()
        if not self.invitations or self.invitations[-1].epoch != self.writer.keys.epoch:
            self.invitations.append(self.writer.invitation())

    def keep(self, name):
        """A copy of the file as it is now."""
        self.writer.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        shutil.copy(self.path(WHOLE), self.path(name))

    def add_slots(self):
        for slot in self.slots:
            self.writer.add_slot(slot)
        self.member = self.writer.add_slot(self.key_slot("member"))

    def fill(self):
        put = self.editor.set
        for value in (b"first", b"second", b"third"):
            put(MAIL, value, "Mail", history=2, attributes=[("a", "1")])
        put(BANK, b"account")
        put(BANK[:2] + ("pin",), b"1234")
        put(NOTE, None, attributes=[("only", "this")])
        put(GONE, b"last words")
        self.editor.delete(GONE)

    def change(self):
        self.editor.set(MAIL, b"fourth", "Mail", history=3, attributes=[("a", "1")])
        for outcome in (1, 2):
            self.writer.connection.execute("INSERT INTO decided VALUES (?, ?, ?)", (bytes([outcome]) * 16, outcome, self.time))


def settle(path):
    """Takes SQLite's version out of the file, so that each version makes the same bytes."""
    with open(path, "r+b") as file:
        file.seek(96)
        file.write(VERSION)
