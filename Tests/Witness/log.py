"""What happened to a vault. Source: VaultFormat.md, Log."""

from layout import LARGEST, Fields, damaged, le32, le64, lp, tampered, u8
from primitives import F, H, seal, unseal

NO_HEAD = bytes(32)
CREATED, SET, DELETED, SLOT_ADDED, SLOT_REMOVED, ROTATED, UNLOCKED = 1, 2, 3, 4, 5, 6, 7
TRIMMED, SLOT_CHANGED, UNDELETED, PRUNED = 9, 12, 14, 15


class Entry:
    """One row of the log, opened."""

    def __init__(self, event, time, uid, pid, program, idx, commit, detail):
        self.event, self.time, self.uid, self.pid = event, time, uid, pid
        self.program, self.idx, self.commit, self.detail = program, idx, commit, detail

    def bytes(self):
        return (u8(1) + u8(self.event) + le64(self.time) + le32(self.uid) + le32(self.pid) + lp(self.program.encode())
                + self.idx + self.commit + lp(self.detail))

    @classmethod
    def read(cls, data):
        fields = Fields(data, "a row of the log")
        if fields.u8() != 1:
            raise damaged("a row of the log of another version")
        entry = cls(fields.u8(), fields.number(), fields.le32(), fields.le32(), fields.text(256), fields.take(16),
                    fields.take(16), fields.block(256))
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


def row_key(keys, seq, head):
    return F(keys.log, "PV1 log", keys.vault, le64(seq) + head, 32)


def seal_entry(keys, seq, head, entry, nonce):
    return nonce + seal(row_key(keys, seq, head), nonce, entry.bytes())


def head_after(keys, seq, head, box):
    return F(keys.log, "PV1 loghead", keys.vault, head + le64(seq) + H(box), 32)


def open_entry(keys, seq, head, box):
    data = unseal(row_key(keys, seq, head), box[:24], box[24:])
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
        if seq != expected or not 98 <= len(box) <= 610:
            raise tampered("a row of the log is missing, or of another length")
        entry = open_entry(keys, seq, head, box)
        if entry.event == TRIMMED:
            repeated = entry.beginning()
        head, expected = head_after(keys, seq, head, box), seq + 1
        entries.append((seq, entry))
    if (expected - 1, head) != end:
        raise tampered("the log ends elsewhere than the state says")
    if repeated != beginning:
        raise tampered("the log begins elsewhere than its last trim says")
    return entries, beginning
