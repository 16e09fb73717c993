internal import Coffer
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
    guard let picked = try picked(verb, codesOnly: codesOnly) else {
      throw Failure.usage("no name was given", try: "SERVICE/ACCOUNT; coffer list shows the names")
    }
    let name = picked.item.name
    var copying = options
    copying.clip = true
    switch picked.action {
    case .verb: return picked.item
    case .code: try copying.open()?.copy(oneTimePassword(of: name).code(at: Date()).text, "the code of \(name)", context)
    case .user: try copying.open()?.copy(name.account, "the user name of \(name)", context)
    }
    return nil
  }

  /// The generator of the item's codes.
  ///
  /// - Throws: `.notFound` if it has none.
  func oneTimePassword(of name: ItemName) throws -> OneTimePassword {
    guard let form = try get(name.field(named: OneTimeURI.field)) else {
      throw StoreError(
        .notFound, "the item has no one-time password", key: name.description, cure: "coffer otp --set stores it")
    }
    return try OneTimeURI.read(form.bytes)
  }
}
