internal import CofferKeys
internal import CofferPlatform
internal import CofferVault

/// Keys on their way into the agent.
extension Keyring {
  /// - Returns: the key's public line, or an identity's recipient.
  /// - Throws: ``StoreError`` `.alreadyExists` for a taken name or key; `.undecodable` and `.incomplete` for rules that cannot be
  ///   kept, with their line; `.unsupported` for more keys than the agent holds, and for kinds and constraints that it does not
  ///   know; the errors of writing.
  func put(_ addition: KeyAddition, in vault: borrowing UnlockedVault) throws(StoreError) -> String {
    switch addition {
    case .newKey(let name, let metadata):
      let key = try SSHPrivateKey.generate(comment: name.description)
      return try store(key.file(), key.publicKey.line(comment: key.comment), name, metadata, in: vault)
    case .newIdentity(let name, let metadata):
      let identity = try AgeIdentity.generate()
      return try store(identity.text(), identity.recipient.text, name, metadata, in: vault)
    case .key(let fields, let name, let metadata):
      let key = try fields.bytes.read { (reader) throws(StoreError) in try SSHPrivateKey(from: &reader) }
      guard key.certificate == nil else {
        throw StoreError(
          .unsupported, "a certificate stands beside the key", key: name.description,
          cure: "store the key, then the certificate as its field '\(KeyTable.certificateField)'")
      }
      return try store(key.file(), key.publicKey.line(comment: name.description), name, metadata, in: vault)
    case .identity(let text, let name, let metadata):
      let identity = try AgeIdentity(text: text.bytes)
      return try store(identity.text(), identity.recipient.text, name, metadata, in: vault)
    case .loaded(let fields, let isConstrained): return try load(fields, isConstrained, in: vault)
    }
  }

  /// - Parameter line: the public half.
  private func store(
    _ value: consuming SecretBytes, _ line: String, _ name: ItemName, _ given: ItemMetadata, in vault: borrowing UnlockedVault
  ) throws(StoreError) -> String {
    let isAge = line.isRecipient
    var metadata = given
    metadata.attributes[ItemMetadata.use] = ItemMetadata.useOnly
    metadata.attributes[ItemMetadata.usePublic] = line
    metadata.contentType = isAge ? "application/x-age-identity" : "application/x-openssh-private-key"
    do throws(StoreError) { try KeyRules(metadata).check(isAge: isAge) } catch { throw error.about(key: name.description) }
    try checkRoom(for: isAge ? Array(line.utf8) : SSHPublicKey(line: line).blob, in: vault)
    let form = SecretForm(value, metadata: metadata)
    // The log begins with the first key, and not without one.
    try vault.rehearse([.set(form, for: name, if: .absent)])
    try uses.prepare(in: vault)
    try vault.set(form, for: name, if: .absent)
    return line
  }
}

extension String {
  /// Whether a public half is that of an identity of age's.
  var isRecipient: Bool { utf8.starts(with: "age1".utf8) }
}
