"""One vault whose structures are all as long as the text allows."""

import log
from cases import TIME, Case, start
from header import Keys
from records import DELETED, PRESENT, Meta
from slots import seal_box

EPOCH, HEADER, STATE, ROW, META = 2000, 930_195, 14_500, 4_752, 69_776


def bounds(request):
    """Makes the vault at a place; one key file opens it."""
    key_file = bytes.fromhex(request["keyFile"])
    start(request["path"], key_file)
    case = Case(request["path"], key_file)
    case.writer.extension = lambda: case.source.bytes(4096)
    case.writer.header_extension = lambda: case.source.bytes(65_535)
    fill_header(case)
    for kind in (PRESENT, DELETED):
        case.writer.put(Meta.read(case.largest(kind)), b"value")
    case.writer.append(log.Entry(200, TIME, 1, 1, "p" * 256, bytes(16), case.state.commit, bytes(16), bytes(32), bytes(256),
                                 bytes(4096)))
    case.state.replicas = [(bytes([number]) * 16, 1, bytes(16)) for number in range(255)]
    case.writer.commit()
    lengths = {name: case.writer.connection.execute(f"SELECT max(length({column})) FROM {table}").fetchone()[0]
               for name, table, column in (("header", "header", "bytes"), ("state", "state", "bytes"), ("row", "log", "box"),
                                           ("meta", "rec", "meta"), ("oldMeta", "old", "meta"))}
    case.writer.close()
    assert list(lengths.values()) == [HEADER, STATE, ROW, META, META], "all is as long as the text says"
    return lengths


def fill_header(case):
    """16 slots of types 1 to 4, 240 of type 6, and 1 024 earlier epochs, of which the lowest is that of the own part."""
    header, sealed, vk = case.header, case.sealed, case.keys.vk
    sealed.lineage = [(1, case.keys.lineage)] + [(epoch, case.source.bytes(32)) for epoch in range(3, 1026)]
    header.epoch, case.writer.keys = EPOCH, Keys(vk, header.vault, EPOCH)
    case.keys = case.writer.keys
    seal_box(header, header.slots[0], sealed.names[0][1], vk, case.source.bytes(32), case.source.bytes(24))
    case.key_slots(15)
    case.other_slots(case.source.bytes(3072), count=240)
    sealed.names = [(id, wrap, "l" * 64) for id, wrap, _ in sealed.names]
    case.headers()
