"""Whole vaults, and forged ones, beside what is known of them: secrets, pins, invitations, ids and generations."""

from credentials import Invitation, key_file_line, recovery_text
from forge import forge
from layout import le64
from lineage import MAGIC, Pin, SECOND
from primitives import H
from scene import EARLIER, PAST

GREATEST = 1 << 62
OTHER = bytes(range(16))


def record(pin=None, content=None):
    """A record of a pin: of its parts, or of any content, with the digest that belongs to it."""
    return pin.bytes() if content is None else content + H(content)[:16]


class Knowledge:
    """What may be known of the scene's vault."""

    def __init__(self, scene):
        self.scene, self.vault, self.state, self.keys = scene, scene.keys.vault, scene.state, scene.keys
        self.mark, self.generation, self.commit = self.keys.mark, self.state.generation, self.state.commit
        self.last = next(entry for entry in self.state.replicas if entry[2] == self.commit)
        self.earlier = next(entry for entry in self.state.replicas if entry[2] != self.commit)

    def pin(self, **parts):
        """A pin that fits the vault, but for the parts that are given."""
        fitting = {"vault": self.vault, "replica": self.last[0], "epoch": self.keys.epoch, "mark": self.mark,
                   "seen": (self.generation, self.commit), "own": self.last[1:]}
        return Pin(**{**fitting, **parts})

    def pins(self, at=None, first=None, second=None, length=None, **parts):
        """The two files of a folder of pins; `first` and `second` are records other than the pin of `parts`."""
        whole = record(self.pin(**parts))
        id = (whole if first is None else first).ljust(SECOND, b"\0") + (whole if second is None else second)
        return {"pins": {"at": self.vault if at is None else at, "id": id[:length]}}

    def both(self, content):
        """A pin whose two records are the same, and wrong."""
        data = record(content=content) if len(content) == 144 else content
        return self.pins(first=data, second=data)

    def changed(self, offset, content):
        """Such a one that has other bytes at an offset, and the digest that belongs to them."""
        old = self.pin().bytes()[:144]
        return self.both(old[:offset] + content + old[offset + len(content):])

    def invited(self, vault=None, epoch=3, mark=None):
        return {"invitations": [Invitation(vault or self.vault, epoch, mark or self.mark).text().decode()]}

    def invitation(self, epoch):
        return {"invitations": [self.scene.invitations[epoch - 1].text().decode()]}


def secrets(know):
    """Secrets that open nothing of the vault."""
    yield "another key file", "owner", {"keyFile": know.scene.key_file("another key file")}
    yield "a key file whose slot was removed", "owner", {"keyFile": know.scene.key_file("member")}
    yield "another passphrase", "owner", {"passphrase": b"a passphrase of another vault"}
    yield "the passphrase in capitals", "owner", {"passphrase": know.scene.secrets["passphrase"]["passphrase"].upper()}
    yield "the passphrase with a space after it", "owner", {"passphrase": know.scene.secrets["passphrase"]["passphrase"] + b" "}
    yield "the passphrase of a slot that needs a key file too", "owner", {"passphrase": know.scene.secrets["both"]["passphrase"]}
    yield "the key file of a slot that needs a passphrase too", "owner", {"keyFile": know.scene.secrets["both"]["keyFile"]}
    yield "a passphrase beside another key file", "owner", {
        "passphrase": know.scene.secrets["both"]["passphrase"], "keyFile": b"x" * 64}
    yield "another recovery code", "owner", {"recovery": recovery_text(bytes(20)).encode()}
    yield "another identity", "owner", {"identity": know.scene.stranger}
    yield "the key file's key as an identity", "owner", {"identity": bytes.fromhex(know.scene.key_file()[7:71].decode())}
    yield "an identity's key as a key file", "owner", {"keyFile": key_file_line(know.scene.identity)}


