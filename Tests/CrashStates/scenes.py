"""Programs of Coffer's that work on a store, and the look at what is left of it."""

import os
import select
import shutil
import signal
import subprocess

from history import Parts, Whole

# A key file of 32 zero bytes, and the beginning of their BLAKE2b digest.
KEY = "PVKEY1-" + "00" * 32 + "89eb0d6a\n"


class Reader:
    """`TestTool look`, under a boot of the kernel that no other program has seen, with the folder `copies` at the path `folder`."""

    def __init__(self, tools, copies, folder):
        self.start = lambda: tools.start("look", boot="later", bound=(copies, folder))
        self.process = None

    def prepare(self):
        """Starts it, which takes a file system that answers."""
        if self.process is None:
            self.process = self.start()
            # Once it answers it runs where the copies are.
            self.ask("vault", "/nowhere", "/nowhere", "-")

    def ask(self, *words):
        self.prepare()
        self.process.stdin.write((" ".join(words) + "\n").encode())
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode().strip()
        if not answer:
            raise RuntimeError(f"the reader died of {words}")
        return answer

    def end(self):
        """Ends it: the next look is another process's."""
        if self.process:
            self.process.stdin.close()
            self.process.wait()
        self.process = None


class Tools:
    """The built programs."""

    def __init__(self, programs, folder):
        self.tool, self.coffer = f"{programs}/TestTool", f"{programs}/coffer"
        self.folder, self.boots = folder, 0
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "SWIFT_BACKTRACE": "enable=no"}

    def start(self, *words, boot=None, bound=None, program=None, environment=None, **options):
        """Starts a program; with `boot`, under a boot of its own of the kernel, as it would be after a loss of power; with `bound`, in a
        world where the first folder stands in the place of the second."""
        command = [program or self.tool, *words]
        if boot:
            self.boots += 1
            file = f"{self.folder}/boot-{boot}"
            with open(file, "w") as text:
                text.write(f"{self.boots:08x}-0000-4000-8000-000000000000\n")
            script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && '
            if bound:
                script += f"mount --bind '{bound[0]}' '{bound[1]}' && "
            command = ["unshare", "-m", "sh", "-c", script + 'exec "$@"', file] + command
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "start_new_session": True} | options
        return subprocess.Popen(command, env=self.environment | (environment or {}), cwd="/", **options)

    def sockets(self):
        """An empty folder."""
        folder = f"{self.folder}/run"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder, mode=0o700)
        return folder


class Scene:
    """A home in which programs work. A subclass says which."""

    name, history_kind, length, has_pins, bound = "", Whole, 60, False, None

    def __init__(self, tools, random, unsynced=None):
        self.tools, self.random, self.history = tools, random, self.history_kind()
        self.process, self.unread, self.others = None, b"", []
        self.wrong = self.found = None
        self.environment = {"LD_PRELOAD": unsynced[0], "COFFER_UNSYNCED": unsynced[1]} if unsynced else {}

    def prepare(self, root):
        """Makes what stands there before LazyFS does."""
        os.makedirs(f"{root}/h", mode=0o700, exist_ok=True)
        with open(f"{root}/h/key", "w") as file:
            file.write(KEY)
        os.chmod(f"{root}/h/key", 0o600)

    @staticmethod
    def beforehand(root):
        """Where the home will be: what is made before LazyFS is there knows its place already."""
        return f"{os.path.dirname(root)}/mount/h"

    def run(self, root, *words, program=None, **environment):
        os.makedirs(f"{os.path.dirname(root)}/mount", mode=0o700, exist_ok=True)
        process = self.tools.start(*words, boot="now", bound=(root, f"{os.path.dirname(root)}/mount"), program=program,
                                   environment=environment)
        process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"{words} ended with {process.returncode}")

    def begin(self, home, length=None):
        """Starts the programs on `home`."""
        self.home = home
        self.process = self.tools.start(*self.command(home, length or self.length), boot="now", bound=self.bound,
                                        environment=self.environment)
        os.set_blocking(self.process.stdout.fileno(), False)

    @property
    def seed(self):
        return str(self.random.randrange(1 << 40))

    def drain(self):
        """Takes note of what was told until now. False where nothing more will be."""
        if self.process is None:
            return False
        try:
            while True:
                more = os.read(self.process.stdout.fileno(), 1 << 16)
                if not more:
                    return False
                self.unread += more
                *lines, self.unread = self.unread.split(b"\n")
                for line in lines:
                    self.hear(line.decode())
        except BlockingIOError:
            return True

    def hear(self, line):
        self.history.add(line)

    def go_on_from_found(self):
        """The next programs find what the last look found: the same disk tells the same."""
        if self.found is not None:
            self.history.add(f"is {self.found}")

    def wait(self, seconds):
        """Waits until something is told, or so long."""
        select.select([self.process.stdout], [], [], seconds)

    def kill(self):
        for process in [self.process, *self.others]:
            if process:
                os.killpg(process.pid, signal.SIGKILL)
        for process in [self.process, *self.others]:
            if process:
                process.wait()
        self.drain()
        self.process, self.others, self.unread = None, [], b""


