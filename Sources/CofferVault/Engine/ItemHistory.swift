internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

struct ItemHistory {
  let items: ItemTable
  var view: VerifiedView { items.view }
  var records: RecordSet { items.records }

  // MARK: Versions that a write keeps

  /// Keeps `old` as a previous version if `next` keeps any, and removes those beyond the last `history` revisions.
  func keep(_ old: RecordMeta, at index: RecordIndex, replacedBy next: RecordMeta, _ change: inout Change) throws(StoreError) {
    guard old.history > 0 || next.history > 0 else { return }
    if next.history > 0, !old.itemMetadata.isSessionItem { try copy(index, in: .present, &change) { $0.become(.former) } }
    // Pruned revisions are already gone.
    let isShortened = next.history < old.history
    for revision in old.firstKept..<max(old.firstKept, next.firstKept) {
      let index = address(old.name, .former, revision).index(view.keys)
      _ = try records.drop(index, as: .past, forGood: isShortened, &change)
    }
  }

  /// Keeps the record at `index`, about to be deleted now or by a `deletion` in another vault, for restoring until then.
  ///
  /// A clock behind the vault's last write gives no date. Such a deletion stays until it is pruned.
  func keepDeleted(
    _ index: RecordIndex, until: UInt64, as deletion: EarlierDeletion?, _ change: inout Change
  ) throws(StoreError) {
    let (commit, now) = (deletion?.commit ?? change.commitID(), view.now + ItemTable.clockTolerance)
    try copy(index, in: .present, &change) { meta in
      let isBehind = now < max(view.state.time, meta.modified)
      // Not before the content, by whatever clock: it stays deleted.
      let moment = deletion.map { max($0.moment, min($0.recorded, meta.modified)) } ?? view.now
      meta.become(deletedAt: moment, RecordMeta.Deletion(commit: commit, until: isBehind ? 0 : until))
    }
  }

  /// 30 days in milliseconds. A clock this far ahead of the last commit may be wrong, so nothing is removed unasked.
  private static let clockTolerance: UInt64 = 30 * 24 * 3_600_000

  func dropExpired(beside index: RecordIndex, _ change: inout Change) throws(StoreError) {
    guard view.now < view.state.time + Self.clockTolerance else { return }
    let notes = try records.notes(inBucket: RecordTable.old.bucket(of: index), lenient: true, &change)
    for (present, notes) in Dictionary(grouping: notes, by: \.present) {
      let gone = try expired(notes, present, change)
      for note in gone { _ = try records.drop(note.index, as: .past, &change) }
      if !gone.isEmpty { change.events.append(items.entry(.pruned, present)) }
    }
  }

  /// Versions to remove: deleted ones after their time, and the whole history of a record without a current version once its
  /// last deletion is over.
  func expired(
    _ notes: [RecordNote], _ present: RecordIndex, _ change: borrowing Change
  ) throws(StoreError) -> [RecordNote] {
    let over = notes.filter(isOver)
    guard !over.isEmpty, over.count == notes.count(where: { $0.kind == .deleted }) else { return over }
    let isThere = try records.list(of: RecordTable.present.bucket(of: present), change).record(at: present) != nil
    return isThere ? over : notes
  }

  func isOver(_ note: RecordNote) -> Bool { isOver(note.deletion) }

  private func isOver(_ deletion: RecordMeta.Deletion?) -> Bool {
    guard let until = deletion?.until, until != 0 else { return false }
    return until <= view.now
  }

  /// Stores the record again under another description of the same value.
  @discardableResult
  func copy(
    _ index: RecordIndex, in table: RecordTable, _ change: inout Change, _ edit: (inout RecordMeta) -> Void
  ) throws(StoreError) -> RecordMeta {
    guard let id = try records.touch(table.bucket(of: index), change).record(at: index) else {
      throw StoredParts.tampered("a record that should exist is missing", view.place)
    }
    let (sealed, meta) = try view.withRow(index, id, in: table, .all) { (row) throws(StoreError) in
      try view.checked { () throws(FormatError) in
        let record = try row.open(keys: view.keys)
        var meta = record.meta
        edit(&meta)
        return (try record.sealed(as: meta, keys: view.keys), meta)
      }
    }
    // A longer name may leave no room for the description.
    try RecordLimits.check(meta)
    try records.put(sealed, of: meta, &change)
    return meta
  }

  /// Removes the history of the item and its fields, or only of the record at `present`; false if there is none.
  @discardableResult
  func forget(_ item: RecordIndex, only present: RecordIndex? = nil, _ change: inout Change) throws(StoreError) -> Bool {
    var hasForgotten = false
    for note in try records.notes(of: item, in: .old, lenient: true, &change) where present == nil || note.present == present {
      if try records.drop(note.index, as: .past, &change) { hasForgotten = true }
    }
    return hasForgotten
  }

