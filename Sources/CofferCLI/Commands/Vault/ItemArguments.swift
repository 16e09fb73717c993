internal import ArgumentParser
internal import Coffer

/// SERVICE [ACCOUNT], as most vault commands take it.
struct ItemArguments: ParsableArguments {
  @Argument(help: "What the secret opens: a host, a URL, an app's domain.") var service: String
  @Argument(help: "Whose it is; may be left out where one item matches.") var account: String?

  /// The item that is meant: the named one, or the only one of the service.
  ///
  /// - Throws: `.notFound`; `.ambiguous` after the accounts were listed on standard error.
  func item(in vault: borrowing UnlockedVault) throws -> VaultItem {
    if let account {
      let name = try ItemName(service: service, account: account)
      guard let item = try vault.item(name) else { throw notFound(name.description) }
      return item
    }
    let name = try ItemName(service: service)
    let items = try vault.list(service: service)
    guard let item = items.first else { throw notFound(name.description) }
    guard items.count == 1 else {
      throw StoreError(
        .ambiguous,
        "\(items.count) items match: \(items.map { $0.name.account.isEmpty ? "''" : $0.name.account }.joined(separator: ", "))",
        key: service, cure: "name the account as well; '' is the empty one")
    }
    return item
  }

  private func notFound(_ name: String) -> StoreError {
    StoreError(.notFound, "the vault has no such item", key: name, cure: "coffer vault list shows what there is")
  }
}

/// An item's description in JSON; the value is added by who may show it.
struct ItemJSON: Encodable {
  let service: String, account: String, label: String, type: String
  let attributes: [String: String]
  let created: String, modified: String, expires: String?
  let revision: UInt64
  let bytes: Int

  init(_ item: VaultItem) {
    service = item.name.service
    account = item.name.account
    label = item.metadata.label
    type = item.metadata.contentType
    attributes = item.metadata.attributes
    created = Moment.text(item.created)
    modified = Moment.text(item.modified)
    expires = item.metadata.expires.map(Moment.text)
    revision = item.revision
    bytes = item.valueBytes
  }

  /// Names and values for people, in the order they are shown and asked for by `--field`.
  var fields: [(String, String)] {
    [
      ("service", service), ("account", account), ("label", label), ("type", type), ("created", created), ("modified", modified),
      ("expires", expires ?? ""), ("revision", String(revision)), ("bytes", String(bytes)),
    ] + attributes.sorted { $0.key < $1.key }
  }
}
