internal import CofferKeys
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault

/// Keys on their way into the agent.
extension Keyring {
  /// - Returns: the key's public line, or an identity's recipient.
  /// - Throws: ``StoreError`` `.alreadyExists` for a taken name; `.undecodable` and `.incomplete` for rules that cannot be kept,
  ///   with their line; `.unsupported` for more keys than the agent holds, and for kinds and constraints that it does not know; the
  ///   errors of writing.
  func put(
    _ addition: KeyAddition, by client: KeyClient, in vault: borrowing UnlockedVault
  ) throws(StoreError) -> String {
    switch addition {
    case .newKey(let name, let metadata):
      return try store(SSHPrivateKey.generate(comment: Self.comment(name, metadata)), name, metadata, in: vault)
    case .newIdentity(let name, let metadata): return try store(AgeIdentity.generate(), name, metadata, in: vault)
    case .key(let fields, let name, let metadata):
      let key = try fields.bytes.withUnsafeBytes { (raw) throws(StoreError) in
        var reader = SSHReader(raw)
        let key = try SSHPrivateKey(from: &reader)
        try reader.end()
        return key
      }
      guard key.certificate == nil else {
        throw StoreError(
          .unsupported, "a certificate stands beside the key", key: name.description,
          cure: "store the key, then the certificate as its field '\(KeyTable.certificateField)'")
      }
      var described = metadata
      if described.label.isEmpty { described.label = String(key.comment.prefix(120)) }
      return try store(key, name, described, in: vault)
    case .identity(let text, let name, let metadata):
      return try store(AgeIdentity(text: text.bytes), name, metadata, in: vault)
    case .loaded(let fields, let isConstrained): return try load(fields, isConstrained, in: vault)
    }
  }

  /// The name of a key for people, and on its public line.
  static func comment(_ name: ItemName, _ metadata: ItemMetadata) -> String {
    metadata.label.isEmpty ? name.description : metadata.label
  }

  private func store(
    _ key: consuming SSHPrivateKey, _ name: ItemName, _ metadata: ItemMetadata, in vault: borrowing UnlockedVault
  ) throws(StoreError) -> String {
    let line = key.publicKey.line(comment: Self.comment(name, metadata))
    let form = SecretForm(try key.file(), metadata: Self.sealed(metadata, line, "application/x-openssh-private-key"))
    return try store(form, line, isAge: false, name, in: vault)
  }

  private func store(
    _ identity: consuming AgeIdentity, _ name: ItemName, _ metadata: ItemMetadata, in vault: borrowing UnlockedVault
  ) throws(StoreError) -> String {
    let line = identity.recipient.text
    let form = SecretForm(try identity.text(), metadata: Self.sealed(metadata, line, "application/x-age-identity"))
    return try store(form, line, isAge: true, name, in: vault)
  }

  private static func sealed(_ metadata: ItemMetadata, _ line: String, _ type: String) -> ItemMetadata {
    var metadata = metadata
    metadata.attributes[ItemMetadata.use] = ItemMetadata.useOnly
    metadata.attributes[ItemMetadata.usePublic] = line
    metadata.contentType = type
    return metadata
  }

  private func store(
    _ form: SecretForm, _ line: String, isAge: Bool, _ name: ItemName, in vault: borrowing UnlockedVault
  ) throws(StoreError) -> String {
    do throws(StoreError) { try KeyRules(form.metadata).check(isAge: isAge) } catch { throw error.about(key: name.description) }
    try checkRoom(in: vault)
    // The log begins with the first key, and not without one.
    try vault.rehearse([.set(form, for: name, if: .absent)])
    try uses.prepare(in: vault)
    try vault.set(form, for: name, if: .absent)
    return line
  }
}
