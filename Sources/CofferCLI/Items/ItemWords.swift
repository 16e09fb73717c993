internal import CofferTerminal
internal import CofferVault

/// The words that name an item: SERVICE and ACCOUNT, both in one word as messages spell them, or a reference.
struct ItemWords {
  let service: String
  let account: String?
  /// Whether the words are the exact names, and neither a reference nor both names in one word.
  var isExact = false

  var description: String { (account ?? "").isEmpty ? service : "\(service)/\(account ?? "")" }

  /// Checks the names before any question for secrets.
  func check() throws { _ = try name() }

  func value(in items: VaultItems) throws -> SecretForm {
    if let whole = try whole(in: items) { return try items.value(of: whole.name) }
    let (service, account) = try named()
    return try items.value(service: service, account: account)
  }

  /// The item exists or can be restored.
  func knownName(in items: VaultItems) throws -> ItemName {
    if let whole = try whole(in: items) { return whole.name }
    let (service, account) = try named()
    let known =
      try account.map { try ItemName(service: service, account: $0) }
      ?? VaultItems.only(items.list(service: service).map(\.name), service) ?? deletedName(in: items)
    return try items.revisions(of: known).isEmpty ? item(in: items).name : known
  }

  func named() throws(Failure) -> (service: String, account: String?) {
    guard !isExact, Reference.isMeant(by: service) else { return (service, account) }
    guard account == nil else { throw .usage("the reference already names the account", try: "the reference alone") }
    let reference = try Reference(service)
    guard reference.attribute == nil else {
      throw .usage("a reference to an item has two parts, and '\(service)' has a third", try: "coffer://service/account")
    }
    return (reference.service, reference.account)
  }

  /// The name of a new item: the last slash of a single word divides it, unless the word is a URL.
  func name() throws -> ItemName {
    let (service, account) = try named()
    guard account == nil, !Self.hasScheme(service), let slash = service.lastIndex(of: "/"), slash > service.startIndex else {
      return try ItemName(service: service, account: account ?? "")
    }
    return try ItemName(service: String(service[..<slash]), account: String(service[service.index(after: slash)...]))
  }

  /// Whether `text` is a URL, or another name with a scheme, such as `ssh-key:/home/ada/id`. A port is no scheme's end.
  ///
  /// Source: RFC 3986, section 3.1.
  static func hasScheme(_ text: String) -> Bool {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex else { return false }
    let next = text.utf8[text.utf8.index(after: colon)...].first
    return !text.utf8[..<colon].contains(UInt8(ascii: "/")) && next.map { !(0x30...0x39).contains($0) } ?? false
  }

  /// Like ``item(in:)``, without a guess; nil if there is none.
  func itemIfAny(in items: VaultItems) throws -> VaultItem? {
    if let whole = try whole(in: items) { return whole }
    let (service, account) = try named()
    return try items.itemIfAny(service: service, account: account)
  }

  func item(in items: VaultItems) throws -> VaultItem {
    if let whole = try whole(in: items) { return whole }
    let (service, account) = try named()
    return try items.item(service: service, account: account)
  }

  /// The item whose name was given as one word, `service/account`; nil if the word is a service, or has no slash.
  func whole(in items: VaultItems) throws -> VaultItem? {
    try there(of: pairs, in: items).found.first.map { try checked($0, items) }
  }

  /// The name to store under: of the item that the words name without a guess, else `written`, with its host in the spelling
  /// that is there. A service alone is a new name, although it has items.
  func stored(as written: ItemName, in items: VaultItems) throws -> ItemName {
    let (service, account) = try named()
    let (found, spelled) = try there(of: [(service, account ?? "")] + pairs, in: items)
    guard found.count < 2 else { throw VaultItems.ambiguous(found.map(\.name), service) }
    if let item = found.first { return try account != nil || item.name.account.isEmpty ? item.name : checked(item, items).name }
    // Perhaps the printed name of another writer's item.
    let isPrinted = written.description.contains("\\")
    if isPrinted, let item = try items.itemIfAny(service: written.service, account: written.account) { return item.name }
    return spelled.contains(written) ? written : spelled.first { $0.account == written.account } ?? written
  }

  private func checked(_ found: VaultItem, _ items: VaultItems) throws -> VaultItem {
    guard try items.find(ItemQuery(service: service)).isEmpty else {
      throw StoreError(
        .ambiguous, "this is both a service and an item of the service '\(Printable.line(found.name.service))'", key: service,
        cure: "give the account as a separate word; '' is the empty one")
    }
    return found
  }

  /// The longest service first: more services have slashes than accounts.
  private var pairs: [(service: String, account: String)] {
    guard account == nil, !Reference.isMeant(by: service) else { return [] }
    return service.indices.reversed().filter { service[$0] == "/" }.map { slash in
      (service: String(service[..<slash]), account: String(service[service.index(after: slash)...]))
    }.filter { !$0.service.isEmpty && !$0.account.isEmpty }
  }

  /// Without an account, the service's only one.
  func deletedName(in items: VaultItems) throws -> ItemName {
    let (service, account) = try named()
    let names = Set(try items.deleted(service: service).map(\.item.name.item)).sorted()
    let whole = try ItemName(service: service, account: account ?? "")
    guard names.isEmpty else { return try account == nil ? VaultItems.only(names, service) ?? whole : whole }
    for pair in pairs {
      let name = try ItemName(service: pair.service, account: pair.account)
      if try items.deleted(service: pair.service).contains(where: { $0.item.name.item == name }) { return name }
    }
    return whole
  }

  /// The first item of `names`; else all that have the host in another spelling, and the names with each spelling.
  private func there(
    of names: [(service: String, account: String)], in items: VaultItems
  ) throws -> (found: [VaultItem], spelled: [ItemName]) {
    for (service, account) in names {
      if let item = try items.item(ItemName(service: service, account: account)) { return ([item], []) }
    }
    let spelled = try items.spellings(of: names)
    return (try spelled.compactMap(items.item), spelled)
  }
}

extension ItemName {
  /// Whether the word of a list means this item: its service, a folder above it, or its whole name.
  func isMeant(by word: String) -> Bool { isBelow(word.hasSuffix("/") ? word : word + "/") || description.hasSameBytes(as: word) }

  /// Whether its service is `folder`, which ends with a slash, or below it. A host at the beginning has no case.
  func isBelow(_ folder: String) -> Bool {
    let own = (service + "/").utf8.prefix(folder.utf8.count)
    let host = folder.utf8.prefix { $0 != UInt8(ascii: "/") }
    guard host.contains(UInt8(ascii: ".")) else { return own.elementsEqual(folder.utf8) }
    return own.dropFirst(host.count).elementsEqual(folder.utf8.dropFirst(host.count))
      && String(decoding: own.prefix(host.count), as: UTF8.self).lowercased() == String(host)?.lowercased()
  }
}