def expectations(know):
    """Refusal, name, what is known."""
    later = GREATEST
    yield "replaced", "another vault's id is expected", {"vault": OTHER}
    yield "replaced", "the vault's id with one bit changed", {"vault": know.vault[:-1] + bytes([know.vault[-1] ^ 1])}
    yield "replaced", "an invitation of another vault", know.invited(vault=OTHER)
    yield "replaced", "an invitation of another vault beside one of this", {
        "invitations": know.invitation(1)["invitations"] + know.invited(vault=OTHER)["invitations"]}
    yield "replaced", "another vault's id and an invitation of this", {"vault": OTHER, **know.invitation(3)}
    yield "rolled back", "a generation above the state's", {"generation": know.generation + 1}
    yield "rolled back", "a generation of 2^62", {"generation": later}
    yield "rolled back", "the vault's id and a generation above the state's", {"vault": know.vault, "generation": know.generation + 1}
    yield "rolled back", "an invitation of a later epoch", know.invited(epoch=4)
    yield "rolled back", "an invitation of epoch 2^62", know.invited(epoch=later)
    yield "forked", "an invitation of the present epoch with another mark", know.invited(mark=bytes(32))
    yield "forked", "an invitation of the present epoch with the mark of an earlier one", know.invited(
        mark=know.scene.invitations[0].mark)
    yield "forked", "an invitation of an earlier epoch with another mark", know.invited(epoch=1, mark=bytes(32))
    yield "forked", "an invitation of an earlier epoch with the present mark", know.invited(epoch=2)
    yield "forked", "a wrong invitation beside a right one", {
        "invitations": know.invitation(3)["invitations"] + know.invited(epoch=1, mark=bytes(32))["invitations"]}
    yield "rolled back", "an invitation of a later epoch beside a wrong one", {
        "invitations": know.invited(epoch=1, mark=bytes(32))["invitations"] + know.invited(epoch=4)["invitations"]}


def pins(know):
    generation, commit, last, earlier = know.generation, know.commit, know.last, know.earlier
    yield "replaced", "another vault is expected at the place", know.pins(at=OTHER)
    yield "damaged", "a place's file of 15 bytes", know.pins(at=know.vault[:15])
    yield "damaged", "a place's file of 17 bytes", know.pins(at=know.vault + b"\n")
    yield "damaged", "a place's file of no bytes", know.pins(at=b"")
    yield "rolled back", "a pin of a later epoch", know.pins(epoch=4)
    yield "forked", "a pin of another mark", know.pins(mark=bytes(32))
    yield "forked", "a pin of an earlier epoch with another mark", know.pins(epoch=1)
    yield "rolled back", "a pin that has seen a later generation", know.pins(seen=(generation + 1, commit))
    yield "forked", "a pin that has seen another commit of this generation", know.pins(seen=(generation, bytes(16)))
    yield "forked", "a pin of a replica that has no entry", know.pins(replica=OTHER, own=(1, bytes(16)))
    yield "forked", "a pin whose own commit is later than the entry", know.pins(own=(last[1] + 1, commit))
    yield "forked", "a pin whose own commit is another of the entry's generation", know.pins(own=(last[1], OTHER))
    yield "forked", "a pin of another replica's entry", know.pins(replica=earlier[0], own=(earlier[1] + 1, OTHER))
    yield "rolled back", "the first record is older and the second is of a later generation", know.pins(
        second=record(know.pin(seen=(generation + 1, commit))), seen=(1, OTHER), own=(0, bytes(16)))
    yield "rolled back", "a lone record at offset 4 096, of a later generation", know.pins(
        first=bytes(160), second=record(know.pin(seen=(generation + 1, commit))))
    yield "damaged", "two records whose digest does not fit", know.both(know.pin().bytes()[:-1] + b"\0")
    yield "damaged", "two records of zeros", know.both(bytes(160))
    yield "damaged", "an empty pin", know.pins(first=b"", length=0)
    yield "damaged", "a pin of 159 bytes", know.pins(length=159)
    for name, offset, content in (
            ("another magic", 0, MAGIC[:6] + b"\1\0"), ("another vault's id", 8, OTHER), ("epoch 0", 40, le64(0)),
            ("an epoch beyond 2^62", 40, le64(GREATEST + 1)), ("a generation of 0 as seen", 80, le64(0)),
            ("a generation beyond 2^62 as seen", 80, le64(GREATEST + 1)),
            ("an own generation beyond 2^62", 104, le64(GREATEST + 1)), ("an own generation of 0 with a commit", 104, le64(0)),
            ("bytes other than zeros at its end", 143, b"\1")):
        yield "damaged", f"a pin with {name}", know.changed(offset, content)


