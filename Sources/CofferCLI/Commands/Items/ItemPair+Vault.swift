internal import ArgumentParser
internal import CofferFormats
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

extension ItemPair {
  /// - Parameter hint: said if there is no new name.
  func check(_ other: OtherVaultOptions, hint: String = "") throws {
    guard account != nil || toService != nil || toAccount != nil || toVault != nil else {
      throw ValidationError("give the new name, --to-service, --to-account or --to-vault\(hint)")
    }
    guard toVault != nil || other.isEmpty else { throw ValidationError("--other-… needs --to-vault") }
  }

  /// Copies an item or a folder to the vault at `place`, all or none. If they move, the copies are read again and compared
  /// before the originals are deleted.
  func send(to place: String, isMove: Bool, _ other: OtherVaultOptions, _ store: StoreChoice, _ context: Context) throws {
    let target = try other.context(of: place, beside: context)
    if let key = try key(store, context), try key.preference() != nil {
      throw Failure.usage(
        "'\(Printable.line(key.name))' is a preference, which is in no vault",
        try: "coffer set \(CommandText.quoted(key.name)) --secret to move it into the vault first")
    }
    let items = try isMove ? context.items() : context.itemsToRead()
    let (chosen, what) = try chosen(store, items, context)
    let done = isMove ? "moved" : "copied"
    if folders != nil {
      try context.checkAgreed("\(isMove ? "Move" : "Copy") \(what) to the vault \(Printable.line(place))?", done)
    }
    let parts = try chosen.map { item, _ in try [item] + items.fields(of: item.name) }
    let removals = parts.flatMap { $0.reversed() }.map { part in
      ItemChange.remove(part.name, if: part.isUnchanged, keptUntil: Trash.end(part, context))
    }
    if isMove { try items.rehearse(removals) }
    let copies = try zip(chosen, parts).flatMap { chosen, parts in
      let name = chosen.name
      return try parts.map { part in
        ImportedItem(
          name: part.name.field.isEmpty ? name : try name.field(named: part.name.field), form: try items.content(of: part.name),
          created: part.created, modified: part.modified, isPrevious: false, history: part.history)
      }
    }
    let others = try other.items(target)
    try applying(chosen.map { ($0.name, $0.name) }) { try others.add(copies, duplicates: replace ? .replaceWithFields : .refuse) }
    if isMove {
      for copy in copies { try Self.check(others.content(of: copy.name), against: copy) }
      for (item, parts) in zip(chosen.map(\.item), parts) where try items.fields(of: item.name).count != parts.count - 1 {
        throw StoreError(
          .conflict, "the item got or lost a field meanwhile, so nothing was deleted", key: item.name.description,
          cure: "repeat it with --replace")
      }
      try items.apply(removals)
    }
    if context.json {
      let answers = try chosen.compactMap { try others.item($1) }.map { ItemJSON($0) }
      return try Output.line(folders == nil ? answers.first.map(JSONText.encode) ?? "" : JSONText.encode(answers))
    }
    context.done("\(done) \(what) to the vault \(place)")
  }

  /// The items with their names in the other vault, and all of them in words.
  private func chosen(
    _ store: StoreChoice, _ items: VaultItems, _ context: Context
  ) throws -> ([(item: VaultItem, name: ItemName)], String) {
    // A login that two vaults renew would end in both.
    guard let (old, new) = folders else {
      let (item, name) = try names(store, context, in: items)
      guard !item.isOfLogin else { throw Self.stays(item.name) }
      return ([(item, name)], "'\(item.name)'" + (name == item.name ? "" : " as '\(name)'"))
    }
    var folder = try ItemFolder(old, in: items)
    let logins = folder.items.filter(\.isOfLogin)
    folder.items.removeAll(where: \.isOfLogin)
    guard !folder.items.isEmpty else { throw Self.stays(logins[0].name) }
    for item in logins { context.note("left out: \(item.name) (\(LeftOut.login))") }
    let chosen = try folder.items.map { item in
      let name = try folder.name(of: item.name, below: new)
      if old != new { try NewName.check(name) }
      return (item: item, name: name)
    }
    return (chosen, folder.summary)
  }

  private static func stays(_ login: ItemName) -> StoreError {
    StoreError(
      .refused, "logins and session values stay in their vault", key: login.description,
      cure: "coffer login with --vault and the other vault")
  }

  private static func check(_ stored: SecretForm, against copy: ImportedItem) throws {
    guard SecretForm.areSame(stored, copy.form), stored.metadata == copy.form.metadata else {
      throw StoreError(
        .conflict, "the copy differs from the item, so nothing was deleted", key: copy.name.description,
        cure: "compare both; another program may have changed the copy")
    }
  }
}
