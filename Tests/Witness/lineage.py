"""Whether a key comes from the one that is remembered. Source: VaultFormat.md, Lineage and anchors, and Pins."""

import os

from header import MOST_EPOCHS, mark_of
from layout import Fields, Refused, damaged, le64
from primitives import H, same

MAGIC = b"PVPIN1\0\0"
RECORD = 160
SECOND = 4096


def anchors_found(header, sealed, mark, anchor, kept_epochs):
    """The line of the table that is true of one anchor, or None where it holds; `old` where nothing tells."""
    epoch, remembered = anchor
    if epoch > header.epoch:
        return "rolled back"
    if epoch == header.epoch:
        return None if same(mark, remembered) else "forked"
    if len(sealed.lineage) == MOST_EPOCHS and epoch < sealed.lineage[0][0]:
        return "old"
    secret = kept_epochs.get(epoch)
    if secret is None or not same(mark_of(secret, header.vault, epoch), remembered):
        return "forked"
    return None


def check_anchors(header, sealed, mark, anchors):
    """Raises where one of the anchors (epoch, mark) does not hold."""
    kept_epochs = dict(sealed.lineage)
    found = [anchors_found(header, sealed, mark, anchor, kept_epochs) for anchor in anchors]
    for kind in ("rolled back", "forked"):
        if kind in found:
            raise Refused(kind, "an anchor does not hold")
    if "old" in found and None not in found:
        raise Refused("forked", "the anchor is too old to be proven")


class Pin:
    """What one machine and user remember of a vault: `seen` and `own` are (generation, commit id)."""

    def __init__(self, vault, replica, epoch, mark, seen, own):
        self.vault, self.replica, self.epoch, self.mark, self.seen, self.own = vault, replica, epoch, mark, seen, own

    @classmethod
    def read(cls, data, vault):
        if H(data[:-16])[:16] != data[-16:] or len(data) != RECORD or not data.startswith(MAGIC):
            raise damaged("a pin's record")
        fields = Fields(data[len(MAGIC):-16], "the pin")
        pin = cls(fields.take(16), fields.take(16), fields.number(1), fields.take(32),
                  (fields.number(1), fields.take(16)), (fields.number(), fields.take(16)))
        if fields.take(16) != bytes(16) or pin.vault != vault or (pin.own[0] == 0 and pin.own[1] != bytes(16)):
            raise damaged("a pin's record")
        return pin

    def bytes(self):
        content = MAGIC + self.vault + self.replica + le64(self.epoch) + self.mark
        for generation, commit in (self.seen, self.own):
            content += le64(generation) + commit
        content += bytes(16)
        return content + H(content)[:16]


def place_name(path):
    folder, name = os.path.split(path)
    place = os.path.join(os.path.realpath(folder or "."), name)
    return "at-" + H(os.fsencode(place)).hex()[:32]


class PinFolder:
    """The pins of one user, read and made; nothing here changes a pin that is there."""

    def __init__(self, folder):
        self.folder = folder

    def content(self, name):
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def expected(self, path):
        vault = self.content(place_name(path))
        if vault is not None and len(vault) != 16:
            raise damaged("a file that says which vault is expected at a place")
        return vault

    def pin(self, vault):
        data = self.content("id-" + vault.hex())
        if data is None:
            return None
        records = []
        for at in (0, SECOND):
            try:
                records.append(Pin.read(data[at:at + RECORD], vault))
            except Refused:
                continue
        if not records:
            raise damaged("no record of the pin is valid")
        return max(records, key=lambda pin: (pin.seen[0], pin.own[0]))

    def make(self, path, pin):
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        record = pin.bytes()
        write_private(os.path.join(self.folder, "id-" + pin.vault.hex()), record.ljust(SECOND, b"\0") + record)
        write_private(os.path.join(self.folder, place_name(path)), pin.vault)


def write_private(path, data):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


def check_state(pin, state):
    """Compares a state with what the pin remembers."""
    for kind, refused in (("rolled back", state.generation < pin.seen[0]),
                          ("forked", state.generation == pin.seen[0] and state.commit != pin.seen[1])):
        if refused:
            raise Refused(kind, "the state is not one that follows the pin's")
    if pin.own[0] == 0:
        return
    entry = next(((generation, commit) for id, generation, commit in state.replicas if id == pin.replica), None)
    if entry is None and len(state.replicas) == 255:
        return
    if entry is None or entry[0] < pin.own[0] or (entry[0] == pin.own[0] and entry[1] != pin.own[1]):
        raise Refused("forked", "the state lacks this machine's last commit")


def check_first_use(slot_type, pin, expected, invitations, named):
    """Raises *unproven* for a recipient's vault that nothing proves; `named` says that the vault's id was given."""
    if slot_type != 5 or invitations or (pin is not None and (expected is not None or named)):
        return
    raise Refused("unproven", "nothing proves this vault to the identity")
