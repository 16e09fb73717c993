"""Kills `coffer vault sync` and `vault clone`, or fails them, at each system call that writes, and looks at what a second run makes of it.

    COFFER_BIN=.build/debug/coffer python3 Tests/Models/sweep.py [SCENE]... [--on folder|git] [--how kill|all|EIO|ENOSPC]
        [--each N] [--from N]

The Nth call is that of the program and all of its children together: the kernel asks this program before each (seccomp's user notification).
`kill` ends the calling process, `all` every one, `EIO` fails this call, `ENOSPC` this one and all later ones but removals. `--each 5 --from 1`
takes the calls 2, 7, 12. Exits with 77 where the kernel allows no filter. After each: the same command again ends with 0, then both machines agree, have all values, and no more files than usual.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "Witness"))
sys.dont_write_bytecode = True
import calls
import report
from reader import Request, open_vault

BIN = os.path.abspath(os.environ.get("COFFER_BIN", ".build/debug/coffer"))
FAKE = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
# Of sysexits.h, as `coffer help exit-codes` has them: input or output failed, and try again.
DOCUMENTED = (0, 74, 75)


class Sweep:
    def __init__(self, on, scene):
        self.place = tempfile.TemporaryDirectory(prefix="coffer-sweep-", dir="/dev/shm")
        self.root, self.on, self.scene = Path(self.place.name, "now"), on, scene
        self.key, self.store = Path(self.place.name, "key"), self.root / "store"
        self.commands = dict(sync=("vault", "sync", self.store), compact=("vault", "sync", self.store, "--compact"),
                             clone=("vault", "clone", self.store))
        self.told = {name: value for name, value in os.environ.items() if not name.startswith("COFFER")}
        self.prepare()
        shutil.copytree(self.root, self.root.parent / "kept", symlinks=True)
        status, errors, self.count, _ = self.struck(0, "")
        assert status == 0, f"{on} {scene}: {status} {errors}"
        self.right = self.settle()
        assert not isinstance(self.right, str), self.right

    def prepare(self):
        """Makes the state before the command, three days ago: by then a compaction removes groups."""
        run = lambda *words: self.run(*words, past=True)
        self.store.mkdir(parents=True)
        if self.on == "git":
            subprocess.run(["git", "init", "--quiet", "--bare", self.store], check=True)
        for k in (0, 1):
            (self.root / f"m{k}").mkdir(mode=0o700)
            for setting, value in (("trash.days", "3650"), ("history.keep", "1000")):
                run(k, "defaults", "write", "coffer.settings", setting, value)
        run(0, "init", "--new-key-file", self.key)
        for name in "abc":
            run(0, "set", f"web/{name}", f"{name}1")
        self.k, self.command = (1, "clone") if self.scene == "clone" else (0, "sync")
        if self.scene == "first":
            return
        run(0, *self.commands["sync"])
        if self.scene == "clone":
            return
        run(1, *self.commands["clone"])
        run(0, *self.commands["sync"])
        for words in (("set", "web/a", "a2"), ("set", "web/d", "d1"), ("delete", "web/b", "--yes")):
            run(0, *words)
        if self.scene == "put":
            return
        run(0, *self.commands["sync"])
        self.k, self.command = (0, "compact") if self.scene == "compact" else (1, "sync")
        if self.scene == "join":
            for words in (("set", "web/c", "c2"), ("set", "web/a", "a3"), ("set", "web/e", "e1")):
                run(1, *words)
        if self.scene == "compact":
            for k in (1, 0, 1):
                run(k, *self.commands["sync"])
                run(k, "set", "web/c", f"c{k}")
            run(0, *self.commands["sync"])

    def words(self, k, *words):
        value = [words[2]] if words[0] == "set" else []
        words = words[:2] if value else words
        opens = [] if words[0] in ("init", "defaults", "backup") else ["--key-file", self.key, "--no-agent"]
        vault = [] if words[0] == "defaults" else ["--vault", self.root / f"m{k}/v"]
        return [BIN, *words, "--home", self.root / f"m{k}", "--quiet", *vault, *opens], "".join(value)

    def run(self, k, *words, past=False, allowed=(0,)):
        told = self.told | ({"LD_PRELOAD": str(FAKE), "FAKETIME": "-3d", "DONT_FAKE_MONOTONIC": "1"} if past else {})
        line, value = self.words(k, *words)
        done = subprocess.run(line, env=told, input=value, capture_output=True, text=True)
        assert done.returncode in allowed, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def struck(self, at, how):
        return calls.struck(self.words(self.k, *self.commands[self.command])[0], self.told, at, how)

    def files(self):
        """The names of all files but the pieces, and what a git that dies leaves at its repository, whose number may differ."""
        found = {re.sub(r"[0-9a-f]{16,}", "X", str(path.relative_to(self.root))) for path in self.root.rglob("*") if path.is_file()}
        return {name for name in found if not re.search(r"/objects/(../|pack/)|/(h|o)/\d*-?X$|/repository/(gc\.|logs/|info/)|store/(objects/tmp_|shallow_)", name)}

    def records(self, k):
        copy = self.root.parent / "dump"
        copy.unlink(missing_ok=True)
        self.run(k, "backup", copy)
        v = open_vault(Request.of({"path": str(copy), "keyFile": self.key.read_bytes().hex()}))
        whole = report.whole(v.header, v.sealed, v.keys, v.state, v.records, v.entries, v.beginning, v.decided, v.place)
        return [record for record in whole["records"] if record["service"] == "web"]

    def settle(self):
        """Both sync. Their values, and the files; or what is wrong."""
        try:
            for k in (1 - self.k, self.k, 1 - self.k):
                words = self.commands["sync" if (self.root / f"m{k}/v").exists() else "clone"]
                self.run(k, *words)
            both = [self.records(k) for k in (0, 1)]
            if both[0] != both[1]:
                return "the machines differ"
            if self.on == "git":
                subprocess.run(["git", "-C", self.store, "fsck", "--strict", "--no-dangling"], check=True, capture_output=True)
        except (AssertionError, subprocess.CalledProcessError) as error:
            return f"afterwards: {error}"
        keys = ("id", "kind", "account", "revision", "value", "deletedBy")
        values = sorted(json.dumps([bool(record[key]) if key == "deletedBy" else record[key] for key in keys]) for record in both[0])
        return values, self.files()

    def strike(self, at, how, count):
        shutil.rmtree(self.root)
        shutil.copytree(self.root.parent / "kept", self.root, symlinks=True)
        status, errors, _, struck = self.struck(at, how)
        wrong = []
        count[f"{how}: {status}"] += 1
        if how.startswith("E") and status not in DOCUMENTED:
            wrong.append(f"the status is {status}: {errors}")
        # A clone that made the vault is no clone any more.
        command = "sync" if self.command == "clone" and (self.root / "m1/v").exists() else self.command
        again = self.run(self.k, *self.commands[command], allowed=range(256))
        if again.returncode:
            wrong.append(f"again: {again.returncode} {again.stderr}")
        found = self.right if wrong else self.settle()
        if isinstance(found, str):
            wrong.append(found)
        else:
            if found[0] != self.right[0]:
                wrong.append(f"values: {set(found[0]) ^ set(self.right[0])}")
            if found[1] - self.right[1]:
                wrong.append(f"left: {sorted(found[1] - self.right[1])}")
        for one in wrong:
            print(f"{self.on} {self.scene} {how} at {at} of {self.count} ({struck}), status {status}: {one}", flush=True)
        count["broken"] += bool(wrong)


def main(*words):
    if not calls.works():
        return 77
    broken = 0
    every = ("first", "put", "take", "join", "compact", "clone")
    scenes = [word for word in words if word in every] or every
    given = lambda name, *otherwise: [words[words.index(name) + 1]] if name in words else otherwise
    each, begin = int(given("--each", 1)[0]), int(given("--from", 0)[0])
    for on in given("--on", "folder", "git"):
        for scene in scenes:
            sweep, count = Sweep(on, scene), Counter()
            for how in given("--how", "kill", "all", "EIO", "ENOSPC"):
                for at in range(1 + begin, sweep.count + 1, each):
                    sweep.strike(at, how, count)
            print(f"{on} {scene}: {sweep.count} calls", ", ".join(f"{name}: {n}" for name, n in sorted(count.items()) if n), flush=True)
            sweep.place.cleanup()
            broken += count["broken"]
    return broken > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
