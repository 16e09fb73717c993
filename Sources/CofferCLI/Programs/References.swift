internal import Coffer

/// The values behind references: all of them are read before anything is done with one.
struct References {
  private var values: [Reference: SecretForm] = [:]

  /// Reads what `references` name. Without any the vault is not touched.
  ///
  /// - Throws: `.notFound`, `.ambiguous` or `.expired`, said of the reference; whatever unlocking throws.
  init(_ references: [Reference], _ unlocking: UnlockingOptions, _ session: Session) throws {
    guard !references.isEmpty else { return }
    let items = try session.itemsToRead(unlocking)
    for reference in references where values[reference] == nil {
      do { values[reference] = try Self.value(of: reference, in: items) } catch let error as StoreError {
        throw error.about(key: reference.description)
      }
    }
  }

  /// The value of a reference that was given at the beginning.
  subscript(_ reference: Reference) -> SecretForm {
    // Only who asks for what it did not collect comes here: a fault of this program's own, and no text of a user's leads to it.
    guard let value = values[reference] else { preconditionFailure("a reference was not collected") }
    return value
  }

  private static func value(of reference: Reference, in items: VaultItems) throws -> SecretForm {
    let item = try item(of: reference, in: items)
    guard let attribute = reference.attribute else {
      guard let form = try items.get(item.name) else { throw nothing("the vault has no such item") }
      return form
    }
    guard let text = ItemJSON(item).fields.first(where: { $0.0 == attribute })?.1, !text.isEmpty else {
      throw StoreError(
        .notFound, "the item has nothing of the name '\(attribute)'",
        cure: "coffer vault show lists what an item has; without the last part the value is meant")
    }
    return try text.utf8Span.span.bytes.withUnsafeBytes { raw in SecretForm(try SecretBytes(copying: raw)) }
  }

  private static func item(of reference: Reference, in items: VaultItems) throws -> VaultItem {
    if let account = reference.account {
      guard let item = try items.item(ItemName(service: reference.service, account: account)) else {
        throw nothing("the vault has no such item")
      }
      return item
    }
    let found = try items.list(service: reference.service)
    guard let item = found.first else { throw nothing("the vault has no item of this service") }
    guard found.count == 1 else {
      throw StoreError(
        .ambiguous, "\(found.count) items match", cure: "name the account after the service: coffer://service/account")
    }
    return item
  }

  private static func nothing(_ what: String) -> StoreError {
    StoreError(.notFound, what, cure: "coffer vault list shows what there is, coffer vault set stores it")
  }
}
