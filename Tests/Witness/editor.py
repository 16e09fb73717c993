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

    def set(self, names, value, label="", type="", expires=0, history=0, attributes=()):
        """Makes or replaces a record, and keeps the content that it replaces, as `history` says."""
        time, former = self.writer.time, self.present(names)
        meta = Meta(kind=PRESENT, revision=self.next_revision(names), service=names[0], account=names[1], field=names[2],
                    label=label, type=type, created=former[0].created if former else time, modified=time, expires=expires,
                    history=history, length=NO_VALUE if value is None else len(value),
                    attributes=sorted(attributes, key=lambda pair: pair[0].encode()))
        if former and history:
            self.store(former[0].but(kind=FORMER), former[1])
        self.store(meta, value)
        self.prune(names, history)
        self.writer.entry(log.SET, names)

    def prune(self, names, count):
        rows = self.kept(names, FORMER)
        for meta, _ in rows[:max(0, len(rows) - count)]:
            self.remove(meta)

    def family(self, names):
        """An item's names and those of its present fields, the item last."""
        item = names[:2] + ("",)
        return [key[1] for key in self.contents if key[0] == PRESENT and key[1][:2] == names[:2] and key[1] != item] + [item]

    def delete(self, names, for_good=False):
        """Deletes an item with its fields, or one field."""
        for each in self.family(names) if names[2] == "" else [names]:
            meta, value = self.present(each)
            if for_good:
                for row, _ in self.kept(each, FORMER) + self.kept(each, DELETED):
                    self.remove(row)
            else:
                self.store(meta.but(kind=DELETED, modified=self.writer.time), value)
            self.remove(meta)
            self.writer.entry(log.DELETED, each)

    def undelete(self, names):
        meta, value = self.kept(names, DELETED)[-1]
        revision = self.next_revision(names)
        self.remove(meta)
        self.store(meta.but(kind=PRESENT, revision=revision, modified=self.writer.time), value)
        self.writer.entry(log.UNDELETED, names)

    def revert(self, names):
        """Stores the lowest former content as a new one."""
        meta, value = self.kept(names, FORMER)[0]
        self.set(names, value, meta.label, meta.type, meta.expires, self.present(names)[0].history, meta.attributes)


def key_of(meta):
    return meta.kind, meta.names, 0 if meta.kind == PRESENT else meta.revision
