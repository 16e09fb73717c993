"""The primitives of the format, and the reading of laid-out bytes. Source: VaultFormat.md, Notation and Primitives."""

import ctypes
import hashlib
import hmac
import struct

LARGEST = 1 << 62
ZERO_NONCE = bytes(24)
BASE = bytes([9]) + bytes(31)
BOX_OVERHEAD = 72


class Refused(Exception):
    """A reader says no: `kind` is one of the words in italics of the text."""

    def __init__(self, kind, why):
        super().__init__(f"{kind}: {why}")
        self.kind, self.why = kind, why


def damaged(why):
    return Refused("damaged", why)


def tampered(why):
    return Refused("tampered", why)


def load_sodium():
    """The shared library of libsodium; raises OSError where the machine has none."""
    for name in ("libsodium.so.23", "libsodium.so.26", "libsodium.so", "libsodium.dylib"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.sodium_init()
        return library
    raise OSError("this machine has no shared library of libsodium")


sodium = load_sodium()


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


def H(data):
    """A digest that tells damage, never forgery."""
    return hashlib.blake2b(data, digest_size=32).digest()


def F(key, label, salt, message, count):
    """The keyed hash that makes every key, place and digest."""
    person = label.encode("ascii").ljust(16, b"\0")
    return hashlib.blake2b(message, digest_size=count, key=key, salt=salt, person=person).digest()


def same(left, right):
    return hmac.compare_digest(left, right)


def seal(key, nonce, message, extra=b""):
    """XChaCha20-Poly1305: the ciphertext and its tag of 16 bytes."""
    out = ctypes.create_string_buffer(len(message) + 16)
    length = ctypes.c_ulonglong()
    code = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        out, ctypes.byref(length), message, ctypes.c_ulonglong(len(message)),
        extra, ctypes.c_ulonglong(len(extra)), None, nonce, key)
    if code != 0:
        raise OSError("libsodium did not encrypt")
    return out.raw


def unseal(key, nonce, box, extra=b""):
    """The message, or None where the tag does not fit."""
    if len(box) < 16:
        return None
    out = ctypes.create_string_buffer(max(1, len(box) - 16))
    length = ctypes.c_ulonglong()
    code = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        out, ctypes.byref(length), None, box, ctypes.c_ulonglong(len(box)),
        extra, ctypes.c_ulonglong(len(extra)), nonce, key)
    return out.raw[:length.value] if code == 0 else None


def box_keys(ikm, label, salt, context):
    keys = F(ikm, label + " kek", salt, context, 64)
    return keys[:32], keys[32:]


def cbox(ikm, label, salt, context, message, nonce):
    """A box that opens under one key only."""
    sealing, committing = box_keys(ikm, label, salt, context)
    sealed = seal(sealing, nonce, message, context)
    return nonce + F(committing, label + " com", salt, nonce + sealed, 32) + sealed


def open_cbox(ikm, label, salt, context, box, length=None):
    """The message of a box, or None: `length` is the one that the message must have, where that is known."""
    if len(box) < BOX_OVERHEAD or (length is not None and len(box) != length + BOX_OVERHEAD):
        return None
    nonce, commitment, sealed = box[:24], box[24:56], box[56:]
    sealing, committing = box_keys(ikm, label, salt, context)
    if not same(F(committing, label + " com", salt, nonce + sealed, 32), commitment):
        return None
    return unseal(sealing, nonce, sealed, context)


def x25519(secret, point):
    """The function of RFC 7748, or None for a result of zeros."""
    out = ctypes.create_string_buffer(32)
    code = sodium.crypto_scalarmult_curve25519(out, secret, point)
    return None if code != 0 or out.raw == bytes(32) else out.raw


def public_key(secret):
    return x25519(secret, BASE)


def argon2id(passphrase, salt, ops, mem):
    out = ctypes.create_string_buffer(32)
    code = sodium.crypto_pwhash_argon2id(
        out, ctypes.c_ulonglong(32), passphrase, ctypes.c_ulonglong(len(passphrase)), salt,
        ctypes.c_ulonglong(ops), ctypes.c_size_t(mem << 20), ctypes.c_int(2))
    if code != 0:
        raise MemoryError("Argon2id did not run")
    return out.raw


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

    def block(self, limit):
        length = self.le32()
        if length > limit:
            raise damaged(f"{self.name} holds a field of {length} bytes, and {limit} are allowed")
        return self.take(length)

    def text(self, limit):
        data = self.block(limit)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise damaged(f"{self.name} holds a text that is not UTF-8") from None

    def end(self):
        if self.at != len(self.data):
            raise damaged(f"{self.name} goes on after its last field")
