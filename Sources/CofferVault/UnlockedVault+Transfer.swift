public import CofferPlatform
public import CofferStorage
public import FoundationEssentials
internal import SystemPackage

extension UnlockedVault {
  /// Adds all of `items` in one transaction, or none.
  ///
  /// - Parameters:
  ///   - items: what to add, items and fields in any order; a name given twice is refused.
  ///   - duplicates: what becomes of an item whose name is taken.
  ///   - isTrial: only look what would happen.
  ///   - progress: told how many items are sealed, before each next one.
  /// - Throws: `StoreError` `.alreadyExists` (named, with ``DuplicatePolicy/refuse``), `.ambiguous` (a name given twice), `.tooLarge`,
  ///   `.invalidName`, and what writing throws; nothing has changed then, unless it is `.outcomeUnknown`.
  public borrowing func add(
    _ items: [ImportedItem], duplicates: DuplicatePolicy = .refuse, isTrial: Bool = false, progress: (Int) -> Void = { _ in }
  ) throws(StoreError) -> ImportReport {
    guard !isTrial else { return try core.read { (vault) throws(StoreError) in try vault.items.plan(items, duplicates) } }
    return try core.write { (vault, change) throws(StoreError) in
      let report = try vault.items.plan(items, duplicates)
      let kept = Set(report.kept)
      // A field can be made once its item is there.
      let ordered = items.filter(\.name.field.isEmpty) + items.filter { !$0.name.field.isEmpty }
      for (index, item) in ordered.enumerated() where !kept.contains(item.name) {
        progress(index)
        try vault.items.adopt(item, &change)
      }
      return report
    }
  }

  /// Lends each item with its value to `body`, expired ones too, by name: for an export.
  ///
  /// - Parameters:
  ///   - withFields: whether each field is lent too, after its item.
  ///   - withoutValue: is called for an item that has none, which another program may have made; Coffer's own always have one.
  ///   - body: is called with each other item and its value.
  /// - Throws: `StoreError` `.damaged` for an item without a value, which names it, where nobody asked to be told of it;
  ///   `.conflict` for one that was deleted meanwhile; what the closures throw.
  public borrowing func forEachItem(
    withFields: Bool = false,
    withoutValue: ((VaultItem) throws -> Void)? = nil, _ body: (VaultItem, SecretForm) throws -> Void
  ) throws {
    let items = try core.read { (vault) throws(StoreError) in try vault.items.list(service: nil, withFields: withFields) }
    for item in items {
      let form = try core.read { (vault) throws(StoreError) in
        try vault.items.form(item.name)
      }
      guard let form else {
        throw StoreError(
          .conflict, "the item was deleted during the export", key: item.name.description, place: path.string, cure: "try again")
      }
      if let form {
        try body(item, form)
      } else if let withoutValue {
        try withoutValue(item)
      } else {
        throw ItemTable.withoutValue(item.name, path)
      }
    }
  }

  /// Writes a new vault to `target` that holds the items of this one with their fields, or those of some services, as they are at this
  /// moment, and opens with `credentials`: with no key, slot, id or history of this vault, and no former content of an item.
  ///
  /// The file is for its owner alone, complete once it has its name; its folder may be any that this user can write.
  ///
  /// - Parameters:
  ///   - target: where the new vault will be.
  ///   - services: whose items; nil for all.
  ///   - credentials: what will open the new vault.
  ///   - cost: the Argon2id cost of a passphrase.
  ///   - label: a name for its slot.
  /// - Returns: how many items it holds.
  /// - Throws: `StoreError` `.alreadyExists`, `.notFound` (a service without items), and what creating a vault throws; nothing is left
  ///   behind then.
  public borrowing func export(
    to target: VaultPlace, services: [String]? = nil, with credentials: consuming Credentials, cost: PassphraseCost = .standard,
    label: String = ""
  ) throws(StoreError) -> Int {
    let file = try target.file()
    let copy = try NewCopy.begin(for: file, of: path)
    var given = Optional(credentials)
    let count = try copy.making { (draft) throws(StoreError) in
      let made = try OpenVault.create(at: draft, with: given.take() ?? Credentials(), cost: cost, label: label)
      let count = try core.read { (vault) throws(StoreError) in
        try vault.items.copyItems(of: services, to: made)
      }
      try made.view.database.emptyLog()
      made.view.database.close()
      return count
    }
    try copy.publish()
    return count
  }
}

/// An item on its way from one vault, or another program, to a vault.
public struct ImportedItem: Sendable {
  /// Service and account.
  public let name: ItemName
  /// The value, and what is said of it.
  public let form: SecretForm
  /// When it was first stored and last written; nil for now.
  public let created: Date?, modified: Date?

  /// An item to import.
  public init(name: ItemName, form: SecretForm, created: Date? = nil, modified: Date? = nil) {
    self.name = name
    self.form = form
    self.created = created
    self.modified = modified
  }
}

/// What becomes of an imported item whose name is taken.
public enum DuplicatePolicy: Sendable, CaseIterable {
  /// Nothing is imported at all: ``/CofferPlatform/StoreError/Kind/alreadyExists``.
  case refuse
  /// The imported item takes its place.
  case replace
  /// What is there stays.
  case keep
}

/// What an import did, or would do.
public struct ImportReport: Sendable, Equatable {
  /// Names that were new, were replaced, or stayed as they were; in the order of the import.
  public internal(set) var added: [ItemName] = [], replaced: [ItemName] = [], kept: [ItemName] = []
}
