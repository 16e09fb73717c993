"""The state, and the digests it speaks for. Source: VaultFormat.md, State and The set of records."""

from layout import Fields, damaged, le32, le64, ls, tampered, u8
from primitives import F, cbox, open_cbox

BUCKETS = 2048
EMPTY = bytes(32)


class State:
    """One state.

    `counts` are those of records, items and fields; `replicas` are (id, generation, commit id) in the order of their ids.
    """

    def __init__(self, generation, commit, root, counts, time, log_seq, log_head, scrub, replicas, ext=b""):
        self.generation, self.commit, self.root, self.counts, self.time = generation, commit, root, counts, time
        self.log_seq, self.log_head, self.scrub, self.replicas, self.ext = log_seq, log_head, scrub, replicas, ext

    def content(self):
        return (self.commit + self.root + b"".join(le64(count) for count in self.counts) + le64(self.time)
                + le64(self.log_seq) + self.log_head + u8(self.scrub) + u8(len(self.replicas))
                + b"".join(id + le64(generation) + commit for id, generation, commit in self.replicas) + ls(self.ext))

    def bytes(self, keys, header_digest, nonce):
        context = state_context(keys, self.generation, header_digest)
        return le64(self.generation) + cbox(keys.sta, "PV1 state", keys.vault, context, self.content(), nonce)

    @classmethod
    def read(cls, data, keys, header_digest):
        if not 204 <= len(data) <= 14_500:
            raise damaged("a state of another length")
        generation = int.from_bytes(data[:8], "little")
        content = open_cbox(keys.sta, "PV1 state", keys.vault, state_context(keys, generation, header_digest), data[8:])
        if content is None:
            raise tampered("the state does not open")
        Fields(data[:8], "the state").number(1)
        fields = Fields(content, "the state")
        state = cls(generation, fields.take(16), fields.take(32), tuple(fields.number() for _ in range(3)), fields.number(),
                    fields.number(), fields.take(32), fields.u8(), [])
        count = fields.u8()
        state.replicas = [(fields.take(16), fields.number(1), fields.take(16)) for _ in range(count)]
        state.ext = fields.extension()
        fields.end()
        state.check()
        return state

    def check(self):
        if self.scrub > 1:
            raise damaged("a state whose scrub is neither 0 nor 1")
        if self.counts[1] + self.counts[2] > self.counts[0]:
            raise damaged("a state of more items and fields than records")
        ids = [id for id, _, _ in self.replicas]
        if any(left >= right for left, right in zip(ids, ids[1:])):
            raise damaged("replicas that do not ascend")
        for _, generation, commit in self.replicas:
            if generation > self.generation or (generation == self.generation and commit != self.commit):
                raise damaged("a replica's entry that the state contradicts")


def counts_of(metas):
    """The numbers of records, of present items and of present fields."""
    fields = [meta.field for meta in metas if meta.kind == 0]
    return len(metas), fields.count(""), len(fields) - fields.count("")


def state_context(keys, generation, header_digest):
    return le64(keys.epoch) + le64(generation) + header_digest


def bucket_of(table, idx):
    return (0 if table == "rec" else 1024) + idx[0] * 4 + (idx[1] >> 6)


def bucket_digest(keys, bucket, rows):
    """The digest of the rows (idx, rid) of one bucket that is not empty."""
    message = le32(bucket) + le32(len(rows)) + b"".join(idx + rid for idx, rid in rows)
    return F(keys.set, "PV1 bucket", keys.vault, message, 32)


def digests_of(keys, rows):
    """The digests of all buckets that are not empty; `rows` are (table, idx, rid), ascending within a table."""
    buckets = {}
    for table, idx, rid in rows:
        buckets.setdefault(bucket_of(table, idx), []).append((idx, rid))
    return {bucket: bucket_digest(keys, bucket, rows) for bucket, rows in buckets.items()}


def root_of(keys, digests):
    mids = []
    for number in range(64):
        children = b"".join(digests.get(bucket, EMPTY) for bucket in range(32 * number, 32 * number + 32))
        empty = children == bytes(len(children))
        mids.append(EMPTY if empty else F(keys.set, "PV1 mid", keys.vault, le32(number) + children, 32))
    if mids[32:] == 32 * [EMPTY]:
        del mids[32:]
    return F(keys.set, "PV1 root", keys.vault, b"".join(mids), 32)
