"""A client of Coffer's agent. Source: AgentProtocol.md alone."""

import os
import socket
import stat
import struct
import time

VERSION, LONGEST, LONGEST_ANSWER = 11, 8_650_752, 134_217_728
DONE, MORE, FAILED = 0, 1, 2
CONNECTING, GREETING, ANSWER, UNLOCKING, MESSAGE, PAGES = 2, 5, 45, 120, 10, 120
KINDS = ("invalidName undeclared duplicateKey refused tooLarge reentrant closed undecodable unencodable expired clockBehind "
         "notFound alreadyExists ambiguous conflict pending locked wrongSecret noVault notAVault damaged tampered rolledBack "
         "forked replaced newerFormat kdfMemory busy denied readOnly noSpace io outcomeUnknown unsupported incomplete "
         "closureThrew afterFork givenUp noAgent noCredentials unfitSecret lastSlot otherVault unproven moved inUse memory "
         "unreachable loginRefused cancelled").split()


class AgentError(Exception):
    def __init__(self, kind, what, cure=""):
        super().__init__(f"{what}; {cure}" if cure else what)
        self.kind = kind


def malformed(why):
    return AgentError("damaged", f"a message is malformed: {why}", "use one version of Coffer for both")


# A type is a pair of functions: bytes of a value; and value and next place, from bytes and a place.
def number(layout):
    size = struct.calcsize(layout)

    def read(data, at):
        if at + size > len(data):
            raise malformed("it ends in the middle of a field")
        return struct.unpack_from(layout, data, at)[0], at + size
    return (lambda value: struct.pack(layout, value)), read


u8, u32, u64, moment_of_time = number("<B"), number("<I"), number("<Q"), number("<d")


def prefixed(to_bytes, of_bytes):
    def read(data, at):
        count, at = u32[1](data, at)
        if count > len(data) - at:
            raise malformed("it ends in the middle of a field")
        return of_bytes(data[at:at + count]), at + count

    def write(value):
        content = to_bytes(value)
        return u32[0](len(content)) + content
    return write, read


