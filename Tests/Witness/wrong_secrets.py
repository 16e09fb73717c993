"""Secrets, and other texts that people hold, which are none: each is refused before a vault is looked at."""

from credentials import (Invitation, identity, key_file_line, KeyFile, line_of, passphrase, recipient, recovery_code, recovery_text,
                         expectation)
from layout import le64
from primitives import H, public_key

KEY, CODE, VAULT, MARK = bytes(range(32)), bytes(range(20)), bytes(range(16)), bytes(range(32, 64))
READERS = {
    "passphrase": passphrase, "key file": KeyFile, "recovery code": recovery_code, "identity": identity, "recipient": recipient,
    "invitation": Invitation.of, "COFFER_EXPECT_VAULT": expectation,
}
LOW_ORDER = {
    "0": bytes(32), "1": b"\1" + bytes(31),
    "order 8": bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    "order 8, the other": bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    "p - 1": bytes.fromhex("ec" + 30 * "ff" + "7f"), "p": bytes.fromhex("ed" + 30 * "ff" + "7f"),
    "p + 1": bytes.fromhex("ee" + 30 * "ff" + "7f"), "0 with the highest bit": bytes(31) + b"\x80",
}


def lines(name, line):
    """What is wrong of every line of hexadecimal digits with check digits: `line` is a right one, without its line feed."""
    head = line[:7]
    yield f"{name} with capital digits", head + line[7:].upper()
    yield f"{name} with a small prefix", head.lower() + line[7:]
    yield f"{name} with wrong check digits", line[:-1] + (b"0" if line[-1:] != b"0" else b"1")
    yield f"{name} with one digit changed", head + (b"f" if line[7:8] != b"f" else b"e") + line[8:]
    yield f"{name} with a digit less", line[:-1]
    yield f"{name} with a digit more", line + b"0"
    yield f"{name} without check digits", line[:-8]
    yield f"{name} with a letter that is no digit", head + b"g" + line[8:]
    yield f"{name} with a space before it", b" " + line
    yield f"{name} with a space after it", line + b" "
    yield f"{name} with a space within", line[:20] + b" " + line[20:]
    yield f"{name} of its prefix alone", head
    yield f"{name} with a carriage return and a line feed", line + b"\r\n"
    yield f"{name} with two line feeds", line + b"\n\n"
    yield f"{name} after a byte order mark", b"\xef\xbb\xbf" + line
    yield f"{name} with a zero byte after it", line + b"\0"
    yield f"{name} of another prefix", (b"PVPUB1-" if head != b"PVPUB1-" else b"PVINV1-") + line[7:]


def wrongs():
    """Kind, what is wrong, and the bytes."""
    line = key_file_line(KEY)
    for name, content in lines("a generated key file", line):
        if content.startswith(b"PVKEY1-"):  # What begins otherwise is a file of any bytes.
            yield "key file", name, content
    yield "key file", "a key file of 31 bytes", bytes(31)
    yield "key file", "a key file of no bytes", b""
    yield "passphrase", "a passphrase of no bytes", b""
    yield "passphrase", "a passphrase of 1 025 bytes", b"p" * 1025
    yield from codes(recovery_text(CODE).encode())
    yield from identities(line_of(b"PVID1-", KEY))
    public = line_of(b"PVPUB1-", public_key(KEY))
    for name, content in lines("a recipient", public):
        yield "recipient", name, content
    for name, point in LOW_ORDER.items():
        yield "recipient", f"a public key of low order: {name}", line_of(b"PVPUB1-", point)
    invitation = Invitation(VAULT, 1, MARK).text()
    for name, content in lines("an invitation", invitation):
        yield "invitation", name, content
    for name, epoch in (("epoch 0", 0), ("an epoch beyond 2^62", (1 << 62) + 1), ("an epoch of 2^64 - 1", (1 << 64) - 1)):
        yield "invitation", f"an invitation of {name}", line_of(b"PVINV1-", VAULT + le64(epoch) + MARK)
    yield "invitation", "an invitation without an epoch", line_of(b"PVINV1-", VAULT + MARK)
    yield from expected(VAULT.hex().encode(), invitation)


def codes(code):
    yield "recovery code", "a recovery code of no symbols", b""
    yield "recovery code", "a recovery code with a symbol less", code[:-1]
    yield "recovery code", "a recovery code with a symbol more", code + b"0"
    yield "recovery code", "a recovery code with the letter U", b"U" + code[1:]
    yield "recovery code", "a recovery code with a star", b"*" + code[1:]
    yield "recovery code", "a recovery code with a letter that is not ASCII", "é".encode() + code[2:]
    yield "recovery code", "a recovery code with a letter that is folded to one of its own", "\u017f".encode() + code[1:]
    yield "recovery code", "a recovery code with another first symbol", b"1" + code[1:]
    yield "recovery code", "a recovery code with another last check symbol", code[:-1] + (b"0" if code[-1:] != b"0" else b"1")
    yield "recovery code", "a recovery code with another check symbol", code[:-2] + (b"0" if code[-2:-1] != b"0" else b"1") + code[-1:]
    yield "recovery code", "a recovery code with a tab", code[:4] + b"\t" + code[4:]
    yield "recovery code", "a recovery code with an underscore", code.replace(b"-", b"_")
    yield "recovery code", "a recovery code with two symbols exchanged", code[:36] + code[37:38] + code[36:37] + code[38:]
    yield "recovery code", "a recovery code of 257 bytes", code + b"-" * (257 - len(code))
    yield "recovery code", "a recovery code of 34 zeros but for its check", b"0" * 33 + b"1"


