"""Vaults that whoever has the key sealed otherwise than the text allows. Each is refused, as *damaged* or *tampered*."""

import os

import database
import log
from cases import Case
from layout import le16, le32, le64, ls, pad, u8
from records import DELETED, FORMER, NO_VALUE

BIG = le64((1 << 62) + 1)
LONG = ls(bytes(4097))
CUT = le16(1)  # An extension of one byte that is not there.
RECORDS = {
    "revision 0": lambda case: case.put(revision=0),
    "a revision beyond 2^62": lambda case: case.put(revision=(1 << 62) + 1),
    "a time beyond 2^62": lambda case: case.put(created=(1 << 62) + 1),
    "a value's time beyond 2^62": lambda case: case.put(written=(1 << 62) + 1),
    "an expiry beyond 2^62": lambda case: case.put(expires=1 << 63),
    "a history of 101": lambda case: case.put(history=101),
    "attributes that descend": lambda case: case.put(attributes=[("b", ""), ("a", "")]),
    "two attributes of one name": lambda case: case.put(attributes=[("a", ""), ("a", "1")]),
    "65 attributes": lambda case: case.put(attributes=[(f"{number:02}", "") for number in range(65)]),
    "an attribute's name of 257 bytes": lambda case: case.put(attributes=[("n" * 257, "")]),
    "an attribute of 4 097 bytes": lambda case: case.put(attributes=[("n", "v" * 4097)]),
    "a service of 1 025 bytes": lambda case: case.put(service="s" * 1025),
    "an account of 1 025 bytes": lambda case: case.put(account="s" * 1025),
    "a field's name of 257 bytes": lambda case: case.put(account="ann", field="s" * 257),
    "a label of 1 025 bytes": lambda case: case.put(label="s" * 1025),
    "a content type of 257 bytes": lambda case: case.put(type="s" * 257),
    "a description of 65 537 bytes": lambda case: case.put(
        attributes=[(f"{number:02}", "v" * (4096 if number < 15 else 3917)) for number in range(16)]),
    "a deleted description of 65 561 bytes": lambda case: case.put(
        kind=DELETED, attributes=[(f"{number:02}", "v" * (4096 if number < 15 else 3917)) for number in range(16)]),
    "a length that is not the value's": lambda case: case.put(length=6),
    "a value that is not told of": lambda case: case.put(length=NO_VALUE),
    "a value that was taken away": lambda case: case.put(value=None),
    "a length beyond the largest": lambda case: case.put(length=2_097_153),
    "the greatest length that is one": lambda case: case.put(length=NO_VALUE - 1),
    "a deletion of a former content": lambda case: case.row(
        case.meta(kind=FORMER).bytes()[:-2] + bytes(24) + ls(b""), table="old", kind=FORMER),
    "a deletion of a present content": lambda case: case.row(case.meta().bytes()[:-2] + bytes(24) + ls(b"")),
    "a deleted content without its deletion": lambda case: case.row(
        case.meta(kind=DELETED).bytes()[:-26] + ls(b""), table="old", kind=DELETED),
    "a deletion without an end": lambda case: case.row(
        case.meta(kind=DELETED).bytes()[:-10] + ls(b""), table="old", kind=DELETED),
    "a deletion until beyond 2^62": lambda case: case.put(kind=DELETED, deletion=(bytes(16), (1 << 62) + 1)),
    "a description's extension of 4 097 bytes": lambda case: case.put(ext=bytes(4097)),
    "a description's extension that is cut": lambda case: case.row(case.meta().bytes()[:-2] + CUT),
    "a description without an extension's length": lambda case: case.row(case.meta().bytes()[:-2]),
    "a former content out of its item's bucket": lambda case: case.bucket_of_its_own(),
    "a former content in rec": lambda case: case.row(case.meta(kind=FORMER).bytes()),
    "a present content in old": lambda case: case.row(case.meta().bytes(), table="old"),
    "kind 3": lambda case: case.row(case.meta(kind=3).bytes()),
    "another version of the description": lambda case: case.row(b"\2" + case.meta().bytes()[1:]),
    "a description that goes on": lambda case: case.row(case.meta().bytes() + b"\0\1"),
    "a description that ends early": lambda case: case.row(case.meta().bytes()[:-1]),
    "a condition of access": lambda case: case.edited(u8(0) + u8(0) + le32(5), u8(1) + u8(0) + le32(5)),
    "a service that is not UTF-8": lambda case: case.edited(b"mail", b"ma\xff\xfe"),
    "a surrogate in a service": lambda case: case.edited(ls(b"mail"), ls(b"\xed\xa0\x80")),
    "a longer form than needed": lambda case: case.edited(ls(b"mail"), ls(b"\xc0\x80")),
    "the place of another": lambda case: case.row(case.meta().bytes(), names=("mail", "eve", "")),
    "a padding of one block more": lambda case: case.row(b"", M=pad(case.meta().bytes(), 128) + bytes(128)),
    "no padding": lambda case: case.row(b"", M=case.meta().bytes().ljust(256, b"\1")),
    "a value's padding of one block more": lambda case: case.row(case.meta().bytes(), V=pad(b"value", 256) + bytes(256)),
    "a field without its item": lambda case: case.put(account="eve", field="pin"),
    "65 fields": lambda case: [case.put(account="ann", field=f"{number}") for number in range(65)],
}
HEADERS = {
    "a label of 65 bytes": lambda case: case.relabeled("l" * 65),
    "another slot in the sealed part": lambda case: case.sealed_part(lambda data: data[:24] + bytes(16) + data[40:]),
    "a label that is not UTF-8": lambda case: case.sealed_part(lambda data: data.replace(ls(b"key"), ls(b"k\xffy"))),
    "a sealed part that goes on": lambda case: case.sealed_part(lambda data: data + b"\0"),
    "a sealed part that ends early": lambda case: case.sealed_part(lambda data: data[:-1]),
    "a time of creation beyond 2^62": lambda case: case.sealed_part(lambda data: BIG + data[8:]),
    "an entry of the present epoch": lambda case: case.sealed_part(lambda data: data[:-6] + le32(1) + le64(1) + bytes(34)),
    "an entry of epoch 0": lambda case: case.sealed_part(lambda data: data[:-6] + le32(1) + le64(0) + bytes(34)),
    "more entries than are told of": lambda case: case.sealed_part(lambda data: data[:-6] + le32(0) + le64(1) + bytes(34)),
    "min_reader 0": lambda case: (setattr(case.header, "min_reader", 0), case.headers()),
    "fmt 0": lambda case: (setattr(case.header, "fmt", 0), case.headers()),
    "epoch 0": lambda case: (setattr(case.header, "epoch", 0), case.copies()),
    "an epoch beyond 2^62": lambda case: (setattr(case.header, "epoch", (1 << 62) + 1), case.copies()),
    "no slot": lambda case: (case.header.slots.clear(), case.copies()),
    "two slots of one id": lambda case: (case.header.slots.append(case.header.slots[0]), case.copies()),
    "a sealed part's extension of 4 097 bytes": lambda case: case.extended_header(LONG),
    "a sealed part's extension that is cut": lambda case: case.extended_header(CUT),
    "a type of slot that there is not": lambda case: (setattr(case.header.slots[0], "type", 7), case.copies()),
    "a slot of type 0": lambda case: (setattr(case.header.slots[0], "type", 0), case.copies()),
    "a slot of type 6 with 1 025 bytes": lambda case: case.other_slots(bytes(1025)),
    "17 slots of types 1 to 4 and 6": lambda case: case.other_slots(b"x", count=16),
    "a cost for a key file": lambda case: (setattr(case.header.slots[0], "ops", 1), case.copies()),
    "an algorithm for a key file": lambda case: (setattr(case.header.slots[0], "alg", 2), case.copies()),
    "a key file without salt": lambda case: (setattr(case.header.slots[0], "salt", bytes(16)), case.copies()),
    "copies that differ": lambda case: case.later("UPDATE header_copy SET bytes = zeroblob(440)"),
    "a copy that is missing": lambda case: case.later("DELETE FROM header_copy"),
    "another row of header": lambda case: case.later("INSERT INTO header SELECT 2, bytes FROM header"),
    "another row of state": lambda case: case.later("INSERT INTO state VALUES (0, zeroblob(204))"),
    "a slot that does not fit its public key": lambda case: case.own(secret=bytes(32)),
    "an own part of epoch 0": lambda case: case.own(epoch=0),
}
STATES = {
    "a record too many": lambda case: setattr(case, "counts", (2, 1, 0)),
    "an item too few": lambda case: setattr(case, "counts", (1, 0, 0)),
    "an item that is told of as a field": lambda case: setattr(case, "counts", (1, 0, 1)),
    "more items than records": lambda case: setattr(case, "counts", (1, 2, 0)),
    "scrub 2": lambda case: setattr(case.state, "scrub", 2),
    "replicas that descend": lambda case: setattr(case.state, "replicas", [(b"b" * 16, 1, bytes(16)), (b"a" * 16, 1, bytes(16))]),
    "one replica twice": lambda case: setattr(case.state, "replicas", 2 * [(b"b" * 16, 1, bytes(16))]),
    "a replica of generation 0": lambda case: setattr(case.state, "replicas", [(b"b" * 16, 0, bytes(16))]),
    "a replica of the future": lambda case: setattr(case.state, "replicas", [(b"b" * 16, 99, bytes(16))]),
    "a replica of another commit": lambda case: setattr(case.state, "replicas", [(b"b" * 16, 3, bytes(16))]),
    "a state's extension of 4 097 bytes": lambda case: case.extended_state(LONG),
    "a state's extension that is cut": lambda case: case.extended_state(CUT),
    "generation 0": lambda case: setattr(case.state, "generation", -1),
    "a generation beyond 2^62": lambda case: setattr(case.state, "generation", 1 << 62),
    "a log that is longer": lambda case: setattr(case.state, "log_seq", case.state.log_seq + 1),
    "a digest of zeros": lambda case: case.later("INSERT OR REPLACE INTO digest VALUES (2047, zeroblob(32))"),
    "a digest of no bucket": lambda case: case.later("INSERT INTO digest VALUES (2048, randomblob(32))"),
    "a digest of bucket -1": lambda case: case.later("INSERT INTO digest VALUES (-1, randomblob(32))"),
    "a digest of 31 bytes": lambda case: case.later("UPDATE digest SET hash = substr(hash, 2)"),
    "a row without a digest": lambda case: case.later("INSERT INTO old SELECT * FROM rec"),
    "outcome 3": lambda case: case.later("INSERT INTO decided VALUES (randomblob(16), 3, 1)"),
    "a transaction of 15 bytes": lambda case: case.later("INSERT INTO decided VALUES (randomblob(15), 1, 1)"),
    "a time of an outcome below 0": lambda case: case.later("INSERT INTO decided VALUES (randomblob(16), 1, -1)"),
    "a time of an outcome beyond 2^53": lambda case: case.later("INSERT INTO decided VALUES (randomblob(16), 1, 9007199254740993)"),
    "257 dropped transactions": lambda case: [case.later("INSERT INTO decided VALUES (randomblob(16), 2, 1)") for _ in range(257)],
}
LOGS = {
    "another version of an entry": lambda case: case.entry(lambda data: b"\2" + data[1:]),
    "an entry that goes on": lambda case: case.entry(lambda data: data + b"\0"),
    "a program that is not UTF-8": lambda case: case.entry(lambda data: data.replace(ls(b"p"), ls(b"\xff"))),
    "an entry's time beyond 2^62": lambda case: case.entry(lambda data: data[:2] + BIG + data[10:]),
    "a program of 257 bytes": lambda case: case.entry(lambda data: data.replace(ls(b"p"), ls(b"p" * 257))),
    "a detail of 257 bytes": lambda case: case.entry(lambda data: data[:-4] + ls(b"p" * 257) + ls(b"")),
    "a row's extension of 4 097 bytes": lambda case: case.entry(lambda data: data[:-2] + LONG),
    "a row's extension that is cut": lambda case: case.entry(lambda data: data[:-2] + CUT),
    "a row that tells another head before it": lambda case: case.entry(lambda data: data[:69] + bytes(32) + data[101:]),
    "a row of 143 bytes": lambda case: case.entry(lambda data: data[:103]),
    "a row of 4 753 bytes": lambda case: case.entry(lambda data: data + bytes(4713 - len(data))),
    "a trim without a beginning": lambda case: case.trimmed(2, bytes(32)),
    "a trim of row 1": lambda case: case.trimmed(1, bytes(32)),
    "a trim that says nothing": lambda case: case.writer.entry(log.TRIMMED, detail=bytes(41)),
    "a beginning that nothing repeats": lambda case: case.sql("UPDATE log SET box = ? WHERE seq = 1", log_head(case)),
    "another beginning": lambda case: (case.writer.trim(2), case.trimmed(2, bytes(32))),
    "two beginnings": lambda case: (case.writer.trim(2), case.later("INSERT INTO log VALUES (0, zeroblob(32))")),
    "a row that is missing": lambda case: case.later("DELETE FROM log WHERE seq = 2"),
    "a row too many": lambda case: case.later("INSERT INTO log VALUES (99, zeroblob(144))"),
}


def log_head(case):
    box = database.log_rows(case.writer.connection)[0][1]
    return log.head_after(case.keys, 1, log.NO_HEAD, box)


def malform(request):
    """Makes a vault of every `step`th kind in a folder; the files are named in the answer, and one key file opens them all."""
    made, key_file = {}, bytes.fromhex(request["keyFile"])
    kinds = list({**RECORDS, **HEADERS, **STATES, **LOGS}.items())
    for name, change in kinds[request["first"]::request["step"]]:
        made[name] = os.path.join(request["folder"], f"{len(made)}.vault")
        case = Case(made[name], key_file)
        change(case)
        case.finish()
    return {"made": made}
