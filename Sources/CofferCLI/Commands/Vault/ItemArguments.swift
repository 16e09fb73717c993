internal import ArgumentParser
internal import Coffer

/// SERVICE [ACCOUNT], as most vault commands take it.
struct ItemArguments: ParsableArguments {
  @Argument(help: "What the secret opens: a host, a URL, an app's domain.") var service: String
  @Argument(help: "Whose it is; may be left out where one item matches.") var account: String?

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

  private func notFound(_ name: String) -> StoreError {
    StoreError(.notFound, "the vault has no such item", key: name, cure: "coffer vault list shows what there is")
  }
}