def identities(line):
    invitation = Invitation(VAULT, 1, MARK).text()
    for name, content in lines("an identity", line):
        yield "identity", name, content
    yield "identity", "an identity of no bytes", b""
    yield "identity", "a bare identity of 31 bytes", bytes(31)
    yield "identity", "a bare identity of 33 bytes", bytes(33)
    yield "identity", "a bare identity of 32 bytes and a line feed", KEY + b"\n"
    yield "identity", "an invitation without the identity's line", invitation + b"\n"
    yield "identity", "an invitation whose line feed is missing", line + b"\n" + invitation
    yield "identity", "an empty line between two invitations", line + b"\n" + invitation + b"\n\n" + invitation + b"\n"
    yield "identity", "an invitation with wrong check digits", line + b"\n" + invitation[:-1] + b"\n"
    yield "identity", "an invitation with a carriage return", line + b"\n" + invitation + b"\r\n"
    yield "identity", "a comment after the identity's line", line + b"\n# mine\n"
    yield "identity", "an identity's line twice", line + b"\n" + line + b"\n"
    yield "identity", "65 invitations", line + b"\n" + 65 * (invitation + b"\n")


def expected(id, invitation):
    for name, content in (
            ("nothing", b""), ("spaces alone", b"  "), ("31 digits", id[:-1]), ("33 digits", id + b"0"),
            ("a letter that is no digit", b"g" + id[1:]), ("a generation of 0", id + b":0"), ("no generation after its colon", id + b":"),
            ("a generation beyond 2^62", id + b":4611686018427387905"), ("a generation beyond 2^64", id + b":18446744073709551616"),
            ("a negative generation", id + b":-1"), ("a generation with a sign", id + b":+5"),
            ("a generation in hexadecimal digits", id + b":0x5"), ("a generation with a space", id + b": 5"),
            ("two generations", id + b":5:5"), ("two ids", id + b" " + id), ("an id and an invitation", id + b" " + invitation),
            ("an invitation and an id", invitation + b" " + id), ("an invitation and a generation", invitation + b":5"),
            ("an invitation whose check digits are wrong", invitation[:-1] + b"x"),
            ("invitations with commas", invitation + b"," + invitation),
            ("invitations with a line feed", invitation + b"\n" + invitation),
            ("65 invitations", b" ".join(65 * [invitation])), ("digits of another script", "\u0661".encode() * 16)):
        yield "COFFER_EXPECT_VAULT", f"{name} as what is expected", content


def rights():
    """What a reader takes, so that a reader that takes nothing is none."""
    line, invitation, code = line_of(b"PVID1-", KEY), Invitation(VAULT, 1, MARK).text(), recovery_text(CODE).encode()
    yield "key file", "a generated key file", key_file_line(KEY)
    yield "key file", "a generated key file with a line feed", key_file_line(KEY) + b"\n"
    yield "key file", "a key file of any 32 bytes", bytes(32)
    yield "passphrase", "a passphrase of one zero byte", b"\0"
    yield "passphrase", "a passphrase of 1 024 bytes", b"p" * 1024
    yield "recovery code", "a recovery code", code
    yield "recovery code", "a recovery code in small letters with spaces", code.lower().replace(b"-", b"  ")
    yield "recovery code", "a recovery code with I, L and O for 1 and 0", recovery_text(H(b"\1")[:20]).replace(
        "1", "i").replace("0", "o").encode()
    yield "recovery code", "a recovery code of 256 bytes", code + b"-" * (256 - len(code))
    yield "identity", "an identity", line
    yield "identity", "an identity with 64 invitations", line + b"\n" + 64 * (invitation + b"\n")
    yield "identity", "a bare identity", KEY
    yield "recipient", "a recipient", line_of(b"PVPUB1-", public_key(KEY))
    yield "recipient", "a recipient of a point above p", line_of(b"PVPUB1-", bytes.fromhex("f6" + 30 * "ff" + "7f"))
    yield "invitation", "an invitation", invitation
    yield "invitation", "an invitation of epoch 2^62", Invitation(VAULT, 1 << 62, MARK).text()
    yield "COFFER_EXPECT_VAULT", "an id", VAULT.hex().encode()
    yield "COFFER_EXPECT_VAULT", "an id in capital digits and a generation", VAULT.hex().upper().encode() + b":4611686018427387904"
    yield "COFFER_EXPECT_VAULT", "a generation after zeros", VAULT.hex().encode() + b":" + 30 * b"0" + b"7"
    yield "COFFER_EXPECT_VAULT", "an id between spaces", b" " + VAULT.hex().encode() + b"  "
    yield "COFFER_EXPECT_VAULT", "64 invitations", b" ".join(64 * [invitation])
    yield "COFFER_EXPECT_VAULT", "two invitations with three spaces between them", b"   ".join(2 * [invitation])
