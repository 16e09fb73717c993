"""Writes a vault, commit by commit. Source: VaultFormat.md, all of it; the names are those of the text."""

import os

import database
import log
from credentials import Invitation
from header import OTHER, RECIPIENT, Header, Keys, Sealed
from layout import le64
from primitives import H, public_key
from records import PRESENT, place, seal_record
from slots import make_slot, other_slot, recipient_slot, seal_box, seal_own
from state import State, bucket_digest, bucket_of, counts_of, root_of


class NewSlot:
    """A slot to be made: `secret` opens it, or `recipient` is the public key of whoever does.

    `other` are alg, salt and x of a slot of type 6, which nothing here opens.
    """

    def __init__(self, type, label, secret=None, ops=0, mem=0, recipient=None, other=None):
        self.type, self.label, self.secret, self.ops, self.mem = type, label, secret, ops, mem
        self.recipient, self.other = recipient, other


class Writer:
    """An open vault. Every change stands between `begin` and `commit`."""

    def __init__(self, connection, source, header, sealed, keys, state):
        self.connection, self.source, self.header = connection, source, header
        self.sealed, self.keys, self.state = sealed, keys, state
        self.time, self.program, self.uid, self.pid, self.replica = state.time, "witness", 1000, 4242, None
        self.slot = bytes(16)  # The id of the slot that the vault was opened with.
        self.extension = lambda: b""  # What a later version would say at the end of a structure.
        self.touched = set()
        self.metas = {}  # By table and place: the descriptions of the records, which the state counts.

    # Opening and closing

    @classmethod
    def new(cls, path, source, time, slot, floor=(1, 8), versions=(1, 1)):
        """A new vault of epoch 1 with one slot; it is made beside its place and gets its name when it is whole.

        `versions` are `fmt` and `min_reader`.
        """
        connection = database.connect(path + ".new", "rwc")
        os.chmod(path + ".new", 0o600)
        for pragma in ("page_size = 4096", "auto_vacuum = 0", "encoding = 'UTF-8'", f"application_id = {database.APPLICATION}",
                       f"user_version = {versions[1]}"):
            connection.execute(f"PRAGMA {pragma}")
        connection.executescript("BEGIN;" + ";".join(database.TABLES.values()) + "; COMMIT")
        vault = source.bytes(16)
        header, sealed = Header(*versions, vault, 1, []), Sealed(time, time, floor, [], [])
        state = State(0, bytes(16), b"", (0, 0, 0), time, 0, log.NO_HEAD, 0, [])
        made = cls(connection, source, header, sealed, Keys(source.bytes(32), vault, 1), state)
        made.begin(time)
        made.slot = made.add_slot(slot, told=False)
        made.entry(log.CREATED)
        made.commit()
        connection.close()
        os.link(path + ".new", path)
        os.unlink(path + ".new")
        made.connection = database.connect(path, "rw")
        made.connection.execute("PRAGMA journal_mode = WAL")
        return made

    @classmethod
    def of(cls, vault, path, source):
        """Goes on with a vault that the reader opened and checked."""
        made = cls(database.connect(path, "rw"), source, vault.header, vault.sealed, vault.keys, vault.state)
        made.slot = vault.opened.slot.id
        for meta, _ in vault.records:
            made.metas[made.place_of(meta)] = meta
        return made

    def close(self):
        self.connection.close()

    def begin(self, time):
        self.connection.execute("BEGIN IMMEDIATE")
        self.time = time
        self.state.commit = self.source.bytes(16)

    # Slots

    def add_slot(self, new, told=True):
        id = self.source.bytes(16)
        if new.type == RECIPIENT:
            slot, wrap = recipient_slot(id, new.recipient), bytes(32)
        elif new.type == OTHER:
            (alg, salt, own), wrap = new.other, self.source.bytes(32)
            slot = other_slot(id, alg, new.ops, new.mem, salt, public_key(self.source.bytes(32)), own)
        else:
            slot, wrap = self.slot_with_key(id, new)
        self.header.slots = sorted(self.header.slots + [slot], key=lambda slot: slot.id)
        self.sealed.names = sorted(self.sealed.names + [(id, wrap, new.label)])
        seal_box(self.header, slot, wrap, self.keys.vk, self.source.bytes(32), self.source.bytes(24))
        self.write_header()
        if told:
            self.entry(log.SLOT_ADDED, detail=id)
        return id

    def slot_with_key(self, id, new):
        """A slot of types 1 to 4 with a new key pair, W, salt and `own`."""
        secret, wrap, salt = (self.source.bytes(count) for count in (32, 32, 16))
        slot = make_slot(id, new.type, salt, secret, new.ops, new.mem)
        key = new.secret.key(new.type, salt, new.ops, new.mem)
        seal_own(self.header, slot, key, secret, wrap, (self.keys.epoch, self.keys.mark), self.source.bytes(24))
        return slot, wrap

    def change_slot(self, id, new):
        """Gives a slot of type 1 or 2 another passphrase within the epoch: the old bytes are still to be removed."""
        at = [slot.id for slot in self.header.slots].index(id)
        slot, wrap = self.slot_with_key(id, new)
        self.header.slots[at], self.sealed.names[at] = slot, (id, wrap, new.label)
        seal_box(self.header, slot, wrap, self.keys.vk, self.source.bytes(32), self.source.bytes(24))
        self.state.scrub = 1
        self.write_header()
        self.entry(log.SLOT_CHANGED, detail=id)

    def write_header(self):
        self.sealed.ext = self.extension()
        self.header.seal(self.keys, self.sealed, self.source.bytes(24))
        for table, id in database.HEADER_ROWS:
            self.connection.execute(f"INSERT OR REPLACE INTO {table} (id, bytes) VALUES (?, ?)", (id, self.header.bytes()))

    def invitation(self):
        return Invitation(self.header.vault, self.keys.epoch, self.keys.mark)

    # Records

    def put(self, meta, value):
        table = "rec" if meta.kind == PRESENT else "old"
        row = seal_record(self.keys, meta, value, self.source.bytes(16))
        self.connection.execute(f"INSERT OR REPLACE INTO {table} (idx, rid, meta, value) VALUES (?, ?, ?, ?)", row)
        self.touched.add(bucket_of(table, row[0]))
        self.metas[table, row[0]] = meta

    def place_of(self, meta):
        return "rec" if meta.kind == PRESENT else "old", place(self.keys, meta.kind, meta.names, meta.revision)

    def drop(self, meta):
        table, idx = self.place_of(meta)
        self.connection.execute(f"DELETE FROM {table} WHERE idx = ?", (idx,))
        self.touched.add(bucket_of(table, idx))
        self.metas.pop((table, idx), None)

    def present_place(self, names):
        return place(self.keys, PRESENT, names, 0)

    # The log

    def entry(self, event, names=None, detail=b""):
        """One row about the record of `names`, or about none."""
        idx = bytes(16) if names is None else self.present_place(names)
        self.append(log.Entry(event, self.time, self.uid, self.pid, self.program, idx, self.state.commit, self.slot,
                              self.state.log_head, detail, self.extension()))

    def append(self, entry):
        """A row after the last one, whose head becomes the one before the row."""
        seq, entry.head = self.state.log_seq + 1, self.state.log_head
        box = log.seal_entry(self.keys, seq, entry, self.source.bytes(24))
        self.connection.execute("INSERT INTO log (seq, box) VALUES (?, ?)", (seq, box))
        self.state.log_head, self.state.log_seq = log.head_after(self.keys, seq, self.state.log_head, box), seq

    def trim(self, first):
        """Drops the rows below `first`, which is above the first row and at most the last."""
        head = log.NO_HEAD
        for seq, box in database.log_rows(self.connection):
            if seq == first:
                break
            head = box if len(box) == 32 else log.head_after(self.keys, seq, head, box)
        self.connection.execute("DELETE FROM log WHERE seq < ?", (first,))
        self.connection.execute("INSERT INTO log (seq, box) VALUES (?, ?)", (first - 1, head))
        self.entry(log.TRIMMED, detail=le64(first) + head)

    # The end of a commit

    def commit(self, counts=None):
        """Writes the digests of the changed buckets and the state, and ends the transaction; `counts` are wrong ones."""
        self.write_digests()
        state = self.state
        state.generation += 1
        state.counts = counts or counts_of(self.metas.values())
        state.ext = self.extension()
        state.time, state.root = self.time, root_of(self.keys, database.digest_rows(self.connection))
        if self.replica is not None:
            others = [entry for entry in state.replicas if entry[0] != self.replica]
            state.replicas = sorted(others + [(self.replica, state.generation, state.commit)])
        data = state.bytes(self.keys, H(self.header.bytes()), self.source.bytes(24))
        self.connection.execute("INSERT OR REPLACE INTO state (id, bytes) VALUES (1, ?)", (data,))
        self.connection.execute("COMMIT")

    def write_digests(self):
        rows = {bucket: [] for bucket in self.touched}
        for table in ("rec", "old"):
            for row in database.record_rows(self.connection, table):
                bucket = bucket_of(table, row[0])
                if bucket in rows:
                    rows[bucket].append(row[:2])
        for bucket, listed in rows.items():
            self.connection.execute("DELETE FROM digest WHERE bucket = ?", (bucket,))
            if listed:
                digest = bucket_digest(self.keys, bucket, listed)
                self.connection.execute("INSERT INTO digest (bucket, hash) VALUES (?, ?)", (bucket, digest))
        self.touched = set()

    # Old bytes

    def scrub(self, time):
        """Removes old bytes from the file, and says so in a commit without a row of the log."""
        self.connection.execute("VACUUM")
        busy = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise OSError("someone else has the vault open")
        self.begin(time)
        self.state.scrub = 0
        self.commit()
