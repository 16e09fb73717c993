"""The ways in which power is lost."""

import hashlib
import os
import shutil

from lazyfs import LazyFS
from scenes import Reader

CLEAR = """
[[injection]]
type="clear-cache"
from="{file}"
timing="{timing}"
op="{op}"
occurrence={occurrence}
crash=true
"""
TORN_WRITE = """
[[injection]]
type="torn-op"
file="{file}"
occurrence={occurrence}
parts={parts}
persist={persist}
"""
TORN_SEQUENCE = """
[[injection]]
type="torn-seq"
op="write"
file="{file}"
persist={persist}
occurrence={occurrence}
"""


class Disk:
    """A folder under LazyFS, and the programs of a scene on it."""

    def __init__(self, lazyfs, folder, tools, scene, random, tally, unsynced=None):
        self.lazyfs, self.folder, self.tools, self.random, self.tally = lazyfs, f"{folder}/disk", tools, random, tally
        # The reader sees a copy of the disk at the disk's own path, as transactions and pins name the places of their vaults.
        self.copies, self.kept = f"{folder}/copies", f"{folder}/kept"
        for path in (self.folder, f"{self.copies}/mount", self.kept):
            os.makedirs(path, mode=0o700, exist_ok=True)
        self.make = lambda: scene(tools, random, unsynced)
        self.reader, self.mounted, self.scene, self.older = Reader(tools, self.copies, self.folder), None, None, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.scene:
            self.scene.kill()
            self.tally.acknowledge(self.scene)
        if self.mounted:
            self.mounted.end()
        self.reader.end()

    # The four ways.

    def lose_at_moments(self, count):
        """LazyFS is stopped at any moment while programs work, what is on the disk then is looked at, and all go on."""
        while count > 0:
            scene = self.fresh()
            self.mount()
            scene.begin(f"{self.mounted.mount}/h")
            while count > 0:
                scene.wait(self.random.choice([0.0, 0.0005, 0.002, 0.02]))
                self.reader.prepare()
                lives, low = scene.drain(), len(scene.history)
                self.mounted.stop()
                scene.drain()
                self.judge(scene, "at a moment", low, self.copy(f"{self.mounted.root}/h"))
                self.mounted.go_on()
                count -= 1
                if not lives:
                    break
            scene.kill()
            self.mounted.end()

    def lose_at_calls(self, count):
        """LazyFS kills itself before or after a call of a chosen number on a chosen file; the next program finds what is left."""
        operations = self.operations({"write": "write", "fsync": "fsync", "rename": "", "unlink": "unlink", "open": "open",
                                      "create": "create", "truncate": "truncate"})

        def fault():
            (op, file), occurrences = self.random.choice(operations)
            occurrences = 1 + occurrences // 2
            return CLEAR.format(file=file, timing=self.random.choice(["before", "after"]), op=op,
                                occurrence=self.random.randint(1, occurrences))
        self.lose_by(count, "before or after a call", fault)

    def tear(self, count):
        """LazyFS keeps a part of a write, or some of several writes, and kills itself."""
        operations = self.operations({"write": "write"})

        def fault():
            (_, file), occurrences = self.random.choice(operations)
            number = self.random.randint(1, 1 + occurrences // 2)
            # A disk writes eight bytes whole, on which the journal relies; LazyFS would tear them.
            if file.endswith(".coffer") or self.random.random() < 0.5:
                persist = sorted(self.random.sample(range(1, 5), self.random.randint(1, 3)))
                return TORN_SEQUENCE.format(file=file, occurrence=1 + number // 8, persist=persist)
            parts = self.random.randint(2, 8)
            persist = sorted(self.random.sample(range(1, parts + 1), self.random.randint(1, parts - 1)))
            return TORN_WRITE.format(file=file, occurrence=number, parts=parts, persist=persist)
        self.lose_by(count, "with torn writes", fault)

    def lose_and_go_on(self, count):
        """Programs are killed, LazyFS drops what was not synchronized, and programs go on with what is left on the same mount."""
        while count > 0:
            scene = self.fresh()
            self.mount()
            for _ in range(min(count, 8)):
                self.live(scene, self.random.choice([0.002, 0.02, 0.1]) * self.random.random() + 0.001)
                self.mounted.clear()
                self.judge(scene, "and the same disk afterwards", len(scene.history), self.copy(f"{self.mounted.mount}/h"))
                scene.go_on_from_found()
                count -= 1
            self.mounted.end()

    # Their parts.

    def lose_by(self, count, way, fault):
        while count > 0:
            scene = self.fresh()
            for _ in range(8):
                self.mount(fault())
                self.live(scene, 20, length=30)
                died = not self.mounted.is_alive
                self.mounted.end()
                # Where the call was never made, power is lost after the program's end.
                self.judge(scene, way if died else "after the end", len(scene.history), self.copy(f"{self.mounted.root}/h"))
                scene.go_on_from_found()
                count -= died

    def live(self, scene, seconds, length=None):
        """Lets programs work until the time is over, LazyFS dies, or they end; then kills them."""
        try:
            scene.begin(f"{self.mounted.mount}/h", length)
        except OSError:
            scene.kill()
            return
        left = seconds
        while scene.drain() and left > 0 and self.mounted.is_alive:
            scene.wait(min(left, 0.01))
            left -= 0.01
        scene.kill()

    def operations(self, names):
        """What a whole life does: the calls that can be met, each with its number."""
        scene = self.fresh()
        self.mount(logs=True)
        self.live(scene, 60, length=30)
        self.mounted.end()
        found = self.mounted.operations().items()
        # Drafts have other names each time, and the log's index is never synchronized.
        met = [((names[op], f"{self.mounted.root}/{path}"), count) for (op, path), count in found
               if names.get(op) and "coffer-" not in path and not path.endswith(("-shm", "/key"))]
        return sorted(met)

    def fresh(self):
        for path in ("root", "mount"):
            remove(f"{self.folder}/{path}")
        os.makedirs(f"{self.folder}/root", mode=0o700)
        if self.scene:
            self.tally.acknowledge(self.scene)
        self.scene, self.older = self.make(), []
        scene = self.scene
        scene.prepare(f"{self.folder}/root")
        return scene

    def mount(self, faults="", logs=False):
        self.mounted = LazyFS(self.lazyfs, self.folder, faults, logs)

    def copy(self, home):
        """Copies a home to where the reader finds it."""
        target = f"{self.copies}/mount/h"
        remove(target)
        shutil.copytree(home, target, ignore=lambda _, names: [name for name in names if name == "run"])
        return target

    def judge(self, scene, way, low, home):
        """Looks at a copy of a home, of a moment when `low` events were known to have happened."""
        content, high = self.digest(home), len(scene.history)
        seen, pinned = f"{self.folder}/mount", None
        if scene.has_pins:
            older = self.random.choice(self.older) if self.older else None
            if older and scene.history.must_refuse(low, older[1]):
                pinned = f"{self.copies}/mount/pinned"
                remove(pinned)
                shutil.copytree(home, pinned)
                scene.replace_vault(pinned, older[0])
            if os.path.exists(f"{home}/vault.sqlite") and (not self.older or self.random.random() < 0.1):
                kept = f"{self.kept}/{self.random.randrange(4)}"
                remove(kept)
                shutil.copytree(home, kept)
                self.older = [pair for pair in self.older if pair[0] != kept] + [(kept, high)]
        complaint = scene.wrong or scene.look(self.reader, f"{seen}/h", low, high)
        self.tally.add(scene.name, way, content, complaint)
        scene.wrong = None
        if pinned:
            self.tally.add(scene.name, "with an older copy put in its place", content + "older",
                           scene.blesses(self.reader, f"{seen}/pinned"))
        self.reader.end()
        return complaint

    @staticmethod
    def digest(home):
        digest = hashlib.blake2b()
        for folder, folders, files in os.walk(home):
            folders.sort()
            for name in sorted(files):
                if not name.endswith("-shm"):
                    with open(f"{folder}/{name}", "rb") as file:
                        digest.update(name.encode() + b"\0" + file.read() + b"\0")
        return digest.hexdigest()


def remove(folder):
    """Removes a folder, in which a program that was killed may still be making files."""
    while os.path.exists(folder):
        shutil.rmtree(folder, ignore_errors=True)
