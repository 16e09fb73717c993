internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

/// `--on-duplicate`: the fate of an imported item whose name is taken.
enum OnDuplicate: String, ExpressibleByArgument, CaseIterable {
  case fail, skip, replace, newer, both

  var policy: DuplicatePolicy {
    switch self {
    case .skip: .keep
    case .replace: .replace
    case .newer: .newer
    // Free names were found before. One that was taken meanwhile is refused.
    case .fail, .both: .refuse
    }
  }

  /// The most names in an error: a screen of them.
  private static let mostNamed = 20

  /// `error`, about the first of the `taken` names, with all of them.
  static func failure(_ error: StoreError, _ taken: [ItemName]) -> Failure {
    let items = Set(taken.lazy.filter(\.field.isEmpty))
    let names = taken.filter { $0.field.isEmpty || !items.contains($0.item) }
    let isOne = names.count == 1
    var failure = Failure(
      StoreError(
        error.kind, isOne ? error.what : "\(grouped(names.count)) items are there already, and nothing was imported",
        key: isOne ? error.key : nil, place: error.place,
        cure: "--on-duplicate skip, replace, newer or both says what becomes of such items"))
    let more = names.count > mostNamed ? ", … and \(grouped(names.count - mostNamed)) more" : ""
    if !isOne { failure.detail = names.prefix(mostNamed).map(\.description).joined(separator: ", ") + more }
    return failure
  }
}

extension ImportSource.Found {
  /// The same with a free name for each of the `taken` ones: `ada (2)` for the account `ada`, `(2)` without an account,
  /// `pin (2)` for a field that is imported alone.
  func renamed(_ taken: [ItemName], isTaken: (ItemName) throws -> Bool) throws -> Self {
    var found = self
    var names = Set(items.lazy.map(\.name))
    var new: [ItemName: ItemName] = [:]
    // The fields of an item follow it.
    for name in taken where name.field.isEmpty || !names.contains(name.item) {
      var number = 2
      var free = try Self.numbered(name, number)
      while try names.contains(free) || isTaken(free) {
        number += 1
        free = try Self.numbered(name, number)
      }
      try NewName.check(free)
      names.insert(free)
      new[name] = free
      found.renamed.append("'\(name)' becomes '\(free)': the vault has an item of that name")
    }
    found.items = try items.map { item in
      guard let name = try new[item.name] ?? new[item.name.item]?.field(named: item.name.field) else { return item }
      return ImportedItem(
        name: name, form: item.form, created: item.created, modified: item.modified, isFormer: item.isFormer)
    }
    return found
  }

  private static func numbered(_ name: ItemName, _ number: Int) throws -> ItemName {
    guard name.field.isEmpty else { return try name.item.field(named: "\(name.field) (\(number))") }
    return try ItemName(service: name.service, account: name.account.isEmpty ? "(\(number))" : "\(name.account) (\(number))")
  }
}