class VaultScene(Scene):
    """One program that changes a vault in every way. `journal` is how the vault commits: `wal` as on a disk of this machine, or `delete` as
    on a disk of several."""

    has_pins = True

    def __init__(self, tools, random, unsynced=None, journal="wal"):
        super().__init__(tools, random, unsynced)
        self.name, self.journal = f"vault, {'log' if journal == 'wal' else 'rollback journal'}", journal
        self.environment["COFFER_TEST_PINS"] = ""

    def prepare(self, root):
        super().prepare(root)
        if self.journal == "wal" and not os.path.exists(f"{root}/h/vault.sqlite"):
            # LazyFS is of a kind of which Coffer thinks that it may be another machine's: a vault is made without a log there.
            home = self.beforehand(root)
            self.run(root, "step", f"{home}/vault.sqlite", f"{home}/key", "init", COFFER_TEST_PINS=f"{home}/pins")
            self.history.add("is epoch=1,slots=1")

    def hear(self, line):
        if line.startswith("is ") and self.history.events:
            self.wrong = self.wrong or self.history.complaint(line[3:], len(self.history), len(self.history))
        super().hear(line)

    def command(self, home, length):
        self.environment["COFFER_TEST_PINS"] = f"{home}/pins"
        return ["live-vault", f"{home}/vault.sqlite", f"{home}/key", self.seed, str(length)]

    def look(self, reader, home, low, high):
        return self.complaint(reader, f"{home}/vault.sqlite", f"{home}/key", f"{home}/pins", low, high)

    def complaint(self, reader, vault, key, pins, low, high):
        answer = reader.ask("vault", vault, key, pins)
        found = answer.partition(" ")[2]
        if answer.startswith("error noVault"):
            found = None
        elif answer.startswith("error"):
            return f"refused: {answer}"
        self.found = found
        return self.history.complaint(found, low, high)

    @staticmethod
    def replace_vault(home, older):
        """Puts the vault of `older` in the place of the one in `home`."""
        for end in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(f"{home}/vault.sqlite{end}"):
                os.remove(f"{home}/vault.sqlite{end}")
            if os.path.exists(f"{older}/vault.sqlite{end}"):
                shutil.copy2(f"{older}/vault.sqlite{end}", f"{home}/vault.sqlite{end}")

    @staticmethod
    def blesses(reader, home):
        """Says whether the pins of `home` take its vault, which is an older one."""
        answer = reader.ask("vault", f"{home}/vault.sqlite", f"{home}/key", f"{home}/pins")
        return None if answer.startswith(("error rolledBack", "error forked")) else f"blessed: {answer}"


class PlainScene(Scene):
    """One program that changes preferences."""

    name, history_kind, length = "preferences", Parts, 120

    def command(self, home, length):
        return ["live-plain", home, "app", self.seed, str(length)]

    def look(self, reader, home, low, high):
        answer = reader.ask("plain", home, "app")
        if answer.startswith("error"):
            return f"refused: {answer}"
        return self.history.complaint(answer.partition(" ")[2], low, high)


