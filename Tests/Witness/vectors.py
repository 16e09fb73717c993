"""An example of every structure of the format, with all secrets that belong to it: `Fixtures/Vectors/format-1.json`."""

import log
from credentials import Invitation, KeyFile, Secret, key_file_line, line_of, recovery_text
from header import OTHER, RECIPIENT, Header, Keys, Sealed, mark_of
from lineage import Pin
from primitives import H, public_key
from records import DELETED, FORMER, NO_VALUE, PRESENT, Meta, seal_record
from slots import make_slot, other_slot, seal_box, seal_own
from source import Source
from state import State, digests_of, root_of

EPOCH, GENERATION, TIME = 7, 42, 1_767_225_600_000
COUNTS = (7, 4, 1)  # Of the records below, of the items among them, and of the fields.
LABELS = {1: "passphrase", 2: "beides", 3: "key file", 4: "", 5: "a recipient", 6: "a chip"}
SLOT_EPOCHS = {1: 3, 2: 7, 3: 6, 4: 3}
PASSPHRASE = "correct horse bättery staple"


class Vectors:
    """All of it is drawn from one seed, so that the file can be made again."""

    def __init__(self):
        self.source = Source("format-1")
        draw = self.source.bytes
        self.vault, self.vk = draw(16), draw(32)
        self.keys = Keys(self.vk, self.vault, EPOCH)
        self.earlier = {epoch: Keys(draw(32), self.vault, epoch) for epoch in (3, 5, 6)}
        self.key_file, self.code, self.identity = key_file_line(draw(32)) + b"\n", draw(20), draw(32)
        self.commit = draw(16)
        self.header, self.slots = self.make_header()
        self.records, rows = self.make_records()
        self.entry, self.row = self.make_log()
        self.state = self.make_state(rows)

    def secret(self, type):
        """What opens the slot of a type: the files' contents."""
        key_file = KeyFile(self.key_file)
        return Secret(passphrase=PASSPHRASE.encode() if type <= 2 else None, key_file=key_file if type in (2, 3) else None,
                      recovery=self.code if type == 4 else None, identity=self.identity if type == 5 else None)

    def mark(self, epoch):
        return self.keys.mark if epoch == EPOCH else self.earlier[epoch].mark

    def make_header(self):
        draw, header, names, told = self.source.bytes, Header(1, 1, self.vault, EPOCH, []), [], {}
        for type, label in LABELS.items():
            sk, wrap = (self.identity, bytes(32)) if type == RECIPIENT else (draw(32), draw(32))
            if type == OTHER:
                slot = other_slot(draw(16), 200, 7, 1 << 31, draw(16), public_key(sk), b"what another program knows")
            else:
                slot = make_slot(draw(16), type, draw(16), sk, *((1, 8) if type <= 2 else (0, 0)))
            one = {"id": slot.id.hex(), "kind": type, "mix": wrap.hex(), "label": label}
            if type == OTHER:
                one["other"] = {"alg": slot.alg, "ops": slot.ops, "mem": slot.mem, "salt": slot.salt.hex(),
                                "x": slot.own.hex(), "secretKey": sk.hex()}
            elif type != RECIPIENT:
                key, epoch = self.secret(type).key(type, slot.salt, slot.ops, slot.mem), SLOT_EPOCHS[type]
                seal_own(header, slot, key, sk, wrap, (epoch, self.mark(epoch)), draw(24))
                one["own"] = {"ikm": key.hex(), "secretKey": sk.hex(), "epoch": epoch, "mark": self.mark(epoch).hex()}
            seal_box(header, slot, wrap, self.vk, draw(32), draw(24))
            header.slots.append(slot)
            names.append((slot.id, wrap, label))
            told[slot.id] = one
        header.slots.sort(key=lambda slot: slot.id)
        lineage = [(epoch, keys.lineage) for epoch, keys in self.earlier.items()]
        header.seal(self.keys, Sealed(TIME - 9_000, TIME - 5_000, (3, 64), sorted(names), lineage), draw(24))
        return header, [told[slot.id] for slot in header.slots]

    def make_records(self):
        """Present contents, a field, one of no value and one of no bytes, a former and a deleted content."""
        big = self.source.bytes(5000)
        plan = [
            (PRESENT, "example.org", "ann", "", 3, "Mail", "text/plain", b"hunter2", [("env", "prod"), ("é", "1\0")]),
            (PRESENT, "example.org", "ann", "one-time code", 1, "", "application/x-otp", b"otpauth://totp/x", []),
            (PRESENT, "example.org", "", "", 3, "", "", b"", []),
            (PRESENT, "café", "big", "", 3, "", "application/octet-stream", big, []),
            (PRESENT, "note", "no value", "", 3, "", "", None, []),
            (FORMER, "example.org", "ann", "", 2, "Mail", "text/plain", b"hunter1", [("env", "test")]),
            (DELETED, "gone", "bob", "", 9, "", "", b"last words", []),
        ]
        told, rows, ids = [], [], {}
        for kind, service, account, field, revision, label, type, value, attributes in plan:
            meta = Meta(kind=kind, revision=revision, id=ids.setdefault((service, account, field), self.source.bytes(16)),
                        service=service, account=account, field=field, label=label, type=type,
                        created=TIME - 9_000, modified=TIME - 100, written=TIME - 900,
                        expires=TIME + 10**11 if label else 0, history=2,
                        length=NO_VALUE if value is None else len(value), attributes=attributes,
                        deletion=(self.commit, TIME + 10**10) if kind == DELETED else None, ext=b"")
            table = "rec" if kind == PRESENT else "old"
            row = seal_record(self.keys, meta, value, self.source.bytes(16))
            rows.append((table, row[0], row[1]))
            told.append({
                "kind": kind, "service": service, "account": account, "field": field, "revision": revision,
                "record": meta.id.hex(), "created": meta.created, "modified": meta.modified, "written": meta.written,
                "deletedBy": meta.deletion and meta.deletion[0].hex(), "until": meta.deletion and meta.deletion[1],
                "label": label, "contentType": type, "attributes": [list(pair) for pair in attributes], "expires": meta.expires,
                "index": row[0].hex(), "id": row[1].hex(), "meta": row[2].hex(), "value": row[3] and row[3].hex(),
                "plain": None if value is None else value.hex(), "description": meta.bytes().hex(),
            })
        return told, sorted(rows, key=lambda row: (row[0] != "rec", row[1]))

    def make_log(self):
        subject = bytes.fromhex(self.records[0]["index"])
        entry = log.Entry(log.SET, TIME, 1000, 4242, "coffer", subject, self.commit, self.header.slots[0].id, log.NO_HEAD, b"")
        return entry, log.seal_entry(self.keys, 1, entry, self.source.bytes(24))

    def make_state(self, rows):
        draw = self.source.bytes
        self.digests = digests_of(self.keys, rows)
        self.root_of_present = root_of(self.keys, {bucket: digest for bucket, digest in self.digests.items() if bucket < 1024})
        replicas = sorted([(draw(16), 17, draw(16)), (draw(16), 41, draw(16)), (draw(16), GENERATION, self.commit)])
        head = log.head_after(self.keys, 1, log.NO_HEAD, self.row)
        return State(GENERATION, self.commit, root_of(self.keys, self.digests), COUNTS, TIME, 1, head, 1, replicas)

    def make_pin(self):
        replica, generation, commit = self.state.replicas[1]
        return Pin(self.vault, replica, EPOCH, self.keys.mark, (GENERATION, self.commit), (generation, commit))

    def file(self):
        """All of it, as the file has it."""
        keys, state, entry = self.keys, self.state, self.entry
        header = self.header.bytes()
        return {
            "source": "python3 -B Tests/Witness vectors, which shares no code with Coffer but libsodium's ciphers and Argon2id",
            "vault": self.vault.hex(), "epoch": EPOCH, "key": self.vk.hex(),
            "subkeys": {name: getattr(keys, name).hex() for name in ("hdr", "sta", "idx", "rid", "rec", "set", "log")},
            "lineage": {"secret": keys.lineage.hex(), "mark": keys.mark.hex()},
            "earlier": [{"epoch": epoch, "secret": old.lineage.hex(), "mark": mark_of(old.lineage, self.vault, epoch).hex()}
                        for epoch, old in self.earlier.items()],
            "passphrase": PASSPHRASE, "keyFile": self.key_file.decode(), "recoveryCode": recovery_text(self.code),
            "identity": line_of(b"PVID1-", self.identity).decode() + "\n",
            "recipient": line_of(b"PVPUB1-", public_key(self.identity)).decode(),
            "invitation": Invitation(self.vault, EPOCH, keys.mark).text().decode(),
            "slots": self.slots, "header": header.hex(), "created": TIME - 9_000, "rotated": TIME - 5_000,
            "state": state.bytes(keys, H(header), self.source.bytes(24)).hex(), "generation": GENERATION,
            "commit": self.commit.hex(), "root": state.root.hex(), "rootOfPresent": self.root_of_present.hex(),
            "digests": {str(bucket): digest.hex() for bucket, digest in sorted(self.digests.items())},
            "replicas": [{"id": id.hex(), "generation": generation, "commit": commit.hex()}
                         for id, generation, commit in state.replicas],
            "records": self.records,
            "log": {"row": self.row.hex(), "head": state.log_head.hex(), "program": entry.program, "subject": entry.idx.hex(),
                    "slot": entry.slot.hex(),
                    "entry": entry.bytes().hex()},
            "pin": self.make_pin().bytes().hex(),
        }
