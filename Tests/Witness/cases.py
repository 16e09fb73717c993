"""A good vault about to be changed by whoever has the key, in ways that the text does not allow."""

import database
import log
from credentials import KeyFile, Secret
from editor import Editor
from header import Keys
from layout import le32, le64, lp, pad
from primitives import F, H, ZERO_NONCE, cbox, public_key, seal
from reader import Request, open_vault
from records import DELETED, FORMER, PRESENT, Meta, block, place, place_alone, record_keys
from slots import make_slot, open_own, other_slot, recipient_slot, seal_box, seal_own
from source import Source
from state import bucket_of, counts_of
from writer import NewSlot, Writer

TIME = 1_750_000_000_000
ITEM = ("mail", "ann", "")
FIELD = "pin"
GREATEST = 1 << 62


def damaged(change):
    """A change of a case that a reader refuses so."""
    return "damaged", change


def tampered(change):
    return "tampered", change


def start(path, key_file, seed=None):
    """Makes the good vault: one slot, which the key file opens, and one item."""
    writer = Writer.new(path, Source(seed), TIME, NewSlot(3, "key", Secret(key_file=KeyFile(key_file))))
    writer.begin(TIME)
    Editor(writer).set(ITEM, b"value", attributes=[("a", "1"), ("b", "2")])
    writer.commit()
    writer.close()


