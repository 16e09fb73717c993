"""The secrets as people hold them. Source: VaultFormat.md, Secrets."""

import re

from layout import LARGEST, Refused, le64
from primitives import F, H, argon2id, public_key, x25519

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def unreadable(why):
    """The text names no refusal for a secret that cannot be read: it is not the vault's fault."""
    return Refused("not a secret", why)


def checked(line, prefix, count, after=b""):
    """The `count` bytes of a line of hexadecimal digits with its check digits, which are those of these bytes and `after`."""
    if not re.fullmatch(re.escape(prefix) + b"[0-9a-f]{%d}" % (2 * count + 8), line):
        raise unreadable(f"not {prefix.decode()} and {2 * count + 8} lowercase digits")
    digits = line[len(prefix):].decode()
    content = bytes.fromhex(digits[:-8])
    if H(content + after).hex()[:8] != digits[-8:]:
        raise unreadable("the check digits do not fit")
    return content


def line_of(prefix, content, after=b""):
    return prefix + (content.hex() + H(content + after).hex()[:8]).encode()


def one_line(data):
    return data[:-1] if data.endswith(b"\n") else data


def passphrase_line(data):
    """A passphrase from a file or descriptor: one line end after it is not part of it."""
    if data.endswith(b"\r\n"):
        return data[:-2]
    return one_line(data)


def passphrase(data):
    if not 1 <= len(data) <= 1024:
        raise unreadable("a passphrase has 1 to 1 024 bytes")
    return data


class KeyFile:
    """KF, and whether it was generated: only a generated one opens a slot alone."""

    def __init__(self, data):
        self.generated = data.startswith(b"PVKEY1-")
        if self.generated:
            self.key = checked(one_line(data), b"PVKEY1-", 32)
        elif 32 <= len(data) <= 1 << 20:
            self.key = H(data)
        else:
            raise unreadable("a key file has 32 to 1 048 576 bytes")


def key_file_line(key):
    return line_of(b"PVKEY1-", key)


def symbols(number, count):
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(count)))


def recovery_text(code):
    check = int.from_bytes(H(code)[:2], "big") >> 6
    text = symbols(int.from_bytes(code, "big"), 32) + symbols(check, 2)
    return "-".join(text[at:at + 4] for at in range(0, 34, 4))


def recovery_code(data):
    data = passphrase_line(data)
    if len(data) > 256:
        raise unreadable("a recovery code has at most 256 bytes")
    try:
        text = data.decode("ascii").upper()
    except UnicodeDecodeError:
        raise unreadable("a recovery code is ASCII") from None
    text = text.replace(" ", "").replace("-", "").replace("I", "1").replace("L", "1").replace("O", "0")
    if len(text) != 34 or any(letter not in ALPHABET for letter in text):
        raise unreadable("a recovery code has 34 symbols of base 32")
    number = 0
    for letter in text[:32]:
        number = number << 5 | ALPHABET.index(letter)
    code = number.to_bytes(20, "big")
    if recovery_text(code).replace("-", "") != text:
        raise unreadable("the check symbols do not fit")
    return code


class Invitation:
    """What proves a vault to whoever has not seen it: the vault's id, an epoch and its mark."""

    def __init__(self, vault, epoch, mark, ends=False):
        self.vault, self.epoch, self.mark, self.ends = vault, epoch, mark, ends

    @classmethod
    def of(cls, line):
        ends = line.startswith(b"PVEND1-")
        content = checked(line, b"PVEND1-", 56, b"PVEND1-") if ends else checked(line, b"PVINV1-", 56)
        epoch = int.from_bytes(content[16:24], "little")
        if not 1 <= epoch <= LARGEST:
            raise unreadable("an invitation's epoch is out of bounds")
        return cls(content[:16], epoch, content[24:], ends)

    def text(self):
        prefix, after = (b"PVEND1-", b"PVEND1-") if self.ends else (b"PVINV1-", b"")
        return line_of(prefix, self.vault + le64(self.epoch) + self.mark, after)


def expectation(data):
    """`COFFER_EXPECT_VAULT`: the invitations in it, or the id and the generation, which may be None."""
    words = [word for word in data.split(b" ") if word]
    if words and words[0].startswith((b"PVINV1-", b"PVEND1-")):
        if len(words) > 64:
            raise unreadable("more than 64 invitations are expected")
        return [Invitation.of(word) for word in words]
    found = re.fullmatch(rb"([0-9a-fA-F]{32})(?::0*([0-9]{1,19}))?", words[0]) if len(words) == 1 else None
    if not found or (found[2] and not 1 <= int(found[2]) <= LARGEST):
        raise unreadable("neither a vault's id nor invitations")
    return bytes.fromhex(found[1].decode()), found[2] and int(found[2])


def identity(data):
    """The secret key of an identity and the invitations in its file."""
    if len(data) == 32:
        return data, []
    first, feed, rest = data.partition(b"\n")
    secret = checked(first, b"PVID1-", 32)
    if not rest:
        return secret, []
    if not rest.endswith(b"\n"):
        raise unreadable("the last invitation of an identity's file lacks its line feed")
    lines = rest[:-1].split(b"\n")
    if len(lines) > 64:
        raise unreadable("an identity's file has more than 64 invitations")
    return secret, [Invitation.of(line) for line in lines]


def recipient(data):
    point = checked(one_line(data), b"PVPUB1-", 32)
    if x25519(H(point), point) is None:
        raise unreadable("a public key of low order")
    return point


class Secret:
    """What someone has to open a vault with; every part may be missing."""

    def __init__(self, passphrase=None, key_file=None, recovery=None, identity=None):
        self.passphrase, self.key_file, self.recovery, self.identity = passphrase, key_file, recovery, identity

    def opens(self, kind):
        return {
            1: self.passphrase is not None,
            2: self.passphrase is not None and self.key_file is not None,
            3: self.key_file is not None and self.key_file.generated,
            4: self.recovery is not None, 5: self.identity is not None, 6: False,
        }[kind]

    def key(self, kind, salt, ops, mem):
        """The IKM of a slot of types 1 to 4."""
        if kind == 3:
            return F(self.key_file.key, "PVault1 keyfile", salt, b"", 32)
        if kind == 4:
            return F(self.recovery, "PVault1 recovery", salt, b"", 32)
        stretched = argon2id(self.passphrase, salt, ops, mem)
        return stretched if kind == 1 else F(self.key_file.key, "PVault1 2skd", salt, stretched, 32)

    def public_key(self):
        return public_key(self.identity)
