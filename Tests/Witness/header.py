"""The header's bytes. Source: VaultFormat.md, Keys and Header."""

from layout import Fields, Refused, damaged, le16, le32, le64, lp, ls, tampered, u8
from primitives import F, H, cbox, open_cbox

MAGIC = b"PVAULT\0\1"
LEAST, MOST = 440, 262_144
MOST_EPOCHS = 1024
RECIPIENT, OTHER = 5, 6


class Keys:
    """The keys of one epoch."""

    def __init__(self, vk, vault, epoch):
        self.vk, self.vault, self.epoch = vk, vault, epoch
        for name in ("hdr", "sta", "idx", "rid", "rec", "set", "log"):
            setattr(self, name, F(vk, f"PV1 key {name}", vault, b"", 32))
        self.lineage = F(vk, "PV1 key lin", vault, le64(epoch), 32)
        self.mark = mark_of(self.lineage, vault, epoch)


def mark_of(lineage, vault, epoch):
    return F(lineage, "PV1 lineage", vault, le64(epoch), 32)


class Slot:
    """One slot as its bytes say it; `own` of type 6 is the x of its `ls(x)`."""

    def __init__(self, id, type, alg, ops, mem, salt, pk, own, point, box):
        self.id, self.type, self.alg, self.ops, self.mem = id, type, alg, ops, mem
        self.salt, self.pk, self.own, self.point, self.box = salt, pk, own, point, box

    @classmethod
    def read(cls, fields):
        id, type, alg = fields.take(16), fields.u8(), fields.u8()
        ops, mem, salt, pk = fields.le32(), fields.le32(), fields.take(16), fields.take(32)
        if not 1 <= type <= OTHER:
            raise damaged(f"a slot of type {type}")
        own = b"" if type == RECIPIENT else fields.ls(1024) if type == OTHER else fields.take(176)
        slot = cls(id, type, alg, ops, mem, salt, pk, own, fields.take(32), fields.take(104))
        if type != OTHER:
            slot.check()
        return slot

    def check(self):
        """What the table says of types 1 to 5."""
        type, alg, ops, mem, salt = self.type, self.alg, self.ops, self.mem, self.salt
        if alg != (2 if type <= 2 else 0) or (type > 2 and (ops, mem) != (0, 0)):
            raise damaged("a slot whose type, algorithm and cost do not belong together")
        if (salt == bytes(16)) != (type == RECIPIENT):
            raise damaged("a slot whose type and salt do not belong together")

    def bytes(self):
        own = ls(self.own) if self.type == OTHER else self.own
        return (self.id + u8(self.type) + u8(self.alg) + le32(self.ops) + le32(self.mem) + self.salt + self.pk
                + own + self.point + self.box)

    def context(self, fmt, vault):
        return (b"PVault1 slot\0" + le32(fmt) + vault + self.id + u8(self.type) + u8(self.alg) + le32(self.ops)
                + le32(self.mem) + self.salt + self.pk)


class Header:
    """What of a header can be seen without a key, and its sealed part as it is."""

    def __init__(self, fmt, min_reader, vault, epoch, slots, box=b""):
        self.fmt, self.min_reader, self.vault, self.epoch, self.slots, self.box = fmt, min_reader, vault, epoch, slots, box

    @classmethod
    def read(cls, data):
        if not LEAST <= len(data) <= MOST or not data.startswith(MAGIC) or H(data[:-32]) != data[-32:]:
            raise damaged("a header of another length, magic or digest")
        fields = Fields(data[:-32], "the header")
        fields.take(len(MAGIC))
        fmt, min_reader = fields.le32(), fields.le32()
        if min_reader > 1:
            raise Refused("newer", f"the vault asks for a reader of version {min_reader}")
        if not 1 <= min_reader <= fmt:
            raise damaged("a header whose versions contradict each other")
        vault, epoch, count = fields.take(16), fields.number(1), fields.le16()
        if not 1 <= count <= 256:
            raise damaged(f"a header of {count} slots")
        header = cls(fmt, min_reader, vault, epoch, [Slot.read(fields) for _ in range(count)])
        header.box = fields.lp(MOST)
        fields.end()
        header.check_slots()
        return header

    def check_slots(self):
        ids = [slot.id for slot in self.slots]
        if any(left >= right for left, right in zip(ids, ids[1:])):
            raise damaged("slots that do not ascend")
        if len({slot.pk for slot in self.slots}) != len(ids):
            raise damaged("two slots with one public key")
        recipients = sum(slot.type == RECIPIENT for slot in self.slots)
        if recipients > 240 or len(ids) - recipients > 16:
            raise damaged("more slots of a type than allowed")

    def public_part(self):
        return (MAGIC + le32(self.fmt) + le32(self.min_reader) + self.vault + le64(self.epoch) + le16(len(self.slots))
                + b"".join(slot.bytes() for slot in self.slots))

    def bytes(self):
        whole = self.public_part() + lp(self.box)
        return whole + H(whole)

    def seal(self, keys, sealed, nonce):
        self.box = cbox(keys.hdr, "PV1 head", self.vault, self.public_part(), sealed.bytes(), nonce)

    def open(self, keys):
        data = open_cbox(keys.hdr, "PV1 head", self.vault, self.public_part(), self.box)
        if data is None:
            raise tampered("the sealed part of the header does not open")
        return Sealed.read(data, self)


class Sealed:
    """The sealed part of the header: `names` has (id, W, label) of each slot, `lineage` (epoch, L) of earlier epochs."""

    def __init__(self, created, rotated, floor, names, lineage, ext=b""):
        self.created, self.rotated, self.floor, self.names, self.lineage = created, rotated, floor, names, lineage
        self.ext = ext

    @classmethod
    def read(cls, data, header):
        fields = Fields(data, "the sealed part of the header")
        created, rotated = fields.number(), fields.number()
        floor = fields.le32(), fields.le32()
        names = [(fields.take(16), fields.take(32), fields.text(64)) for _ in header.slots]
        for (id, secret, _), slot in zip(names, header.slots):
            if id != slot.id:
                raise damaged("the sealed part of the header names another slot")
            if slot.type == RECIPIENT and secret != bytes(32):
                raise damaged("the sealed part of the header has a secret for a recipient")
        count = fields.le32()
        if count > MOST_EPOCHS:
            raise damaged(f"a header of {count} earlier epochs")
        lineage = [(fields.number(1), fields.take(32)) for _ in range(count)]
        ext = fields.extension()
        fields.end()
        epochs = [epoch for epoch, _ in lineage] + [header.epoch]
        if any(left >= right for left, right in zip(epochs, epochs[1:])):
            raise damaged("earlier epochs that do not ascend to the present one")
        return cls(created, rotated, floor, names, lineage, ext)

    def bytes(self):
        return (le64(self.created) + le64(self.rotated) + le32(self.floor[0]) + le32(self.floor[1])
                + b"".join(id + secret + ls(label.encode()) for id, secret, label in self.names)
                + le32(len(self.lineage)) + b"".join(le64(epoch) + secret for epoch, secret in self.lineage)
                + ls(self.ext))
