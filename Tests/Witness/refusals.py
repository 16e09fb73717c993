"""Reads the negative vectors of a folder, and says of each how it is refused."""

import json
import os
import tempfile

from layout import Refused
from lineage import place_name
from reader import Request, open_vault
from wrong_secrets import READERS


def edited(content, length, edits):
    """The bytes of a base, cut or made longer with zeros, with other bytes at some places."""
    data = bytearray(content[:length].ljust(length, b"\0"))
    for edit in edits:
        new = bytes.fromhex(edit["hex"])
        data[edit["at"]:edit["at"] + len(new)] = new
    return bytes(data)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def lay_out(entry, bases, vault, folder):
    """Puts the vault, what stands beside it and the pins in an empty folder; returns the request of a reader."""
    place, base = os.path.join(folder, "vault.sqlite"), bases[entry["base"]]
    write(place, edited(base, entry.get("length", len(base)), entry["edits"]))
    for suffix, digits in entry.get("sides", {}).items():
        write(place + suffix, bytes.fromhex(digits))
    request = {"path": place, **{name: entry[name] for name in ("vault", "generation", "invitations") if name in entry}}
    if "pins" in entry:
        pins = request["pins"] = os.path.join(folder, "pins")
        os.mkdir(pins)
        if "at" in entry["pins"]:
            write(os.path.join(pins, place_name(place)), bytes.fromhex(entry["pins"]["at"]))
        if "id" in entry["pins"]:
            pin = entry["pins"]["id"]
            write(os.path.join(pins, "id-" + vault), edited(b"", pin["length"], pin["edits"]))
    return request


def vault_refusal(entry, table, bases):
    secret = entry["secret"] if isinstance(entry["secret"], dict) else table["secrets"][entry["secret"]]
    with tempfile.TemporaryDirectory() as folder:
        try:
            open_vault(Request.of({**lay_out(entry, bases, table["whole"]["vault"], folder), **secret}))
        except Refused as refused:
            return refused.kind
    return None


def text_refusal(entry):
    try:
        READERS[entry["kind"]](bytes.fromhex(entry["hex"]))
    except Refused:
        return "no secret"
    return None


def refusals(request):
    """Each entry's name with the word for its refusal, null where it is read."""
    with open(os.path.join(request["folder"], "negative.json"), encoding="utf-8") as file:
        table = json.load(file)
    bases = {}
    for entry in table["vaults"]:
        if entry["base"] not in bases:
            with open(os.path.join(request["folder"], entry["base"]), "rb") as file:
                bases[entry["base"]] = file.read()
    return {**{entry["name"]: vault_refusal(entry, table, bases) for entry in table["vaults"]},
            **{entry["name"]: text_refusal(entry) for entry in table["texts"]}}
