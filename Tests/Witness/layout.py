"""The laying out of bytes, and their reading. Source: VaultFormat.md, Notation."""

import struct

LARGEST = 1 << 62
MOST_EXTENSION = 4096


class Refused(Exception):
    """A reader says no: `kind` is one of the words in italics of the text."""

    def __init__(self, kind, why):
        super().__init__(f"{kind}: {why}")
        self.kind, self.why = kind, why


def damaged(why):
    return Refused("damaged", why)


def tampered(why):
    return Refused("tampered", why)


def u8(number):
    return struct.pack("<B", number)


def le16(number):
    return struct.pack("<H", number)


def le32(number):
    return struct.pack("<I", number)


def le64(number):
    return struct.pack("<Q", number)


def lp(data):
    return le32(len(data)) + data


def ls(data):
    return le16(len(data)) + data


def pad(data, block):
    return data + b"\x80" + bytes(-(len(data) + 1) % block)


def unpad(data):
    """The content before the padding; whether its length is the one that the content gives is for the caller."""
    bare = data.rstrip(b"\0")
    if not bare.endswith(b"\x80"):
        raise damaged("a padding without its first byte")
    return bare[:-1]


class Fields:
    """Reads the fields of one structure in their order, and says where one is missing."""

    def __init__(self, data, name):
        self.data, self.name, self.at = data, name, 0

    def take(self, count):
        if len(self.data) - self.at < count:
            raise damaged(f"{self.name} ends early")
        self.at += count
        return self.data[self.at - count:self.at]

    def u8(self):
        return self.take(1)[0]

    def le16(self):
        return int.from_bytes(self.take(2), "little")

    def le32(self):
        return int.from_bytes(self.take(4), "little")

    def raw64(self):
        return int.from_bytes(self.take(8), "little")

    def number(self, least=0):
        value = self.raw64()
        if not least <= value <= LARGEST:
            raise damaged(f"{self.name} holds a number out of bounds")
        return value

    def lp(self, limit):
        return self.block(self.le32(), limit)

    def ls(self, limit):
        return self.block(self.le16(), limit)

    def block(self, length, limit):
        if length > limit:
            raise damaged(f"{self.name} holds a field of {length} bytes, and {limit} are allowed")
        return self.take(length)

    def extension(self):
        return self.ls(MOST_EXTENSION)

    def text(self, limit):
        data = self.ls(limit)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise damaged(f"{self.name} holds a text that is not UTF-8") from None

    def end(self):
        if self.at != len(self.data):
            raise damaged(f"{self.name} goes on after its last field")
