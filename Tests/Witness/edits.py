"""Ways to change a vault's file without any key."""

import sqlite3

import database
from header import Header
from scene import EARLIER, ONE, PAST


class Changed:
    """A copy of a vault: SQL, bytes, and header fields are changed at `path`; `sides` are the files beside it."""

    def __init__(self, scene, path):
        self.scene, self.path, self.sides = scene, path, {}

    def sql(self, *statements):
        connection = self.connect()
        for name in (EARLIER, ONE, PAST):
            base = name.split(".")[0].replace("-", "_")
            connection.execute(f"ATTACH 'file:{self.scene.path(name)}?immutable=1' AS {base}")
        for statement in statements:
            connection.execute(statement)
        connection.close()

    def connect(self):
        connection = sqlite3.connect(f"file:{self.path}", uri=True, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    def schema(self, *statements):
        """SQL over `sqlite_schema` itself."""
        self.sql("PRAGMA writable_schema = ON", *statements)

    def loose(self, *statements):
        """SQL over tables that take any type and NULL, as whoever writes the file byte by byte can."""
        self.schema("UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ' STRICT', ''), ' NOT NULL', ''), ', WITHOUT', "
                    "' WITHOUT')")
        self.sql(*statements)
        self.schema(*(f"UPDATE sqlite_schema SET sql = '{sql}' WHERE name = '{name}'" for name, sql in database.TABLES.items()))

    def bytes(self, change):
        with open(self.path, "rb") as file:
            data = change(file.read())
        with open(self.path, "wb") as file:
            file.write(data)

    def header(self, change, copies=database.HEADER_ROWS):
        """A header with other fields, in both copies or in one, whose digest is that of its bytes."""
        connection = self.connect()
        header = Header.read(database.header_rows(connection)[0])
        change(header)
        for table, id in copies:
            connection.execute(f"UPDATE {table} SET bytes = ? WHERE id = ?", (header.bytes(), id))
        connection.close()


def sql(*statements):
    return lambda file: file.sql(*statements)


def schema(*statements):
    return lambda file: file.schema(*statements)


def loose(*statements):
    return lambda file: file.loose(*statements)


def data(change):
    return lambda file: file.bytes(change)


def at(offset, content):
    return data(lambda old: old[:offset] + content + old[offset + len(content):])


def journal(content):
    return lambda file: file.sides.update({"-journal": content})


def header(change, **more):
    return lambda file: file.header(change, **more)


def slot(of_type, **changes):
    """A header with other bytes in the slot of a type, the first of them: a function of the old bytes, or the new ones."""
    def change(header):
        found = next(one for one in header.slots if one.type == of_type)
        for name, value in changes.items():
            setattr(found, name, value(getattr(found, name)) if callable(value) else value)
    return lambda file: file.header(change)


def flipped(place):
    """The bytes with one of them changed."""
    return lambda old: old[:place % len(old)] + bytes([old[place % len(old)] ^ 1]) + old[place % len(old) + 1:]


def flip(table, column, place, where="1"):
    """One byte of one column of the first row is changed."""
    def run(file):
        connection = file.connect()
        key = {"header": "id", "header_copy": "id", "state": "id", "digest": "bucket", "log": "seq"}.get(table, "idx")
        found = connection.execute(f"SELECT {key}, {column} FROM {table} WHERE {where} ORDER BY {key} LIMIT 1").fetchone()
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (flipped(place)(found[1]), found[0]))
        connection.close()
    return run


def both(change):
    """The same change of both copies of the header, whose digest is not computed anew."""
    return lambda file: file.sql(*(f"UPDATE {table} SET bytes = {change}" for table, _ in database.HEADER_ROWS))


def swap(table, column, key="idx"):
    """Two rows exchange a column."""
    first, second = (f"(SELECT {key} FROM {table} WHERE value IS NOT NULL ORDER BY {key} LIMIT 1 OFFSET {number})" if key == "idx"
                     else f"(SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {number + 2})" for number in (0, 1))
    return sql(f"CREATE TEMP TABLE two AS SELECT {key} AS k, {column} AS c FROM {table} WHERE {key} IN ({first}, {second})",
               f"UPDATE {table} SET {column} = (SELECT c FROM two WHERE k IS NOT {table}.{key}) WHERE {key} IN (SELECT k FROM two)")


def swapped_rows(file):
    """Two rows exchange their places."""
    file.sql("CREATE TEMP TABLE two AS SELECT * FROM rec WHERE value IS NOT NULL ORDER BY idx LIMIT 2",
             "DELETE FROM rec WHERE idx IN (SELECT idx FROM two)",
             "INSERT INTO rec SELECT (SELECT idx FROM two AS other WHERE other.idx IS NOT two.idx), rid, meta, value FROM two")


def same_root(file):
    """Two tables with one tree."""
    file.schema("UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'rec') WHERE name = 'old'")


def deep_schema(file):
    """A schema of more than one page."""
    file.sql(*(f"CREATE VIEW other{number} AS SELECT {number}" for number in range(60)))


def version_of(fmt, min_reader):
    return lambda header: (setattr(header, "fmt", fmt), setattr(header, "min_reader", min_reader))


def unread(header):
    """A version that asks for a newer program, and slots that this one does not know."""
    version_of(2, 2)(header)
    header.slots[0].type = 9


def cost(ops, mem):
    return slot(1, ops=ops, mem=mem)
