"""What happened to a vault. Source: VaultFormat.md, Log."""

from layout import LARGEST, Fields, damaged, le32, le64, ls, tampered, u8
from primitives import F, H, seal, unseal

NO_HEAD = bytes(32)
CREATED, SET, DELETED, SLOT_ADDED, SLOT_REMOVED, ROTATED, UNLOCKED = 1, 2, 3, 4, 5, 6, 7
TRIMMED, SLOT_CHANGED, UNDELETED, PRUNED = 9, 12, 14, 15


class Entry:
    """One row of the log, opened; `slot` is the id of the slot that its writer had opened the vault with."""

    def __init__(self, event, time, uid, pid, program, idx, commit, slot, head, detail, ext=b""):
        self.event, self.time, self.uid, self.pid = event, time, uid, pid
        self.program, self.idx, self.commit, self.slot = program, idx, commit, slot
        self.head, self.detail, self.ext = head, detail, ext

    def bytes(self):
        return (u8(1) + u8(self.event) + le64(self.time) + le32(self.uid) + le32(self.pid) + ls(self.program.encode())
                + self.idx + self.commit + self.slot + self.head + ls(self.detail) + ls(self.ext))

    @classmethod
    def read(cls, data):
        fields = Fields(data, "a row of the log")
        if fields.u8() != 1:
            raise damaged("a row of the log of another version")
        entry = cls(fields.u8(), fields.number(), fields.le32(), fields.le32(), fields.text(256), fields.take(16),
                    fields.take(16), fields.take(16), fields.take(32), fields.ls(256), fields.extension())
        fields.end()
        if entry.event == TRIMMED:
            entry.beginning()
        return entry

    def beginning(self):
        """What a row *trimmed* repeats: (first, head)."""
        first = int.from_bytes(self.detail[:8], "little")
        if len(self.detail) != 40 or not 2 <= first <= LARGEST:
            raise damaged("a row of the log that tells of a trim and does not say where")
        return first, self.detail[8:]


def row_key(keys, seq, nonce):
    return F(keys.log, "PV1 log", keys.vault, le64(seq) + nonce, 32)


def seal_entry(keys, seq, entry, nonce):
    return seal_bytes(keys, seq, entry.bytes(), nonce)


def seal_bytes(keys, seq, data, nonce):
    return nonce + seal(row_key(keys, seq, nonce), nonce, data)


def head_after(keys, seq, head, box):
    return F(keys.log, "PV1 loghead", keys.vault, head + le64(seq) + H(box), 32)


def open_entry(keys, seq, box):
    data = unseal(row_key(keys, seq, box[:24]), box[:24], box[24:])
    if data is None:
        raise tampered("a row of the log does not open")
    return Entry.read(data)


def check_log(keys, rows, end):
    """Follows the chain through `rows`, (seq, box) ascending, to `end`, (seq, head): the entries, (first, head) or None."""
    head, expected, beginning = NO_HEAD, 1, None
    if rows and len(rows[0][1]) == 32:
        seq, head = rows.pop(0)
        expected, beginning = seq + 1, (seq + 1, head)
    entries, repeated = [], None
    for seq, box in rows:
        if seq != expected or not 144 <= len(box) <= 4_752:
            raise tampered("a row of the log is missing, or of another length")
        entry = open_entry(keys, seq, box)
        if entry.head != head:
            raise tampered("a row of the log tells another head before it than the chain's")
        if entry.event == TRIMMED:
            repeated = entry.beginning()
        head, expected = head_after(keys, seq, head, box), seq + 1
        entries.append((seq, entry))
    if (expected - 1, head) != end:
        raise tampered("the log ends elsewhere than the state says")
    if repeated != beginning:
        raise tampered("the log begins elsewhere than its last trim says")
    if walk_back(keys, rows, end) != (beginning[1] if beginning else NO_HEAD):
        raise tampered("the log's chain is another from its end than from its beginning")
    return entries, beginning


def walk_back(keys, rows, end):
    """Goes back from the `end` by the heads that the entries tell: the head before the first of `rows`."""
    expected, head = end
    for seq, box in reversed(rows):
        entry = open_entry(keys, seq, box)
        if seq != expected or head_after(keys, seq, entry.head, box) != head:
            raise tampered("a row of the log is not the one that the next row tells of")
        expected, head = seq - 1, entry.head
    return head
