"""The public negative vectors, `Fixtures/Vaults/v1/negative`: vaults and texts that every reader refuses, and the word for it."""

import json
import os
import shutil
import tempfile

import wrong_files
import wrong_knowledge
import wrong_secrets
from cases import Case
from edits import Changed
from malformed import SECTIONS
from refusals import write
from right import rights
from scene import EARLIER, ONE, PAST, WHOLE, Scene, settle
from wrong_knowledge import Knowledge
from wrong_parts import LINEAGE

BASES = (ONE, WHOLE, EARLIER, PAST)
LONGEST = 170_000  # Digits of one vault's edits; the few longer ones are left to `malform`.
TABLE = "negative.json"
GAP = 12  # Equal bytes between two edits, up to which they are written as one.
OPEN, VERIFY, READ = "open", "verify", "read"
ALSO = {  # Words that the text allows beside the first, which this reader and Coffer say.
    "changed: a row of another table's name": ["tampered"], "changed: a table on the page of the schema": ["tampered"],
    "changed: two tables with their statements exchanged": ["tampered"], "sealed: a copy of row 1": ["tampered"],
    "changed: a former content as a present one": ["damaged"], "changed: a present content as a former one": ["damaged"],
}


def edits(old, new):
    """The places where `new` has other bytes than `old`, which is first cut or made longer with zeros."""
    old = old[:len(new)].ljust(len(new), b"\0")
    places = [place for place in range(len(new)) if old[place] != new[place]] if old != new else []
    found = []
    for place in places:
        if found and place - found[-1][1] <= GAP:
            found[-1][1] = place
        else:
            found.append([place, place])
    return [{"at": first, "hex": new[first:last + 1].hex()} for first, last in found]


class Negative:
    """The table in the making."""

    def __init__(self, folder, work):
        self.work, self.vaults, self.left_out = work, [], []
        self.scene = Scene(work)
        self.know = Knowledge(self.scene)
        self.bases = {base: self.read(self.scene.path(base)) for base in BASES}
        for base, content in self.bases.items():
            write(os.path.join(folder, base), content)
        self.sealed()
        self.changed()
        self.known()
        self.forged()
        for name, base, change, known in rights(self.know):
            self.vault(name, "Opening a vault, in order", READ, base, change, None, name, known)

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def vault(self, name, section, by, base, change, refusal, wrong, known, secret="owner"):
        """Adds a vault: `change` gets a copy of the base, and returns the files beside it, or None."""
        path = os.path.join(self.work, "vault.sqlite")
        shutil.copy(self.scene.path(base), path)
        sides = (change(path) if change else None) or {}
        settle(path) if os.path.getsize(path) >= 100 else None
        content = self.read(path)
        made = {"name": name, "wrong": wrong, "section": section, "refusal": refusal}
        if name in ALSO:
            made["also"] = ALSO[name]
        made |= {"by": by, "base": base}
        if len(content) != len(self.bases[base]):
            made["length"] = len(content)
        made["edits"] = edits(self.bases[base], content)
        if sides:
            made["sides"] = {suffix: data.hex() for suffix, data in sides.items()}
        if sum(len(edit["hex"]) for edit in made["edits"]) > LONGEST:
            self.left_out.append(name)
            return
        self.vaults.append({**made, **told(secret, known)})

    def sealed(self):
        """What whoever has the key sealed otherwise than the text allows."""
        key_file = self.scene.key_file()
        for section, wrongs in SECTIONS + [("Lineage and anchors", LINEAGE)]:
            for name, (refusal, change) in wrongs.items():
                def run(path, name=name, change=change):
                    case = Case(path, key_file, name)
                    change(case)
                    case.finish()
                by = when(section, name)
                self.vault(f"sealed: {name}", section, by, ONE, run, refusal,
                           f"Who has the key wrote what the text does not allow: {name}.", {})

    def changed(self):
        """What whoever can write the file changed without a key."""
        for section, by, secret, refusal, wrongs in wrong_files.SECTIONS:
            for name, change in wrongs.items():
                def run(path, change=change):
                    file = Changed(self.scene, path)
                    change(file)
                    return file.sides
                known = self.know.invitation(1) if secret == "friend" else {}
                self.vault(f"changed: {name}", section, by, WHOLE, run, refusal,
                           f"Who can write the file changed it without a key: {name}.", known, secret)

    def known(self):
        """Vaults that are whole, and refused for what is known of them, or for the secret."""
        whole, know = "The vault is whole. ", self.know
        for name, secret, known in wrong_knowledge.secrets(know):
            self.vault(f"secret: {name}", "Slots", OPEN, WHOLE, None, "wrong secret", f"{whole}The secret opens no slot: {name}.",
                       {"own": known}, secret)
        for title, section, secret, wrongs in (
                ("expected", "Lineage and anchors", "owner", wrong_knowledge.expectations),
                ("pin", "Pins", "owner", wrong_knowledge.pins), ("first use", "Lineage and anchors", "friend", wrong_knowledge.firsts)):
            for refusal, name, known in wrongs(know):
                self.vault(f"{title}: {name}", section, OPEN, WHOLE, None, refusal, f"{whole}What is known of it: {name}.", known, secret)
        for base, refusal, secret, name, known in wrong_knowledge.older(know):
            self.vault(f"older: {name}", "Pins" if "pins" in known else "Lineage and anchors", OPEN, base, None, refusal,
                       f"The file is an older one: {name}.", known, secret)

    def forged(self):
        for name, request, *refusals, owner in wrong_knowledge.FORGED:
            def run(path, request=request):
                wrong_knowledge.forged(self.know, path, request)
            openings = zip(("nothing", "the first invitation", "the present invitation", "a pin"), refusals,
                           wrong_knowledge.known_of_forged(self.know))
            for knows, refusal, known in openings:
                if refusal:
                    self.vault(f"forged: {name}, to a recipient with {knows}", "Lineage and anchors", OPEN, WHOLE, run, refusal,
                               f"The vault was forged {name}.", known, "friend")
            if owner:
                self.vault(f"forged: {name}, to the owner", "Lineage and anchors", OPEN, WHOLE, run, owner,
                           f"The vault was forged {name}.", {}, "owner")

    def texts(self):
        wrong = [(kind, name, content, "no secret") for kind, name, content in wrong_secrets.wrongs()]
        right = [(kind, name, content, None) for kind, name, content in wrong_secrets.rights()]
        return [{"name": f"{kind}: {name}", "kind": kind, "wrong": name, "section": "Secrets", "refusal": refusal,
                 "hex": content.hex()} for kind, name, content, refusal in wrong + right]

    def table(self):
        secrets = {name: hexed(secret) for name, secret in self.scene.secrets.items()}
        return {"whole": {"vault": self.know.vault.hex()}, "secrets": secrets, "vaults": self.vaults,
                "texts": self.texts()}


