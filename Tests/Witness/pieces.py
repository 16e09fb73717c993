"""A vault from the files of a remote: `python3 pieces.py DIR OUT < request`. Source: SyncFormat.md.

The request is one line of JSON with a secret, as `read` takes it: digests are computed with the key. The newest head is taken.
"""

import hashlib
import json
import os
import sys

import database
from header import Header
from layout import Fields, damaged, tampered
from primitives import H
from reader import Request
from slots import unlock
from state import State, bucket_of, digests_of, root_of


def file(folder, name):
    with open(os.path.join(folder, name), "rb") as content:
        data = content.read()
    if hashlib.blake2b(data, digest_size=32).hexdigest() != name[-64:]:
        raise damaged(f"{name} has other bytes than its name says")
    return data


def head_of(data):
    fields = Fields(data, "a head")
    if len(data) > 2_097_152 or fields.take(8) != b"COFFERH1":
        raise damaged("a head of another length or beginning")
    count, header, state, groups = fields.le16(), fields.lp(1_048_576), fields.lp(14_500), []
    while fields.at < len(data):
        groups.append((fields.le16(), fields.take(32), fields.le32()))
    if count not in [1 << power for power in range(11)] or any(a[0] >= b[0] for a, b in zip(groups, groups[1:])):
        raise damaged("a head whose groups are out of order")
    return count, header, state, groups


def rows_of(data, first, last):
    """(table, idx, rid, meta, value) of each row of a group, whose pairs are `first` up to `last`."""
    fields, rows = Fields(data, "a group"), []
    while fields.at < len(data):
        idx, rid, flags = fields.take(16), fields.take(16), fields.u8()
        rows.append((("rec", "old")[flags & 1], idx, rid, fields.lp(1 << 22), fields.lp(1 << 22) if flags & 2 else None))
    order = [(bucket_of("rec", row[1]), row[0] == "old", row[1]) for row in rows]
    if any(a >= b for a, b in zip(order, order[1:])) or any(not first <= pair < last for pair, _, _ in order):
        raise damaged("a group whose rows are out of order")
    return rows


def assemble(folder, out, request):
    heads = os.listdir(os.path.join(folder, "h"))
    count, header, state, groups = head_of(file(folder, "h/" + max(heads, key=lambda name: int(name.split("-")[0]))))
    rows = []
    for number, hash, length in groups:
        data = file(folder, "o/" + hash.hex())
        if not 0 <= number < count or len(data) != length:
            raise damaged("a group of another number or length")
        rows += rows_of(data, number * 1024 // count, (number + 1) * 1024 // count)
    keys = unlock(Header.read(header), request.secret).keys
    digests = digests_of(keys, [(row[0], row[1], row[2]) for row in sorted(rows)])
    if root_of(keys, digests) != State.read(state, keys, H(header)).root:
        raise tampered("the rows are not the state's")
    vault = database.connect(out, "rwc")
    vault.execute(f"PRAGMA application_id = {database.APPLICATION}")
    vault.execute("PRAGMA user_version = 1")
    for statement in database.TABLES.values():
        vault.execute(statement)
    vault.execute("BEGIN")
    for table, row in (("header", (1, header)), ("header_copy", (2, header)), ("state", (1, state))):
        vault.execute(f"INSERT INTO {table} VALUES (?, ?)", row)
    vault.executemany("INSERT INTO digest VALUES (?, ?)", digests.items())
    for table, *row in rows:
        vault.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", row)
    vault.execute("COMMIT")
    vault.close()


if __name__ == "__main__":
    os.close(os.open(sys.argv[2], os.O_CREAT | os.O_EXCL, 0o600))
    assemble(sys.argv[1], sys.argv[2], Request.of({**json.loads(sys.stdin.readline()), "path": sys.argv[2]}))
