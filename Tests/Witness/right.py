"""Vaults that a reader must take: a reader that refuses everything refuses these too. Beside each stands what is known of it."""

from cases import Case
from scene import EARLIER, ONE, PAST, WHOLE


def rights(know):
    """Name, base, change, what is known."""
    scene = know.scene
    for base in (ONE, WHOLE, EARLIER, PAST):
        yield f"right: {base} with its key file", base, None, {}
    for name in ("passphrase", "both", "recovery"):
        yield f"right: {WHOLE} with the secret {name}", WHOLE, None, {"own": scene.secrets[name]}
    yield f"right: {WHOLE} with a passphrase beside a key file that opens nothing", WHOLE, None, {
        "own": {**scene.secrets["passphrase"], "keyFile": scene.secrets["both"]["keyFile"]}}
    yield f"right: {WHOLE} with its key file beside a passphrase that opens nothing", WHOLE, None, {
        "own": {"keyFile": scene.key_file(), "passphrase": b"another"}}
    yield f"right: {WHOLE} with its key file beside an identity that nothing proves", WHOLE, None, {
        "own": {"keyFile": scene.key_file(), **scene.secrets["friend"]}}
    friend = {"own": scene.secrets["friend"]}
    for epoch in (1, 2, 3):
        yield f"right: a recipient with an invitation of epoch {epoch}", WHOLE, None, {**friend, **know.invitation(epoch)}
    yield "right: a recipient with a pin", WHOLE, None, {**friend, **know.pins()}
    yield "right: a recipient with a pin and the vault's id", WHOLE, None, {
        **friend, "pins": {"id": know.pins()["pins"]["id"]}, "vault": know.vault}
    yield "right: a recipient with an invitation in the identity's file", WHOLE, None, {
        "identity": scene.secrets["friend"]["identity"] + (know.invitation(2)["invitations"][0] + "\n").encode()}
    yield "right: the vault's id and its generation", WHOLE, None, {"vault": know.vault, "generation": know.generation}
    yield "right: a pin of this generation", WHOLE, None, know.pins()
    yield "right: a pin of an earlier generation and nothing of its own", WHOLE, None, know.pins(
        seen=(1, bytes(16)), own=(0, bytes(16)))
    yield "right: a pin of an earlier epoch", WHOLE, None, know.pins(epoch=1, mark=scene.invitations[0].mark, seen=(1, bytes(16)))
    yield "right: a pin whose first record is wrong", WHOLE, None, know.pins(first=bytes(160))
    yield "right: a pin whose second record is wrong", WHOLE, None, know.pins(second=bytes(160))
    yield "right: a pin whose first record knows less", WHOLE, None, know.pins(
        first=know.pin(seen=(1, bytes(16)), own=(0, bytes(16))).bytes())
    yield "right: a pin of its first record alone", WHOLE, None, know.pins(length=160)
    yield "right: a pin with bytes after its second record", WHOLE, None, {
        "pins": {"at": know.vault, "id": know.pins()["pins"]["id"] + b"anything"}}
    yield "right: a pin whose own commit is later than all that it has seen", WHOLE, None, know.pins(seen=(1, bytes(16)))
    yield "right: a journal of zeros", WHOLE, sides(scene, {"-journal": bytes(28) + b"anything"}), {}
    yield "right: an empty write-ahead log", WHOLE, sides(scene, {"-wal": b""}), {}
    for name, change in (
            ("a later fmt", lambda case: case.later_format()),
            ("a kind of a later fmt", lambda case: case.later_kind()),
            ("a kind of a later fmt and any bytes after it", lambda case: case.later_kind(b"\1\xff" + bytes(99) + b"x")),
            ("a description of all that it can have", lambda case: case.row(case.largest())),
            ("a label of 64 bytes", lambda case: case.relabeled("l" * 64)),
            ("16 slots of types 1 to 4", lambda case: case.key_slots(15)),
            ("a slot of type 6 with 3 072 bytes", lambda case: case.other_slots(bytes(3072))),
            ("64 attributes", lambda case: case.put(attributes=[(f"{number:02}", "") for number in range(64)])),
            ("64 fields", lambda case: [case.put(account="ann", field=f"{number}") for number in range(64)]),
            ("names that no writer makes", lambda case: case.put(service="", account="\0\n", attributes=[("", "\ufeff")])),
            ("numbers of 2^62", lambda case: case.put(revision=1 << 62, created=1 << 62, expires=1 << 62)),
            ("a value of no bytes", lambda case: case.put(value=b"", length=0)),
            ("an event of another number", lambda case: case.entry(lambda data: data[:1] + b"\xc8" + data[2:])),
            ("extensions of 4 096 bytes", extended)):
        yield f"right: {name}", ONE, sealed(know, name, change), {}


def extended(case):
    case.writer.extension = lambda: bytes(4096)
    case.headers()
    case.put(ext=bytes(4096))


def sealed(know, name, change):
    def run(path):
        case = Case(path, know.scene.key_file(), name)
        change(case)
        case.finish()
    return run


def sides(scene, files):
    return lambda path: files
