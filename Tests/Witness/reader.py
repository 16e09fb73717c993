"""Opens a vault and checks all of it. Source: VaultFormat.md, Opening a vault, in order."""

import contextlib
import sqlite3

import database
from credentials import KeyFile, Invitation, Secret, identity, passphrase, recovery_code
from header import Header
from lineage import PinFolder, check_anchors, check_first_use, check_state
from log import check_log
from layout import Refused, damaged, tampered
from primitives import H
from records import PRESENT, Meta, open_record, place
from slots import unlock
from state import State, counts_of, digests_of, root_of


class Request:
    """What a reader is given: the place, a secret, and what is known of the vault."""

    def __init__(self, place, secret, invitations=(), vault=None, generation=None, pins=None):
        self.path, self.secret, self.vault, self.generation = place, secret, vault, generation
        self.invitations, self.pins = list(invitations), PinFolder(pins) if pins else None

    @classmethod
    def of(cls, request):
        """From JSON: secrets are the files' contents, in hexadecimal digits; nothing of them is ever printed."""
        files = "passphrase", "keyFile", "recovery", "identity"
        content = {name: bytes.fromhex(request[name]) for name in files if name in request}
        invitations = [Invitation.of(line.encode()) for line in request.get("invitations", [])]
        secret, own = Secret(), []
        if "passphrase" in content:
            secret.passphrase = passphrase(content["passphrase"])
        if "keyFile" in content:
            secret.key_file = KeyFile(content["keyFile"])
        if "recovery" in content:
            secret.recovery = recovery_code(content["recovery"])
        if "identity" in content:
            secret.identity, own = identity(content["identity"])
        vault = bytes.fromhex(request["vault"]) if "vault" in request else None
        made = cls(request["path"], secret, invitations, vault, request.get("generation"), request.get("pins"))
        made.own_invitations = own
        return made

    own_invitations = ()


class Vault:
    """A vault that was opened, checked and read throughout."""

    def __init__(self, request, connection):
        self.request, self.connection = request, connection
        self.read_header()
        self.read_state()
        self.check_copies()
        self.read_records()
        self.check_fields()
        self.read_log()
        self.decided = database.decided_rows(connection)
        database.check_pages(connection)

    def read_header(self):
        copies = database.header_rows(self.connection)
        self.header, self.digest = first_header(copies)
        request, header = self.request, self.header
        expected = request.pins.expected(request.path) if request.pins else None
        self.pin = request.pins.pin(header.vault) if request.pins else None
        ids = [invitation.vault for invitation in request.invitations] + [expected, request.vault]
        if any(id not in (None, header.vault) for id in ids):
            raise Refused("replaced", "another vault is expected here")
        invitations = request.invitations + [one for one in request.own_invitations if one.vault == header.vault]
        self.opened = unlock(header, request.secret)
        self.keys, self.sealed = self.opened.keys, self.opened.sealed
        anchors = [(one.epoch, one.mark) for one in invitations]
        anchors += [self.opened.anchor] if self.opened.anchor else []
        anchors += [(self.pin.epoch, self.pin.mark)] if self.pin else []
        check_first_use(self.opened.slot.type, self.pin, expected, invitations, request.vault is not None)
        check_anchors(header, self.sealed, self.keys.mark, anchors)
        self.copies = copies

    def check_copies(self):
        """What `verify` alone looks at of the tables with one row each."""
        for copy in self.copies:
            if copy is None:
                raise damaged("a copy of the header is missing")
            Header.read(copy)
            if H(copy) != self.digest:
                raise tampered("the two copies of the header differ")
        for table, id in database.HEADER_ROWS + (("state", 1),):
            database.only_row(self.connection, table, id)

    def read_state(self):
        self.state = State.read(database.state_row(self.connection), self.keys, self.digest)
        if self.request.generation is not None and self.state.generation < self.request.generation:
            raise Refused("rolled back", "the state is older than the generation that was asked for")
        if self.pin:
            check_state(self.pin, self.state)
        self.digests = database.digest_rows(self.connection)
        if root_of(self.keys, self.digests) != self.state.root:
            raise tampered("the digests are not the state's")

    def read_records(self):
        rows = {table: database.record_rows(self.connection, table) for table in ("rec", "old")}
        listed = [(table, row[0], row[1]) for table in rows for row in rows[table]]
        if digests_of(self.keys, listed) != self.digests:
            raise tampered("the records are not those of the digests")
        opened = {(table, row[0]): open_record(self.keys, self.header.fmt, table, row) for table in rows for row in rows[table]}
        self.metas = {place: meta for place, (meta, _) in opened.items()}
        if counts_of(self.metas.values()) != self.state.counts:
            raise tampered("the state tells of other numbers of records")
        self.records = [record for record in opened.values() if isinstance(record[0], Meta)]

    def check_fields(self):
        present = [meta.names for meta, _ in self.records if meta.kind == PRESENT]
        fields = {}
        for service, account, field in present:
            fields.setdefault((service, account), []).append(field)
        if any("" not in names or len(names) > 65 for names in fields.values()):
            raise damaged("a field without its item, or the 65th field of one")

    def place(self, names):
        return place(self.keys, PRESENT, names, 0)

    def read_log(self):
        end = self.state.log_seq, self.state.log_head
        self.entries, self.beginning = check_log(self.keys, database.log_rows(self.connection), end)


def first_header(copies):
    """The header that counts, and the digest of its bytes."""
    for copy in copies:
        try:
            if copy is not None:
                return Header.read(copy), H(copy)
        except Refused as refused:
            if refused.kind == "newer":
                raise
    raise damaged("neither copy of the header is right")


def open_vault(request):
    """The vault at a place, or Refused."""
    database.check_file(request.path)
    try:
        with contextlib.closing(database.connect(request.path, "ro")) as connection:
            connection.execute("BEGIN")
            database.check_schema(connection)
            return Vault(request, connection)
    except sqlite3.DatabaseError as error:
        raise damaged(f"SQLite says: {error}") from None
