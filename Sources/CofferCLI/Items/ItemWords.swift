internal import Coffer
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

/// The words that name an item: SERVICE and ACCOUNT, both in one word as messages spell them, or a reference.
struct ItemWords {
  let service: String
  let account: String?

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
    return try items.knownName(service: service, account: account)
  }

  /// - Throws: a usage failure for an invalid reference, or one that names more than an item.
  func named() throws(Failure) -> (service: String, account: String?) {
    guard Reference.isMeant(by: service) else { return (service, account) }
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

  /// The name of a new item.
  ///
  /// - Throws: `.invalidName`; a usage failure for an invalid reference.
  func name() throws -> ItemName {
    let (service, account) = try named()
    return try ItemName(service: service, account: account ?? "")
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

  private func split(_ items: VaultItems) throws -> VaultItem? {
    // The longest service first: more services have slashes than accounts.
    for slash in service.indices.reversed() where service[slash] == "/" {
      let (before, after) = (service[..<slash], service[service.index(after: slash)...])
      guard !before.isEmpty, !after.isEmpty else { continue }
      if let found = try items.item(ItemName(service: String(before), account: String(after))) { return found }
    }
    return nil
  }
}
