"""Records and their descriptions. Source: VaultFormat.md, Records."""

from layout import Fields, damaged, le32, le64, lp, pad, tampered, u8, unpad
from primitives import F, ZERO_NONCE, seal, unseal

NO_VALUE = (1 << 64) - 1
MOST_VALUE = 2_097_152
MOST_META = 65_536
PRESENT, FORMER, DELETED = 0, 1, 2


class Meta:
    """The description of one record."""

    PARTS = ("kind", "revision", "service", "account", "field", "label", "type", "created", "modified", "expires",
             "history", "length", "attributes")

    def __init__(self, **parts):
        for part in self.PARTS:
            setattr(self, part, parts[part])

    def but(self, **parts):
        return Meta(**{**{part: getattr(self, part) for part in self.PARTS}, **parts})

    @classmethod
    def read(cls, data):
        if len(data) > MOST_META:
            raise damaged("a description of more than 65 536 bytes")
        fields = Fields(data, "a description")
        if fields.u8() != 1:
            raise damaged("a description of another version")
        parts = {"kind": fields.u8(), "revision": fields.number(1)}
        for part, limit in (("service", 1024), ("account", 1024), ("field", 256), ("label", 1024), ("type", 256)):
            parts[part] = fields.text(limit)
        parts |= {part: fields.number() for part in ("created", "modified", "expires")}
        if fields.u8() != 0:
            raise damaged("a description with a condition of access")
        parts |= {"history": fields.le32(), "length": fields.raw64()}
        count = fields.le32()
        if count > 64:
            raise damaged(f"a record of {count} attributes")
        parts["attributes"] = [(fields.text(256), fields.text(4096)) for _ in range(count)]
        fields.end()
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
        return (u8(1) + u8(self.kind) + le64(self.revision) + b"".join(lp(text.encode()) for text in texts)
                + le64(self.created) + le64(self.modified) + le64(self.expires) + u8(0) + le32(self.history)
                + le64(self.length) + le32(len(self.attributes))
                + b"".join(lp(name.encode()) + lp(value.encode()) for name, value in self.attributes))

    @property
    def names(self):
        return self.service, self.account, self.field


def place(keys, kind, names, revision):
    """The `idx` of a record: `revision` is left out for a present one."""
    message = u8(kind) + b"".join(lp(name.encode()) for name in names) + le64(0 if kind == PRESENT else revision)
    return F(keys.idx, "PV1 index", keys.vault, message, 16)


def block(length):
    return 256 if length < 2048 else 1 << length.bit_length() - 4


def record_keys(keys, idx, rid):
    both = F(keys.rec, "PV1 record", keys.vault, idx + rid, 64)
    return both[:32], both[32:]


def seal_record(keys, meta, value, salt):
    """The four columns of a row; `value` is None where there is none."""
    idx = place(keys, meta.kind, meta.names, meta.revision)
    M = pad(meta.bytes(), 128)
    V = b"" if value is None else pad(value, block(len(value)))
    rid = F(keys.rid, "PV1 rid", salt, idx + lp(M) + lp(V), 16)
    for_meta, for_value = record_keys(keys, idx, rid)
    return idx, rid, seal(for_meta, ZERO_NONCE, M), None if value is None else seal(for_value, ZERO_NONCE, V)


def open_record(keys, table, row):
    """The description and the value of a row: everything that the text says of one record is checked."""
    idx, rid, sealed_meta, sealed_value = row
    for_meta, for_value = record_keys(keys, idx, rid)
    M = unseal(for_meta, ZERO_NONCE, sealed_meta)
    if M is None:
        raise tampered("a description does not open")
    data = unpad(M)
    if pad(data, 128) != M:
        raise damaged("a description with another padding")
    meta = Meta.read(data)
    if (meta.kind == PRESENT) != (table == "rec"):
        raise damaged("a record in the wrong table")
    if place(keys, meta.kind, meta.names, meta.revision) != idx:
        raise tampered("a record stands in the place of another")
    return meta, open_value(for_value, meta, sealed_value)


def open_value(key, meta, sealed):
    if sealed is None:
        if meta.length != NO_VALUE:
            raise tampered("a value was taken away")
        return None
    V = unseal(key, ZERO_NONCE, sealed)
    if V is None:
        raise tampered("a value does not open")
    value = unpad(V)
    if pad(value, block(len(value))) != V or len(value) != meta.length:
        raise damaged("a value of another length than its description tells")
    return value
