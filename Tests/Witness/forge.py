"""What those can forge who can write the file: one without any key, and one who once had it.

Source: VaultFormat.md, Lineage and anchors.
"""

import database
import log
from header import Header, Keys, Sealed
from reader import Request, open_vault
from records import NO_VALUE, PRESENT, Meta
from slots import seal_box
from source import Source
from state import State
from writer import Writer

TIME = 1_800_000_000_000


def forge(request):
    """Puts a forged vault in the place `path`; whoever had the key has an older copy at `old`, and his secret for it."""
    connection = database.connect(request["path"], "rw")
    source = Source(request.get("seed"))
    present = Header.read(database.header_rows(connection)[0])
    maker = former_member if "old" in request else without_key
    header, sealed, keys = maker(request, present, source)
    for slot, (_, wrap, _) in zip(header.slots, sealed.names):
        seal_box(header, slot, wrap, keys.vk, source.bytes(32), source.bytes(24))
    fill(connection, source, header, sealed, keys)
    connection.close()
    return {"vault": header.vault.hex(), "epoch": header.epoch}


def guesses(epochs, known, source):
    """Entries for the epochs below: what is known, and else what looks like a secret."""
    return [(epoch, known.get(epoch) or source.bytes(32)) for epoch in epochs]


def without_key(request, present, source):
    """A vault for the recipients of the present one, whose W is no secret."""
    vault = present.vault if request.get("sameVault", True) else source.bytes(16)
    slots = [slot for slot in present.slots if slot.type == 5]
    header = Header(1, 1, vault, request["epoch"], slots)
    names = [(slot.id, bytes(32), "friend") for slot in slots]
    lineage = guesses(range(1, header.epoch), {}, source)
    return header, Sealed(TIME, TIME, (1, 8), names, lineage), Keys(source.bytes(32), vault, header.epoch)


def former_member(request, present, source):
    """A vault for all slots of the epoch in which the member still had the key; he knows L up to that."""
    known = open_vault(Request.of({"path": request["old"], "keyFile": request["keyFile"]}))
    header = Header(1, 1, present.vault, request["epoch"], known.header.slots)
    secrets = {**dict(known.sealed.lineage), known.keys.epoch: known.keys.lineage}
    sealed = Sealed(TIME, TIME, known.sealed.floor, known.sealed.names, guesses(range(1, header.epoch), secrets, source))
    return header, sealed, Keys(source.bytes(32), present.vault, header.epoch)


def fill(connection, source, header, sealed, keys):
    """Fills the vault with one item, at a generation above the present one."""
    generation = int.from_bytes(database.state_row(connection)[:8], "little") + 5
    state = State(generation, b"", b"", (0, 0, 0), TIME, 0, log.NO_HEAD, 0, [])
    writer = Writer(connection, source, header, sealed, keys, state)
    writer.begin(TIME)
    for table in ("rec", "old", "digest", "log"):
        connection.execute(f"DELETE FROM {table}")
    writer.write_header()
    writer.put(Meta(kind=PRESENT, revision=1, id=source.bytes(16), service="forged", account="", field="", label="", type="",
                    created=TIME, modified=TIME, written=TIME, expires=0, history=0, length=NO_VALUE, attributes=[],
                    deletion=None, ext=b""), None)
    writer.entry(log.CREATED)
    writer.commit()
