"""What a vault holds, as JSON: made by a reader of what it read, and by a writer of what it wrote."""

from header import OTHER


def slot(slot, label):
    return {"id": slot.id.hex(), "type": slot.type, "alg": slot.alg, "ops": slot.ops, "mem": slot.mem, "label": label,
            "other": slot.own.hex() if slot.type == OTHER else None}


def record(meta, value):
    return {
        "id": meta.id.hex(), "kind": meta.kind, "service": meta.service, "account": meta.account, "field": meta.field,
        "revision": meta.revision, "label": meta.label, "contentType": meta.type, "created": meta.created,
        "modified": meta.modified, "written": meta.written, "expires": meta.expires, "history": meta.history,
        "attributes": [list(pair) for pair in meta.attributes],
        "deletedBy": meta.deletion and meta.deletion[0].hex(), "until": meta.deletion and meta.deletion[1],
        "value": None if value is None else value.hex(),
    }


def entry(seq, entry, subjects):
    """`subject` are the names of the record that the entry is about, where a record of the vault has them."""
    return {
        "seq": seq, "event": entry.event, "time": entry.time, "uid": entry.uid, "pid": entry.pid, "program": entry.program,
        "subject": subjects.get(entry.idx), "commit": entry.commit.hex(), "slot": entry.slot.hex(),
        "detail": entry.detail.hex(),
    }


def whole(header, sealed, keys, state, records, entries, beginning, decided, place):
    """All of a vault; `records` are (meta, value), and `place` gives the idx of a present record's names."""
    subjects = {place(meta.names): list(meta.names) for meta, _ in records}
    ordered = sorted(records, key=lambda row: ([name.encode() for name in row[0].names], row[0].kind, row[0].revision))
    return {
        "vault": header.vault.hex(), "format": header.fmt, "epoch": header.epoch, "mark": keys.mark.hex(),
        "created": sealed.created, "rotated": sealed.rotated, "floor": list(sealed.floor),
        "slots": [slot(one, name[2]) for one, name in zip(header.slots, sealed.names)],
        "earlierEpochs": [epoch for epoch, _ in sealed.lineage],
        "generation": state.generation, "commit": state.commit.hex(), "time": state.time,
        "count": state.counts[0], "items": state.counts[1], "fields": state.counts[2], "scrub": state.scrub,
        "replicas": [{"id": id.hex(), "generation": generation, "commit": commit.hex()}
                     for id, generation, commit in state.replicas],
        "records": [record(*row) for row in ordered],
        "log": [entry(seq, row, subjects) for seq, row in entries], "logBegins": beginning[0] if beginning else 1,
        "decided": [{"id": id.hex(), "outcome": outcome, "time": time} for id, outcome, time in decided],
    }
