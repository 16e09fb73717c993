internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials
internal import SystemPackage

/// Called within a transaction.
struct ItemTransfer {
  let items: ItemTable
  private var view: VerifiedView { items.view }

  /// Stores an item with its own times. A replaced item leaves only its count of writes.
  ///
  /// - Parameter keeping: the number of previous versions that a new item keeps.
  func adopt(_ item: ImportedItem, keeping: UInt8, _ change: inout Change) throws(StoreError) {
    try items.check(item.form)
    let target = try items.target(item.name, &change)
    // The secret that renews a login belongs to that login alone.
    if item.name.field.isEmpty, target.old?.itemMetadata.isKeptByCoffer == true {
      try items.removals.removeFields(of: target.index, &change)
    }
    var meta = RecordMeta(
      revision: 0, id: target.old?.id ?? .random(), service: item.name.service, account: item.name.account,
      field: item.name.field,
      created: item.created.map(Milliseconds.count) ?? view.now,
      modified: item.modified.map(Milliseconds.count) ?? view.now, valueCount: item.form.bytes.count)
    meta.take(item.form.metadata)
    meta.history = target.old?.history ?? keeping
    meta.named = target.old?.named ?? 0
    _ = try items.adopt(meta, item.form.bytes, at: target, &change)
  }

  func plan(_ imported: [ImportedItem], _ duplicates: DuplicatePolicy) throws(StoreError) -> ImportReport {
    var report = ImportReport()
    var seen: Set<ItemName> = []
    // A field follows its item: a mixture of two items would be neither.
    var kept: Set<ItemName> = []
    let whole = Set(imported.lazy.map(\.name).filter(\.field.isEmpty))
    for name in Set(imported.lazy.map(\.name.item)).subtracting(whole) where try items.item(name)?.metadata.isKeptByCoffer == true
    {
      throw StoreError(
        .refused, "a field alone is imported into an item that Coffer keeps by itself, such as a login", key: name.description,
        place: view.place.description, cure: "leave the field out; nothing was imported")
    }
    for item in imported where item.name.field.isEmpty && !item.isFormer {
      if try stays(item, duplicates) { kept.insert(item.name) }
    }
    for item in imported where !item.isFormer {
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
      case .replace: report.replaced.append(item.name)
      case .keep, .newer:
        // The item of this field was replaced, or the field is imported alone.
        let follows = !item.name.field.isEmpty && whole.contains(item.name.item)
        let isKept = try follows ? false : stays(item, duplicates)
        if isKept { report.kept.append(item.name) } else { report.replaced.append(item.name) }
      case .refuse:
        throw StoreError(
          .alreadyExists, "there is such an item already, and nothing was imported", key: item.name.description,
          place: view.place.description, cure: "say whether imported items replace those that are there, or those are kept")
      }
    }
    return report
  }

  /// Whether the vault's own item stays in place of `imported`.
  private func stays(_ imported: ImportedItem, _ duplicates: DuplicatePolicy) throws(StoreError) -> Bool {
    guard duplicates == .keep || duplicates == .newer, let own = try items.item(imported.name) else { return false }
    guard duplicates == .newer, let modified = imported.modified else { return true }
    return modified <= own.modified
  }

  /// Runs in a transaction of its own. Nil means all services.
  func copyItems(of services: [String]?, to target: OpenVault) throws(StoreError) -> Int {
    var names: [ItemName] = []
    for service in services.map({ $0.map(Optional.some) }) ?? [nil] {
      let found = try items.list(service: service, withFields: true).map(\.name)
      if let service, found.isEmpty {
        throw StoreError(
          .notFound, "no item is of this service", key: service, place: view.place.description, cure: "check its spelling")
      }
      names += found
    }
    try target.write { (target, change) throws(StoreError) in
      for name in Set(names).sorted() {
        guard let record = try items.record(name) else { continue }
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
