"""The messages of Fixtures/Agent/messages.json. `print` prints them; `check FILE` reads and writes each of a file."""

import json
import sys

from agent import CALLS, DONE, FAILED, MORE, VERSION, error, framed, request

ID = bytes(range(1, 17)).hex()
NAME = {"service": "smtp.example.com", "account": "ada", "field": ""}
PLAIN = {"label": "", "contentType": "", "expires": None, "attributes": []}
FULL = {"label": "Größe", "contentType": "text/plain", "expires": 4000000000.5, "attributes": [{"name": "host", "value": "a"}]}
ITEM = {"id": ID, "name": NAME, "metadata": FULL, "created": 1700000000.0, "modified": 1700000001.25, "written": 1700000001.25,
        "revision": 3, "valueBytes": 5, "history": 1}
GREETING = {"place": "/home/ada/vault.sqlite", "vault": "", "generation": 0, "invitations": [], "known": [], "behalf": None}
LEFT = {"idleLeft": 890, "lifetimeLeft": 28000}
STATUS = {"process": 4242, "vault": "/home/ada/vault.sqlite", "unlocked": ID, "whyLocked": "", "idle": 900, "lifetime": 28800, **LEFT,
          "others": [{"vault": "/srv/v.sqlite", "id": ID, **LEFT}], "connections": 2, "unlockedMemory": 0}
LOCKED = {**STATUS, "unlocked": "", "whyLocked": "it was asked to", "idleLeft": 0, "lifetimeLeft": 0, "others": []}
MOMENT = {"vault": ID, "generation": 7, "since": 123456789}
SET = {"type": 1, "name": NAME, "condition": 0, "form": {"metadata": FULL, "value": b"gr33n".hex()}, "kept": None}
NONE = {"passphrase": None, "keyFile": None, "recoveryCode": None, "identity": None, "idle": 0, "lifetime": 0}
ERROR = {"kind": 17, "first": 0, "second": 0, "detail": "unlockAgent", "what": "the agent holds no key", "key": None,
         "place": "/home/ada/vault.sqlite", "cure": "unlock it, then try again", "cause": None}

REQUESTS = [
    ("greet", GREETING),
    ("greet", {**GREETING, "vault": ID, "generation": 9, "behalf": {"process": 77, "program": "gh"}}),
    ("status", {}), ("unlock", {**NONE, "passphrase": b"correct horse".hex()}),
    ("unlock", {**NONE, "keyFile": "00ff", "idle": 60, "lifetime": 600}), ("lock", {}), ("stop", {}), ("get", NAME),
    ("get", {**NAME, "field": "totp"}), ("item", NAME), ("apply", {"changes": [SET]}),
    ("apply", {"changes": [{**SET, "condition": 1, "kept": 5, "form": {"metadata": PLAIN, "value": ""}}]}),
    ("delete", {**NAME, "condition": 0, "until": None}), ("contains", {"service": "s", "account": "a"}),
    ("names", {"service": None, "beginning": ""}), ("names", {"service": "smtp.example.com", "beginning": "a"}),
    ("version", {"service": "s", "account": "a"}), ("watch", {"known": None}), ("watch", {"known": MOMENT}),
]
ANSWERS = [
    ("greet", DONE, {"highest": 40}), ("status", DONE, STATUS), ("status", DONE, LOCKED), ("unlock", DONE, STATUS), ("lock", DONE, {}),
    ("get", DONE, {"form": None}), ("get", DONE, {"form": {"metadata": FULL, "value": b"gr33n".hex()}}), ("item", DONE, {"items": []}),
    ("item", DONE, {"items": [ITEM]}), ("apply", DONE, {"items": [ITEM, {**ITEM, "metadata": PLAIN}]}), ("delete", DONE, {"found": True}),
    ("contains", DONE, {"found": False}), ("names", MORE, {"names": ["ada", "bob"]}), ("names", DONE, {"names": ["Zoë"]}),
    ("version", DONE, {"version": "0102"}), ("watch", DONE, MOMENT), ("watch", DONE, {**MOMENT, "vault": ""}),
    ("get", FAILED, ERROR), ("stage", FAILED, {**ERROR, "kind": 5, "first": 4096, "detail": "", "key": "smtp", "cause": "why"}),
]
WORDS = {DONE: "done", MORE: "more", FAILED: "failed"}


def answer_type(call, kind):
    return error if kind == FAILED else CALLS[call][2]


def messages():
    for call, values in REQUESTS:
        yield {"call": call, "message": "request", "fields": values, "bytes": request(call, values).hex()}
    for call, kind, values in ANSWERS:
        yield {"call": call, "message": WORDS[kind], "fields": values, "bytes": framed(kind, answer_type(call, kind)[0](values)).hex()}


def check(path):
    with open(path, encoding="utf-8") as file:
        given = json.load(file)["messages"]
    for message in given:
        call, data = message["call"], bytes.fromhex(message["bytes"])
        kind = {word: number for number, word in WORDS.items()}.get(message["message"])
        types = CALLS[call][1] if kind is None else answer_type(call, kind)
        number = CALLS[call][0] if kind is None else kind
        assert framed(number, types[0](message["fields"])) == data, f"{message} is written in another way"
        assert data[4:6] == bytes([VERSION, number]), f"{message} has another head"
        assert types[1](data, 6) == (message["fields"], len(data)), f"{message} is read in another way"
    print(len(given))


if sys.argv[1:] == ["print"]:
    lines = ",\n    ".join(json.dumps(message, ensure_ascii=False) for message in messages())
    print(f'{{\n  "version": {VERSION},\n  "messages": [\n    {lines}\n  ]\n}}')
elif len(sys.argv) == 3 and sys.argv[1] == "check":
    check(sys.argv[2])
else:
    sys.exit("usage: agent_vectors.py print | check FILE")
