"""Drives the program `coffer` through the histories of sync.py, which says what must be refused, kept and gone.

Three machines, each with a home and a clock of its own, sync with a bare repository of git's, or with three folders between which files are
copied one by one. Steps are those of the model; a death is a SIGKILL at a system call, of the program or of one of its children.

    COFFER_BIN=.build/debug/coffer python3 Tests/Models/drive.py histories N [SEED]   # N histories of random steps
    COFFER_BIN=.build/debug/coffer python3 Tests/Models/drive.py machine N            # N histories that hypothesis chooses

Needs git, faketime and strace. A history takes some 10 s.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "Witness"))
sys.dont_write_bytecode = True
import report
import sync
from reader import Request, open_vault
from sync import Event, History

BIN = os.path.abspath(os.environ.get("COFFER_BIN", ".build/debug/coffer"))
FAKE = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
# The seconds of 1970 at which a history begins.
BEGIN = 1_790_000_000
# The Nth call of its kind, at which a sync or a child of it is killed.
CALLS = "openat write pwrite64 fsync fdatasync rename renameat renameat2 unlink unlinkat execve wait4 poll flock fcntl ftruncate".split()
KILLS = [(call, n) for call in CALLS for n in (1, 2, 3, 5, 8, 13, 34, 89)]
GIVEN = {**sync.GIVEN, "sync": (sync.MACHINES, [None] * len(KILLS) + KILLS, *sync.GIVEN["sync"][2:])}
# The program lets no hook of a repository run. So its git waits before an armed push.
GIT = """#!/bin/sh
case " $* " in *" push "*) mv "{0}/armed" "{0}/ready" 2>/dev/null && while [ -e "{0}/ready" ]; do sleep 0.01; done;; esac
exec {1} "$@"
"""
RIGHT, DAMAGED, LATER, KILLED = 0, 66, 75, -9


class Drive(History):
    def __init__(self, is_loose, skews, has_copies=False, without=(), count=None):
        super().__init__(is_loose, (skews * 3)[:3], False, without, count)
        self.place = tempfile.TemporaryDirectory(prefix="coffer-drive-", dir="/dev/shm")
        self.root, self.heads, self.key = Path(self.place.name), {}, Path(self.place.name, "key")
        self.stores = [self.root / (f"store{k}" if is_loose else "store") for k in range(3)]
        if not is_loose:
            subprocess.run(["git", "init", "--quiet", "--bare", self.stores[0]], check=True)
            (self.root / "bin").mkdir()
            (self.root / "bin/git").write_text(GIT.format(self.root, shutil.which("git")))
            (self.root / "bin/git").chmod(0o755)
        for k in range(3):
            (self.root / f"m{k}").mkdir(mode=0o700)
            for setting, value in (("trash.days", "3650"), ("history.keep", "1000")):
                self.run(k, "defaults", "write", "coffer.settings", setting, value, opens=False)
            if is_loose:
                self.stores[k].mkdir()
                self.hand_on(0, k, slice(None))
            if k:
                self.run(k, "vault", "clone", str(self.stores[k]))
                continue
            self.run(0, "init", "--new-key-file", self.key, opens=False)
            for value, name in zip(list(self.written), "abc"):
                self.run(0, "set", f"web/{name}", text=value)
            self.written = dict(zip(self.written, self.listed(0).values()))
            self.run(0, "vault", "sync", str(self.stores[0]))
        # Clones put heads too.
        self.heads = {head: 1 for k in range(3) for head in self.view(k)}

    # -- The program

    def start(self, k, *words, opens=True, kill=None):
        told = {name: value for name, value in os.environ.items() if not name.startswith("COFFER")}
        clock = time.gmtime(BEGIN + self.now + self.machines[k].skew)
        told["PATH"] = f"{self.root}/bin:{told['PATH']}"
        told |= {"TZ": "UTC", "LD_PRELOAD": str(FAKE), "FAKETIME": time.strftime("@%Y-%m-%d %H:%M:%S", clock), "DONT_FAKE_MONOTONIC": "1"}
        call, n = kill or ("", 0)
        tracer = ["strace", "-f", "-qqq", "-o", "/dev/null", "-e", f"trace=?{call}", "-e", f"inject=?{call}:signal=SIGKILL:when={n}"]
        key = ["--key-file", self.key, "--no-agent"] if opens else []
        home = ["--home", self.root / f"m{k}", *(["--vault", self.root / f"m{k}/v"] if words[0] != "defaults" else [])]
        return subprocess.Popen([*(tracer if kill else []), BIN, *words, *home, "--quiet", *key], env=told, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, k, *words, text="", allowed=(RIGHT,), **how):
        """The status of a command, and its output."""
        program = self.start(k, *words, **how)
        out, errors = program.communicate(text)
        if program.returncode not in allowed:
            self.broken(f"{' '.join(map(str, words))}: {program.returncode}\n{out}{errors}")
        return program.returncode, out

    def listed(self, k, *words):
        """The ids of the items, by account."""
        items = json.loads(self.run(k, "list", "--json", *words)[1])
        return {item["account"]: item["id"].replace("-", "") for item in items if item["service"] == "web"}

    def records(self, k):
        """All rows of a vault, as the Witness reads them: deleted and former ones too."""
        copy = self.root / "dump"
        copy.unlink(missing_ok=True)
        self.run(k, "backup", copy, opens=False)
        v = open_vault(Request.of({"path": str(copy), "keyFile": self.key.read_bytes().hex()}))
        whole = report.whole(v.header, v.sealed, v.keys, v.state, v.records, v.entries, v.beginning, v.decided, v.place)
        return [record for record in whole["records"] if record["service"] == "web"]

    def values(self, records):
        """The values of each item, former and deleted ones too, by its id."""
        items = {}
        for record in records:
            items.setdefault(record["id"], set()).update([bytes.fromhex(record["value"]).decode()] if record["value"] else [])
        return items

    def bytes(self, k):
        """What a refusal must not change: the vault, and what this machine knows of it."""
        home = self.root / f"m{k}"
        return {path: path.read_bytes() for path in [home / "v", *(home / "state").rglob("*")] if path.is_file()}

    # -- The store

    def view(self, k):
        if self.is_loose:
            return set(os.listdir(self.stores[k] / "h")) if (self.stores[k] / "h").is_dir() else set()
        refs = ["git", "-C", self.stores[0], "for-each-ref", "--format=%(objectname)"]
        return set(subprocess.run(refs, check=True, capture_output=True, text=True).stdout.split())

    def of(self, view):
        return sync.events([sync.Head(0, 0, {}, {}, self.heads.get(head, 0)) for head in view])

    def note(self, k, view):
        """Heads that came by a sync of machine `k`, which saw `view` before."""
        for head in self.view(k) - self.heads.keys():
            self.heads[head] = self.machines[k].events | self.of(view) | self.event()

    def hand_on(self, a, b, which):
        """The service behind loose stores copies files, each at once."""
        files = sorted(path.relative_to(self.stores[a]) for path in self.stores[a].rglob("*") if path.is_file())
        for name in [name for name in files if not (self.stores[b] / name).exists()][which]:
            (self.stores[b] / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(self.stores[a] / name, self.root / "file")
            (self.root / "file").rename(self.stores[b] / name)

    def swap(self, k, other):
        """Exchanges what machine `k` sees with `other`: a folder, or the names of a repository."""
        for name in [""] if self.is_loose else ["refs", "packed-refs"]:
            here, there, aside = self.stores[k] / name, other / name, self.root / "aside"
            for a, b in ((here, aside), (there, here), (aside, there)):
                if a.exists():
                    a.rename(b)

    # -- Steps

    def edit(self, k, what, number, name, seconds=1):
        k, m = k % 3, self.machines[k % 3]
        self.now += seconds
        present = self.listed(k)
        choice = present if what not in ("new", "undelete") else self.listed(k, "--deleted") if what == "undelete" else {name: None}
        old, value = sorted(choice)[number % len(choice)] if choice else None, f"v{len(self.written)}"
        if old is None or what in ("new", "undelete") and old in present or what == "rename" and name in present:
            return
        records = self.records(k) if what == "forever" else []
        words = {"set": ("set", f"web/{old}"), "new": ("set", f"web/{old}", "--create"), "undelete": ("undelete", f"web/{old}"),
                 "delete": ("delete", f"web/{old}", "--yes"), "forever": ("delete", f"web/{old}", "--yes", "--forever"),
                 "rename": ("rename", f"web/{old}", "--to-account", name)}[what]
        self.run(k, *words, text=value)
        self.trace.append(f"{m.label}: {what} {old} {name if what == 'rename' else value if what in ('set', 'new') else ''}")
        event, before = self.event(), m.events
        m.events |= event
        self.count["edits"] += 1
        item = choice[old] or self.listed(k)[old]
        if what == "forever":
            # With those that were deleted under the name before.
            named = {item} | {record["id"] for record in records if record["deletedBy"] and record["account"] == old}
            gone = self.values(record for record in records if record["id"] in named)
            kept = self.values(record for record in records if record["id"] not in named)
            self.removals.append(Event(set().union(*gone.values()).difference(*kept.values()), event, before))
            return
        if what in ("set", "new"):
            self.written[value] = item
        self.edits.append(Event({value for value, i in self.written.items() if i == item}, event, before))

    def deliver(self, a, b, number):
        if self.is_loose and a % 3 != b % 3:
            self.hand_on(a % 3, b % 3, slice(number, None, 3))
            self.trace.append(f"every third file, from {number}, is copied from the folder of m{a % 3} to that of m{b % 3}")

    def lie(self, k, what):
        k %= 3
        other = self.root / ("kept" if what != "nothing" else "nothing")
        if what == "keep":
            shutil.rmtree(other, ignore_errors=True)
            shutil.copytree(self.stores[k], other)
            self.kept = self.view(k)
            self.trace.append(f"the view of m{k} is kept")
            return
        if what == "nothing":
            shutil.rmtree(other, ignore_errors=True)
            (other / "refs/heads").mkdir(parents=True) if not self.is_loose else other.mkdir()
        served = set() if what == "nothing" else self.kept
        if served is None or not self.machines[k].told & ~self.of(served):
            return
        self.trace.append(f"m{k}: sync, served {what}")
        self.swap(k, other)
        before, view = self.bytes(k), self.view(k)
        status, _ = self.run(k, "vault", "sync", str(self.stores[k]), allowed=(DAMAGED, LATER) if self.is_loose and served else (DAMAGED,))
        if self.bytes(k) != before or self.view(k) != view:
            self.broken("a refused sync changed something")
        self.swap(k, other)
        self.count["refused: rolled back" if status == DAMAGED else "told: later"] += 1

    def sync(self, k, death=None, rival=None, *edit, view=None):
        k %= 3
        m, view, armed, ready = self.machines[k], self.view(k), self.root / "armed", self.root / "ready"
        self.trace += [] if self.is_settling else [f"{m.label}: sync" + (f", killed at {' '.join(map(str, death))}" if death else "")]
        self.count["syncs"] += 1
        program = self.start(k, "vault", "sync", str(self.stores[k]), kill=death)
        if rival is not None and rival % 3 != k and not self.is_loose and not death:
            armed.touch()
        while armed.exists() and program.poll() is None:
            time.sleep(0.01)
        if rival is not None and ready.exists():
            self.count["races lost"] += 1
            self.edit(rival, *edit)
            self.sync(rival)
            view = self.view(k)
            ready.unlink()
        out, errors = program.communicate()
        armed.unlink(missing_ok=True)
        self.count["killed"] += program.returncode == KILLED
        # The service may not have brought all pieces of a head yet; a child's death is a store out of reach.
        allowed = (RIGHT, KILLED, LATER) if death else (RIGHT, LATER) if self.is_loose and not self.is_settling else (RIGHT,)
        if program.returncode not in allowed:
            self.broken(f"sync: {program.returncode}\n{out}{errors}")
        self.note(k, view)
        if program.returncode == RIGHT:
            m.told = self.of(self.view(k))
            m.events |= m.told

    # -- What must hold

    def finish(self):
        self.trace.append("nobody writes, and all sync")
        self.is_settling, rounds, before = True, 0, None
        while before != (before := [self.records(k) for k in range(3)] + [sorted(self.heads)]):
            rounds += 1
            if rounds > 12:
                self.broken("the machines never agree")
            for k in range(3):
                for a, b in [(a, b) for a in range(3) for b in range(3) if self.is_loose and a != b]:
                    self.hand_on(a, b, slice(None))
                self.sync(k)
        self.count["most rounds"] = max(self.count["most rounds"], rounds)
        for words in (("list", "--json"), ("list", "--json", "--deleted"), ("export", "--reveal", "--yes"), ("vault", "verify", "--json")):
            answers = [self.run(k, *words)[1] for k in range(3)]
            if words[0] != "vault" and len(set(answers)) > 1:
                self.broken(f"the machines differ: {' '.join(words)}\n" + "\n".join(answers))
        if any(records != before[0] for records in before[:3]):
            self.broken("the machines differ in former or deleted values")
        records = self.records(0)
        present = {record["id"]: bytes.fromhex(record["value"]).decode() for record in records if record["value"] and record["kind"] != 1}
        self.judge([(present.get(item), values) for item, values in self.values(records).items()])
        self.place.cleanup()


def tidy():
    """A killed program leaves files of faketime's under its number, by which another user's program could make none."""
    for left in Path("/dev/shm").glob("*faketime_s*_*"):
        try:
            if left.owner() == Path("/proc/self").owner() and not Path("/proc", left.name.rpartition("_")[2]).exists():
                left.unlink()
        except FileNotFoundError:
            pass  # Another driver removed it.


def main(mode, size, seed=0):
    count, size, seed = Counter(), int(size), int(seed)
    try:
        history, broken = sync.machine(size, (), count, Drive, GIVEN) if mode == "machine" else sync.histories(
            range(seed, seed + size), (), count, Drive, GIVEN)
    finally:
        tidy()
    print("\n".join(history.trace if history else []))
    print(broken or "nothing is broken", ", ".join(f"{name}: {number}" for name, number in sorted(count.items()) if number), sep="\n")
    return broken is not None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
