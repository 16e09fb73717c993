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
  /// The names of the project's vaults.
  let names: [String]
  private let project: [Context]
  private var opened: [VaultItems] = []
  private var own: VaultItems?

  /// - Parameters:
  ///   - reveals: whether keys may be read that programs only use.
  ///   - readsProject: false for the user's own vault alone.
  init(_ context: Context, revealing reveals: Bool = false, inProject readsProject: Bool = true) throws {
    let project = readsProject ? try ProjectVaults(context) : nil
    (self.context, self.reveals, names) = (context, reveals, project?.names ?? [])
    self.project = try project?.contexts(context) ?? []
  }

  /// Runs `work` in the vault that has the item: the first of the project, else the user's own.
  ///
  /// - Parameter takesParts: whether a part of a name may be enough where there is no project.
  func search<Result>(
    for name: String, takingParts takesParts: Bool, _ item: (VaultItems) throws -> VaultItem?,
    _ work: (VaultItems) throws -> Result
  ) throws -> Result {
    if let (items, vault) = try holding(item) { return try Self.told(of: vault) { try work(items) } }
    do {
      let items = try ownItems()
      // A part of a name could mean an item of another vault.
      items.takesParts = takesParts && names.isEmpty
      return try work(items)
    } catch let error as StoreError where !names.isEmpty {
      let isMissing = try error.kind == .notFound && item(ownItems()) == nil
      guard isMissing || context.goesOn(without: error) else { throw error }
      throw StoreError(
        .notFound, "no item with this name in \(names.joined(separator: ", ")) or your own vault", key: error.key ?? name,
        cure: "coffer --vault \(names[0]) list shows the items of one vault", underlying: error.underlying)
    }
  }

  private func holding(_ item: (VaultItems) throws -> VaultItem?) throws -> (VaultItems, String)? {
    for (number, name) in names.enumerated() {
      let found = try Self.told(of: name) {
        if number == opened.count { opened.append(try open(project[number])) }
        let items = opened[number]
        (items.takesParts, items.asks) = (false, false)
        defer { items.asks = true }
        do { return try item(items) == nil ? nil : items } catch let error as StoreError where error.kind == .ambiguous {
          return items
        }
      }
      if let found { return (found, name) }
    }
    return nil
  }

  /// The commands in the cure of an error of `body` are about the vault called `name`.
  private static func told<Result>(of name: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch {
      guard var failure = Failure.of(error) else { throw error }
      failure.cure = failure.cure?.replacing("coffer ", with: "coffer --vault \(CommandText.quoted(name)) ")
      throw failure
    }
  }

  private func ownItems() throws -> VaultItems {
    if let own { return own }
    let items = try open(context)
    own = items
    return items
  }

  private func open(_ context: Context) throws -> VaultItems { try reveals ? context.ownItems() : context.itemsToRead() }
}
