"""Making and opening the boxes of slots. Source: VaultFormat.md, Slots."""

from header import OTHER, Keys, Slot
from layout import LARGEST, Refused, damaged, le64, tampered
from primitives import F, cbox, open_cbox, public_key, x25519

ONE_UNLOCK = 32_768


def work(slot):
    return (slot.ops + 2) * slot.mem


def affordable(slot):
    return 1 <= slot.ops <= 64 and 8 <= slot.mem <= 2048 and slot.ops * slot.mem <= 16_384


class Opened:
    """The slot that a secret opened; `anchor` is (epoch, mark) of its `own`, and missing for a recipient."""

    def __init__(self, slot, secret, wrap, anchor, keys, sealed):
        self.slot, self.secret, self.wrap, self.anchor, self.keys, self.sealed = slot, secret, wrap, anchor, keys, sealed


def open_box(header, slot, secret, wrap):
    shared = x25519(secret, slot.point)
    if shared is None:
        return None
    mix = F(wrap, "PV1 sealmix", slot.id, shared + slot.point + slot.pk, 32)
    context = slot.context(header.vault) + le64(header.epoch) + slot.point
    return open_cbox(mix, "PV1 seal", slot.id, context, slot.box, 32)


def seal_box(header, slot, wrap, vk, ephemeral, nonce):
    """Gives the slot a new point and a box of `vk`; `ephemeral` is the secret s."""
    slot.point = public_key(ephemeral)
    mix = F(wrap, "PV1 sealmix", slot.id, x25519(ephemeral, slot.pk) + slot.point + slot.pk, 32)
    context = slot.context(header.vault) + le64(header.epoch) + slot.point
    slot.box = cbox(mix, "PV1 seal", slot.id, context, vk, nonce)


def open_own(header, slot, key):
    """(sk, W, epoch, mark), or None where the key is another."""
    data = open_cbox(key, "PV1 own", slot.id, slot.context(header.vault), slot.own, 104)
    return None if data is None else (data[:32], data[32:64], int.from_bytes(data[64:72], "little"), data[72:])


def seal_own(header, slot, key, secret, wrap, anchor, nonce):
    epoch, mark = anchor
    slot.own = cbox(key, "PV1 own", slot.id, slot.context(header.vault), secret + wrap + le64(epoch) + mark, nonce)


def make_slot(id, type, salt, secret, ops=0, mem=0):
    """A slot without its boxes; `secret` is the secret key that belongs to its public key."""
    return recipient_slot(id, public_key(secret)) if type == 5 else Slot(
        id, type, 2 if type <= 2 else 0, ops, mem, salt, public_key(secret), b"", b"", b"")


def recipient_slot(id, point):
    return Slot(id, 5, 0, 0, 0, bytes(16), point, b"", b"", b"")


def other_slot(id, alg, ops, mem, salt, point, own):
    """A slot of type 6, of which this program knows that others open it."""
    return Slot(id, OTHER, alg, ops, mem, salt, point, own, b"", b"")


def candidates(header, secret):
    """The slots that a secret may open, in the order of the tries: those with a passphrase last, the cheapest first."""
    return sorted((slot for slot in header.slots if secret.opens(slot.type)),
                  key=lambda slot: (1, work(slot)) if slot.type <= 2 else (0, slot.type))


def unlock(header, secret):
    """Opens the first slot that the secret opens, and the sealed part of the header with it."""
    changed, spent, left_out = None, 0, False
    for slot in candidates(header, secret):
        if slot.type == 5:
            found = (secret.identity, bytes(32), None, None) if slot.pk == secret.public_key() else None
        else:
            if slot.type <= 2:
                if not affordable(slot) or spent + work(slot) > ONE_UNLOCK:
                    left_out = True
                    continue
                spent += work(slot)
            found = open_own(header, slot, secret.key(slot.type, slot.salt, slot.ops, slot.mem))
        if found is None:
            continue
        if slot.type != 5 and not 1 <= found[2] <= LARGEST:
            changed = changed or damaged("the epoch of a slot's own part is out of bounds")
            continue
        vk = open_box(header, slot, *found[:2]) if public_key(found[0]) == slot.pk else None
        if vk is None:
            changed = changed or (slot.type != 5 and tampered("a slot's own part opens, and its box does not"))
            continue
        keys = Keys(vk, header.vault, header.epoch)
        return finish(header, slot, found, keys)
    if changed:
        raise changed
    if left_out:
        raise Refused("not tried", "a slot that the secret may open was left out for its cost")
    raise Refused("wrong secret", "no slot opens")


def finish(header, slot, found, keys):
    secret, wrap, epoch, mark = found
    sealed = header.open(keys)
    return Opened(slot, secret, wrap, None if slot.type == 5 else (epoch, mark), keys, sealed)
