"""Records and their descriptions. Source: VaultFormat.md, Records."""

from layout import Fields, damaged, le32, le64, lp, ls, pad, tampered, u8, unpad
from primitives import F, ZERO_NONCE, seal, unseal

NO_VALUE = (1 << 32) - 1
MOST_VALUE = 2_097_152
MOST_META = 65_536
PRESENT, FORMER, DELETED = 0, 1, 2


class Meta:
    """The description of one record; `deletion` is (commit id, until), and None but for kind 2."""

    PARTS = ("kind", "revision", "id", "service", "account", "field", "label", "type", "created", "modified", "written",
             "expires", "history", "length", "attributes", "deletion", "ext")

    def __init__(self, **parts):
        for part in self.PARTS:
            setattr(self, part, parts[part])

    def but(self, **parts):
        return Meta(**{**{part: getattr(self, part) for part in self.PARTS}, **parts})

    @classmethod
    def read(cls, data):
        fields = Fields(data, "a description")
        if fields.u8() != 1:
            raise damaged("a description of another version")
        parts = {"kind": fields.u8(), "revision": fields.number(1), "id": fields.take(16)}
        for part, limit in (("service", 1024), ("account", 1024), ("field", 256), ("label", 1024), ("type", 256)):
            parts[part] = fields.text(limit)
        parts |= {part: fields.number() for part in ("created", "modified", "written", "expires")}
        if fields.u8() != 0:
            raise damaged("a description with a condition of access")
        parts |= {"history": fields.u8(), "length": fields.le32()}
        count = fields.u8()
        if count > 64:
            raise damaged(f"a record of {count} attributes")
        parts["attributes"] = [(fields.text(256), fields.text(4096)) for _ in range(count)]
        parts["deletion"] = (fields.take(16), fields.number()) if parts["kind"] == DELETED else None
        parts["ext"] = fields.extension()
        fields.end()
        if len(data) - (24 if parts["deletion"] else 0) - len(parts["ext"]) > MOST_META:
            raise damaged("a description of more than 65 536 bytes")
        meta = cls(**parts)
        meta.check()
        return meta

    def check(self):
        if self.kind > DELETED or self.history > 100:
            raise damaged("a description of another kind, or with too long a history")
        if self.length > MOST_VALUE and self.length != NO_VALUE:
            raise damaged("a description of too long a value")
        names = [name.encode() for name, _ in self.attributes]
        if any(left >= right for left, right in zip(names, names[1:])):
            raise damaged("attributes that do not ascend")

    def bytes(self):
        texts = (self.service, self.account, self.field, self.label, self.type)
        times = self.created, self.modified, self.written, self.expires
        deletion = self.deletion[0] + le64(self.deletion[1]) if self.deletion else b""
        return (u8(1) + u8(self.kind) + le64(self.revision) + self.id + b"".join(ls(text.encode()) for text in texts)
                + b"".join(le64(time) for time in times) + u8(0) + u8(self.history) + le32(self.length)
                + u8(len(self.attributes))
                + b"".join(ls(name.encode()) + ls(value.encode()) for name, value in self.attributes)
                + deletion + ls(self.ext))

    @property
    def names(self):
        return self.service, self.account, self.field


class Later:
    """A description of a kind that a later version has: its bytes, of which the kind alone is known."""

    def __init__(self, data):
        self.data, self.kind = data, data[1]


def place(keys, kind, names, revision):
    """The `idx` of a record, which has the first ten bits of its item; `revision` is left out for a present one."""
    own = place_alone(keys, kind, names, 0 if kind == PRESENT else revision)
    item = place_alone(keys, PRESENT, names[:2] + ("",), 0)
    return item[:1] + bytes([item[1] & 0xC0 | own[1] & 0x3F]) + own[2:]


def place_alone(keys, kind, names, r):
    """The `i` of the text, before the item's bits."""
    message = u8(kind) + b"".join(lp(name.encode()) for name in names) + le64(r)
    return F(keys.idx, "PV1 index", keys.vault, message, 16)


def block(length):
    return 256 if length < 2048 else 1 << length.bit_length() - 4


def record_keys(keys, idx, rid):
    both = F(keys.rec, "PV1 record", keys.vault, idx + rid, 64)
    return both[:32], both[32:]


def seal_record(keys, meta, value, salt):
    """The four columns of a row; `value` is None where there is none."""
    idx = place(keys, meta.kind, meta.names, meta.revision)
    V = None if value is None else pad(value, block(len(value)))
    return seal_row(keys, idx, pad(meta.bytes(), 128), V, salt)


def seal_row(keys, idx, M, V, salt):
    """The four columns of a row in the place `idx`; `V` is None where there is no value."""
    rid = F(keys.rid, "PV1 rid", salt, idx + lp(M) + lp(V or b""), 16)
    for_meta, for_value = record_keys(keys, idx, rid)
    return idx, rid, seal(for_meta, ZERO_NONCE, M), None if V is None else seal(for_value, ZERO_NONCE, V)


def open_record(keys, fmt, table, row):
    """The description and the value of a row: everything that the text says of one record is checked.

    In a vault of a later `fmt` it may be a `Later` and its padded value, of which nothing but the tags is checked.
    """
    idx, rid, sealed_meta, sealed_value = row
    for_meta, for_value = record_keys(keys, idx, rid)
    M = unseal(for_meta, ZERO_NONCE, sealed_meta)
    if M is None:
        raise tampered("a description does not open")
    data = unpad(M)
    if pad(data, 128) != M:
        raise damaged("a description with another padding")
    if fmt > 1 and data[:1] == b"\1" and len(data) > 1 and data[1] > DELETED:
        return Later(data), None if sealed_value is None else unseal_value(for_value, sealed_value)
    meta = Meta.read(data)
    if (meta.kind == PRESENT) != (table == "rec"):
        raise damaged("a record in the wrong table")
    if place(keys, meta.kind, meta.names, meta.revision) != idx:
        raise damaged("a record stands in the place of another")
    return meta, open_value(for_value, meta, sealed_value)


def open_value(key, meta, sealed):
    if sealed is None:
        if meta.length != NO_VALUE:
            raise tampered("a value was taken away")
        return None
    V = unseal_value(key, sealed)
    value = unpad(V)
    if pad(value, block(len(value))) != V or len(value) != meta.length:
        raise damaged("a value of another length than its description tells")
    return value


def unseal_value(key, sealed):
    V = unseal(key, ZERO_NONCE, sealed)
    if V is None:
        raise tampered("a value does not open")
    return V