def firsts(know):
    """What a recipient needs to believe a vault at its first use."""
    friend = know.scene.secrets["friend"]["identity"]
    yield "unproven", "nothing is known", {}
    yield "unproven", "the vault's id alone", {"vault": know.vault}
    yield "unproven", "the vault's id and generation", {"vault": know.vault, "generation": 1}
    yield "unproven", "an invitation of another vault in the identity's file", {
        "identity": friend + know.invited(vault=OTHER)["invitations"][0].encode() + b"\n"}
    yield "unproven", "a place's file without a pin", {"pins": {"at": know.vault}}
    yield "unproven", "a pin without a place's file", {"pins": {"id": know.pins()["pins"]["id"]}}
    yield "unproven", "an empty folder of pins", {"pins": {}}
    yield "unproven", "nothing is known, and a passphrase is given too", {
        "own": {"identity": friend, **know.scene.secrets["passphrase"]}}
    yield "unproven", "an empty folder of pins, and the vault's id", {"pins": {}, "vault": know.vault}
    yield "forked", "a wrong invitation in the identity's file", {
        "identity": friend + know.invited(epoch=1, mark=bytes(32))["invitations"][0].encode() + b"\n"}
    yield "rolled back", "an invitation of a later epoch in the identity's file", {
        "identity": friend + know.invited(epoch=9)["invitations"][0].encode() + b"\n"}
    yield "replaced", "an invitation of another vault, to a recipient", know.invited(vault=OTHER)


def older(know):
    """An older copy of the whole file: base, refusal, what is known."""
    yield EARLIER, "rolled back", "owner", "a copy of one commit ago, with a pin", know.pins()
    yield EARLIER, "rolled back", "friend", "a copy of one commit ago, with a pin, to a recipient", know.pins()
    yield EARLIER, "rolled back", "owner", "a copy of one commit ago, with its generation told", {"generation": know.generation}
    yield PAST, "rolled back", "owner", "a copy of an earlier epoch, with a pin", know.pins()
    yield PAST, "rolled back", "owner", "a copy of an earlier epoch, with an invitation", know.invitation(3)
    yield PAST, "rolled back", "friend", "a copy of an earlier epoch, with an invitation, to a recipient", know.invitation(2)
    yield PAST, "rolled back", "member", "a copy of an earlier epoch, with an invitation, to who was removed since", know.invitation(2)


FORGED = [  # Name, the request, refusals of the friend with: nothing, the first invitation, the present one, a pin; of the owner.
    ("in the present epoch without a key", {"epoch": 3}, "unproven", "forked", "forked", "forked", "wrong secret"),
    ("in a later epoch without a key", {"epoch": 7}, "unproven", "forked", "forked", "forked", "wrong secret"),
    ("in an earlier epoch without a key", {"epoch": 1}, "unproven", "forked", "rolled back", "rolled back", "wrong secret"),
    ("of another id without a key", {"epoch": 3, "sameVault": False}, "unproven", "replaced", "replaced", "replaced", None),
    ("by a former member in the present epoch", {"epoch": 3, "member": True}, "unproven", None, "forked", "forked", None),
    ("by a former member in a later epoch", {"epoch": 9, "member": True}, "unproven", None, "forked", "forked", None),
    ("by a former member in his own epoch", {"epoch": 1, "member": True}, "unproven", "forked", "rolled back", "rolled back", None),
]


def forged(know, path, request):
    """Puts a forged vault in a place; a former member has the copy of epoch 1."""
    request = {"path": path, "seed": f"forged {request}", **request}
    if request.pop("member", False):
        request |= {"old": know.scene.path(PAST), "keyFile": know.scene.key_file("member").hex()}
    forge(request)


def known_of_forged(know):
    return {}, know.invitation(1), know.invitation(3), know.pins()