class PairScene(Scene):
    """One program that changes both stores in transactions, with the vault or through an agent."""

    length = 40

    def __init__(self, tools, random, unsynced=None, over_agent=False):
        super().__init__(tools, random, unsynced)
        self.name, self.over_agent, self.number = f"transactions{' over an agent' if over_agent else ''}", over_agent, 0
        self.history.add("is v0,v0,v0")

    def prepare(self, root):
        super().prepare(root)
        if not os.path.exists(f"{root}/h/vault.sqlite"):
            home = self.beforehand(root)
            self.run(root, "step", f"{home}/vault.sqlite", f"{home}/key", "init")
            self.run(root, "transact", home, f"{home}/key", "v0")

    def begin(self, home, length=None):
        self.left = length or self.length
        if self.over_agent:
            # LazyFS makes no sockets.
            os.makedirs(f"{home}/run", mode=0o700, exist_ok=True)
            self.bound = (self.tools.sockets(), f"{home}/run")
            agent = self.tools.start("agent", home, f"{home}/key", boot="now", bound=self.bound, environment=self.environment)
            self.others = [agent]
            if agent.stdout.readline() != b"open\n":
                raise BrokenPipeError("the agent did not open")
        super().begin(home, length)

    def command(self, home, length):
        self.open = None
        return ["serve", home, f"{home}/key"] + (["60000"] if self.over_agent else [])

    def hear(self, line):
        if line == "open" or line == "ok" or line.startswith("error"):
            if line == "ok" and self.open:
                self.history.add("done")
            self.ask()

    def ask(self):
        if self.left == 0:
            self.process.stdin.close()
            return
        self.left -= 1
        self.open = None
        if self.random.random() < 0.7:
            self.number += 1
            self.open = f"v{self.number}"
            self.history.add(f"begin {self.open},{self.open},{self.open}")
            request = f"transact {self.open}"
        else:
            request = self.random.choice(["fold", f"write {self.left}"])
        try:
            self.process.stdin.write(f"{request}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def look(self, reader, home, low, high):
        answer = reader.ask("pair", home, f"{home}/key")
        if answer.startswith("error"):
            return f"refused: {answer}"
        found = answer.partition(" ")[2]
        self.found = found
        if len(set(found.split(","))) != 1:
            return f"torn: {found}"
        return self.history.complaint(found, low, high)


class CommandScene(VaultScene):
    """A script of `coffer` commands, each a process of its own, over a vault and preferences."""

    length, has_pins = 24, False

    def __init__(self, tools, random, unsynced=None):
        super().__init__(tools, random, unsynced)
        self.name, self.preferences = "commands", Parts()

    def prepare(self, root):
        Scene.prepare(self, root)
        home = self.beforehand(root)
        self.run(root, "vault", "init", "--home", home, "--new-key-file", f"{home}/machine", program=self.tools.coffer)
        self.history.add("is epoch=1,slots=1")
        self.preferences.add("is ")

    def command(self, home, length):
        items, epoch, lines = {}, 1, []
        coffer = self.tools.coffer
        at = f"--home {home} --key-file {home}/machine"
        for _ in range(length):
            number, value = self.random.randrange(8), self.random.randrange(1, 1 << 20)
            choice = self.random.randrange(10)
            if choice < 4:
                items[number] = value
                run = f"printf '{value} ' | {coffer} vault set svc {number} {at}"
            elif choice < 6 and number in items:
                del items[number]
                run = f"{coffer} vault delete svc {number} {at}"
            elif choice < 7:
                epoch += 1
                run = f"{coffer} vault rotate --yes {at}"
            else:
                lines += [f"echo 'preferences begin k{number}={value}'",
                          f"{coffer} defaults write app k{number} -string '{value} ' --home {home} >&2",
                          "echo preferences done; echo preferences kept"]
                continue
            state = f"epoch={epoch},slots=1" + "".join(f",{key}={items[key]}" for key in sorted(items))
            lines += [f"echo 'begin {state}'", f"{run} >&2", "echo 'done'; echo kept"]
        return ["-ec", "\n".join(lines)]

    def begin(self, home, length=None):
        self.home = home
        self.process = self.tools.start(*self.command(home, length or self.length), program="/bin/sh",
                                        environment=self.environment)
        os.set_blocking(self.process.stdout.fileno(), False)

    def hear(self, line):
        if line.startswith("preferences "):
            self.preferences.add(line.partition(" ")[2])
            self.history.events.append(("also", ""))
        else:
            super().hear(line)

    def look(self, reader, home, low, high):
        wrong = self.complaint(reader, f"{home}/data/vault.sqlite", f"{home}/machine", f"{home}/state/pins", low, high)
        answer = reader.ask("plain", f"{home}/config", "app")
        if wrong or answer.startswith("error"):
            return wrong or f"refused: {answer}"
        also = [number for number, (word, _) in enumerate(self.history.events) if word == "also"]
        low, high = (1 + sum(number < bound for number in also) for bound in (low, high))
        return self.preferences.complaint(answer.partition(" ")[2], low, high)