def when(section, name):
    """When a reader finds what is wrong at the latest: `verify` need not open a value, and of the log the longer rows alone."""
    if name in UNOPENED:
        return READ
    if section in ("Slots", "State", "Header", "The set of records", "Lineage and anchors"):
        return VERIFY if any(name.startswith(word) for word in LATE) else OPEN
    return VERIFY


UNOPENED = {
    "a length that is not the value's", "a length of 0 for a value of 5 bytes", "a value's padding of one block more",
    "a value without padding", "a value's padding of zeros alone", "a value of 4 096 bytes in the blocks of a shorter one",
    "a later format's record of a length that is not the value's", "version 2 of an entry", "version 0 of an entry",
    "an entry that goes on", "a program that is not UTF-8", "an entry's time beyond 2^62", "a row's extension that is cut",
    "a row that tells another head before it", "a row under the key of another place", "a trim that says nothing",
}
LATE = ("a record too", "an item too few", "an item that is told", "a copy", "a first header", "another row of",
        "a digest with a number", "a digest that is bound")


def hexed(secret):
    return {name: content.hex() for name, content in secret.items()}


def told(secret, known):
    """What is given to a reader beside the file."""
    parts = {"secret": hexed(known["own"]) if "own" in known else secret}
    if "identity" in known:
        parts["secret"] = hexed({"identity": known["identity"]})
    if "pins" in known:
        pins = known["pins"]
        parts["pins"] = {"at": pins["at"].hex()} if "at" in pins else {}
        if "id" in pins:
            parts["pins"]["id"] = {"length": len(pins["id"]), "edits": edits(b"", pins["id"])}
    for name in ("vault", "generation", "invitations"):
        if name in known:
            parts[name] = known[name].hex() if name == "vault" else known[name]
    return parts


def lines(table):
    """JSON with one vault, and one text, on a line."""
    parts = []
    for name, content in table.items():
        opening, closing = "{}" if isinstance(content, dict) else "[]"
        items = ([f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()] if isinstance(content, dict)
                 else [json.dumps(item) for item in content])
        parts.append(f"{json.dumps(name)}: {opening}\n" + ",\n".join(items) + f"\n{closing}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def negative(request):
    """Makes the bases and the table in a folder."""
    with tempfile.TemporaryDirectory() as work:
        made = Negative(request["folder"], work)
        with open(os.path.join(request["folder"], TABLE), "w", encoding="utf-8") as file:
            file.write(lines(made.table()))
        return {"vaults": len(made.vaults), "texts": len(made.texts()), "leftOut": made.left_out}
