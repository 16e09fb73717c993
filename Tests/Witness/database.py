"""The database around the sealed bytes. Source: VaultFormat.md, The database."""

import os
import sqlite3

from layout import LARGEST, Refused, damaged, tampered

APPLICATION = 0x50564C54
TABLES = {
    "header": "CREATE TABLE header (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT",
    "header_copy": "CREATE TABLE header_copy (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT",
    "state": "CREATE TABLE state (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT",
    "digest": "CREATE TABLE digest (bucket INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT",
    "rec": "CREATE TABLE rec (idx BLOB PRIMARY KEY, rid BLOB NOT NULL, meta BLOB NOT NULL, value BLOB) STRICT, WITHOUT ROWID",
    "old": "CREATE TABLE old (idx BLOB PRIMARY KEY, rid BLOB NOT NULL, meta BLOB NOT NULL, value BLOB) STRICT, WITHOUT ROWID",
    "log": "CREATE TABLE log (seq INTEGER PRIMARY KEY, box BLOB NOT NULL) STRICT",
    "decided": "CREATE TABLE decided (txid BLOB PRIMARY KEY, outcome INTEGER NOT NULL, time INTEGER NOT NULL)"
               " STRICT, WITHOUT ROWID",
}
HEADER_ROWS = (("header", 1), ("header_copy", 2))
JOURNAL_END = bytes.fromhex("d9d505f920a163d7")
ROW_LIMIT = 4_194_304


class Text(bytes):
    """A column of type TEXT, so that its bytes are never taken for a blob's."""


def check_file(path):
    """What is looked at before SQLite opens the file."""
    with open(path, "rb") as file:
        start = file.read(112)
    if start[:16] != b"SQLite format 3\0":
        raise Refused("not a vault", "the file does not begin as a database does")
    if len(start) < 100:
        raise damaged("the file was cut within its first 100 bytes")
    if int.from_bytes(start[68:72], "big") != APPLICATION:
        raise Refused("not a vault", "the database is another program's")
    if start[18] not in (1, 2) or start[19] not in (1, 2):
        raise damaged("a file format version that there is not")
    wal = path + "-wal"
    if not (os.path.exists(wal) and os.path.getsize(wal)) and len(start) > 100 and start[100] != 0x0D:
        raise damaged("the schema takes more than one page")
    check_journal(path + "-journal", 2 in start[18:20])


def check_journal(path, write_ahead):
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        content = file.read()
    if content.endswith(JOURNAL_END):
        raise tampered("a journal that names another file")
    if write_ahead and content[:28].strip(b"\0"):
        raise tampered("a journal beside a vault that has none")


def connect(path, mode):
    connection = sqlite3.connect(f"file:{path.replace('%', '%25').replace('?', '%3f')}?mode={mode}", uri=True,
                                 isolation_level=None, timeout=30)
    connection.text_factory = Text
    connection.execute("PRAGMA synchronous = OFF")  # A vault of a test need not outlive a power cut.
    if hasattr(connection, "setlimit"):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, ROW_LIMIT)
    return connection


def number(connection, pragma):
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]


def check_schema(connection):
    """What is looked at before any table is read."""
    if number(connection, "application_id") != APPLICATION:
        raise Refused("not a vault", "the database is another program's")
    version = number(connection, "user_version")
    if version != 1:
        raise Refused("newer" if version > 1 else "damaged", f"user_version is {version}")
    if number(connection, "page_count") >= 1 << 24:
        raise damaged("the file has 2^24 pages or more")
    rows = connection.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema").fetchall()
    for kind, name, table, _, sql in rows:
        if not all(type(text) is Text for text in (kind, name, table, sql)) or (kind, table) != (b"table", name):
            raise tampered("the schema has another row than a vault's")
        if TABLES.get(name.decode("latin-1")) != sql.decode("latin-1"):
            raise tampered("the schema has another row than a vault's")
    if len({row[1] for row in rows}) != len(rows):
        raise tampered("the schema has a table twice")
    if len(rows) < len(TABLES):
        raise damaged("a table is missing")
    roots = {row[3] for row in rows}
    if len(roots) != len(rows) or 1 in roots:
        raise tampered("two tables share a page")



def blob(value, least, most):
    if type(value) is not bytes or not least <= len(value) <= most:
        raise damaged("a column of another type or length")
    return value


def integer(value, least, most):
    if type(value) is not int or not least <= value <= most:
        raise damaged("a column of another type or length")
    return value


def ascending(rows, refused=damaged):
    """The rows of a scan, whose key comes first; ends at one that does not ascend, as pages may lead back to each other."""
    last = None
    for row in rows:
        if last is not None and row[0] <= last:
            raise refused("rows that do not ascend")
        last = row[0]
        yield row


def header_rows(connection):
    """The bytes of each copy, or None where its row is missing or no header can be that long."""
    found = []
    for table, id in HEADER_ROWS:
        row = connection.execute(f"SELECT bytes FROM {table} WHERE id = ?", (id,)).fetchone()
        found.append(row[0] if row and type(row[0]) is bytes else None)
    return found


def only_row(connection, table, id):
    """Refuses rows of other ids, which no reader looks at but one that verifies."""
    if any(found != id for found, in ascending(connection.execute(f"SELECT id FROM {table} ORDER BY id"))):
        raise tampered(f"{table} has a row that no vault has")


def state_row(connection):
    row = connection.execute("SELECT bytes FROM state WHERE id = 1").fetchone()
    if row is None:
        raise damaged("the state is missing")
    return blob(row[0], 204, 14_500)


def digest_rows(connection):
    digests = {}
    for bucket, hash in ascending(connection.execute("SELECT bucket, hash FROM digest ORDER BY bucket")):
        if blob(hash, 32, 32) == bytes(32):
            raise tampered("an empty bucket has a digest")
        digests[integer(bucket, 0, 2047)] = hash
    return digests


def record_rows(connection, table):
    """Every row of `rec` or `old`, as a scan in the order of `idx` finds it."""
    found = connection.execute(f"SELECT idx, rid, meta, value FROM {table} ORDER BY idx")
    rows = ((blob(idx, 16, 16), blob(rid, 16, 16), blob(meta, 144, 69_776),
             None if value is None else blob(value, 272, 2_359_312)) for idx, rid, meta, value in found)
    return list(ascending(rows))


def log_rows(connection):
    """Every row of the log, as far as its columns have their types: a number or a length out of bounds is *tampered*."""
    found = connection.execute("SELECT seq, box FROM log ORDER BY seq")
    rows = list(ascending(((integer(seq, -LARGEST * 2, LARGEST * 2), blob(box, 0, ROW_LIMIT)) for seq, box in found), tampered))
    if any(not 1 <= seq <= LARGEST or not (144 <= len(box) <= 4_752 or len(box) == 32) for seq, box in rows):
        raise tampered("a row of the log of another number or length")
    return rows


def decided_rows(connection):
    found = connection.execute("SELECT txid, outcome, time FROM decided ORDER BY txid")
    rows = list(ascending((blob(id, 16, 16), integer(outcome, 1, 2), integer(time, 0, 1 << 53)) for id, outcome, time in found))
    if sum(outcome == 2 for _, outcome, _ in rows) > 256:
        raise damaged("more than 256 transactions were dropped")
    return rows


def check_pages(connection):
    if connection.execute("PRAGMA quick_check").fetchall() != [(b"ok",)]:
        raise damaged("SQLite finds the file broken")
