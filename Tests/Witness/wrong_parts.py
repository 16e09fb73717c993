"""Headers, states, digests and logs that whoever has the key made otherwise than the text allows: by section, each with its refusal."""

import database
import log
from cases import GREATEST, damaged, tampered
from layout import le16, le32, le64, ls
from primitives import F, cbox

BIG = le64(GREATEST + 1)
LONG = ls(bytes(4097))
CUT = le16(1)  # An extension of one byte that is not there.
A, B, ONE = b"a" * 16, b"b" * 16, b"1" * 16


def slot(**parts):
    """The slot that the key file opens, with other bytes in some of its fields, and nothing sealed anew."""
    return lambda case: ([setattr(case.slot, name, value) for name, value in parts.items()], case.copies())


def header(**parts):
    """A header with other numbers, whose sealed part is that of before."""
    return lambda case: ([setattr(case.header, name, value) for name, value in parts.items()], case.copies())


def sealed(change):
    return lambda case: case.sealed_part(change)


def entries(*epochs):
    """A sealed part that tells of earlier epochs; there are none in it."""
    return sealed(lambda data: data[:-6] + le32(len(epochs)) + b"".join(le64(epoch) + bytes(32) for epoch in epochs) + bytes(2))


def state(**parts):
    return lambda case: [setattr(case.state, name, value) for name, value in parts.items()]


def content(change):
    """A state whose sealed content is changed."""
    def run(case):
        whole = case.state.content
        case.state.content = lambda: change(whole())
    return run


def later(*statements):
    return lambda case: [case.later(statement) for statement in statements]


