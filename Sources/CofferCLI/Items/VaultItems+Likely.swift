internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

extension VaultItems {
  static func notFound(_ name: ItemName, _ question: String? = nil) -> StoreError {
    StoreError(
      .notFound, "no item with this name", key: name.description,
      cure: (question.map { "\($0) " } ?? "") + "coffer list shows all items, coffer set stores a new one")
  }

  static func isFolder(_ name: String) -> StoreError {
    let (coffer, word) = (CommandText.coffer, CommandText.quoted(name))
    return StoreError(
      .notFound, "this is a folder, not an item", key: name,
      cure: "\(coffer) list \(word) shows its items, \(coffer) delete -r \(word) deletes them")
  }

  /// The items whose services are the folder `prefix` or below it.
  func items(below prefix: String) throws -> [VaultItem] {
    var query = ItemQuery(otherThan: LoginItems.pointers)
    // A service that is the folder itself has no slash at its end.
    query.texts = [String(prefix.dropLast())]
    return try find(query).items().filter { $0.name.isBelow(prefix) }
  }

  /// Names that may have been meant: of a similar spelling, else those that contain the text.
  func near(_ name: ItemName) throws -> [String] {
    let accounts = try names(of: name.service)
    guard accounts.isEmpty else {
      let near = name.account.isEmpty ? Array(accounts.prefix(3)) : LikelyNames.near(name.account, among: accounts)
      return near.map { "\(name.service)/\($0)" }
    }
    let services = try names(of: nil).filter { $0 != LoginItems.pointers }
    var near = LikelyNames.near(name.service, among: services)
    if near.isEmpty { near = services.filter { $0.lowercased().contains(name.service.lowercased()) } }
    return Array((near.isEmpty ? try similar(to: name.description).map(\.name.description) : near).prefix(3))
  }

  /// The only item of which `text` is a part of the name or label, in any case. A person chooses among several. Nil if there
  /// is none or a program may get the answer: in a script a guess would change with the next item.
  func resembling(_ text: String) throws -> VaultItem? {
    guard mayGuess else { return nil }
    let found = try similar(to: text)
    guard found.count != 1 else {
      context.note("using \(Printable.line(found[0].name.description)) for '\(Printable.line(text))'")
      return found[0]
    }
    return found.isEmpty ? nil : try chosen(of: found) { "\($0.name.description)  \($0.metadata.label)" }
  }

  /// The items that `text` alone means to other commands.
  func meant(by text: String) throws -> [VaultItem] {
    let found = try list(service: text)
    return try found.isEmpty && mayGuess ? similar(to: text) : found
  }

  private var mayGuess: Bool { takesParts && canAsk && !context.yes && Display.output.isTerminal }

  /// The items of which `text` is the label, the service or the end of the name behind a slash, else those of whose name or
  /// label it is any part.
  private func similar(to text: String) throws -> [VaultItem] {
    // A text with a slash is in no single part of an item.
    guard let last = text.split(separator: "/").last else { return [] }
    let wanted = text.lowercased()
    var query = ItemQuery(otherThan: LoginItems.pointers)
    query.texts = [String(last)]
    let similar = try find(query).items().filter { item in
      [item.name.description, item.metadata.label].contains { $0.lowercased().contains(wanted) }
    }
    let same = similar.filter { item in
      [item.name.service, item.metadata.label].contains { $0.lowercased() == wanted }
        || item.name.description.lowercased().hasSuffix("/" + wanted)
    }
    return same.isEmpty ? similar : same
  }

  /// The search that finds `service` in other parts, such as the folder of another program: the end of a note, or nil.
  func search(for service: String) throws -> String? {
    let text = service.hasSuffix("/") ? String(service.dropLast()) : service
    var query = ItemQuery()
    (query.texts, query.otherThan) = ([text], LoginItems.pointers)
    let count = try find(query).count
    return count == 0 ? nil : "; 'coffer find \(CommandText.quoted(text))' finds \(counted(count, "item"))"
  }

  func chosen(of items: [VaultItem], by text: ((VaultItem) -> String)? = nil) throws -> VaultItem? {
    guard canAsk, let terminal = Terminal() else { return nil }
    let text = text ?? { $0.name.account.isEmpty ? "''" : $0.name.account }
    return try ItemPicker(items: items, text: text).choose("choose", at: terminal)?.item
  }

  var canAsk: Bool { asks && !context.json && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }
}