class Case:
    """A vault that the key file opens, between `begin` and `commit`."""

    def __init__(self, path, key_file, seed=None):
        self.source, self.afterwards, self.counts_beyond = Source(seed), [], None
        secret = Secret(key_file=KeyFile(key_file))
        self.ikm = lambda slot: secret.key(3, slot.salt, 0, 0)
        vault = open_vault(Request(path, secret))
        self.writer, self.slot = Writer.of(vault, path, self.source), vault.opened.slot
        self.writer.begin(vault.state.time + 1)
        self.keys, self.header, self.sealed, self.state = (
            self.writer.keys, self.writer.header, self.writer.sealed, self.writer.state)

    def sql(self, statement, *values):
        self.writer.connection.execute(statement, values)

    def later(self, statement):
        """What is done to the file after the commit."""
        self.afterwards.append(statement)

    def finish(self):
        counts = counts_of(self.writer.metas.values())
        self.writer.commit(tuple(map(sum, zip(counts, self.counts_beyond))) if self.counts_beyond else None)
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

    def count(self, *more):
        """A state that counts so many records, items and fields more than there are."""
        self.counts_beyond = more

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

    def field_in_bucket_of_its_own(self):
        """A field whose place has not the bits of its item; one in 1024 has them by itself."""
        field = next(field for field in (FIELD, *map(str, range(1000)))
                     if place(self.keys, PRESENT, ("mail", "ann", field), 0)
                     != place_alone(self.keys, PRESENT, ("mail", "ann", field), 0))
        meta = self.meta(account="ann", field=field)
        self.row(meta.bytes(), idx=place_alone(self.keys, PRESENT, ("mail", "ann", field), 0))

    def largest(self, kind=PRESENT, more=0):
        """The longest description, padded: with `more` bytes than 65 536, the deletion and the extension."""
        def bytes_of(last):
            attributes = [(f"{number:02}", "v" * (4096 if number < 15 else last)) for number in range(16)]
            return self.meta(kind=kind, attributes=attributes, ext=bytes(4096)).bytes()
        most = 65_536 + 4096 + (24 if kind == DELETED else 0) + more
        data = bytes_of(most - len(bytes_of(0)))
        assert len(data) == most, "the description is as long as it can be"
        return data

    def later_kind(self, data=b"\1\3"):
        """A row of `old` whose description is `data`, in a vault of a later format."""
        self.later_format()
        self.row(data, table="old", idx=bytes(16))

    def later_format(self):
        self.header.fmt = 2
        self.headers()

    def edited(self, old, new, **parts):
        """A record whose description has one part in place of another of the same or another length."""
        data = self.meta(**parts).bytes()
        assert data.count(old) == 1, "the part is there once"
        self.row(data.replace(old, new))

    # Header, state, log

    def headers(self):
        self.writer.write_header()

    def public(self, change):
        """A header whose bytes before the digest are changed; the digest is that of what they are then."""
        data = change(self.header.bytes()[:-32])
        self.header.bytes = lambda: data + H(data)
        self.copies()

    def box(self, box):
        """A header with other bytes for its sealed part."""
        self.header.box = box
        self.copies()

    def age(self, epoch):
        """The same key in a later epoch, for which the slot's box is sealed anew."""
        self.header.epoch = epoch
        self.keys = self.writer.keys = Keys(self.keys.vk, self.header.vault, epoch)
        self.reseal()

    def reseal(self, vk=None, wrap=None, epoch=None):
        """The slot's box, with another key in it, for another W or bound to another epoch where they are given."""
        now, own = self.header.epoch, self.own_part()[1]
        self.header.epoch = epoch or now
        seal_box(self.header, self.slot, wrap or own, vk or self.keys.vk, self.source.bytes(32), self.source.bytes(24))
        self.header.epoch = now
        self.headers()

    def sealed_part(self, change):
        """A sealed part of other bytes."""
        data, context = change(self.sealed.bytes()), self.header.public_part()
        self.header.box = cbox(self.keys.hdr, "PV1 head", self.header.vault, context, data, self.source.bytes(24))
        self.copies()

    def other_slots(self, x, count=1):
        """Slots of type 6, each with an `own` of `x`."""
        self.add_slots(other_slot(self.source.bytes(16), 1, 0, 0, bytes(16), self.point(), x) for _ in range(count))

    def recipients(self, count, wrap=bytes(32), **parts):
        """Slots of type 5 that nothing opens, with other fields than their table says, or a W."""
        slots = [recipient_slot(self.source.bytes(16), self.point()) for _ in range(count)]
        for slot in slots:
            for name, value in parts.items():
                setattr(slot, name, value)
        self.add_slots(slots, wrap)

    def key_slots(self, count):
        """Slots of type 3 that nothing opens."""
        slots = [make_slot(self.source.bytes(16), 3, self.source.bytes(16), self.source.bytes(32)) for _ in range(count)]
        for slot in slots:
            slot.own = self.source.bytes(176)
        self.add_slots(slots)

    def point(self):
        return public_key(self.source.bytes(32))

    def add_slots(self, slots, wrap=bytes(32)):
        for slot in slots:
            seal_box(self.header, slot, bytes(32), self.keys.vk, self.source.bytes(32), self.source.bytes(24))
            self.header.slots.append(slot)
            self.sealed.names.append((slot.id, wrap, ""))
        self.header.slots.sort(key=lambda slot: slot.id)
        self.sealed.names.sort()
        self.headers()

    def long_header(self, length):
        """A header of so many bytes, whose sealed part goes on after its end."""
        more = length - len(self.header.bytes())
        self.sealed_part(lambda data: data + bytes(more))
        assert len(self.header.bytes()) == length, "the header is as long as that"

    def relabeled(self, label):
        self.sealed.names[0] = self.sealed.names[0][:2] + (label,)
        self.headers()

    def copies(self):
        for table, id in database.HEADER_ROWS:
            self.sql(f"INSERT OR REPLACE INTO {table} (id, bytes) VALUES (?, ?)", id, self.header.bytes())

    def own_part(self):
        return open_own(self.header, self.slot, self.ikm(self.slot))

    def own(self, **parts):
        """Another own part of the slot, of the secret, the epoch and the mark that are given, else its own."""
        slot = self.slot
        secret, wrap, epoch, mark = self.own_part()
        anchor = parts.get("epoch", epoch), parts.get("mark", mark)
        seal_own(self.header, slot, self.ikm(slot), parts.get("secret", secret), wrap, anchor, self.source.bytes(24))
        self.headers()

    def state_box(self, key=None, label="PV1 state", vault=None, epoch=None, digest=None, generation=None):
        """A state whose box is sealed otherwise than it says."""
        state, keys = self.state, self.keys

        def data(_, header_digest, nonce):
            context = le64(epoch or keys.epoch) + le64(generation or state.generation) + (digest or header_digest)
            return le64(state.generation) + cbox(key or keys.sta, label, vault or keys.vault, context, state.content(), nonce)
        state.bytes = data

    def root(self, root):
        content = self.state.content
        self.state.content = lambda: content()[:16] + root + content()[48:]

    def digest(self, elsewhere=False, count=1):
        """The one digest there is, over the number of another bucket or another one of its rows, and the root that goes with it."""
        (bucket,) = database.digest_rows(self.writer.connection)
        ((idx, rid),) = self.writer.connection.execute("SELECT idx, rid FROM rec")
        other = 2 if bucket == 1 else 1  # One vault in 1024 has its item in bucket 1.
        message = le32(other if elsewhere else bucket) + le32(count) + idx + rid
        self.sql("UPDATE digest SET hash = ?", F(self.keys.set, "PV1 bucket", self.keys.vault, message, 32))

    def entry(self, change, place=None, counted=True):
        """A row of the log of other bytes, in the chain."""
        state = self.state
        data = log.Entry(log.SET, TIME, 1, 1, "p", bytes(16), state.commit, bytes(16), state.log_head, b"").bytes()
        self.plain_row(log.seal_bytes(self.keys, place or state.log_seq + 1, change(data), self.source.bytes(24)), counted)

    def plain_row(self, box, counted=True):
        """A row of the log of any bytes, in the chain."""
        state, seq = self.state, self.state.log_seq + 1
        self.sql("INSERT INTO log VALUES (?, ?)", seq, box)
        if counted:
            state.log_seq, state.log_head = seq, log.head_after(self.keys, seq, state.log_head, box)

    def trimmed(self, first, head):
        self.writer.entry(log.TRIMMED, detail=le64(first) + head)
