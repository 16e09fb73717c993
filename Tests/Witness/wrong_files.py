"""Changes of a whole vault that nobody needs a key for: by section of the text, each with its refusal."""

from database import APPLICATION, JOURNAL_END, TABLES
from edits import (at, both, cost, data, deep_schema, flip, flipped, header, journal, loose, same_root, schema, slot, sql, swap,
                   swapped_rows, unread, version_of)
from layout import le64

RECORD = TABLES["rec"]
MAIL = "value IS NOT NULL"
EMPTY = "value IS NULL"


def others(table):
    """The rows of a table as they were one commit ago."""
    return f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM earlier.{table}"


def first(table, column="idx"):
    return f"(SELECT min({column}) FROM {table})"


NOT_A_VAULT = {
    "a file of no bytes": data(lambda old: b""),
    "a text": data(lambda old: b"hello\n"),
    "5 000 letters": data(lambda old: 5000 * b"A"),
    "15 bytes": data(lambda old: old[:15]),
    "one byte": data(lambda old: old[:1]),
    "the magic of SQLite 2": data(lambda old: b"** This file contains an SQLite 2.1 database **\0" + old[48:]),
    "a first byte that was changed": at(0, b"s"),
    "a 16th byte that was changed": at(15, b"\1"),
    "16 bytes of zeros at the beginning": at(0, bytes(16)),
    "another application_id": at(68, (APPLICATION + 1).to_bytes(4, "big")),
    "no application_id": at(68, bytes(4)),
    "an application_id of other order": at(68, APPLICATION.to_bytes(4, "little")),
}
CUT = {
    "a schema of several pages": deep_schema,
    "a row of another table's name": schema("UPDATE sqlite_schema SET tbl_name = 'rec' WHERE name = 'old'"),
    "a table on the page of the schema": schema("UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'decided'"),
    "two tables with their statements exchanged": schema(
        "UPDATE sqlite_schema SET sql = CASE name WHEN 'rec' THEN "
        f"'{TABLES['old']}' ELSE '{TABLES['rec']}' END WHERE name IN ('rec', 'old')"),
    "16 bytes": data(lambda old: old[:16]),
    "99 bytes": data(lambda old: old[:99]),
    "100 bytes": data(lambda old: old[:100]),
    "the first page alone": data(lambda old: old[:4096]),
    "half of the file": data(lambda old: old[:len(old) // 8192 * 4096]),
    "a last page less": data(lambda old: old[:-4096]),
    "a write version of 3": at(18, b"\3"),
    "a read version of 3": at(19, b"\3"),
    "a write version of 0": at(18, b"\0"),
    "a read version of 0": at(19, b"\0"),
    "versions of 255": at(18, b"\xff\xff"),
    "user_version 0": at(60, bytes(4)),
    "user_version -1": at(60, b"\xff\xff\xff\xff"),
    "user_version -2^31": at(60, b"\x80\0\0\0"),
    "a table less": sql("DROP TABLE decided"),
    "no copy of the header": sql("DROP TABLE header_copy"),
    "no table of former contents": sql("DROP TABLE old"),
    "no table": schema("DELETE FROM sqlite_schema"),
    "all pages but the first are zeros": data(lambda old: old[:4096] + bytes(len(old) - 4096)),
}
NEWER = {
    "user_version 2": at(60, (2).to_bytes(4, "big")),
    "user_version 2^31 - 1": at(60, b"\x7f\xff\xff\xff"),
}
SCHEMA = {
    "a table more": sql("CREATE TABLE other (a)"),
    "a table of the same columns more": sql(RECORD.replace("rec", "recs")),
    "a view": sql("CREATE VIEW other AS SELECT * FROM rec"),
    "a view in the place of a table": sql("DROP TABLE old", "CREATE VIEW old AS SELECT * FROM rec"),
    "a trigger": sql("CREATE TRIGGER other AFTER INSERT ON log BEGIN DELETE FROM rec; END"),
    "an index": sql("CREATE INDEX other ON state (bytes)"),
    "a unique index": sql("CREATE UNIQUE INDEX other ON log (box)"),
    "an index over an expression": sql("CREATE INDEX other ON log (length(box))"),
    "statistics": sql("ANALYZE main"),
    "a virtual table": schema(
        "INSERT INTO sqlite_schema VALUES ('table', 'other', 'other', 0, 'CREATE VIRTUAL TABLE other USING fts5(a)')"),
    "a table of another name": schema("UPDATE sqlite_schema SET name = 'olds', tbl_name = 'olds', "
                                      f"sql = '{TABLES['old'].replace('old', 'olds')}' WHERE name = 'old'"),
    "a name in capitals": schema("UPDATE sqlite_schema SET name = 'OLD', tbl_name = 'OLD' WHERE name = 'old'"),
    "a statement with another space": schema("UPDATE sqlite_schema SET sql = replace(sql, 'TABLE ', 'TABLE  ') WHERE name = 'rec'"),
    "a statement in small letters": schema("UPDATE sqlite_schema SET sql = lower(sql) WHERE name = 'state'"),
    "a statement with a comment": schema("UPDATE sqlite_schema SET sql = sql || ' -- vault' WHERE name = 'log'"),
    "a statement with a semicolon": schema("UPDATE sqlite_schema SET sql = sql || ';' WHERE name = 'log'"),
    "a table that is not strict": schema("UPDATE sqlite_schema SET sql = replace(sql, ' STRICT', '') WHERE name = 'digest'"),
    "a table with a column more": sql("ALTER TABLE decided ADD COLUMN more TEXT"),
    "a table with a default": schema(
        "UPDATE sqlite_schema SET sql = replace(sql, 'value BLOB', 'value BLOB DEFAULT 1') WHERE name = 'rec'"),
    "a table with a check": schema("UPDATE sqlite_schema SET sql = replace(sql, 'value BLOB', 'value BLOB CHECK (1)') WHERE name = 'rec'"),
    "a table with a generated column": schema(
        "UPDATE sqlite_schema SET sql = replace(sql, 'value BLOB', 'value BLOB AS (meta)') WHERE name = 'old'"),
    "two tables with one tree": same_root,
}
JOURNALS = {
    "a journal beside a write-ahead log": journal(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504)),
    "a journal whose 28th byte is not zero": journal(bytes(27) + b"\1"),
    "a journal of one byte": journal(b"x"),
    "a journal that names another file": journal(bytes(512) + b"/tmp/other\0\0\0\0\0\0\0\0" + JOURNAL_END),
    "a journal of zeros that ends as one which names a file": journal(bytes(28) + JOURNAL_END),
}
COLUMNS_OPEN = {
    "a state of text": loose("UPDATE state SET bytes = CAST(bytes AS TEXT)"),
    "a state of NULL": loose("UPDATE state SET bytes = NULL"),
    "a state that is a number": loose("UPDATE state SET bytes = 7"),
    "both headers of text": loose(*(f"UPDATE {table} SET bytes = CAST(bytes AS TEXT)" for table in ("header", "header_copy"))),
    "both headers of NULL": loose(*(f"UPDATE {table} SET bytes = NULL" for table in ("header", "header_copy"))),
    "both headers of 439 bytes": both("zeroblob(439)"),
    "a digest of text": loose(f"UPDATE digest SET hash = '{32 * 'x'}' WHERE bucket = {first('digest', 'bucket')}"),
    "a digest of NULL": loose(f"UPDATE digest SET hash = NULL WHERE bucket = {first('digest', 'bucket')}"),
    "a digest that is a number": loose(f"UPDATE digest SET hash = 1.5 WHERE bucket = {first('digest', 'bucket')}"),
}
COLUMNS = {
    "a copy of the header of text": loose("UPDATE header_copy SET bytes = CAST(bytes AS TEXT)"),
    "a description of text": loose(f"UPDATE rec SET meta = CAST(meta AS TEXT) WHERE idx = {first('rec')}"),
    "a description of NULL": loose(f"UPDATE rec SET meta = NULL WHERE idx = {first('rec')}"),
    "a description of 143 bytes": sql(f"UPDATE rec SET meta = zeroblob(143) WHERE idx = {first('rec')}"),
    "a value of text": loose(f"UPDATE rec SET value = '{272 * 'x'}' WHERE idx = {first('rec')}"),
    "a value of 271 bytes": sql(f"UPDATE rec SET value = zeroblob(271) WHERE idx = {first('rec')}"),
    "a value of no bytes": sql(f"UPDATE rec SET value = x'' WHERE idx = {first('rec')}"),
    "a value that is a number": loose(f"UPDATE rec SET value = 5 WHERE idx = {first('rec')}"),
    "a row of the log of text": loose("UPDATE log SET box = '" + 200 * "x" + "' WHERE seq = 10"),
    "a row of the log of NULL": loose("UPDATE log SET box = NULL WHERE seq = 10"),
    "an outcome of text": loose("UPDATE decided SET outcome = 'one'"),
    "an outcome of NULL": loose("UPDATE decided SET outcome = NULL"),
    "a time of an outcome that is a fraction": loose("UPDATE decided SET time = 1.5"),
    "an idx of text": loose("INSERT INTO rec SELECT 'sixteen letters.', rid, meta, value FROM rec LIMIT 1"),
    "an idx that is a number": loose("INSERT INTO old SELECT 7, rid, meta, value FROM old LIMIT 1"),
    "a transaction of text": loose("INSERT INTO decided VALUES ('0123456789abcdef', 1, 1)"),
}
ROWS = {
    "a row that is gone": sql(f"DELETE FROM rec WHERE idx = {first('rec')}"),
    "no row": sql("DELETE FROM rec"),
    "a former content that is gone": sql(f"DELETE FROM old WHERE idx = {first('old')}"),
    "a row twice": sql(f"INSERT INTO rec SELECT x'{16 * 'ff'}', rid, meta, value FROM rec WHERE idx = {first('rec')}"),
    "two rows in each other's place": swapped_rows,
    "two rows with each other's rid": swap("rec", "rid"),
    "a row of the past": sql("REPLACE INTO rec SELECT was.* FROM earlier.rec AS was JOIN rec USING (idx) WHERE was.rid IS NOT rec.rid"),
    "all rows and digests of the past": sql(*others("rec"), *others("old"), *others("digest")),
    "a row of another vault": sql("INSERT INTO rec SELECT * FROM one_slot.rec"),
    "a row of an earlier epoch": sql("INSERT INTO rec SELECT * FROM past.rec LIMIT 1"),
    "a former content as a present one": sql("INSERT INTO rec SELECT * FROM old LIMIT 1"),
    "a present content as a former one": sql("INSERT INTO old SELECT * FROM rec LIMIT 1"),
    "another idx": flip("rec", "idx", 15),
    "another bucket's idx": flip("rec", "idx", 0),
    "another rid": flip("rec", "rid", 0),
    "another rid of a former content": flip("old", "rid", 15),
    "another digest": flip("digest", "hash", 0),
    "a digest that is gone": sql(f"DELETE FROM digest WHERE bucket = {first('digest', 'bucket')}"),
    "a former contents' digest that is gone": sql("DELETE FROM digest WHERE bucket = (SELECT max(bucket) FROM digest)"),
    "no digest": sql("DELETE FROM digest"),
    "two digests in each other's place": sql(
        "CREATE TEMP TABLE two AS SELECT * FROM digest LIMIT 2", "DELETE FROM digest WHERE bucket IN (SELECT bucket FROM two)",
        "INSERT INTO digest SELECT (SELECT bucket FROM two AS other WHERE other.bucket IS NOT two.bucket), hash FROM two"),
    "all digests of the past": sql(*others("digest")),
}
ROWS_SHAPE = {
    "a rid of 17 bytes": sql(f"UPDATE rec SET rid = CAST(rid || x'00' AS BLOB) WHERE idx = {first('rec')}"),
    "a rid of 15 bytes": sql(f"UPDATE rec SET rid = substr(rid, 2) WHERE idx = {first('rec')}"),
    "a former row with an idx of one byte": sql("INSERT INTO old SELECT x'00', rid, meta, value FROM old LIMIT 1"),
    "a row after all others": sql(f"INSERT INTO rec SELECT x'{17 * 'ff'}', rid, meta, value FROM rec LIMIT 1"),
    "a row with an idx of 17 bytes": sql("INSERT INTO rec SELECT CAST(idx || x'00' AS BLOB), rid, meta, value FROM rec LIMIT 1"),
    "a row with an idx of 15 bytes": sql("INSERT INTO rec SELECT substr(idx, 1, 15), rid, meta, value FROM rec LIMIT 1"),
    "a row without an idx": sql("INSERT INTO rec SELECT x'', rid, meta, value FROM rec LIMIT 1"),
}
ROWS_OPEN = {name: change for name, change in ROWS.items() if "digest" in name}
ROWS = {name: change for name, change in ROWS.items() if name not in ROWS_OPEN}
RECORDS = {
    "a value beside a record that has none": sql(f"UPDATE rec SET value = (SELECT value FROM rec WHERE {MAIL} LIMIT 1) WHERE {EMPTY}"),
    "a description's first byte": flip("rec", "meta", 0),
    "a description's tag": flip("rec", "meta", -1),
    "a value's first byte": flip("rec", "value", 0, MAIL),
    "a value's tag": flip("rec", "value", -1, MAIL),
    "a former content's description": flip("old", "meta", 7),
    "a former content's value": flip("old", "value", 7, MAIL),
    "two descriptions in each other's place": swap("rec", "meta"),
    "two values in each other's place": swap("rec", "value"),
    "a description of the past": sql(
        "UPDATE rec SET meta = (SELECT meta FROM earlier.rec AS was WHERE was.idx = rec.idx) WHERE idx IN (SELECT idx FROM earlier.rec)"),
    "a value of the past": sql("UPDATE rec SET value = (SELECT value FROM earlier.rec AS was WHERE was.idx = rec.idx) "
                               "WHERE value IS NOT NULL AND idx IN (SELECT idx FROM earlier.rec)"),
    "a value that is gone": sql(f"UPDATE rec SET value = NULL WHERE idx = (SELECT min(idx) FROM rec WHERE {MAIL})"),
    "a description with one byte more": sql(f"UPDATE rec SET meta = CAST(meta || x'00' AS BLOB) WHERE {EMPTY}"),
    "a description that is longer": sql(f"UPDATE rec SET meta = CAST(meta || zeroblob(128) AS BLOB) WHERE idx = {first('rec')}"),
    "a value that is longer": sql(f"UPDATE rec SET value = CAST(value || zeroblob(256) AS BLOB) WHERE {MAIL}"),
}
HEADER_TAMPERED = {
    "another epoch": header(lambda it: setattr(it, "epoch", 4)),
    "an earlier epoch": header(lambda it: setattr(it, "epoch", 2)),
    "a later fmt": header(version_of(2, 1)),
    "a slot less": header(lambda it: it.slots.remove(next(one for one in it.slots if one.type == 4))),
    "another nonce of the sealed part": header(lambda it: setattr(it, "box", flipped(0)(it.box))),
    "another commitment of the sealed part": header(lambda it: setattr(it, "box", flipped(24)(it.box))),
    "another byte of the sealed part": header(lambda it: setattr(it, "box", flipped(56)(it.box))),
    "another tag of the sealed part": header(lambda it: setattr(it, "box", flipped(-1)(it.box))),
    "a sealed part of 72 bytes": header(lambda it: setattr(it, "box", it.box[:72])),
    "a sealed part that is cut by one byte": header(lambda it: setattr(it, "box", it.box[:-1])),
    "a byte after the sealed part's last": header(lambda it: setattr(it, "box", it.box + b"\0")),
    "another slot's point": slot(4, point=flipped(0)),
    "another slot's type": slot(1, type=2),
    "the header of the past": sql("UPDATE header SET bytes = (SELECT bytes FROM past.header)",
                                  "UPDATE header_copy SET bytes = (SELECT bytes FROM past.header)"),
}
HEADER_DAMAGED = {
    "a digest's first byte": both("CAST(substr(bytes, 1, length(bytes) - 32) || zeroblob(32) AS BLOB)"),
    "a header that is cut by one byte": both("substr(bytes, 1, length(bytes) - 1)"),
    "a header with one byte more": both("CAST(bytes || x'00' AS BLOB)"),
    "a magic whose digest does not fit": both("CAST(x'00' || substr(bytes, 2) AS BLOB)"),
    "a header of zeros": both("zeroblob(1000)"),
    "min_reader 0 without a key": header(version_of(1, 0)),
    "fmt 0 without a key": header(version_of(0, 1)),
    "fmt and min_reader 0": header(version_of(0, 0)),
    "an epoch of 0": header(lambda it: setattr(it, "epoch", 0)),
    "slots in another order": header(lambda it: it.slots.reverse()),
}
HEADER_NEWER = {
    "min_reader 2": header(version_of(2, 2)),
    "min_reader above fmt": header(version_of(1, 2)),
    "min_reader 2^32 - 1": header(version_of((1 << 32) - 1, (1 << 32) - 1)),
    "min_reader 2 and a slot of type 9": header(unread),
    "min_reader 2 in the first copy alone": header(version_of(2, 2), copies=(("header", 1),)),
}
SECOND = (("header_copy", 2),)
COPY_TAMPERED = {
    "a second header that is another, and right by itself": header(lambda it: setattr(it, "box", flipped(0)(it.box)), copies=SECOND),
    "the header of the past as the second": sql("UPDATE header_copy SET bytes = (SELECT bytes FROM past.header)"),
}
COPY_NEWER = {
    "min_reader 2 in the second copy alone": header(version_of(2, 2), copies=SECOND),
}
SLOTS_WRONG = {
    "another id of the vault": header(lambda it: setattr(it, "vault", flipped(0)(it.vault))),
    "another id of the slot": slot(3, id=flipped(-1)),
    "another type of the slot": slot(3, type=4),
    "another salt": slot(3, salt=flipped(0)),
    "another public key": slot(3, pk=flipped(0)),
    "another nonce of own": slot(3, own=flipped(0)),
    "another commitment of own": slot(3, own=flipped(24)),
    "another byte of own": slot(3, own=flipped(56)),
    "another tag of own": slot(3, own=flipped(-1)),
}
SLOTS_TAMPERED = {
    "another point of the box": slot(3, point=flipped(0)),
    "a point of zeros": slot(3, point=bytes(32)),
    "another nonce of the box": slot(3, box=flipped(0)),
    "another commitment of the box": slot(3, box=flipped(24)),
    "another byte of the box": slot(3, box=flipped(56)),
    "another tag of the box": slot(3, box=flipped(-1)),
}
RECIPIENT_WRONG = {
    "a recipient's other public key": slot(5, pk=flipped(0)),
    "a recipient's other point": slot(5, point=flipped(0)),
    "a recipient's point of zeros": slot(5, point=bytes(32)),
    "a recipient's other box": slot(5, box=flipped(60)),
    "a recipient's other id": slot(5, id=flipped(-1)),
}
NOT_TRIED = {
    "no passes": cost(0, 8), "65 passes": cost(65, 8), "2^32 - 1 passes": cost((1 << 32) - 1, 8), "no memory": cost(1, 0),
    "7 MiB": cost(1, 7), "2 049 MiB": cost(1, 2049), "2^32 - 1 MiB": cost(1, (1 << 32) - 1), "9 passes over 2 048 MiB": cost(9, 2048),
    "a cost of zeros": cost(0, 0),
}
PASSPHRASE_WRONG = {
    "another number of passes": cost(2, 8), "another amount of memory": cost(1, 9),
    "a passphrase's other salt": slot(1, salt=flipped(0)), "a passphrase slot's other public key": slot(1, pk=flipped(0)),
}
STATE = {
    "a state's generation": flip("state", "bytes", 0),
    "a state's nonce": flip("state", "bytes", 8),
    "a state's commitment": flip("state", "bytes", 32),
    "a state's content": flip("state", "bytes", 64),
    "a state's tag": flip("state", "bytes", -1),
    "a state that is cut by one byte": sql("UPDATE state SET bytes = substr(bytes, 1, length(bytes) - 1)"),
    "a state with one byte more": sql("UPDATE state SET bytes = CAST(bytes || x'00' AS BLOB)"),
    "the state of the past": sql(*others("state")),
    "the state of an earlier epoch": sql("UPDATE state SET bytes = (SELECT bytes FROM past.state)"),
    "the state of another vault": sql("UPDATE state SET bytes = (SELECT bytes FROM one_slot.state)"),
    "a generation of 0 in the clear": sql("UPDATE state SET bytes = CAST(zeroblob(8) || substr(bytes, 9) AS BLOB)"),
    "a generation of 2^62 and 1 in the clear": sql(
        f"UPDATE state SET bytes = CAST(x'{le64((1 << 62) + 1).hex()}' || substr(bytes, 9) AS BLOB)"),
    "a state of zeros": sql(f"UPDATE state SET bytes = CAST(x'{le64(9).hex()}' || zeroblob(196) AS BLOB)"),
}
STATE_DAMAGED = {
    "a state of 8 bytes": sql("UPDATE state SET bytes = substr(bytes, 1, 8)"),
    "no state": sql("DELETE FROM state"),
}
LOG = {
    "a row's nonce": flip("log", "box", 0, "seq = 10"),
    "a row's content": flip("log", "box", 30, "seq = 10"),
    "a row's tag": flip("log", "box", -1, "seq = 10"),
    "the last row's tag": flip("log", "box", -1, "seq = (SELECT max(seq) FROM log)"),
    "the beginning": flip("log", "box", 0),
    "a beginning that is gone": sql("DELETE FROM log WHERE length(box) = 32"),
    "a last row that is gone": sql("DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)"),
    "a row in the middle that is gone": sql("DELETE FROM log WHERE seq = 11"),
    "two rows of the log in each other's place": swap("log", "box", "seq"),
    "the last row twice": sql("INSERT INTO log SELECT seq + 1, box FROM log WHERE seq = (SELECT max(seq) FROM log)"),
    "the log of the past": sql(*others("log")),
    "the log of an earlier epoch": sql("DELETE FROM log", "INSERT INTO log SELECT * FROM past.log"),
    "a row of the log of an earlier epoch": sql(
        "UPDATE log SET box = (SELECT box FROM past.log AS was WHERE was.seq = log.seq) WHERE seq = 10"),
    "rows that all begin one later": sql("UPDATE log SET seq = -seq", "UPDATE log SET seq = 1 - seq"),
    "a row of 32 bytes before the beginning": sql("INSERT INTO log VALUES (1, zeroblob(32))"),
    "a row cut by one byte": sql("UPDATE log SET box = substr(box, 2) WHERE seq = 10"),
}
DAMAGED, TAMPERED = "damaged", "tampered"
SECTIONS = [  # Section, when at the latest, the secret, the refusal, the changes.
    ("The database", "open", "owner", "not a vault", NOT_A_VAULT), ("The database", "open", "owner", DAMAGED, CUT),
    ("The database", "open", "owner", "newer", NEWER), ("The database", "open", "owner", TAMPERED, SCHEMA | JOURNALS),
    ("The database", "open", "owner", DAMAGED, COLUMNS_OPEN), ("The database", "verify", "owner", DAMAGED, COLUMNS),
    ("The set of records", "open", "owner", TAMPERED, ROWS_OPEN), ("The set of records", "verify", "owner", TAMPERED, ROWS),
    ("The set of records", "verify", "owner", DAMAGED, ROWS_SHAPE), ("Records", "verify", "owner", TAMPERED, RECORDS),
    ("Header", "open", "owner", TAMPERED, HEADER_TAMPERED), ("Header", "open", "owner", DAMAGED, HEADER_DAMAGED),
    ("Header", "open", "owner", "newer", HEADER_NEWER), ("Header", "verify", "owner", TAMPERED, COPY_TAMPERED),
    ("Header", "verify", "owner", "newer", COPY_NEWER), ("Slots", "open", "owner", "wrong secret", SLOTS_WRONG),
    ("Slots", "open", "owner", TAMPERED, SLOTS_TAMPERED), ("Slots", "open", "friend", "wrong secret", RECIPIENT_WRONG),
    ("Slots", "open", "passphrase", "not tried", NOT_TRIED),
    ("Slots", "open", "passphrase", "wrong secret", PASSPHRASE_WRONG), ("State", "open", "owner", TAMPERED, STATE),
    ("State", "open", "owner", DAMAGED, STATE_DAMAGED), ("Log", "verify", "owner", TAMPERED, LOG),
]