def utf8(data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise malformed("a text is not UTF-8") from None


text, secret = prefixed(str.encode, utf8), prefixed(bytes.fromhex, bytes.hex)
identifier = version = secret


def checked_flag(data, at):
    value, at = u8[1](data, at)
    if value > 1:
        raise malformed("a flag is neither 0 nor 1")
    return value == 1, at


flag = u8[0], checked_flag


def optional(kind):
    def read(data, at):
        there, at = flag[1](data, at)
        return kind[1](data, at) if there else (None, at)
    return (lambda value: b"\0" if value is None else b"\1" + kind[0](value)), read


def many(kind):
    def read(data, at):
        count, at = u32[1](data, at)
        if count > len(data) - at:
            raise malformed("it announces more elements than it has bytes for")
        values = []
        for _ in range(count):
            value, at = kind[1](data, at)
            values.append(value)
        return values, at
    return (lambda values: u32[0](len(values)) + b"".join(map(kind[0], values))), read


def fields(**kinds):
    def read(data, at):
        values = {}
        for name, kind in kinds.items():
            values[name], at = kind[1](data, at)
        return values, at
    return (lambda values: b"".join(kind[0](values[name]) for name, kind in kinds.items())), read


NAME = dict(service=text, account=text, field=text)
name = fields(**NAME)
metadata = fields(label=text, contentType=text, expires=optional(moment_of_time), attributes=many(fields(name=text, value=text)))
form = fields(metadata=metadata, value=secret)
item = fields(id=identifier, name=name, metadata=metadata, created=moment_of_time, modified=moment_of_time, written=moment_of_time,
              revision=u64, valueBytes=u64, history=u32)
moment = fields(vault=identifier, generation=u64, since=u64)
LEFT = dict(idleLeft=u64, lifetimeLeft=u64)
status = fields(process=u32, vault=text, unlocked=identifier, whyLocked=text, idle=u64, lifetime=u64, **LEFT,
                others=many(fields(vault=text, id=identifier, **LEFT)), connections=u32, unlockedMemory=u64)
error = fields(kind=u8, first=u64, second=u64, detail=text, what=text, key=optional(text), place=optional(text), cure=text,
               cause=optional(text))
# Only the change that sets, under a condition without a revision.
change = fields(type=u8, name=name, condition=u8, form=form, kept=optional(u32))
nothing = fields()
# Call: its number, the fields of the request and of the answer or one of its pages.
CALLS = {
    "greet": (1, fields(place=text, vault=identifier, generation=u64, invitations=many(text), known=many(text),
                        behalf=optional(fields(process=u32, program=text))), fields(highest=u8)),
    "status": (2, nothing, status),
    "unlock": (3, fields(passphrase=optional(secret), keyFile=optional(secret), recoveryCode=optional(secret),
                         identity=optional(secret), idle=u64, lifetime=u64), status),
    "lock": (4, nothing, nothing),
    "stop": (5, nothing, nothing),
    "get": (10, name, fields(form=optional(form))),
    "item": (11, name, fields(items=many(item))),
    "apply": (13, fields(changes=many(change)), fields(items=many(item))),
    "delete": (14, fields(**NAME, condition=u8, until=optional(moment_of_time)), fields(found=flag)),
    "contains": (21, fields(service=text, account=text), fields(found=flag)),
    "names": (22, fields(service=optional(text), beginning=text), fields(names=many(text))),
    "version": (25, fields(service=text, account=text), fields(version=version)),
    "watch": (40, fields(known=optional(moment)), moment),
}


def request(call, values):
    kind, types, _ = CALLS[call]
    return framed(kind, types[0](values))


def framed(kind, content):
    body = bytes([VERSION, kind]) + content
    if len(body) > LONGEST:
        raise AgentError("tooLarge", "more than the agent takes in one piece")
    return u32[0](len(body)) + body


def whole(kind, body):
    values, end = kind[1](body, 2)
    if end != len(body):
        raise malformed("bytes follow its end")
    return values


class Agent:
    """A connection to the agent for one vault, made when it is needed."""

    def __init__(self, folder=None, vault=None):
        self.folder, self.vault, self.socket = folder or run_folder(), vault or vault_place(), None

    def ask(self, call, limit=ANSWER, **values):
        """The fields of the answer; lists of all its pages are put together."""
        message = request(call, values)
        if self.socket is None:
            self.connect()
        try:
            self.send(message)
            result, size, end = None, 0, time.monotonic() + limit
            while True:
                kind, body = self.receive(min(end, time.monotonic() + limit))
                size += len(body)
                if size > LONGEST_ANSWER:
                    raise malformed("it has more pages than an agent sends")
                if kind == FAILED:
                    failure = whole(error, body)
                    raise AgentError(KINDS[failure["kind"] - 1] if 0 < failure["kind"] <= len(KINDS) else failure["kind"],
                                     failure["what"], failure["cure"])
                page = whole(CALLS[call][2], body)
                result = page if result is None else {key: result[key] + page[key] for key in page}
                if kind == DONE:
                    return result
                if size == len(body):
                    end = time.monotonic() + PAGES
        except AgentError as failure:
            if failure.kind in ("damaged", "newerFormat", "busy", "noAgent"):
                self.close()
            raise

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def connect(self):
        if not os.path.exists(os.path.join(self.folder, "agent.sock")):
            raise AgentError("noAgent", "no agent is running", "start one")
        check_folder(self.folder)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(CONNECTING)
        # A path in an address has at most 107 bytes.
        handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.socket.connect(f"/proc/self/fd/{handle}/agent.sock")
        except (ConnectionRefusedError, FileNotFoundError):
            self.close()
            raise AgentError("noAgent", "no agent is running", "start one") from None
        finally:
            os.close(handle)
        peer = struct.unpack("iii", self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if peer[1] != os.geteuid():
            self.close()
            raise AgentError("denied", f"the agent is a process of user {peer[1]}")
        self.ask("greet", GREETING, place=self.vault, vault="", generation=0, invitations=[], known=[], behalf=None)

    def send(self, data):
        self.socket.settimeout(MESSAGE)
        try:
            self.socket.sendall(data)
        except OSError as failure:
            raise AgentError("noAgent", f"the agent is gone: {failure.strerror}") from None

    def receive(self, begins):
        (count,) = struct.unpack("<I", self.read(4, begins))
        if not 2 <= count <= LONGEST:
            raise malformed(f"it announces {count} bytes")
        body = self.read(count, time.monotonic() + MESSAGE)
        if body[0] != VERSION:
            raise AgentError("newerFormat", f"the agent speaks version {body[0]}, and this client {VERSION}")
        if body[1] > FAILED:
            raise malformed("it is no known answer")
        return body[1], body

    def read(self, count, deadline):
        data = bytearray()
        while len(data) < count:
            left = deadline - time.monotonic()
            try:
                self.socket.settimeout(max(left, 0.001))
                part = self.socket.recv(min(count - len(data), 1 << 16))
            except (TimeoutError, socket.timeout):
                raise AgentError("busy", "the agent does not answer") from None
            except OSError as failure:
                raise AgentError("noAgent", f"the agent is gone: {failure.strerror}") from None
            if not part:
                raise AgentError("noAgent", "the agent closed the connection")
            data += part
        return bytes(data)


def check_folder(folder):
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise AgentError("denied", f"{folder} is no private folder of this user")
    path = os.path.realpath(folder)
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        found = os.lstat(path)
        trusted = found.st_uid in (0, os.geteuid())
        if not trusted or found.st_mode & 0o022 and not (found.st_uid == 0 and found.st_mode & stat.S_ISVTX):
            raise AgentError("denied", f"others can write to {path}")


def variable(key):
    value = os.environ.get(key, "")
    return value if value.startswith("/") else None


def run_folder():
    login = f"/run/user/{os.geteuid()}"
    if variable("COFFER_HOME"):
        return variable("COFFER_HOME") + "/run"
    if variable("XDG_RUNTIME_DIR"):
        return variable("XDG_RUNTIME_DIR") + "/coffer"
    if os.path.isdir(login) and os.stat(login).st_uid == os.geteuid() and not os.stat(login).st_mode & 0o077:
        return login + "/coffer"
    return (variable("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")) + "/coffer/run"


def vault_place():
    if os.environ.get("COFFER_VAULT"):
        return os.environ["COFFER_VAULT"]
    if variable("COFFER_HOME"):
        return variable("COFFER_HOME") + "/data/vault.sqlite"
    return (variable("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")) + "/coffer/vault.sqlite"
