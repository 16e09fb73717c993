"""Opens a vault for a person: asks for the passphrase, and prints the items as JSON."""

import argparse
import base64
import datetime
import getpass
import json
import sys

from credentials import KeyFile, Secret, identity, passphrase, recovery_code
from layout import Refused
from reader import Request, open_vault
from records import PRESENT


def moment(milliseconds):
    if not milliseconds:
        return None
    seconds, rest = divmod(milliseconds, 1000)
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + f".{rest:03}Z"
    except (OverflowError, ValueError, OSError):
        return milliseconds


def text(value):
    """Text as it is; other bytes in base64, under a name that says so."""
    if value is None:
        return {"value": None}
    try:
        return {"value": value.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def item(meta, value):
    return {
        "service": meta.service, "account": meta.account, "field": meta.field, "label": meta.label, "contentType": meta.type,
        "attributes": dict(meta.attributes), "created": moment(meta.created), "modified": moment(meta.modified),
        "expires": moment(meta.expires), **text(value),
    }


def asked(prompt):
    """A line that nobody sees; without a terminal, the input's first line."""
    return getpass.getpass(prompt).encode() if sys.stdin.isatty() else sys.stdin.buffer.readline()


def content(path):
    with open(path, "rb") as file:
        return file.read()


def print_items(words):
    parser = argparse.ArgumentParser(prog="Witness items", description="Prints the items of a vault as JSON, secrets included.")
    parser.add_argument("vault", help="the vault's file")
    parser.add_argument("--key-file", metavar="FILE", help="open with this key file; with --passphrase, with both")
    parser.add_argument("--passphrase", action="store_true", help="ask for a passphrase too")
    parser.add_argument("--recovery-code", action="store_true", help="ask for a recovery code and not for a passphrase")
    parser.add_argument("--identity", metavar="FILE", help="open with this identity")
    given = parser.parse_args(words)
    secret, invitations = Secret(), []
    try:
        if given.key_file:
            secret.key_file = KeyFile(content(given.key_file))
        if given.identity:
            secret.identity, invitations = identity(content(given.identity))
        if given.recovery_code:
            secret.recovery = recovery_code(asked("Recovery code: "))
        if given.passphrase or not (given.key_file or given.identity or given.recovery_code):
            secret.passphrase = passphrase(asked("Passphrase: "))
        request = Request(given.vault, secret)
        request.own_invitations = invitations
        vault = open_vault(request)
    except (Refused, OSError) as error:
        sys.exit(f"{given.vault}: {getattr(error, 'why', None) or error}")
    present = [row for row in vault.records if row[0].kind == PRESENT]
    present.sort(key=lambda row: [name.encode() for name in row[0].names])
    print(json.dumps([item(*row) for row in present], indent=2, ensure_ascii=False))
