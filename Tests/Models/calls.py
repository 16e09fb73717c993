"""Runs a program, and kills or fails it at the Nth call that writes, of it and of all of its children together.

The kernel asks this program before each such call: seccomp's user notification.
"""
import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
from pathlib import Path

SECCOMP, CALLS = {
    "x86_64": (317, dict(write=1, pwrite64=18, writev=20, fsync=74, fdatasync=75, ftruncate=77, rename=82, mkdir=83, rmdir=84, link=86,
                         unlink=87, openat=257, mkdirat=258, unlinkat=263, renameat=264, linkat=265, renameat2=316)),
    "aarch64": (277, dict(write=64, pwrite64=68, writev=66, fsync=82, fdatasync=83, ftruncate=46, openat=56, mkdirat=34, unlinkat=35,
                          renameat=38, linkat=37, renameat2=276)),
}[os.uname().machine]
NAMES = {number: name for name, number in CALLS.items()}
REMOVALS = ("unlink", "unlinkat", "rmdir")
LIBC = ctypes.CDLL(None, use_errno=True)


def instructions():
    """The kernel's filter: asks for the calls of CALLS, of `openat` only where it may make a file."""
    numbers = [number for name, number in CALLS.items() if name != "openat"]
    code = [(0x20, 0, 0, 0)] + [(0x15, len(numbers) - k + 3, 0, number) for k, number in enumerate(numbers)]
    code += [(0x15, 0, 2, CALLS["openat"]), (0x20, 0, 0, 32), (0x45, 1, 0, os.O_CREAT), (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x7FC00000)]
    return len(code), b"".join(struct.pack("HBBI", *one) for one in code)


def listen(end):
    """In the child: installs the filter, and hands the kernel's questions over."""
    count, code = instructions()
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", count, ctypes.addressof(buffer := ctypes.create_string_buffer(code))))
    LIBC.prctl(38, 1, 0, 0, 0)
    fd = LIBC.syscall(SECCOMP, 1, 8, program)
    socket.send_fds(end, [b"."], [fd])
    os.close(fd)
    del buffer


def works():
    """Whether the kernel lets this user ask for calls: some containers forbid it."""
    try:
        return struck(["/bin/true"], dict(os.environ), 0, "")[0] == 0
    except (OSError, IndexError, subprocess.SubprocessError):
        return False


def below(pid):
    """A process and those that it started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def struck(line, told, at, how):
    """Runs a command under the filter, and strikes its call `at`: its status, its errors, the number of its calls, and the one that was struck."""
    here, there = socket.socketpair()
    program = subprocess.Popen(line, env=told, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: listen(there))
    fd, count, found = socket.recv_fds(here, 1, 1)[1][0], 0, ""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while not (events := poll.poll(60_000)) or events[0][1] & select.POLLIN:
        assert events, f"no call within a minute after {count}"
        asked = bytearray(80)
        try:
            fcntl.ioctl(fd, 0xC0502100, asked)
        except OSError:
            continue  # It died meanwhile.
        id, pid, _, number = struct.unpack_from("QIIi", asked)
        first, name, fault = struct.unpack_from("i", asked, 32)[0], NAMES[number], 0
        try:
            target = os.readlink(f"/proc/{pid}/fd/{first}") if name in ("write", "writev") else "/"
            program_name = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            target = program_name = ""
        # Not pipes, and neither /dev/null.
        is_killed = False
        if target.startswith("/") and not target.startswith("/dev/null"):
            count += 1
            if count == at:
                found = f"{program_name} {name} {target}"
                is_killed = how in ("kill", "all")
                for victim in below(program.pid) if how == "all" else [pid] if is_killed else []:
                    try:
                        os.kill(victim, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            if how == "EIO" and count == at or how == "ENOSPC" and 0 < at <= count and name not in REMOVALS:
                fault = getattr(errno, how)
        if is_killed:
            continue
        try:
            fcntl.ioctl(fd, 0xC0182101, struct.pack("QqiI", id, 0, -fault, 0 if fault else 1))
        except OSError:
            pass
    os.close(fd)
    errors = program.communicate()[1]
    return program.returncode, errors, count, found
