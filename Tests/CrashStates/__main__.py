"""Loses power under Coffer's programs, by a file system that is not ours, and looks at what is left: see README.md.

`python3 -B Tests/CrashStates LAZYFS PROGRAMS [--long] [--seed NUMBER] [--only NAME]`
"""

import argparse
import os
import random
import sys
import tempfile
import time

from disks import Disk
from scenes import CommandScene, PairScene, PlainScene, Tools, VaultScene
from tally import Tally
from variants import find_variants

SCENES = {
    "vault": lambda *given: VaultScene(*given),
    "vault-journal": lambda *given: VaultScene(*given, journal="delete"),
    "preferences": PlainScene,
    "transactions": PairScene,
    "transactions-agent": lambda *given: PairScene(*given, over_agent=True),
    "commands": CommandScene,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lazyfs")
    parser.add_argument("programs")
    parser.add_argument("--long", action="store_true", help="all states, which takes an hour")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--only", choices=[*SCENES, "variants"])
    given = parser.parse_args()
    print(f"seed {given.seed}")
    chance, tally, began = random.Random(given.seed), Tally(), time.monotonic()
    # LazyFS takes no path in which -o stands.
    with tempfile.TemporaryDirectory(prefix="coffer.crash.") as folder:
        tools = Tools(os.path.abspath(given.programs), folder)
        for name, scene in SCENES.items():
            if given.only in (None, name):
                with Disk(os.path.abspath(given.lazyfs), folder, tools, scene, chance, tally) as disk:
                    disk.lose_at_moments(1000 if given.long else 60)
                    if name != "commands":
                        disk.lose_at_calls(60 if given.long else 4)
                        disk.tear(40 if given.long else 4)
                        disk.lose_and_go_on(40 if given.long else 4)
        tally.report()
        missed = find_variants(os.path.abspath(given.lazyfs), folder, tools, chance) if given.only in (None, "variants") else 0
    print(f"{time.monotonic() - began:.0f} s")
    for scene in tally.idle:
        print(f"{scene}: nothing was acknowledged, so that nothing could be lost")
    sys.exit(1 if tally.wrong or tally.idle or missed else 0)


main()
