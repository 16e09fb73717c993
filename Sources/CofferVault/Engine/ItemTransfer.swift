internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import FoundationEssentials

/// Called within a transaction.
struct ItemTransfer {
  let items: ItemTable
  private var view: VerifiedView { items.view }

  /// Stores an item with its own times, or now for a later one: the last item written decides which account a host gets. A
  /// replaced item becomes a previous version, if it keeps any.
  ///
  /// - Parameter keeping: the number of previous versions that a new item keeps.
  func adopt(_ item: ImportedItem, keeping: UInt8, _ change: inout Change) throws(StoreError) {
    try items.check(item.form)
    let target = try items.target(item.name, &change)
    let now = view.now
    var meta = RecordMeta(
      revision: 0, id: target.old?.id ?? .random(), service: item.name.service, account: item.name.account,
      field: item.name.field,
      created: min(item.created.map(Milliseconds.count) ?? now, now),
      modified: min(item.modified.map(Milliseconds.count) ?? now, now), valueCount: item.form.bytes.count)
    meta.take(item.form.metadata)
    let own = try item.history.map { (count) throws(StoreError) in try RecordLimits.history(count) }
    meta.history = target.old?.history ?? own ?? keeping
    meta.named = target.old?.named ?? 0
    _ = try items.adopt(meta, item.form.bytes, at: target, &change)
  }

  /// Removes the other fields of the items among `imported`, before these are stored. One with a history can be restored.
  func removeFields(notIn imported: [ImportedItem], _ change: inout Change) throws(StoreError) {
    let names = Set(imported.lazy.map(\.name))
    var fields: [VaultItem] = []
    for name in names where name.field.isEmpty { fields += try items.fields(of: name) ?? [] }
    for field in fields where !names.contains(field.name) {
      _ = try items.removals.remove(field.name, keptUntil: field.history > 0 ? .distantFuture : nil, &change)
    }
  }

  /// A trial of ``DuplicatePolicy/replaceWithFields`` serves the search for free names.
  func plan(
    _ imported: [ImportedItem], _ duplicates: DuplicatePolicy, isTrial: Bool = false
  ) throws(StoreError) -> ImportReport {
    var report = ImportReport()
    var seen: Set<ItemName> = []
    // A field follows its item: a mixture of two items would be neither.
    var kept: Set<ItemName> = []
    let whole = Set(imported.lazy.map(\.name).filter(\.field.isEmpty))
    for name in Set(imported.lazy.map(\.name.item)).subtracting(whole) where try items.item(name)?.metadata.isKeptByCoffer == true
    {
      throw StoreError(
        .refused, "only a field is imported, into an item that Coffer manages itself, such as a login", key: name.description,
        place: view.place.description, cure: "leave the field out; nothing was imported")
    }
    let parts = Dictionary(grouping: imported.lazy.filter { !$0.isPrevious }, by: \.name.item)
    for item in imported where item.name.field.isEmpty && !item.isPrevious {
      if try stays(item, with: parts[item.name] ?? [], duplicates) {
        kept.insert(item.name)
      } else if duplicates != .refuse, !isTrial || duplicates != .replaceWithFields,
        try items.item(item.name)?.metadata.isKeptByCoffer == true
      {
        throw StoreError(
          .refused, "an item that Coffer manages itself, such as a login, is not replaced", key: item.name.description,
          place: view.place.description, cure: "leave the item out, or give it another name; nothing was changed")
      }
    }
    for item in imported where !item.isPrevious {
      guard seen.insert(item.name).inserted else {
        throw StoreError(
          .ambiguous, "the import names the item twice", key: item.name.description, place: view.place.description,
          cure: "leave one of them out")
      }
      guard !kept.contains(item.name.item) else {
        report.kept.append(item.name)
        continue
      }
      guard try items.version(of: item.name) != .absent else {
        report.added.append(item.name)
        continue
      }
      switch duplicates {
      case .replace, .keep, .newer, .replaceWithFields:
        // The item of this field was replaced, or the field is imported alone.
        let follows = item.name.field.isEmpty || whole.contains(item.name.item)
        let isKept = try follows ? false : stays(item, with: [item], duplicates)
        if isKept { report.kept.append(item.name) } else { report.replaced.append(item.name) }
      case .refuse:
        throw StoreError(
          .alreadyExists, "the item already exists; nothing was imported", key: item.name.description,
          place: view.place.description, cure: "say whether to replace or keep existing items")
      }
    }
    return report
  }

  /// - Parameter parts: what is imported under the name; nothing is written if the vault holds all of it.
  private func stays(
    _ imported: ImportedItem, with parts: [ImportedItem], _ duplicates: DuplicatePolicy
  ) throws(StoreError) -> Bool {
    guard duplicates != .refuse, let own = try items.item(imported.name) else { return false }
    if duplicates == .keep { return true }
    if duplicates == .newer, imported.modified.map({ $0 <= own.modified }) ?? true { return true }
    for part in parts {
      guard try holds(part) else { return false }
    }
    return true
  }

  private func holds(_ imported: ImportedItem) throws(StoreError) -> Bool {
    guard let record = try items.record(imported.name) else { return false }
    let own = record.meta
    var meta = own
    meta.take(imported.form.metadata)
    guard meta.itemMetadata == own.itemMetadata, let form = try record.form(for: items) else { return false }
    return form.bytes.isEqual(to: imported.form.bytes)
  }

  /// The newest of `previous` for which the history has room beside the item's own versions, without those that it has.
  func joining(_ previous: [ImportedItem], to name: ItemName) throws(StoreError) -> [ImportedItem] {
    guard !previous.isEmpty, let current = try items.item(name) else { return previous }
    let own = try items.history.revisions(of: name).filter { $0.state != .deleted }.map(\.item.revision)
    var known: [SecretForm] = []
    for revision in own {
      guard let record = try items.history.record(name, revision: revision) else { continue }
      if let form = try record.form(for: items) { known.append(form) }
    }
    // The current version becomes a previous one too.
    let room = current.history - 1 - Int(current.revision - (own.min() ?? current.revision))
    return previous.filter { one in !known.contains { $0.bytes.isEqual(to: one.form.bytes) } }.suffix(max(0, room))
  }

  /// Runs in a transaction of its own. Nil means all services.
  func copyItems(of services: [String]?, to target: OpenVault) throws(StoreError) -> Int {
    var names: [ItemName] = []
    for service in services.map({ $0.map(Optional.some) }) ?? [nil] {
      let found = try items.list(service: service, withFields: true).map(\.name)
      if let service, found.isEmpty {
        throw StoreError(
          .notFound, "no item belongs to this service", key: service, place: view.place.description, cure: "check its spelling")
      }
      names += found
    }
    try target.write { (target, change) throws(StoreError) in
      for name in Set(names).sorted() {
        guard let record = try items.record(name) else { continue }
        try items.refuseWithheld(record.meta)
        switch record.value {
        case .some(let value):
          _ = try target.items.adopt(record.meta, value, at: target.items.target(name, &change), &change)
        case .none: throw ItemTable.withoutValue(name, view.place)
        }
      }
    }
    return Set(names).count(where: \.field.isEmpty)
  }
}
