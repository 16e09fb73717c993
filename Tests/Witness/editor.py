"""Changes to records as people ask for them. Source: VaultFormat.md, Fields, and Revisions and history."""

import log
from records import DELETED, FORMER, NO_VALUE, PRESENT, Meta


class Editor:
    """A writer and what it wrote: `contents` holds (meta, value) by (kind, names, revision), 0 for a present one."""

    def __init__(self, writer, contents=()):
        self.writer, self.contents = writer, {}
        for meta, value in contents:
            self.contents[key_of(meta)] = meta, value

    def store(self, meta, value):
        self.contents[key_of(meta)] = meta, value
        self.writer.put(meta, value)

    def remove(self, meta):
        del self.contents[key_of(meta)]
        self.writer.drop(meta)

    def present(self, names):
        return self.contents.get((PRESENT, names, 0))

    def kept(self, names, kind):
        """The rows of `old` of one record, the lowest revision first."""
        rows = [row for key, row in self.contents.items() if key[0] == kind and key[1] == names]
        return sorted(rows, key=lambda row: row[0].revision)

    def next_revision(self, names):
        return 1 + max((meta.revision for meta, _ in self.contents.values() if meta.names == names), default=0)

    def set(self, names, value, label="", type="", expires=0, history=0, attributes=(), written=None):
        """Makes or replaces a record; the value is new, but where `written` says of when it is."""
        time, former = self.writer.time, self.present(names)
        self.replace(names, value, Meta(
            kind=PRESENT, revision=1, id=former[0].id if former else self.writer.source.bytes(16),
            service=names[0], account=names[1], field=names[2], label=label, type=type,
            created=former[0].created if former else time, modified=time, written=time if written is None else written,
            expires=expires, history=history, length=NO_VALUE if value is None else len(value),
            attributes=sorted(attributes, key=lambda pair: pair[0].encode()), deletion=None, ext=self.writer.extension()))

    def replace(self, names, value, meta):
        """Stores a content at the next revision, and keeps the one that it replaces, as the new `history` says."""
        former, meta = self.present(names), meta.but(revision=self.next_revision(names))
        if former and meta.history:
            self.store(former[0].but(kind=FORMER), former[1])
        self.store(meta, value)
        self.prune(names, meta.history)
        self.writer.entry(log.SET, names)

    def describe(self, names, label):
        """Changes what is said of the record, and not its value."""
        meta, value = self.present(names)
        self.replace(names, value, meta.but(label=label, modified=self.writer.time))

    def prune(self, names, count):
        rows = self.kept(names, FORMER)
        for meta, _ in rows[:max(0, len(rows) - count)]:
            self.remove(meta)

    def family(self, names):
        """An item's names and those of its present fields, the item last."""
        item = names[:2] + ("",)
        return [key[1] for key in self.contents if key[0] == PRESENT and key[1][:2] == names[:2] and key[1] != item] + [item]

    def rename(self, names, target, with_past=False):
        """Gives an item, with its fields, the names of none; `with_past` removes what the former names have in `old`."""
        for each in self.family(names):
            meta, value = self.present(each)
            self.remove(meta)
            if with_past:
                self.forget(each)
            self.writer.entry(log.DELETED, each)
            self.make(meta.but(service=target[0], account=target[1]), value)

    def copy(self, names, target):
        """Puts a second item, with its fields, beside one: each has an id of its own."""
        for each in self.family(names):
            meta, value = self.present(each)
            self.make(meta.but(service=target[0], account=target[1], id=self.writer.source.bytes(16)), value)

    def make(self, meta, value):
        self.replace(meta.names, value, meta.but(modified=self.writer.time))

    def forget(self, names):
        for row, _ in self.kept(names, FORMER) + self.kept(names, DELETED):
            self.remove(row)

    def delete(self, names, for_good=False, until=0):
        """Deletes an item with its fields, or one field; `until` says when any writer may remove what is kept."""
        for each in self.family(names) if names[2] == "" else [names]:
            meta, value = self.present(each)
            if for_good:
                self.forget(each)
            else:
                self.store(meta.but(kind=DELETED, modified=self.writer.time, deletion=(self.writer.state.commit, until)), value)
            self.remove(meta)
            self.writer.entry(log.DELETED, each)

    def undelete(self, names):
        meta, value = self.kept(names, DELETED)[-1]
        revision = self.next_revision(names)
        self.remove(meta)
        self.store(meta.but(kind=PRESENT, revision=revision, modified=self.writer.time, deletion=None), value)
        self.writer.entry(log.UNDELETED, names)

    def deleted_with(self, names):
        """The names of an item and of its fields that one commit deleted and that are not present, the item first."""
        commit = self.kept(names, DELETED)[-1][0].deletion[0]
        gone = {key[1] for key, (meta, _) in self.contents.items() if key[0] == DELETED and meta.deletion[0] == commit}
        return sorted(each for each in gone if each[:2] == names[:2] and self.present(each) is None)

    def revert(self, names):
        """Stores the lowest former content as a new one, whose value is of then."""
        (meta, value), present = self.kept(names, FORMER)[0], self.present(names)[0]
        self.set(names, value, meta.label, meta.type, meta.expires, present.history, meta.attributes, meta.written)


def key_of(meta):
    return meta.kind, meta.names, 0 if meta.kind == PRESENT else meta.revision
