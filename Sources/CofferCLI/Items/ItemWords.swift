internal import Coffer
internal import CofferStorage
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
  ///
  /// - Throws: `.invalidName`; a usage failure for an invalid reference.
  func check() throws { _ = try name() }

  /// - Throws: the errors of ``item(in:)``; `.expired`.
  func value(in items: VaultItems) throws -> SecretForm {
    if let whole = try whole(in: items) { return try items.value(of: whole.name) }
    let (service, account) = try named()
    return try items.value(service: service, account: account)
  }

  /// The name of an item that exists or can be restored.
  ///
  /// - Throws: `.notFound`; `.ambiguous`.
  func knownName(in items: VaultItems) throws -> ItemName {
    if let whole = try whole(in: items) { return whole.name }
    let (service, account) = try named()
    guard account == nil, try items.list(service: service).isEmpty else {
      return try items.knownName(service: service, account: account)
    }
    return try deletedName(in: items)
  }

  /// - Throws: a usage failure for an invalid reference, or one that names more than an item.
  func named() throws(Failure) -> (service: String, account: String?) {
    guard !isExact, Reference.isMeant(by: service) else { return (service, account) }
    guard account == nil else {
      throw .usage("a reference names the account too, and another one was given", try: "the reference alone")
    }
    let reference = try Reference(service)
    guard reference.attribute == nil else {
      throw .usage(
        "a reference to an item has two parts, and '\(service)' names something of it", try: "coffer://service/account")
    }
    return (reference.service, reference.account)
  }

  /// The name of a new item: the last slash of a single word divides it, unless the word is a URL.
  ///
  /// - Throws: `.invalidName`; a usage failure for an invalid reference.
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
  ///
  /// - Throws: `.ambiguous`.
  func itemIfAny(in items: VaultItems) throws -> VaultItem? {
    if let whole = try whole(in: items) { return whole }
    let (service, account) = try named()
    return try items.itemIfAny(service: service, account: account)
  }

  /// The named item, or the only one of the service.
  ///
  /// - Throws: `.notFound`; `.ambiguous`.
  func item(in items: VaultItems) throws -> VaultItem {
    if let whole = try whole(in: items) { return whole }
    let (service, account) = try named()
    return try items.item(service: service, account: account)
  }

  /// The item whose name was given as one word, `service/account`; nil if the word is a service, or has no slash.
  ///
  /// - Throws: `.ambiguous` if the word is both.
  func whole(in items: VaultItems) throws -> VaultItem? {
    guard account == nil, service.contains("/"), !Reference.isMeant(by: service), let found = try split(items) else { return nil }
    guard try items.find(ItemQuery(service: service)).isEmpty else {
      throw StoreError(
        .ambiguous, "this is a service, and an item of the service '\(Printable.line(found.name.service))' too", key: service,
        cure: "name the account in a word of its own; '' is the empty one")
    }
    return found
  }

  /// The services and accounts that the word may be in one. The longest service first: more services have slashes than
  /// accounts.
  private var pairs: [(service: String, account: String)] {
    guard account == nil, !Reference.isMeant(by: service) else { return [] }
    return service.indices.reversed().filter { service[$0] == "/" }.map { slash in
      (service: String(service[..<slash]), account: String(service[service.index(after: slash)...]))
    }.filter { !$0.service.isEmpty && !$0.account.isEmpty }
  }

  /// The name of a restorable deleted item: the given one, or, without an account, the service's only one.
  ///
  /// - Throws: `.ambiguous`.
  func deletedName(in items: VaultItems) throws -> ItemName {
    let (service, account) = try named()
    let whole = try items.deletedName(service: service, account: account)
    guard try items.deleted(service: service).isEmpty else { return whole }
    for pair in pairs {
      let name = try ItemName(service: pair.service, account: pair.account)
      if try items.deleted(service: pair.service).contains(where: { $0.item.name.item == name }) { return name }
    }
    return whole
  }

  private func split(_ items: VaultItems) throws -> VaultItem? {
    for pair in pairs {
      if let found = try items.item(ItemName(service: pair.service, account: pair.account)) { return found }
    }
    for pair in pairs {
      if let found = try items.ofHost(pair.service, pair.account).first { return found }
    }
    return nil
  }
}

extension ItemName {
  /// Whether the word of a list means this item: its service, a folder above it, or its whole name. Hosts have no case.
  func isMeant(by word: String) -> Bool {
    let folder = word.hasSuffix("/") ? word : word + "/"
    if (service + "/").utf8.starts(with: folder.utf8) || description.hasSameBytes(as: word) { return true }
    return service.contains(".") && (service + "/").lowercased().hasPrefix(folder.lowercased())
  }
}
