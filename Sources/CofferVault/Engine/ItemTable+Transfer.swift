internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

extension ItemTable {
  /// What an import will do, within a transaction.
  func plan(_ items: [ImportedItem], _ duplicates: DuplicatePolicy) throws(StoreError) -> ImportReport {
    var report = ImportReport()
    var seen: Set<ItemName> = []
    for item in items {
      guard seen.insert(item.name).inserted else {
        throw StoreError(
          .ambiguous, "the import names the item twice", key: item.name.description, place: view.path.string,
          cure: "leave one of them out")
      }
      guard try version(of: item.name) != .absent else {
        report.added.append(item.name)
        continue
      }
      switch duplicates {
      case .replace: report.replaced.append(item.name)
      case .keep: report.kept.append(item.name)
      case .refuse:
        throw StoreError(
          .alreadyExists, "there is such an item already, and nothing was imported", key: item.name.description,
          place: view.path.string, cure: "say whether imported items replace those that are there, or those are kept")
      }
    }
    return report
  }

  /// Copies the items of some services, or all, to `target` in one transaction of its own, and returns how many.
  func copyItems(of services: [String]?, to target: OpenVault) throws(StoreError) -> Int {
    var names: [ItemName] = []
    for service in services.map({ $0.map(Optional.some) }) ?? [nil] {
      let found = try list(service: service).map(\.name)
      if let service, found.isEmpty {
        throw StoreError(
          .notFound, "no item is of this service", key: service, place: view.path.string, cure: "check its spelling")
      }
      names += found
    }
    try target.write { (target, change) throws(StoreError) in
      for name in Set(names).sorted() {
        guard let record = try record(name) else { continue }
        switch record.value {
        case .some(let value): try target.items.adopt(record.meta, value, &change)
        case .none: throw Self.withoutValue(name, view.path)
        }
      }
    }
    return Set(names).count
  }
}
