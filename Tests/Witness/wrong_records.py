"""Records that whoever has the key sealed otherwise than the text allows: by section of the text, each with its refusal."""

from cases import GREATEST, damaged, tampered
from layout import le16, le32, ls, pad, u8
from records import DELETED, FORMER, NO_VALUE, PRESENT

LONG = ls(bytes(4097))
CUT = le16(1)  # An extension of one byte that is not there.
SIXTEEN = [(f"{number:02}", "v" * (4096 if number < 15 else 3917)) for number in range(16)]

NUMBERS = {
    "revision 0": damaged(lambda case: case.put(revision=0)),
    "a revision beyond 2^62": damaged(lambda case: case.put(revision=GREATEST + 1)),
    "a revision of 2^64 - 1": damaged(lambda case: case.put(revision=(1 << 64) - 1)),
    "a time of creation beyond 2^62": damaged(lambda case: case.put(created=GREATEST + 1)),
    "a time of change beyond 2^62": damaged(lambda case: case.put(modified=GREATEST + 1)),
    "a value's time beyond 2^62": damaged(lambda case: case.put(written=GREATEST + 1)),
    "an expiry of 2^63": damaged(lambda case: case.put(expires=1 << 63)),
    "an expiry of 2^64 - 1": damaged(lambda case: case.put(expires=(1 << 64) - 1)),
    "a deletion until beyond 2^62": damaged(lambda case: case.put(kind=DELETED, deletion=(bytes(16), GREATEST + 1))),
}
TEXTS = {
    "a service that is not UTF-8": damaged(lambda case: case.edited(b"mail", b"ma\xff\xfe")),
    "an account that is not UTF-8": damaged(lambda case: case.edited(b"bob", b"b\x80b")),
    "a label that is not UTF-8": damaged(lambda case: case.edited(b"LABEL", b"\xe2\x82BEL", label="LABEL")),
    "a content type that is not UTF-8": damaged(lambda case: case.edited(b"TYPE", b"TYP\xc3", type="TYPE")),
    "a field's name that is not UTF-8": damaged(lambda case: case.edited(b"FIELD", b"F\xf8ELD", account="ann", field="FIELD")),
    "an attribute's name that is not UTF-8": damaged(lambda case: case.edited(b"NAME", b"N\xfeME", attributes=[("NAME", "")])),
    "an attribute's value that is not UTF-8": damaged(lambda case: case.edited(b"WORD", b"W\xc1\xbfD", attributes=[("n", "WORD")])),
    "a surrogate in a service": damaged(lambda case: case.edited(ls(b"mail"), ls(b"\xed\xa0\x80"))),
    "a character above U+10FFFF": damaged(lambda case: case.edited(b"mail", b"\xf4\x90\x80\x80")),
    "a longer form than needed of U+0000": damaged(lambda case: case.edited(ls(b"mail"), ls(b"\xc0\x80"))),
    "a longer form than needed of three bytes": damaged(lambda case: case.edited(ls(b"mail"), ls(b"\xe0\x80\xaf"))),
    "a text that ends within a character": damaged(lambda case: case.edited(b"mail", b"ma\xf0\x9f")),
}
EXTENSIONS = {
    "a description's extension of 4 097 bytes": damaged(lambda case: case.put(ext=bytes(4097))),
    "a description's extension that is cut": damaged(lambda case: case.row(case.meta().bytes()[:-2] + CUT)),
    "a description without an extension's length": damaged(lambda case: case.row(case.meta().bytes()[:-2])),
    "a description with half of an extension's length": damaged(lambda case: case.row(case.meta().bytes()[:-1])),
}
LIMITS = {
    "a history of 101": damaged(lambda case: case.put(history=101)),
    "a history of 255": damaged(lambda case: case.put(history=255)),
    "attributes that descend": damaged(lambda case: case.put(attributes=[("b", ""), ("a", "")])),
    "attributes that descend in their second byte": damaged(lambda case: case.put(attributes=[("ab", ""), ("aa", "")])),
    "an attribute before the one that begins it": damaged(lambda case: case.put(attributes=[("ab", ""), ("a", "")])),
    "two attributes of one name": damaged(lambda case: case.put(attributes=[("a", ""), ("a", "1")])),
    "two attributes without a name": damaged(lambda case: case.put(attributes=[("", "1"), ("", "2")])),
    "65 attributes": damaged(lambda case: case.put(attributes=[(f"{number:02}", "") for number in range(65)])),
    "255 attributes": damaged(lambda case: case.put(attributes=[(f"{number:03}", "") for number in range(255)])),
    "more attributes than are there": damaged(lambda case: case.edited(le32(5) + u8(0), le32(5) + u8(1))),
    "an attribute's name of 257 bytes": damaged(lambda case: case.put(attributes=[("n" * 257, "")])),
    "an attribute of 4 097 bytes": damaged(lambda case: case.put(attributes=[("n", "v" * 4097)])),
    "a service of 1 025 bytes": damaged(lambda case: case.put(service="s" * 1025)),
    "an account of 1 025 bytes": damaged(lambda case: case.put(account="s" * 1025)),
    "a field's name of 257 bytes": damaged(lambda case: case.put(account="ann", field="s" * 257)),
    "a label of 1 025 bytes": damaged(lambda case: case.put(label="s" * 1025)),
    "a content type of 257 bytes": damaged(lambda case: case.put(type="s" * 257)),
    "a service whose length goes beyond the description": damaged(lambda case: case.edited(ls(b"mail"), le16(1024) + b"mail")),
    "a description of 65 537 bytes": damaged(lambda case: case.put(attributes=SIXTEEN)),
    "a deleted description of 65 561 bytes": damaged(lambda case: case.put(kind=DELETED, attributes=SIXTEEN)),
    "a meta of 69 777 bytes": damaged(lambda case: case.row(b"", M=pad(case.largest(), 128) + bytes(1))),
    "a meta of 69 904 bytes": damaged(lambda case: case.row(b"", M=pad(case.largest(), 128) + bytes(128))),
    "a description of 65 537 bytes and an extension": damaged(lambda case: case.row(case.largest(more=1))),
    "a deleted description of 65 537 bytes and an extension": damaged(lambda case: case.row(
        case.largest(kind=DELETED, more=1), table="old", kind=DELETED)),
    "a condition of access": damaged(lambda case: case.edited(u8(0) + u8(0) + le32(5), u8(1) + u8(0) + le32(5))),
    "a condition of access of a later time": damaged(lambda case: case.edited(u8(0) + u8(0) + le32(5), u8(255) + u8(0) + le32(5))),
    "a description of version 2": damaged(lambda case: case.row(b"\2" + case.meta().bytes()[1:])),
    "a description of version 0": damaged(lambda case: case.row(b"\0" + case.meta().bytes()[1:])),
    "a description that goes on": damaged(lambda case: case.row(case.meta().bytes() + b"\0\1")),
    "a description of no bytes": damaged(lambda case: case.row(b"")),
    "a description of one byte": damaged(lambda case: case.row(b"\1")),
    "a description that ends in its id": damaged(lambda case: case.row(case.meta().bytes()[:20])),
    "a description that ends before its times": damaged(lambda case: case.row(case.meta().bytes()[:43])),
}
VALUES = {
    "a length that is not the value's": damaged(lambda case: case.put(length=6)),
    "a length of 0 for a value of 5 bytes": damaged(lambda case: case.put(length=0)),
    "a value that is not told of": damaged(lambda case: case.put(length=NO_VALUE)),
    "a value that was taken away": tampered(lambda case: case.put(value=None)),
    "a value of no bytes that was taken away": tampered(lambda case: case.put(value=None, length=0)),
    "a length beyond the largest": damaged(lambda case: case.put(length=2_097_153)),
    "the greatest length that is one": damaged(lambda case: case.put(length=NO_VALUE - 1)),
}
PADDINGS = {
    "a padding of one block more": damaged(lambda case: case.row(b"", M=pad(case.meta().bytes(), 128) + bytes(128))),
    "no padding": damaged(lambda case: case.row(b"", M=case.meta().bytes().ljust(256, b"\1"))),
    "a padding of zeros alone": damaged(lambda case: case.row(b"", M=bytes(128))),
    "a padding that is cut by one byte": damaged(lambda case: case.row(b"", M=pad(case.meta().bytes(), 128)[:-1])),
    "a value's padding of one block more": damaged(lambda case: case.row(case.meta().bytes(), V=pad(b"value", 256) + bytes(256))),
    "a value without padding": damaged(lambda case: case.row(case.meta(length=256).bytes(), V=256 * b"v")),
    "a value's padding of zeros alone": damaged(lambda case: case.row(case.meta(length=0).bytes(), V=bytes(256))),
    "a value of 4 096 bytes in the blocks of a shorter one": damaged(lambda case: case.row(
        case.meta(length=4096).bytes(), V=pad(4096 * b"v", 256))),
}
KINDS = {
    "a deletion of a former content": damaged(lambda case: case.row(
        case.meta(kind=FORMER).bytes()[:-2] + bytes(24) + ls(b""), table="old", kind=FORMER)),
    "a deletion of a present content": damaged(lambda case: case.row(case.meta().bytes()[:-2] + bytes(24) + ls(b""))),
    "a deleted content without its deletion": damaged(lambda case: case.row(
        case.meta(kind=DELETED).bytes()[:-26] + ls(b""), table="old", kind=DELETED)),
    "a deletion without an end": damaged(lambda case: case.row(
        case.meta(kind=DELETED).bytes()[:-10] + ls(b""), table="old", kind=DELETED)),
    "a former content in rec": damaged(lambda case: case.row(case.meta(kind=FORMER).bytes())),
    "a deleted content in rec": damaged(lambda case: case.row(case.meta(kind=DELETED).bytes())),
    "a present content in old": damaged(lambda case: case.row(case.meta().bytes(), table="old")),
    "kind 3": damaged(lambda case: case.row(case.meta(kind=3).bytes())),
    "kind 3 of any content": damaged(lambda case: case.row(b"\1\3" + bytes(99))),
    "kind 3 in old": damaged(lambda case: case.row(case.meta(kind=3).bytes(), table="old", kind=3)),
    "kind 255 in old": damaged(lambda case: case.row(case.meta(kind=255).bytes(), table="old", kind=3)),
}
PLACES = {
    "the place of another": damaged(lambda case: case.row(case.meta().bytes(), names=("mail", "eve", ""))),
    "a field in the place of its item": damaged(lambda case: case.row(
        case.meta(account="eve", field="pin").bytes(), names=("mail", "eve", ""))),
    "an item in the place of its field": damaged(lambda case: case.row(
        case.meta(account="eve").bytes(), names=("mail", "eve", "pin"))),
    "a former content in the place of another revision": damaged(lambda case: case.row(
        case.meta(kind=FORMER, revision=2).bytes(), table="old", kind=FORMER)),
    "a former content in the place of a deleted one": damaged(lambda case: case.row(
        case.meta(kind=FORMER).bytes(), table="old", kind=DELETED)),
    "a former content in the place that is its item's": damaged(lambda case: case.row(
        case.meta(kind=FORMER).bytes(), table="old", kind=PRESENT)),
    "a former content out of its item's bucket": damaged(lambda case: case.bucket_of_its_own()),
    "a field out of its item's bucket": damaged(lambda case: case.field_in_bucket_of_its_own()),
}
LATER = {
    "a later format's kind whose value was changed": tampered(lambda case: (
        case.later_kind(), case.later(f"UPDATE old SET value = x'{272 * '5a'}' WHERE idx = zeroblob(16)"))),
    "a later format's kind whose description was changed": tampered(lambda case: (
        case.later_kind(), case.later(f"UPDATE old SET meta = x'{144 * '5a'}' WHERE idx = zeroblob(16)"))),
    "a later format's kind that is not counted": tampered(lambda case: (case.later_kind(), case.count(-1, 0, 0))),
    "a later format's kind that is counted as a field": tampered(lambda case: (case.later_kind(), case.count(0, 0, 1))),
    "a later format's description of another version": damaged(lambda case: case.later_kind(b"\2\3")),
    "a later format's description without a kind": damaged(lambda case: case.later_kind(b"\1")),
    "a later format's record of a length that is not the value's": damaged(lambda case: (
        case.later_format(), case.put(length=6))),
}
FIELDS = {
    "a field without its item": damaged(lambda case: case.put(account="eve", field="pin")),
    "65 fields": damaged(lambda case: [case.put(account="ann", field=f"{number}") for number in range(65)]),
}
SECTIONS = [
    ("Notation", NUMBERS | TEXTS | EXTENSIONS), ("Primitives", PADDINGS), ("Records", LIMITS | VALUES | KINDS | PLACES | LATER),
    ("Fields", FIELDS),
]

