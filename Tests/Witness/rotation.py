"""A new key, under which all is sealed again. Source: VaultFormat.md, Rotation."""

import database
import log
from header import Keys
from layout import le64
from records import PRESENT, Later, Meta, open_record, place
from slots import seal_box


def rotate(writer, without=(), changed=None, versions=None, restored=False):
    """A new key: `without` are ids of slots that are left out, `changed` maps ids to slots with another passphrase.

    `versions` are the `fmt` and `min_reader` of a later format. With `restored` the vault is a backup that is put back.
    """
    contents = [(table, open_record(writer.keys, writer.header.fmt, table, row)) for table in ("rec", "old")
                for row in database.record_rows(writer.connection, table)]
    rows = database.log_rows(writer.connection)
    entries, beginning = log.check_log(writer.keys, rows, (writer.state.log_seq, writer.state.log_head))
    former = writer.keys
    if versions:
        upgrade(writer, versions)
    new_epoch(writer, without, changed or {})
    for table in ("rec", "old", "digest"):
        writer.connection.execute(f"DELETE FROM {table}")
    writer.metas = {}
    for table, (meta, value) in contents:
        if isinstance(meta, Later):
            writer.put_later(table, meta, value)
        else:
            writer.put(meta, value)
    names = {meta.names for _, (meta, _) in contents if isinstance(meta, Meta)}
    places = {place(former, PRESENT, each, 0): writer.present_place(each) for each in names}
    writer.state.log_seq, writer.state.log_head = (0, log.NO_HEAD) if beginning is None else (beginning[0] - 1, beginning[1])
    writer.connection.execute("DELETE FROM log WHERE seq > ?", (writer.state.log_seq,))
    for _, entry in entries:
        entry.idx = places.get(entry.idx, entry.idx)
        writer.append(entry)
    if restored:
        writer.entry(log.UNLOCKED, detail=writer.slot)
    for event, ids in ((log.SLOT_REMOVED, without), (log.SLOT_CHANGED, changed or {})):
        for id in ids:
            writer.entry(event, detail=id)
    writer.entry(log.ROTATED, detail=le64(writer.keys.epoch))
    if restored:
        writer.entry(log.RESTORED)
    writer.state.scrub = 1


def upgrade(writer, versions):
    """Says that the vault is of a later format; no `own` is sealed anew, as their keys are others'."""
    writer.header.fmt, writer.header.min_reader = versions
    writer.connection.execute(f"PRAGMA user_version = {versions[1]}")


def new_epoch(writer, without, changed):
    header, sealed = writer.header, writer.sealed
    sealed.lineage = (sealed.lineage + [(writer.keys.epoch, writer.keys.lineage)])[-1024:]
    header.epoch += 1
    writer.keys = Keys(writer.source.bytes(32), header.vault, header.epoch)
    header.slots = [slot for slot in header.slots if slot.id not in without]
    sealed.names = [name for name in sealed.names if name[0] not in without]
    sealed.rotated = writer.time
    for at, slot in enumerate(header.slots):
        if slot.id in changed:
            slot, wrap = writer.slot_with_key(slot.id, changed[slot.id])
            header.slots[at], sealed.names[at] = slot, (slot.id, wrap, changed[slot.id].label)
        seal_box(header, slot, sealed.names[at][1], writer.keys.vk, writer.source.bytes(32), writer.source.bytes(24))
    writer.write_header()
