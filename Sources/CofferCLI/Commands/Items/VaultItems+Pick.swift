internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

extension VaultItems {
  /// The item that a person picks for a command without a name; nil if its code or user name was copied instead.
  ///
  /// - Throws: a usage failure where nobody can be asked; `.notFound` for an empty vault; `.interrupted`.
  func pick(
    _ verb: String, codesOnly: Bool = false, with options: ClipboardOptions = .none, _ context: Context
  ) throws -> VaultItem? {
    guard canAsk, !context.yes, let terminal = Terminal() else {
      throw Failure.usage("no name was given", try: "SERVICE/ACCOUNT; coffer list shows the names")
    }
    let query = ItemQuery(otherThan: LoginItems.pointers)
    // Before the list is shown: the vault may have to be unlocked.
    let codes = Set(try fieldNames(query).filter { $0.value.contains(OneTimeURI.field) }.keys)
    let items = try find(query).items().filter { !codesOnly || codes.contains($0.name) }
    guard !items.isEmpty else {
      throw StoreError(
        .notFound, codesOnly ? "no item has a one-time code" : "the vault has no items", place: place.description,
        cure: codesOnly ? "coffer otp --set NAME stores one" : "coffer set NAME stores one")
    }
    guard let (item, key) = try ItemPicker(items: items, codes: codes).choose(verb, at: terminal) else {
      throw Failure.usage(
        "no name was given, and this terminal cannot show a list of \(items.count) items",
        try: "the name or a part of it; coffer list shows all")
    }
    guard let key else { return item }
    let name = item.name
    var copying = options
    copying.clip = true
    if key == ItemPicker.code {
      try copying.open()?.copy(oneTimePassword(of: name).code(at: Date()).text, "the code of \(name)", context)
    } else {
      try copying.open()?.copy(item.userName, "the user name of \(name)", context)
    }
    return nil
  }

  func oneTimePassword(of name: ItemName) throws -> OneTimePassword {
    guard let form = try get(name.field(named: OneTimeURI.field)) else {
      throw StoreError(
        .notFound, "the item has no one-time code", key: name.description,
        cure: "\(CommandText.item("otp", name, "--set")) stores it")
    }
    return try OneTimeURI.read(form.bytes)
  }
}