  // MARK: Another name

  /// The previous versions since the record was last made, oldest first.
  func past(of meta: RecordMeta, at index: RecordIndex, _ change: inout Change) throws(StoreError) -> [RecordNote] {
    guard meta.history > 0 else { return [] }
    let all = try records.notes(of: meta.address.item.index(view.keys), in: .old, &change).filter { $0.present == index }
    let made = all.filter { $0.kind == .deleted }.map(\.revision).max() ?? 0
    return all.filter { $0.kind == .former && $0.revision > made }.sorted { $0.revision < $1.revision }
  }

  /// Gives previous versions the name of `next`, and the revisions before its own.
  func move(_ past: [RecordNote], before next: RecordMeta, _ change: inout Change) throws(StoreError) {
    for (place, note) in past.enumerated() {
      try copy(note.index, in: .old, &change) { meta in
        (meta.service, meta.account, meta.field) = (next.service, next.account, next.field)
        meta.revision = next.revision - UInt64(past.count - place)
      }
      _ = try records.drop(note.index, as: .past, forGood: false, &change)
    }
  }

  // MARK: Looking back

  func revisions(of name: ItemName) throws(StoreError) -> [VaultRevision] {
    guard !items.hides(name.service) else { return [] }
    var none = Change()
    let index = items.index(of: name)
    var found: [VaultRevision] = []
    if let item = try items.item(name) { found.append(VaultRevision(item: item, state: .present)) }
    for note in try records.notes(of: items.index(of: name.item), in: .old, &none) where note.present == index && !isOver(note) {
      found.append(revision(try meta(note)))
    }
    return found.sorted { $0.item.revision > $1.item.revision }
  }

  func record(_ name: ItemName, revision: UInt64) throws(StoreError) -> OpenRecord? {
    guard !items.hides(name.service) else { return nil }
    if let present = try items.record(name), present.meta.revision == revision { return present }
    for kind in [RecordKind.former, .deleted] {
      let index = address(name, kind, revision).index(view.keys)
      guard let id = try view.list(of: RecordTable.old.bucket(of: index)).record(at: index) else { continue }
      let record = try view.open(index, id, in: .old)
      guard !isOver(record.meta.deletion) else { continue }
      return record
    }
    return nil
  }

  func form(_ name: ItemName, revision: UInt64) throws(StoreError) -> SecretForm? {
    guard let record = try record(name, revision: revision) else { return nil }
    try items.checkExpiry(record.meta)
    guard let form = try record.form(for: items) else { throw ItemTable.withoutValue(name, view.place) }
    return form
  }

  /// Omits fields deleted with their item, which are restored with it.
  func deleted(service: String?) throws(StoreError) -> [VaultRevision] {
    var none = Change()
    var newest: [RecordIndex: RecordMeta] = [:]
    for note in try records.notes(in: .old, &none) where note.kind == .deleted && !isOver(note) {
      if let other = newest[note.present], other.revision > note.revision { continue }
      guard try !isPresent(note.present) else { continue }
      newest[note.present] = try meta(note)
    }
    let byItem = newest.filter { $1.field.isEmpty }
    let alone = newest.values.filter { meta in
      meta.field.isEmpty
        || byItem[meta.address.item.index(view.keys)].map { $0.deletion?.commit != meta.deletion?.commit } ?? true
    }
    return alone.filter { meta in !items.hides(meta.service) && (service.map { meta.service.hasSameBytes(as: $0) } ?? true) }
      .map(revision).sorted { $0.item.name < $1.item.name }
  }

  private func revision(_ meta: RecordMeta) -> VaultRevision {
    let until = meta.deletion.flatMap { $0.until == 0 ? nil : Milliseconds.date($0.until) }
    return VaultRevision(item: items.item(meta), state: meta.kind == .former ? .former : .deleted, until: until)
  }

  func isPresent(_ index: RecordIndex) throws(StoreError) -> Bool {
    try view.list(of: RecordTable.present.bucket(of: index)).record(at: index) != nil
  }

  func address(_ name: ItemName, _ kind: RecordKind, _ revision: UInt64) -> RecordAddress {
    RecordAddress(kind: kind, service: name.service, account: name.account, field: name.field, revision: revision)
  }

  func meta(_ note: RecordNote, _ change: borrowing Change = Change()) throws(StoreError) -> RecordMeta {
    let bucket = RecordTable.old.bucket(of: note.index)
    guard let id = try records.list(of: bucket, change).record(at: note.index) else {
      throw StoredParts.tampered("a record that should exist is missing", view.place)
    }
    return try view.openMeta(note.index, id, in: .old)
  }
}
