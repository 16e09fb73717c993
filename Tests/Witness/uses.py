"""A reader of the log of uses. Source: UsesLogFormat.md, and AgentProtocol.md for the fields of a row.

The input is a request in JSON: folder, vault and key in hexadecimal, count and head of the anchor. The output is one line of JSON."""

import json
import os
import re
import struct
import sys

from layout import Refused, le64, tampered
from primitives import H, unseal

KINDS = "login sign unwrap read refused closed cut opened".split()
MOST, SEGMENT, HEAD = 8, 1 << 20, 64


class Fields:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Refused("damaged", "a row ends in the middle of a field")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, layout):
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def prefixed(self):
        return self.take(self.number("<I"))

    def text(self):
        return self.prefixed().decode()

    def row(self):
        row = {"number": self.number("<Q"), "time": self.number("<d"), "kind": KINDS[self.number("<B")]}
        row["item"] = self.prefixed().hex() if self.number("<B") else None
        row.update((name, self.text()) for name in ("name", "detail", "host", "hostKey"))
        row.update(user=self.number("<I"), process=self.number("<I"), start=self.number("<Q"))
        row.update((name, self.text()) for name in ("program", "client", "approval"))
        row["count"] = self.number("<I")
        if any(self.data[self.at:]):
            raise Refused("damaged", "a row is not filled up with zeros")
        return row


class Log:
    def __init__(self, request):
        self.folder, self.key = request["folder"], bytes.fromhex(request["key"])
        self.vault, self.anchor = bytes.fromhex(request["vault"]), (request["count"], bytes.fromhex(request["head"]))
        self.rows, self.torn, self.count, self.chain = [], False, 0, bytes(32)

    def content(self, number):
        try:
            with open(os.path.join(self.folder, f"{number:010}"), "rb") as file:
                return file.read(SEGMENT + 1)
        except FileNotFoundError:
            raise tampered("a file is missing") from None

    @staticmethod
    def begins(data):
        count = int.from_bytes(data[HEAD:HEAD + 4], "little")
        return len(data) >= HEAD + 4 and 0 < count <= len(data) - HEAD - 4

    def read(self):
        names = os.listdir(self.folder) if os.path.isdir(self.folder) else []
        numbers = sorted(int(name) for name in names if re.fullmatch("[0-9]{10}", name) and int(name))
        while numbers and not self.begins(self.content(numbers[-1])):
            numbers.pop()
            self.torn = True
        if not numbers:
            if self.torn and self.anchor[0]:
                raise tampered("the only file has no row")
            return {"rows": [], "gap": self.anchor[0] > 0 or self.torn}
        last = numbers[-1]
        first = int.from_bytes(self.content(last)[16:24], "little")
        oldest = max(first, last - MOST + 1, 1)
        if oldest > last:
            raise tampered("a file has a first number above its own")
        for number in range(oldest, last + 1):
            self.segment(self.content(number), number, first, number == oldest, number == last)
        if self.count < self.anchor[0]:
            raise tampered("rows before the anchor are missing")
        return {"rows": self.rows, "gap": self.torn or self.rows[-1]["kind"] != "closed"}

    def check(self):
        if self.count == self.anchor[0] and self.chain != self.anchor[1]:
            raise tampered("the anchor's row is another one")

    def segment(self, data, number, first, is_oldest, is_last):
        if is_oldest and len(data) >= HEAD:
            self.count, self.chain = int.from_bytes(data[24:32], "little"), data[32:64]
            self.check()
        head = b"CUSES1\0\0" + le64(number) + le64(first) + le64(self.count) + self.chain
        if len(data) > SEGMENT or data[:HEAD] != head:
            raise tampered("a file does not begin as it must")
        chain, at = H(head), HEAD
        while at < len(data):
            n = int.from_bytes(data[at:at + 4], "little")
            is_torn = len(data) - at < 4 or (not any(data[at:]) if n == 0 else n > len(data) - at - 4)
            if n and len(data) - at >= 4 and (n - 48 not in range(128, 12289)):
                raise tampered("a row has a length that no row has")
            if is_torn:
                if is_last and self.count >= self.anchor[0]:
                    self.torn = True
                    return
                raise tampered("a row before the anchor is torn")
            row = data[at:at + 4 + n]
            if n == 0 or row[4:12] != le64(self.count + 1):
                raise tampered("a row is not in its place")
            body = unseal(self.key, row[12:36], row[36:], b"coffer.uses" + self.vault + row[4:12] + chain)
            if body is None:
                raise tampered("a row does not open")
            if body[0] != 1:
                raise Refused("newer", "a row is of a newer version")
            self.rows.append(Fields(body[1:]).row())
            chain, at = H(chain + row), at + 4 + n
            self.count, self.chain = self.count + 1, chain
            self.check()


if __name__ == "__main__":
    try:
        print(json.dumps(Log(json.load(sys.stdin)).read()))
    except Refused as refused:
        print(json.dumps({"refused": refused.kind, "why": refused.why}))
