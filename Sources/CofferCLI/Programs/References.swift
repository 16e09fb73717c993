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
        throw StoreError(
          error.kind, error.what, key: reference.description, place: error.place,
          cure: error.kind == .ambiguous ? "name the account after the service: coffer://service/account" : error.commandCure,
          underlying: error.underlying)
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
    guard let attribute = reference.attribute else {
      return try items.value(service: reference.service, account: reference.account)
    }
    let item = try items.item(service: reference.service, account: reference.account)
    guard let text = ItemJSON(item).fields.first(where: { $0.0 == attribute })?.1, !text.isEmpty else {
      throw StoreError(
        .notFound, "the item has nothing of the name '\(attribute)'",
        cure: "coffer vault show lists what an item has; without the last part the value is meant")
    }
    return try text.utf8Span.span.bytes.withUnsafeBytes { raw in SecretForm(try SecretBytes(copying: raw)) }
  }
}
