internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import FoundationEssentials

extension ItemHistory {
  func revert(
    _ name: ItemName, to revision: UInt64, if condition: WriteCondition, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    let target = try items.target(name, &change)
    guard let old = target.old else { throw missing("there is no such item", "undelete it first if it was deleted") }
    try items.require(condition, of: items.item(old))
    guard old.revision != revision else { return items.item(old) }
    guard let record = try record(name, revision: revision) else {
      throw missing("revision \(revision) is not kept", "list its revisions")
    }
    var meta = record.meta
    meta.become(.present)
    (meta.id, meta.created, meta.modified, meta.history) = (old.id, old.created, view.now, old.history)
    meta.named = old.named
    switch record.value {
    case .some(let value): return items.item(try items.store(meta, value, at: target, &change))
    case .none: throw ItemTable.withoutValue(name, view.place)
    }
  }

  func undelete(_ name: ItemName, _ living: inout Set<UUID>?, _ change: inout Change) throws(StoreError) -> VaultItem {
    try items.refuseHidden(name)
    let index = items.index(of: name)
    guard try records.touch(items.bucket(of: index), change).record(at: index) == nil else {
      throw StoreError(
        .alreadyExists, "the item exists", place: view.place.description,
        cure: "rename it, or read the revision that you want")
    }
    let deleted = try records.notes(of: items.index(of: name.item), in: .old, &change).filter {
      $0.kind == .deleted && !isOver($0)
    }
    guard let last = deleted.last(of: index) else {
      throw missing("no deleted version of it is kept", "list the deleted items")
    }
    try items.checkRoom(for: name, &change)
    // A merge or an import may have brought it back under another name. This one then becomes another item.
    var ids: Set<UUID>
    if let living { ids = living } else { ids = Set(try items.list(service: nil, withFields: true).map(\.id)) }
    defer { living = ids }
    let restored = try restore(last, &ids, &change)
    guard name.field.isEmpty else { return items.item(restored) }
    for field in Set(deleted.map(\.present)) where field != index {
      guard let lastOfField = deleted.last(of: field), lastOfField.deletion?.commit == last.deletion?.commit else { continue }
      _ = try restore(lastOfField, &ids, &change)
    }
    return items.item(restored)
  }

  /// A content whose id is among `living` gets a new one.
  private func restore(_ note: RecordNote, _ living: inout Set<UUID>, _ change: inout Change) throws(StoreError) -> RecordMeta {
    let highest = try records.highestRevision(of: note.present, &change)
    let next = try view.checked { () throws(FormatError) in try FileCounter.next(highest, "revision of an item") }
    let restored = try copy(note.index, in: .old, &change) { meta in
      meta.become(.present)
      (meta.revision, meta.modified) = (next, view.now)
      if !living.insert(items.item(meta).id).inserted { meta.id = .random() }
    }
    try items.refuseWithheld(restored)
    _ = try records.drop(note.index, as: .past, forGood: false, &change)
    for previous in try records.notes(of: note.item, in: .old, &change)
    where previous.present == note.present && previous.kind == .former && previous.revision < restored.firstKept {
      _ = try records.drop(previous.index, as: .past, &change)
    }
    change.events.append(items.entry(.undeleted, note.present))
    return restored
  }

  /// - Parameter name: an item with its fields, or one field; nil for all.
  /// - Returns: the number of removed versions.
  func prune(_ rule: PruneRule, of name: ItemName?, _ change: inout Change) throws(StoreError) -> Int {
    var notes: [RecordNote]
    if let name {
      notes = try records.notes(of: items.index(of: name.item), in: .old, &change)
      if !name.field.isEmpty { notes = notes.filter { $0.present == items.index(of: name) } }
    } else {
      notes = try records.notes(in: .old, &change)
    }
    var gone: [RecordNote] = []
    for (present, notes) in Dictionary(grouping: notes, by: \.present) {
      gone += try pruned(rule, of: notes.sorted { $0.revision > $1.revision }, present, change)
    }
    for note in gone { _ = try records.drop(note.index, as: .past, &change) }
    let concerned = Set(gone.map(\.present))
    if let one = concerned.first {
      change.events.append(items.entry(.pruned, concerned.count == 1 ? one : .zero))
    }
    return gone.count
  }

  /// - Parameter notes: those of one record, newest first.
  private func pruned(
    _ rule: PruneRule, of notes: [RecordNote], _ present: RecordIndex, _ change: borrowing Change
  ) throws(StoreError) -> [RecordNote] {
    switch rule {
    case .expired: return try expired(notes, present, change)
    case .allBut(let kept): return Array(notes.dropFirst(max(0, kept)))
    case .olderThan(let date):
      let limit = Milliseconds.count(date)
      var gone: [RecordNote] = []
      var replaced = try modified(ofPresent: present)
      for note in notes {
        let meta = try meta(note)
        // The age of a version counts from its replacement or deletion.
        if (meta.kind == .deleted ? meta.modified : replaced ?? meta.modified) < limit { gone.append(note) }
        replaced = meta.modified
      }
      return gone
    }
  }

  private func modified(ofPresent index: RecordIndex) throws(StoreError) -> UInt64? {
    guard let id = try view.list(of: items.bucket(of: index)).record(at: index) else { return nil }
    return try view.withRow(index, id, .metadata) { (row) throws(StoreError) in
      try view.checked { () throws(FormatError) in try row.openMeta(keys: view.keys).modified }
    }
  }

  private func missing(_ what: String, _ cure: String) -> StoreError {
    StoreError(.notFound, what, place: view.place.description, cure: cure)
  }
}

extension [RecordNote] {
  fileprivate func last(of present: RecordIndex) -> RecordNote? {
    filter { $0.present == present }.max { $0.revision < $1.revision }
  }
}
