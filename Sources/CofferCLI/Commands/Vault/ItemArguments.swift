internal import ArgumentParser
internal import Coffer

/// SERVICE [ACCOUNT], as most vault commands take it.
struct ItemArguments: ParsableArguments {
  @Argument(help: "What the secret opens: a host, a URL, an app's domain.", completion: Completions.services) var service: String
  @Argument(help: "Whose it is; may be left out where one item matches.", completion: Completions.accounts) var account: String?

  /// Judges the names before anything is asked for to unlock with.
  ///
  /// - Throws: `.invalidName`.
  func check() throws { _ = try ItemName(service: service, account: account ?? "") }

  /// The item that is meant: the named one, or the only one of the service.
  ///
  /// - Throws: `.notFound`; `.ambiguous` after the accounts were listed on standard error.
  func item(in items: VaultItems) throws -> VaultItem {
    if let account {
      let name = try ItemName(service: service, account: account)
      guard let item = try items.item(name) else { throw notFound(name.description) }
      return item
    }
    let name = try ItemName(service: service)
    let found = try items.list(service: service)
    guard let item = found.first else { throw notFound(name.description) }
    guard found.count == 1 else {
      throw StoreError(
        .ambiguous,
        "\(found.count) items match: \(found.map { $0.name.account.isEmpty ? "''" : $0.name.account }.joined(separator: ", "))",
        key: service, cure: "name the account as well; '' is the empty one")
    }
    return item
  }

  /// The value of the item that is meant. A named one needs no look at the list first.
  ///
  /// - Throws: what ``item(in:)`` throws, `.expired`.
  func value(in items: VaultItems) throws -> SecretForm {
    if let account {
      let name = try ItemName(service: service, account: account)
      guard let secret = try items.get(name) else { throw notFound(name.description) }
      return secret
    }
    let name = try item(in: items).name
    guard let secret = try items.get(name) else { throw deleted(name) }
    return secret
  }

  /// The item went between two questions.
  func deleted(_ name: ItemName) -> StoreError {
    StoreError(.conflict, "the item was deleted just now", key: name.description, cure: "look again")
  }

  private func notFound(_ name: String) -> StoreError {
    StoreError(.notFound, "the vault has no such item", key: name, cure: "coffer vault list shows what there is")
  }
}
