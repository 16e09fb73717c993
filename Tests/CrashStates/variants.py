"""Programs that forget a sync: each must be found out."""

import os
import subprocess

from disks import Disk
from scenes import PairScene, PlainScene, VaultScene
from tally import Tally

VARIANTS = [
    ("the vault is never synchronized", VaultScene, "vault.sqlite"),
    ("the vault's log alone is not", VaultScene, "vault.sqlite-wal$"),
    ("the vault's file alone is not, as its log begins anew", VaultScene, "vault.sqlite$"),
    ("pins are not", VaultScene, "/pins/id-"),
    ("preferences are not", PlainScene, ".plist"),
    ("the journal of a transaction is not", PairScene, ".plist.coffer"),
]


def find_variants(lazyfs, folder, tools, random):
    """Tries each until it is found out, and returns how many were not."""
    library = f"{folder}/unsynced.so"
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unsynced.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    missed = 0
    for name, scene, text in VARIANTS:
        tally = Quiet()
        with Disk(lazyfs, folder, tools, scene, random, tally, unsynced=(library, text)) as disk:
            while not tally.wrong and tally.count < 3000:
                disk.lose_at_moments(100)
        missed += not tally.wrong
        found = f"found at state {tally.first}: {tally.wrong[0][2][:60]}" if tally.wrong else "NOT FOUND"
        print(f"broken: {name + ':':56} {found}", flush=True)
    return missed


class Quiet(Tally):
    """Counts without a word."""

    count, first = 0, 0

    def add(self, scene, way, content, complaint):
        self.count += 1
        if complaint:
            self.first = self.first or self.count
            self.wrong.append((scene, way, complaint))
