"""LazyFS (github.com/dsrhaslab/lazyfs): a file system that keeps what is written in a cache of its own until it is synchronized."""

import os
import signal
import subprocess
import time

CONFIGURATION = """
[faults]
fifo_path="{folder}/faults"
fifo_path_completed="{folder}/completed"
[cache]
apply_eviction=false
[cache.simple]
custom_size="96MB"
blocks_per_page=1
[filesystem]
log_all_operations={log}
logfile=""
"""


class LazyFS:
    """One mount of it. What is synchronized is in `root`; the programs see `mount`."""

    def __init__(self, program, folder, faults="", logs=False):
        self.root, self.mount = f"{folder}/root", f"{folder}/mount"
        self.log, self.is_over = f"{folder}/lazyfs.log", False
        for path in (self.root, self.mount):
            os.makedirs(path, mode=0o700, exist_ok=True)
        for fifo in ("faults", "completed"):
            if not os.path.exists(f"{folder}/{fifo}"):
                os.mkfifo(f"{folder}/{fifo}")
        with open(f"{folder}/lazyfs.toml", "w") as file:
            file.write(CONFIGURATION.format(folder=folder, log=str(logs).lower()) + faults)
        # LazyFS opens both ends while it starts, and waits for the other side.
        self.faults = os.open(f"{folder}/faults", os.O_RDWR)
        self.completed = os.open(f"{folder}/completed", os.O_RDWR | os.O_NONBLOCK)
        environment = dict(os.environ)
        library = os.path.dirname(os.path.abspath(program))
        environment["LD_LIBRARY_PATH"] = f"{library}:{environment.get('LD_LIBRARY_PATH', '')}"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [program, self.mount, "--config-path", f"{folder}/lazyfs.toml", "-o", "allow_other",
                 "-o", "modules=subdir", "-o", f"subdir={self.root}", "-f"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + 20
        while not os.path.ismount(self.mount):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.end()
                with open(self.log, errors="replace") as log:
                    raise RuntimeError(f"LazyFS does not mount: {log.read()[-500:]}")
            time.sleep(0.002)

    @property
    def is_alive(self):
        return self.process.poll() is None

    def stop(self):
        """Nothing reaches the disk from now on; what is there is what a loss of power would leave. False where it has died."""
        if not self.is_alive:
            return False
        os.kill(self.process.pid, signal.SIGSTOP)
        tasks = f"/proc/{self.process.pid}/task"
        while True:
            try:
                states = []
                for task in os.listdir(tasks):
                    with open(f"{tasks}/{task}/stat") as file:
                        states.append(file.read().rsplit(")", 1)[1].split()[0])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if all(state in "TZX" for state in states):
                return True
            time.sleep(0.0002)

    def go_on(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def command(self, text):
        os.write(self.faults, f"lazyfs::{text}\n".encode())

    def clear(self):
        """Drops every byte that was not synchronized, and goes on."""
        self.command("clear-cache")
        said, deadline = b"", time.monotonic() + 60
        while b"finished" not in said:
            if time.monotonic() > deadline:
                raise RuntimeError("LazyFS does not clear its cache")
            try:
                said += os.read(self.completed, 100)
            except BlockingIOError:
                time.sleep(0.0005)

    def end(self):
        """Kills it, and with it all that was not synchronized."""
        if self.is_over:
            return
        self.is_over = True
        if self.is_alive:
            self.process.kill()
        self.process.wait()
        subprocess.run(["umount", "-l", self.mount], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for descriptor in (self.faults, self.completed):
            os.close(descriptor)

    def operations(self):
        """How often each operation was made on each file, of a mount that logs them: {(operation, path under the root): count}."""
        counts = {}
        with open(self.log, errors="replace") as log:
            for line in log:
                name, separator, rest = line.partition("[lazyfs.ops]: lfs_")[2].partition("(")
                if not separator:
                    continue
                path = rest.split("=", 1)[1].split(",")[0].rstrip(")\n")
                if path.startswith(self.root + "/"):
                    key = (name, path[len(self.root) + 1:])
                    counts[key] = counts.get(key, 0) + 1
        return counts
