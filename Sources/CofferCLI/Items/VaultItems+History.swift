internal import CofferAgent
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

extension VaultItems {
  /// The newest comes first.
  func revisions(of name: ItemName) throws -> [VaultRevision] { try ask(Calls.revisions, name) }

  func value(of name: ItemName, revision: UInt64) throws -> SecretForm {
    guard let form = try ask(Calls.revision, name, revision) else {
      throw StoreError(
        .notFound, "revision \(revision) is not kept", key: name.description,
        cure: "coffer history lists those that are")
    }
    return form
  }

  func deleted(service: String? = nil) throws -> [VaultRevision] { try ask(Calls.deleted, service) }

  func revert(_ name: ItemName, to revision: UInt64) throws -> VaultItem { try ask(Calls.revert, name, revision, .always) }

  func undelete(_ name: ItemName) throws -> VaultItem { try ask(Calls.undelete, name) }

  /// Returns the number of removed versions.
  @discardableResult
  func prune(_ rule: PruneRule, of name: ItemName? = nil) throws -> Int { Int(clamping: try ask(Calls.prune, rule, name)) }

  static func only(_ names: [ItemName], _ service: String) throws -> ItemName? {
    guard names.count > 1 else { return names.first }
    throw ambiguous(names, service)
  }

  static func ambiguous(_ names: [ItemName], _ service: String) -> StoreError {
    let accounts = names.map { $0.account.isEmpty ? "''" : Printable.line($0.account) }.joined(separator: ", ")
    return StoreError(
      .ambiguous, "\(names.count) items match: \(accounts)", key: service, cure: "name the account too; '' is the empty one")
  }
}

enum Trash {
  /// Nil if `item` is removed for good.
  static func end(_ item: VaultItem, _ context: Context) -> Date? { item.isOfLogin ? nil : Settings(context).keptUntil }
}
