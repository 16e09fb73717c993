"""Vaults that whoever has the key sealed otherwise than the text allows. Each is refused, as *damaged* or *tampered*."""

import os

import wrong_parts
import wrong_records
from cases import Case, start

SECTIONS = wrong_records.SECTIONS + wrong_parts.SECTIONS


def malform(request):
    """Makes a vault of every `step`th kind in a folder; the files are named in the answer, and one key file opens them all."""
    made, key_file = {}, bytes.fromhex(request["keyFile"])
    kinds = [kind for _, wrongs in SECTIONS for kind in wrongs.items()]
    for name, (_, change) in kinds[request["first"]::request["step"]]:
        made[name] = os.path.join(request["folder"], f"{len(made)}.vault")
        start(made[name], key_file)
        case = Case(made[name], key_file)
        change(case)
        case.finish()
    return {"made": made}
