"""Bytes and choices that a seed decides, so that a vault can be made again; without a seed the system's random ones."""

import hashlib
import os
import random


class Source:
    def __init__(self, seed=None):
        self.key = os.urandom(32) if seed is None else hashlib.blake2b(str(seed).encode(), digest_size=32).digest()
        self.drawn = 0
        self.choices = random.Random(self.key)

    def bytes(self, count):
        """The next `count` bytes; no two calls share any."""
        self.drawn += 1
        out, block = b"", 0
        while len(out) < count:
            message = self.drawn.to_bytes(8, "little") + block.to_bytes(8, "little")
            out += hashlib.blake2b(message, key=self.key).digest()
            block += 1
        return out[:count]
