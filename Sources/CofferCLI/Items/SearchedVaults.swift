internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

/// The vaults in which a reading command looks for an item: those of the project in their order, then the user's own.
///
/// Each is opened when it is its turn. An item is in the first vault that has its whole name; a vault that cannot be read ends
/// the search, as a later one may hold another value.
final class SearchedVaults {
  private let context: Context, reveals: Bool
  private let names: [String]
  private var unopened: [Context]
  private var opened: [VaultItems] = []
  private var own: VaultItems?

  /// - Parameters:
  ///   - reveals: whether keys may be read that programs only use.
  ///   - readsProject: false for the user's own vault alone.
  init(_ context: Context, revealing reveals: Bool = false, inProject readsProject: Bool = true) throws {
    let project = readsProject ? try ProjectVaults(context) : nil
    (self.context, self.reveals, names) = (context, reveals, project?.names ?? [])
    unopened = try project?.contexts(context) ?? []
  }

  /// Runs `work` in the user's own vault, after none of the project has the item.
  ///
  /// - Parameter takesParts: whether a part of a name may be enough.
  func inOwn<Result>(
    takingParts takesParts: Bool, for name: String, _ item: (VaultItems) throws -> VaultItem?,
    _ work: (VaultItems) throws -> Result
  ) throws -> Result {
    do {
      let items = try ownItems()
      items.takesParts = takesParts
      return try work(items)
    } catch let error as StoreError where !names.isEmpty {
      let isMissing = try error.kind == .notFound && item(ownItems()) == nil
      guard isMissing || context.goesOn(without: error) else { throw error }
      throw StoreError(
        .notFound, "no item with this name in \(names.joined(separator: ", ")) or your own vault", key: error.key ?? name,
        cure: isMissing ? error.cure : "coffer --vault \(names[0]) list shows the items of one vault",
        underlying: error.underlying)
    }
  }

  /// The first vault of the project that has the item.
  func holding(_ item: (VaultItems) throws -> VaultItem?) throws -> VaultItems? {
    for items in opened where try item(items) != nil { return items }
    while let next = unopened.first {
      let items = try open(next)
      // A part of a name could mean an item of another vault.
      items.takesParts = false
      opened.append(items)
      unopened.removeFirst()
      if try item(items) != nil { return items }
    }
    return nil
  }

  private func ownItems() throws -> VaultItems {
    if let own { return own }
    let items = try open(context)
    own = items
    return items
  }

  private func open(_ context: Context) throws -> VaultItems { try reveals ? context.ownItems() : context.itemsToRead() }
}
