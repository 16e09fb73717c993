"""A good vault about to be changed by whoever has the key, in ways that the text does not allow."""

import database
import log
from credentials import KeyFile, Secret
from editor import Editor
from layout import le64, lp, pad
from primitives import F, ZERO_NONCE, cbox, public_key, seal
from records import DELETED, FORMER, PRESENT, Meta, block, place, place_alone, record_keys
from slots import open_own, other_slot, seal_box, seal_own
from source import Source
from state import bucket_of
from writer import NewSlot, Writer

TIME = 1_750_000_000_000
ITEM = ("mail", "ann", "")


class Case:
    """A good vault with one item, between `begin` and `commit`."""

    def __init__(self, path, key_file):
        self.source, self.afterwards, self.counts = Source(path), [], None
        secret = Secret(key_file=KeyFile(key_file))
        self.ikm = lambda slot: secret.key(3, slot.salt, 0, 0)
        self.writer = Writer.new(path, self.source, TIME, NewSlot(3, "key", secret))
        self.writer.begin(TIME)
        Editor(self.writer).set(ITEM, b"value", attributes=[("a", "1"), ("b", "2")])
        self.writer.commit()
        self.writer.begin(TIME + 1)
        self.keys, self.header, self.sealed, self.state = (
            self.writer.keys, self.writer.header, self.writer.sealed, self.writer.state)

    def sql(self, statement, *values):
        self.writer.connection.execute(statement, values)

    def later(self, statement):
        """What is done to the file after the commit."""
        self.afterwards.append(statement)

    def finish(self):
        self.writer.commit(self.counts)
        for statement in self.afterwards:
            self.sql(statement)
        self.writer.close()

    # Records

    def meta(self, **parts):
        names = {"service": "mail", "account": "bob", "field": "", **parts}
        deletion = (b"c" * 16, 0) if parts.get("kind") == DELETED else None
        return Meta(**{"kind": PRESENT, "revision": 1, "id": b"i" * 16, "label": "", "type": "", "created": 1, "modified": 1,
                       "written": 1, "expires": 0, "history": 0, "length": 5, "attributes": [], "deletion": deletion,
                       "ext": b"", **names})

    def put(self, value=b"value", **parts):
        self.writer.put(self.meta(**parts), value)

    def row(self, data, value=b"value", table="rec", M=None, V=None, names=("mail", "bob", ""), kind=PRESENT, idx=None):
        """A record whose description is `data`, whatever that is, in the place of `names`, kind and revision 1, or at `idx`."""
        idx = place(self.keys, kind, names, 1) if idx is None else idx
        M = pad(data, 128) if M is None else M
        V = pad(value, block(len(value))) if V is None else V
        rid = F(self.keys.rid, "PV1 rid", bytes(16), idx + lp(M) + lp(V), 16)
        meta_key, value_key = record_keys(self.keys, idx, rid)
        row = idx, rid, seal(meta_key, ZERO_NONCE, M), seal(value_key, ZERO_NONCE, V)
        self.sql(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", *row)
        self.writer.touched.add(bucket_of(table, idx))
        self.writer.metas[table, idx] = self.meta(kind=PRESENT if table == "rec" else FORMER)

    def bucket_of_its_own(self):
        """A former content whose place has not the bits of its item."""
        names = next(("mail", account, "") for account in map(str, range(1000))
                     if place(self.keys, FORMER, ("mail", account, ""), 1)
                     != place_alone(self.keys, FORMER, ("mail", account, ""), 1))
        meta = self.meta(kind=FORMER, account=names[1])
        self.row(meta.bytes(), table="old", idx=place_alone(self.keys, FORMER, names, 1))

    def edited(self, old, new):
        """A record whose description has one part in place of another of the same or another length."""
        data = self.meta().bytes()
        assert data.count(old) == 1, "the part is there once"
        self.row(data.replace(old, new))

    # Header, state, log

    def headers(self):
        self.writer.write_header()

    def sealed_part(self, change):
        """A sealed part of other bytes."""
        data, context = change(self.sealed.bytes()), self.header.public_part()
        self.header.box = cbox(self.keys.hdr, "PV1 head", self.header.vault, context, data, self.source.bytes(24))
        self.copies()

    def extended_header(self, ext):
        """A sealed part with other bytes for `ls(ext)`."""
        self.sealed_part(lambda data: data[:-2] + ext)

    def extended_state(self, ext):
        """A state with other bytes for `ls(ext)`."""
        content = self.state.content
        self.state.content = lambda: content()[:-2] + ext

    def other_slots(self, x, count=1):
        """Slots of type 6, each with an `own` of `x`."""
        for _ in range(count):
            slot, wrap = other_slot(self.source.bytes(16), 1, 0, 0, bytes(16), public_key(self.source.bytes(32)), x), bytes(32)
            seal_box(self.header, slot, wrap, self.keys.vk, self.source.bytes(32), self.source.bytes(24))
            self.header.slots.append(slot)
            self.sealed.names.append((slot.id, wrap, ""))
        self.header.slots.sort(key=lambda slot: slot.id)
        self.sealed.names.sort()
        self.headers()

    def relabeled(self, label):
        self.sealed.names[0] = self.sealed.names[0][:2] + (label,)
        self.headers()

    def copies(self):
        for table, id in database.HEADER_ROWS:
            self.sql(f"INSERT OR REPLACE INTO {table} (id, bytes) VALUES (?, ?)", id, self.header.bytes())

    def own(self, **parts):
        """Another own part of the slot, of the secret and the epoch that are given, else its own."""
        slot = self.header.slots[0]
        secret, wrap, epoch, mark = open_own(self.header, slot, self.ikm(slot))
        anchor = parts.get("epoch", epoch), mark
        seal_own(self.header, slot, self.ikm(slot), parts.get("secret", secret), wrap, anchor, self.source.bytes(24))
        self.headers()

    def entry(self, change):
        """A row of the log of other bytes, in the chain."""
        state = self.state
        data = log.Entry(log.SET, TIME, 1, 1, "p", bytes(16), state.commit, bytes(16), state.log_head, b"").bytes()
        seq = state.log_seq + 1
        box = log.seal_bytes(self.keys, seq, change(data), self.source.bytes(24))
        self.sql("INSERT INTO log VALUES (?, ?)", seq, box)
        state.log_seq, state.log_head = seq, log.head_after(self.keys, seq, state.log_head, box)

    def trimmed(self, first, head):
        self.writer.entry(log.TRIMMED, detail=le64(first) + head)
