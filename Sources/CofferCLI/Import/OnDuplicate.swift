internal import ArgumentParser
internal import CofferTerminal
internal import CofferVault

/// The fate of an imported item whose name is taken.
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

  /// What a plan calls the items that stay.
  var stays: String {
    switch self {
    case .fail: "existing"
    case .skip, .newer: "kept"
    case .replace, .both: "unchanged"
    }
  }

  /// The choice that `answer` begins; nil for none.
  init?(typed answer: String) {
    guard !answer.isEmpty, let choice = Self.allCases.first(where: { $0.rawValue.hasPrefix(answer.lowercased()) }),
      choice != .fail
    else { return nil }
    self = choice
  }

  /// A screen of them.
  private static let mostNamed = 20

  static func names(_ taken: [ItemName]) -> String {
    let more = taken.count > mostNamed ? ", … and \(grouped(taken.count - mostNamed)) more" : ""
    return taken.prefix(mostNamed).map(\.description).joined(separator: ", ") + more
  }

  static func failure(_ taken: [ItemName], in place: String) -> Failure {
    let isOne = taken.count == 1
    var failure = Failure(
      StoreError(
        .alreadyExists,
        "\(isOne ? "the item already exists" : "\(grouped(taken.count)) items already exist"); nothing was imported",
        key: isOne ? taken[0].description : nil, place: place, cure: "choose --on-duplicate skip, replace, newer or both"))
    if !isOne { failure.detail = names(taken) }
    return failure
  }
}

extension ImportSource.Found {
  /// The same with a free name for each taken one: `ada (2)` for the account `ada`, `(2)` without an account, `pin (2)` for
  /// a field that is imported alone. What the vault holds under its name, or under a numbered one, is ``unchanged``.
  ///
  /// - Parameter trial: what would be replaced, and what is there already.
  func renamed(_ trial: ([ImportedItem]) throws -> ImportReport) throws -> Self {
    var (found, names) = (self, Set(items.lazy.map(\.name)))
    var new: [ItemName: ItemName] = [:]
    let first = try trial(items)
    found.unchanged = first.kept
    var (same, number) = (Set(first.kept), 1)
    var open = first.replaced.filter { $0.field.isEmpty || !names.contains($0.item) }
    while !open.isEmpty {
      number += 1
      var tried: [ItemName: ItemName] = [:]
      for name in open {
        let free = try Self.numbered(name, number)
        if !names.contains(free) { tried[name] = free }
      }
      let report = try trial(items.compactMap { try Self.renamed($0, tried) })
      let (free, held) = (Set(report.added), Set(report.kept))
      for name in open {
        guard let other = tried[name] else { continue }
        if held.contains(other) {
          same.insert(name)
          found.unchanged.append(other)
        } else if free.contains(other) {
          try NewName.check(other)
          names.insert(other)
          new[name] = other
        }
      }
      open.removeAll { same.contains($0) || new[$0] != nil }
    }
    found.renamed += items.lazy.filter { !$0.isPrevious }.compactMap { item in
      new[item.name].map { "'\(item.name)' becomes '\($0)': its name is taken" }
    }
    found.items = try items.filter { !same.contains($0.name) && !same.contains($0.name.item) }
      .map { try Self.renamed($0, new) ?? $0 }
    return found
  }

  private static func renamed(_ item: ImportedItem, _ new: [ItemName: ItemName]) throws -> ImportedItem? {
    guard let name = try new[item.name] ?? new[item.name.item]?.field(named: item.name.field) else { return nil }
    return ImportedItem(name: name, form: item.form, created: item.created, modified: item.modified, isPrevious: item.isPrevious)
  }

  private static func numbered(_ name: ItemName, _ number: Int) throws -> ItemName {
    guard name.field.isEmpty else { return try name.item.field(named: "\(name.field) (\(number))") }
    return try ItemName(service: name.service, account: name.account.isEmpty ? "(\(number))" : "\(name.account) (\(number))")
  }
}
