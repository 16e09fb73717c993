"""One vault with all that the format has, for `Fixtures/Vaults/v1`, made with secrets that are given."""

from credentials import KeyFile, Secret, identity
from editor import Editor
from primitives import public_key
from rotation import rotate
from samples import Sample
from source import Source
from writer import NewSlot, Writer

DAY = 86_400_000
MAIL, BANK, NOTE, GONE = (("mail", "ann", ""), ("bank", "ann", ""), ("note", "", ""), ("gone", "bob", ""))
PIN, SEED = BANK[:2] + ("pin",), BANK[:2] + ("seed phrase",)


class Golden(Sample):
    """Its steps are planned, and not drawn."""

    def __init__(self, request):
        self.source, self.path, self.time = Source("golden"), request["path"], 1_700_000_000_000
        self.files, self.invitations = {}, []
        content = {name: bytes.fromhex(request[name]) for name in ("keyFile", "passphrase", "identity", "second")}
        key_file = NewSlot(3, "key file", Secret(key_file=KeyFile(content["keyFile"])))
        self.writer = Writer.new(self.path, self.source, self.time, key_file)
        self.writer.extension = lambda: b"what a later version says"
        self.editor = Editor(self.writer)
        self.remember()
        third = self.writer.source.bytes(32)
        self.slots = [
            NewSlot(1, "passphrase", Secret(passphrase=content["passphrase"]), 1, 8),
            NewSlot(6, "security chip", ops=7, mem=9, other=(200, self.source.bytes(16), self.source.bytes(300))),
            *(NewSlot(5, label, recipient=public_key(key)) for label, key in (
                ("first", identity(content["identity"])[0]), ("second", identity(content["second"])[0]), ("third", third))),
        ]
        for change in (self.add_slots, self.fill, self.replace_some, self.remove_third, self.delete_some, self.undo_some,
                       self.rotate_again, self.cut_the_log):
            self.commit_later(change)
        self.writer.scrub(self.time + 1)
        self.decide_two()

    def commit_later(self, change):
        self.time += DAY
        self.writer.replica = bytes([len(self.invitations)]) * 16
        self.writer.begin(self.time)
        change()
        self.writer.commit()
        self.remember()

    def add_slots(self):
        self.third = [self.writer.add_slot(slot) for slot in self.slots][-1]

    def fill(self):
        put = self.editor.set
        put(MAIL, b"first", "Mail", "text/plain", history=3, attributes=[("é", "1"), ("e\u0301", "2"), ("a", "\0")])
        put(BANK, b"account", expires=4_102_444_800_000)
        put(PIN, b"1234", history=100)
        put(SEED, "zwölf Wörter".encode(), "words")
        put(NOTE, None, "no value\0\n", attributes=[("only", "this")])
        put(GONE, b"last words", history=1)
        put(GONE[:2] + ("key",), bytes(5000))

    def replace_some(self):
        for value in (b"second", b"third", b"fourth", b"fifth"):
            self.editor.set(MAIL, value, "Mail", "text/plain", history=3)
        self.editor.set(PIN, b"5678", history=100)
        self.editor.describe(PIN, "card")

    def remove_third(self):
        rotate(self.writer, without=[self.third])

    def delete_some(self):
        self.editor.delete(GONE, until=4_102_444_800_000)
        self.editor.delete(SEED)
        self.editor.delete(NOTE)

    def undo_some(self):
        self.editor.undelete(NOTE)
        self.editor.revert(MAIL)
        self.editor.rename(BANK, ("savings", "ann", ""))

    def rotate_again(self):
        rotate(self.writer)

    def cut_the_log(self):
        self.writer.trim(9)

    def decide_two(self):
        for outcome in (1, 2):
            row = bytes([outcome]) * 16, outcome, self.time
            self.writer.connection.execute("INSERT INTO decided (txid, outcome, time) VALUES (?, ?, ?)", row)


def golden(request):
    made = Golden(request)
    answer = made.result()
    made.writer.close()
    return answer
