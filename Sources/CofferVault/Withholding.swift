internal import CofferPlatform
package import CofferStorage
package import CofferVaultFormat

// A withheld record has a value that Coffer uses for programs: an SSH key, an age identity. It is listed, moved and deleted as
// any other. With ``VaultOptions/withholdsKeys`` its value leaves the vault in no version, and nothing replaces, describes or
// restores it: its rules are attributes, and would change with it.
//
// Internal items are Coffer's own: only ``UnlockedVault/withKey(_:_:)`` and ``UnlockedVault/changeInternal(_:)`` reach them.
// Verification, repair, rotation, backup, mirror, merge and the vault's log have their rows as any others.

extension ItemMetadata {
  /// The attribute of a withheld record, with the value `only`.
  package static let use = "coffer.use"
  package static let useOnly = "only"
  /// The key's public half: one line.
  package static let usePublic = "coffer.use.public"
  /// What the key is for: a rule a line.
  package static let useFor = "coffer.use.for"
  /// The prefix of the attributes with the rules' host keys, numbered from 1.
  package static let useHost = "coffer.use.host."
  /// When a person is asked.
  package static let useAsk = "coffer.use.ask"

  package var isWithheld: Bool { attributes[Self.use] == Self.useOnly }
}

extension ItemMetadata {
  /// The attribute of a login, with the value `token`, and of the item of a host's active account. Also the service of these.
  package static let login = "coffer.auth"
  package static let loginToken = "token"

  /// Whether it describes a login, or an item that ends with a session.
  package var isOfLogin: Bool { attributes[Self.login] == Self.loginToken || isSessionItem }
}

extension VaultItem {
  /// Whether a logout removes it for good: such an item keeps no history, and stays in its vault.
  package var isOfLogin: Bool { name.service == ItemMetadata.login || metadata.isOfLogin }
}

extension ItemName {
  /// The service of a machine's key for its log of uses. Any service that begins so is internal.
  package static let logsOfUses = "coffer.uses"

  /// The service of a machine's key for its memory of agreements with others: see `CofferSync`.
  package static let syncedMachines = "coffer.sync"

  package var isInternal: Bool { Self.isInternal(service: service) }

  static func isInternal(service: String) -> Bool {
    service.utf8.starts(with: logsOfUses.utf8) || service.hasSameBytes(as: syncedMachines)
  }
}

extension ItemTable {
  /// The table as Coffer itself uses it: with the internal items, and with the values of withheld records.
  var whole: ItemTable { ItemTable(view: view, hidesInternal: false) }

  func hides(_ service: String) -> Bool { hidesInternal && ItemName.isInternal(service: service) }

  func refuseHidden(_ name: ItemName) throws(StoreError) {
    guard hides(name.service) else { return }
    throw StoreError(
      .refused,
      "items of the service '\(ItemName.syncedMachines)', and of any that begins with '\(ItemName.logsOfUses)', are Coffer's own",
      place: view.place.description,
      cure: "choose another service")
  }

  /// - Parameters:
  ///   - meta: a current, former or deleted record.
  ///   - metadata: the same for callers, if known.
  func refuseWithheld(_ meta: RecordMeta, _ metadata: ItemMetadata? = nil) throws(StoreError) {
    guard withholdsKeys, (metadata ?? meta.itemMetadata).isWithheld else { return }
    throw StoreError(
      .refused, "it is a key that programs use through the agent and neither read nor change", key: meta.name.description,
      place: view.place.description, cure: "unlock the vault in this process with a secret of its own",
      remedy: .leaveWithholding)
  }
}

extension OpenRecord {
  /// The form for callers, which takes over the value. Nil if the record has no value. No other function lends a value to a
  /// reader of items.
  consuming func form(for items: ItemTable) throws(StoreError) -> SecretForm? {
    let metadata = meta.itemMetadata
    try items.refuseWithheld(meta, metadata)
    guard let value = value.take() else { return nil }
    return SecretForm(value, metadata: metadata)
  }
}
