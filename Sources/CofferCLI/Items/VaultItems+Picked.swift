internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

extension VaultItems {
  /// An item that a person picks, for a command without a name.
  ///
  /// - Parameters:
  ///   - verb: the effect of Enter, such as `copy`.
  ///   - codesOnly: whether to list only items with a one-time code.
  /// - Returns: nil if nobody can be asked.
  /// - Throws: `.notFound` if there are no items; the errors of ``ItemPicker/choose(_:at:)``.
  func picked(_ verb: String, codesOnly: Bool = false) throws -> PickedItem? {
    guard canAsk, !context.yes, let terminal = Terminal() else { return nil }
    var query = ItemQuery()
    query.otherThan = LoginItems.pointers
    // Before the list is shown: the vault may have to be unlocked.
    let codes = Set(try fieldNames(query).filter { $0.value.contains(OneTimeURI.field) }.keys)
    let items = try find(query).items().filter { !codesOnly || codes.contains($0.name) }
    guard !items.isEmpty else {
      throw StoreError(
        .notFound, codesOnly ? "no item has a one-time code" : "the vault has no items", place: place.description,
        cure: codesOnly ? "coffer otp --set NAME stores one" : "coffer set NAME stores one")
    }
    guard let picked = try ItemPicker(items: items, codes: codes).choose(verb, at: terminal) else {
      throw Failure.usage("the item has no name, and this terminal cannot show a list", try: "the name; coffer list shows all")
    }
    return picked
  }
}