HEADER = {
    "min_reader 0": damaged(lambda case: (setattr(case.header, "min_reader", 0), case.headers())),
    "fmt 0": damaged(lambda case: (setattr(case.header, "fmt", 0), case.headers())),
    "epoch 0": damaged(header(epoch=0)),
    "an epoch beyond 2^62": damaged(header(epoch=GREATEST + 1)),
    "an epoch of 2^64 - 1": damaged(header(epoch=(1 << 64) - 1)),
    "no slot": damaged(lambda case: (case.header.slots.clear(), case.copies())),
    "a slot more than are told of": damaged(lambda case: case.public(lambda data: data[:40] + le16(0) + data[42:])),
    "a slot less than is told of": damaged(lambda case: case.public(lambda data: data[:40] + le16(2) + data[42:])),
    "257 slots that are not there": damaged(lambda case: case.public(lambda data: data[:40] + le16(257) + data[42:])),
    "65 535 slots that are not there": damaged(lambda case: case.public(lambda data: data[:40] + le16(65_535) + data[42:])),
    "another magic": damaged(lambda case: case.public(lambda data: b"PVAULT\0\2" + data[8:])),
    "a sealed part whose length goes beyond the header": damaged(lambda case: case.public(
        lambda data: data[:428] + le32(len(data) - 432 + 1) + data[432:])),
    "a sealed part whose length is 0": damaged(lambda case: case.public(lambda data: data[:428] + le32(0) + data[432:])),
    "a sealed part whose length is 2^32 - 1": damaged(lambda case: case.public(
        lambda data: data[:428] + le32((1 << 32) - 1) + data[432:])),
    "bytes after the sealed part": damaged(lambda case: case.public(lambda data: data + b"\0")),
    "a sealed part of 71 bytes": tampered(lambda case: case.box(bytes(71))),
    "a sealed part of 72 bytes": tampered(lambda case: case.box(bytes(72))),
    "17 slots of types 1 to 4": damaged(lambda case: case.key_slots(16)),
    "241 slots of type 6": damaged(lambda case: case.other_slots(b"x", count=241)),
    "241 slots of type 5": damaged(lambda case: case.recipients(241)),
    "241 slots of types 5 and 6": damaged(lambda case: (case.other_slots(b"x", count=120), case.recipients(121))),
    "two slots of one id": damaged(lambda case: (case.header.slots.append(case.slot), case.copies())),
    "slots that descend": damaged(lambda case: (case.recipients(1), case.header.slots.reverse(), case.copies())),
    "two slots with one public key": damaged(lambda case: (
        case.recipients(2), setattr(case.header.slots[0], "pk", case.header.slots[1].pk), case.copies())),
    "a header of 1 048 577 bytes": damaged(lambda case: case.long_header(1_048_577)),
    "a header of 1 048 576 bytes, which none fills": damaged(lambda case: case.long_header(1_048_576)),
}
SEALED = {
    "a label of 65 bytes": damaged(lambda case: case.relabeled("l" * 65)),
    "a slot's label that is not UTF-8": damaged(sealed(lambda data: data.replace(ls(b"key"), ls(b"k\xffy")))),
    "a label whose length goes beyond the sealed part": damaged(sealed(lambda data: data.replace(ls(b"key"), le16(64) + b"key"))),
    "another slot in the sealed part": damaged(sealed(lambda data: data[:24] + bytes(16) + data[40:])),
    "names of two slots in another order": damaged(lambda case: (case.recipients(1), case.sealed.names.reverse(), case.headers())),
    "a secret for a recipient": damaged(lambda case: case.recipients(1, wrap=b"w" * 32)),
    "a sealed part that goes on": damaged(sealed(lambda data: data + b"\0")),
    "a sealed part that ends early": damaged(sealed(lambda data: data[:-1])),
    "a sealed part of no bytes": damaged(sealed(lambda data: b"")),
    "a vault's time of creation beyond 2^62": damaged(sealed(lambda data: BIG + data[8:])),
    "a time of rotation beyond 2^62": damaged(sealed(lambda data: data[:8] + BIG + data[16:])),
    "an entry of the present epoch": damaged(entries(1)),
    "an entry of a later epoch": damaged(entries(2)),
    "an entry of epoch 0": damaged(entries(0)),
    "an entry beyond 2^62": damaged(entries(GREATEST + 1)),
    "entries that descend": damaged(lambda case: (case.age(9), entries(3, 2)(case))),
    "two entries of one epoch": damaged(lambda case: (case.age(9), entries(2, 2)(case))),
    "1 025 entries": damaged(lambda case: (case.age(2000), entries(*range(2, 1027))(case))),
    "2^32 - 1 entries that are not there": damaged(sealed(lambda data: data[:-6] + le32((1 << 32) - 1) + bytes(2))),
    "more entries than are told of": damaged(sealed(lambda data: data[:-6] + le32(0) + le64(1) + bytes(34))),
    "a sealed part's extension that is cut": damaged(sealed(lambda data: data[:-2] + CUT)),
    "a sealed part's extension of 65 535 bytes that is cut": damaged(sealed(lambda data: data[:-2] + le16(65_535) + bytes(65_534))),
    "a sealed part's extension of 65 536 bytes": damaged(sealed(lambda data: data[:-2] + le16(65_535) + bytes(65_536))),
    "a sealed part under the key of the state": tampered(lambda case: case.box(
        cbox(case.keys.sta, "PV1 head", case.header.vault, case.header.public_part(), case.sealed.bytes(), bytes(24)))),
    "a sealed part with the label of a state": tampered(lambda case: case.box(
        cbox(case.keys.hdr, "PV1 state", case.header.vault, case.header.public_part(), case.sealed.bytes(), bytes(24)))),
    "a sealed part with the salt of another vault": tampered(lambda case: case.box(
        cbox(case.keys.hdr, "PV1 head", bytes(16), case.header.public_part(), case.sealed.bytes(), bytes(24)))),
    "a sealed part that is bound to other slots": tampered(lambda case: case.box(
        cbox(case.keys.hdr, "PV1 head", case.header.vault, b"", case.sealed.bytes(), bytes(24)))),
}
COPIES = {
    "a copy of zeros": damaged(later("UPDATE header_copy SET bytes = zeroblob(440)")),
    "a copy that is missing": damaged(later("DELETE FROM header_copy")),
    "a first header that is missing": damaged(later("DELETE FROM header")),
    "a first header of 439 bytes": damaged(later("UPDATE header SET bytes = substr(bytes, 1, 439)")),
    "neither copy": damaged(later("DELETE FROM header_copy", "DELETE FROM header")),
    "two copies that are wrong": damaged(later(
        "UPDATE header SET bytes = zeroblob(500)", "UPDATE header_copy SET bytes = zeroblob(500)")),
    "a copy of row 1": damaged(later("UPDATE header_copy SET id = 1")),
    "another row of header": tampered(later("INSERT INTO header SELECT 2, bytes FROM header")),
    "another row of header_copy": tampered(later("INSERT INTO header_copy SELECT -1, bytes FROM header")),
    "another row of state": tampered(later("INSERT INTO state VALUES (0, zeroblob(204))")),
}
SLOTS = {
    "a type of slot that there is not": damaged(slot(type=7)),
    "a slot of type 0": damaged(slot(type=0)),
    "a slot of type 255": damaged(slot(type=255)),
    "a slot of type 6 with 3 073 bytes": damaged(lambda case: case.other_slots(bytes(3073))),
    "a slot of type 6 that goes beyond the header": damaged(lambda case: (
        slot(type=6, own=b"")(case), case.public(lambda data: data[:116] + le16(3072) + data[118:]))),
    "passes for a key file": damaged(slot(ops=1)),
    "memory for a key file": damaged(slot(mem=8)),
    "an algorithm for a key file": damaged(slot(alg=2)),
    "an algorithm of a later time for a key file": damaged(slot(alg=3)),
    "a key file without salt": damaged(slot(salt=bytes(16))),
    "a passphrase without an algorithm": damaged(slot(type=1, ops=1, mem=8)),
    "a passphrase without salt": damaged(slot(type=1, alg=2, ops=1, mem=8, salt=bytes(16))),
    "a passphrase and key file with algorithm 1": damaged(slot(type=2, alg=1, ops=1, mem=8)),
    "passes for a recovery code": damaged(slot(type=4, ops=1)),
    "an algorithm for a recovery code": damaged(slot(type=4, alg=1)),
    "a recovery code without salt": damaged(slot(type=4, salt=bytes(16))),
    "a recipient with salt": damaged(lambda case: case.recipients(1, salt=b"s" * 16)),
    "a recipient with an algorithm": damaged(lambda case: case.recipients(1, alg=1)),
    "a recipient with passes": damaged(lambda case: case.recipients(1, ops=1)),
    "a recipient with memory": damaged(lambda case: case.recipients(1, mem=1)),
    "a slot that does not fit its public key": tampered(lambda case: case.own(secret=b"s" * 32)),
    "an own part of epoch 0": damaged(lambda case: case.own(epoch=0)),
    "an own part of an epoch beyond 2^62": damaged(lambda case: case.own(epoch=GREATEST + 1)),
    "a point of low order": tampered(slot(point=bytes(32))),
    "a point of order 2": tampered(slot(point=b"\1" + bytes(31))),
    "another point": tampered(slot(point=b"p" * 32)),
    "another box": tampered(slot(box=bytes(104))),
    "a box of another key": tampered(lambda case: case.reseal(vk=b"v" * 32)),
    "a box with another W": tampered(lambda case: case.reseal(wrap=b"w" * 32)),
    "a box of another epoch": tampered(lambda case: case.reseal(epoch=2)),
}
STATE = {
    "generation 0": damaged(state(generation=-1)),
    "a generation beyond 2^62": damaged(state(generation=GREATEST)),
    "a state of more items than records": damaged(lambda case: case.count(0, 1, 0)),
    "a state of more fields than records": damaged(lambda case: case.count(0, 0, 1)),
    "a state of 2^62 items and as many fields": damaged(content(lambda data: data[:56] + 2 * le64(GREATEST) + data[72:])),
    "a number of records beyond 2^62": damaged(content(lambda data: data[:48] + BIG + data[56:])),
    "a number of items beyond 2^62": damaged(content(lambda data: data[:56] + BIG + data[64:])),
    "a number of fields beyond 2^62": damaged(content(lambda data: data[:64] + BIG + data[72:])),
    "a state's time beyond 2^62": damaged(content(lambda data: data[:72] + BIG + data[80:])),
    "a log's length beyond 2^62": damaged(content(lambda data: data[:80] + BIG + data[88:])),
    "scrub 2": damaged(state(scrub=2)),
    "scrub 255": damaged(state(scrub=255)),
    "replicas that descend": damaged(state(replicas=[(B, 1, bytes(16)), (A, 1, bytes(16))])),
    "one replica twice": damaged(state(replicas=2 * [(B, 1, bytes(16))])),
    "a replica of generation 0": damaged(state(replicas=[(B, 0, bytes(16))])),
    "a replica of a generation beyond 2^62": damaged(state(replicas=[(B, GREATEST + 1, bytes(16))])),
    "a replica of the future": damaged(state(replicas=[(B, 99, bytes(16))])),
    "a replica of another commit": damaged(state(replicas=[(B, 3, bytes(16))])),
    "a replica that is not there": damaged(content(lambda data: data[:121] + b"\1" + data[122:])),
    "a replica that is not told of": damaged(content(lambda data: data[:122] + bytes(40) + data[122:])),
    "255 replicas that are not there": damaged(content(lambda data: data[:121] + b"\xff" + data[122:])),
    "a state's extension of 4 097 bytes": damaged(content(lambda data: data[:-2] + LONG)),
    "a state's extension that is cut": damaged(content(lambda data: data[:-2] + CUT)),
    "a state that goes on": damaged(content(lambda data: data + b"\0")),
    "a state of 203 bytes": damaged(content(lambda data: data[:-1])),
    "a state of 14 501 bytes": damaged(content(lambda data: data + bytes(14_501 - 204))),
    "a state that is missing": damaged(later("DELETE FROM state")),
    "a state of another row": damaged(later("UPDATE state SET id = 2")),
    "another generation in the clear": tampered(later("UPDATE state SET bytes = CAST(x'0900000000000000' || substr(bytes, 9) AS BLOB)")),
    "a state under the key of the header": tampered(lambda case: case.state_box(key=case.keys.hdr)),
    "a state with the label of a header": tampered(lambda case: case.state_box(label="PV1 head")),
    "a state of another vault": tampered(lambda case: case.state_box(vault=bytes(16))),
    "a state of another epoch": tampered(lambda case: case.state_box(epoch=2)),
    "a state of another header": tampered(lambda case: case.state_box(digest=bytes(32))),
    "a state that is bound to another generation": tampered(lambda case: case.state_box(generation=4)),
}
COUNTS = {
    "a record too many": tampered(lambda case: case.count(1, 0, 0)),
    "a record too few": tampered(lambda case: (case.put(), case.count(-1, -1, 0))),
    "an item too few": tampered(lambda case: case.count(0, -1, 0)),
    "an item that is told of as a field": tampered(lambda case: case.count(0, -1, 1)),
}
DIGESTS = {
    "a digest of zeros": tampered(later("INSERT OR REPLACE INTO digest VALUES (2047, zeroblob(32))")),
    "a digest of no bucket": damaged(later(f"INSERT INTO digest VALUES (2048, x'{32 * '5a'}')")),
    "a digest of bucket -1": damaged(later(f"INSERT INTO digest VALUES (-1, x'{32 * '5a'}')")),
    "a digest of bucket 2^62": damaged(later(f"INSERT INTO digest VALUES (4611686018427387904, x'{32 * '5a'}')")),
    "a digest of 31 bytes": damaged(later("UPDATE digest SET hash = substr(hash, 2)")),
    "a digest of 33 bytes": damaged(later("UPDATE digest SET hash = CAST(hash || x'00' AS BLOB)")),
    "a digest of no bytes": damaged(later("UPDATE digest SET hash = x''")),
    "a digest too many": tampered(later(f"INSERT INTO digest VALUES (2047, x'{32 * '5a'}')")),
    "a digest too few": tampered(later("DELETE FROM digest")),
    "a digest of another bucket": tampered(later("UPDATE digest SET bucket = (bucket + 1) % 1024")),
    "another root": tampered(lambda case: case.root(bytes(32))),
    "a root over 64 mids where old has no row": tampered(lambda case: case.root(root_of_all(case))),
    "a digest with a number of rows that is not that of its bucket": tampered(lambda case: case.digest(count=2)),
    "a digest that is bound to another bucket": tampered(lambda case: case.digest(elsewhere=True)),
}
LOG = {
    "version 2 of an entry": damaged(lambda case: case.entry(lambda data: b"\2" + data[1:])),
    "version 0 of an entry": damaged(lambda case: case.entry(lambda data: b"\0" + data[1:])),
    "an entry that goes on": damaged(lambda case: case.entry(lambda data: data + b"\0")),
    "a program that is not UTF-8": damaged(lambda case: case.entry(lambda data: data.replace(ls(b"p"), ls(b"\xff")))),
    "an entry's time beyond 2^62": damaged(lambda case: case.entry(lambda data: data[:2] + BIG + data[10:])),
    "a program of 257 bytes": damaged(lambda case: case.entry(lambda data: data.replace(ls(b"p"), ls(b"p" * 257)))),
    "a detail of 257 bytes": damaged(lambda case: case.entry(lambda data: data[:-4] + ls(b"p" * 257) + ls(b""))),
    "a row's extension of 4 097 bytes": damaged(lambda case: case.entry(lambda data: data[:-2] + LONG)),
    "a row's extension that is cut": damaged(lambda case: case.entry(lambda data: data[:-2] + CUT)),
    "a detail that is cut": damaged(lambda case: case.entry(lambda data: data[:-4] + le16(200) + bytes(100))),
    "a row that tells another head before it": tampered(lambda case: case.entry(lambda data: data[:69] + bytes(32) + data[101:])),
    "a row of 143 bytes": tampered(lambda case: case.entry(lambda data: data[:103])),
    "a row of 33 bytes": tampered(later("UPDATE log SET box = zeroblob(33) WHERE seq = 1")),
    "a row of 31 bytes": tampered(later("UPDATE log SET box = zeroblob(31) WHERE seq = 1")),
    "a row of no bytes": tampered(later("UPDATE log SET box = x'' WHERE seq = 2")),
    "a row of 4 753 bytes": tampered(lambda case: case.entry(lambda data: data + bytes(4713 - len(data)))),
    "a row that does not open": tampered(lambda case: case.plain_row(bytes(200))),
    "a row under the key of another place": tampered(lambda case: case.entry(lambda data: data, place=7)),
    "a trim without a beginning": tampered(lambda case: case.trimmed(2, bytes(32))),
    "a trim of row 1": damaged(lambda case: case.trimmed(1, bytes(32))),
    "a trim beyond 2^62": damaged(lambda case: case.trimmed(GREATEST + 1, bytes(32))),
    "a trim that says too much": damaged(lambda case: case.writer.entry(log.TRIMMED, detail=bytes(41))),
    "a trim that says too little": damaged(lambda case: case.writer.entry(log.TRIMMED, detail=le64(2) + bytes(31))),
    "a trim that says nothing": damaged(lambda case: case.writer.entry(log.TRIMMED)),
    "a beginning that nothing repeats": tampered(lambda case: case.sql("UPDATE log SET box = ? WHERE seq = 1", log_head(case))),
    "another beginning": tampered(lambda case: (case.writer.trim(2), case.trimmed(2, bytes(32)))),
    "another first row": tampered(lambda case: (case.writer.trim(2), case.trimmed(3, log_head(case)))),
    "two beginnings": tampered(lambda case: (case.writer.trim(2), case.later("INSERT INTO log VALUES (0, zeroblob(32))"))),
    "a beginning in the middle": tampered(later("UPDATE log SET box = zeroblob(32) WHERE seq = 2")),
    "a row that is missing": tampered(later("DELETE FROM log WHERE seq = 2")),
    "a first row that is missing": tampered(later("DELETE FROM log WHERE seq = 1")),
    "no row": tampered(later("DELETE FROM log")),
    "a row too many": tampered(later("INSERT INTO log VALUES (99, zeroblob(144))")),
    "the next row, which the state does not tell of": tampered(lambda case: case.entry(lambda data: data, counted=False)),
    "a row of seq 0": tampered(later("INSERT INTO log VALUES (0, zeroblob(144))")),
    "a row of seq -1": tampered(later("INSERT INTO log VALUES (-1, zeroblob(144))")),
    "a row of seq 2^62 and 1": tampered(later(f"INSERT INTO log VALUES ({GREATEST + 1}, zeroblob(144))")),
    "a log that is longer": tampered(lambda case: setattr(case.state, "log_seq", case.state.log_seq + 1)),
    "another head": tampered(lambda case: setattr(case.state, "log_head", bytes(32))),
}
OUTCOMES = {
    "outcome 3": damaged(later(f"INSERT INTO decided VALUES (x'{ONE.hex()}', 3, 1)")),
    "outcome 0": damaged(later(f"INSERT INTO decided VALUES (x'{ONE.hex()}', 0, 1)")),
    "outcome -1": damaged(later(f"INSERT INTO decided VALUES (x'{ONE.hex()}', -1, 1)")),
    "a transaction of 15 bytes": damaged(later(f"INSERT INTO decided VALUES (x'{15 * '5a'}', 1, 1)")),
    "a transaction of 17 bytes": damaged(later(f"INSERT INTO decided VALUES (x'{17 * '5a'}', 1, 1)")),
    "a transaction of no bytes": damaged(later("INSERT INTO decided VALUES (x'', 2, 1)")),
    "a time of an outcome below 0": damaged(later(f"INSERT INTO decided VALUES (x'{ONE.hex()}', 1, -1)")),
    "a time of an outcome beyond 2^53": damaged(later(f"INSERT INTO decided VALUES (x'{ONE.hex()}', 1, {(1 << 53) + 1})")),
    "257 dropped transactions": damaged(later(*(
        f"INSERT INTO decided VALUES (x'{number:032x}', 2, 1)" for number in range(257)))),
}
LINEAGE = {
    "an own part of a later epoch": ("rolled back", lambda case: case.own(epoch=2)),
    "an own part of epoch 2^62": ("rolled back", lambda case: case.own(epoch=GREATEST)),
    "an own part of another mark": ("forked", lambda case: case.own(mark=bytes(32))),
    "a later epoch without an entry for that of own": ("forked", lambda case: case.age(2)),
    "a later epoch with an entry of another epoch than own": ("forked", lambda case: (case.age(3), entries(2)(case))),
    "a later epoch with another secret for that of own": ("forked", lambda case: (case.age(2), entries(1)(case))),
    "1 024 entries above the epoch of own": ("forked", lambda case: (case.age(2000), entries(*range(2, 1026))(case))),
}
SECTIONS = [
    ("Header", HEADER | SEALED | COPIES), ("Slots", SLOTS), ("State", STATE | COUNTS), ("The set of records", DIGESTS), ("Log", LOG),
    ("Outcomes of transactions over two stores", OUTCOMES),
]


def log_head(case):
    box = database.log_rows(case.writer.connection)[0][1]
    return log.head_after(case.keys, 1, log.NO_HEAD, box)


def root_of_all(case):
    """The root over all mids, those of `old` too, which has no row."""
    mids, digests = b"", database.digest_rows(case.writer.connection)
    for number in range(64):
        children = b"".join(digests.get(bucket, bytes(32)) for bucket in range(32 * number, 32 * number + 32))
        mids += bytes(32) if children == bytes(1024) else F(case.keys.set, "PV1 mid", case.keys.vault, le32(number) + children, 32)
    return F(case.keys.set, "PV1 root", case.keys.vault, mids, 32)
