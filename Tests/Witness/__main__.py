"""A reader and a writer of Coffer's vaults, made from VaultFormat.md alone: `python3 Witness VERB`.

`items VAULT` asks for the passphrase of a vault and prints its items. `vectors` prints `Fixtures/Vectors/format-1.json`. For the other verbs each line of the input is a request in JSON, and each is
answered by one line. Secrets come in with the requests, and none is printed but those of a vault that was just made.
"""

import json
import sqlite3
import sys

LACKING = 77  # How the program ends where the machine lacks a part that it needs.

if sys.version_info < (3, 9) or sqlite3.sqlite_version_info < (3, 37):
    print(f"Python is {sys.version}, its SQLite {sqlite3.sqlite_version}", file=sys.stderr)
    sys.exit(LACKING)

try:
    import report
    from bounds import bounds
    from forge import forge
    from golden import golden
    from items import print_items
    from malformed import malform
    from negative import negative
    from refusals import refusals
    from layout import Refused
    from reader import Request, open_vault
    from samples import Sample
    from vectors import Vectors
except OSError as error:
    print(error, file=sys.stderr)
    sys.exit(LACKING)


def read(request):
    vault = open_vault(Request.of(request))
    return report.whole(vault.header, vault.sealed, vault.keys, vault.state, vault.records, vault.entries, vault.beginning,
                        vault.decided, vault.place)


def write(request):
    sample = Sample(request["path"], request["seed"], request.get("light", False), request.get("versions", (1, 1)))
    answer = sample.result()
    sample.writer.close()
    return answer


VERBS = {"read": read, "write": write, "bounds": bounds, "forge": forge, "golden": golden, "malform": malform,
         "negative": negative, "refusals": refusals}


def main():
    if sys.argv[1:] == ["vectors"]:
        print(json.dumps(Vectors().file(), indent=1))
        return
    if sys.argv[1:2] == ["items"]:
        print_items(sys.argv[2:])
        return
    verb = VERBS[sys.argv[1]]
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = verb(request)
        except Refused as refused:
            answer = {"refused": refused.kind, "why": refused.why}
        print(json.dumps(answer), flush=True)


main()
