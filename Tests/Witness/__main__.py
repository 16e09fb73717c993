"""A reader and a writer of Coffer's vaults, made from VaultFormat.md alone: `python3 Witness VERB`.

Each line of the input is a request in JSON, and each is answered by one line. Secrets come in with the requests.
"""

import json
import sys

import report
from primitives import Refused
from reader import Request, open_vault
from samples import Sample


def read(request):
    vault = open_vault(Request.of(request))
    return report.whole(vault.header, vault.sealed, vault.keys, vault.state, vault.records, vault.entries, vault.beginning,
                        vault.decided, vault.place)


def write(request):
    sample = Sample(request["path"], request["seed"], request.get("light", False))
    answer = sample.result()
    sample.writer.close()
    return answer


VERBS = {"read": read, "write": write}


def main():
    verb = VERBS[sys.argv[1]]
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = verb(request)
        except Refused as refused:
            answer = {"refused": refused.kind, "why": refused.why}
        print(json.dumps(answer), flush=True)


main()
