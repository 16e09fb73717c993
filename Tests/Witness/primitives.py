"""The hashes, ciphers and boxes of the format. Source: VaultFormat.md, Primitives."""

import ctypes
import hashlib
import hmac

ZERO_NONCE = bytes(24)
BASE = bytes([9]) + bytes(31)
BOX_OVERHEAD = 72


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
