internal import CofferMemory
package import CofferPlatform

/// Credentials, read and checked.
package struct SlotInputs: ~Copyable {
  private let passphrase: SecretBytes?
  private let keyFile: KeyFile?
  private let recoveryCode: SecretBytes?
  private let identity: SecretBytes?

  /// - Throws: `.noCredentials`; `.unfitSecret`, `.damaged`, `.tooLarge` or `.wrongSecret` for an invalid one.
  package init(_ given: consuming Credentials) throws(StoreError) {
    guard !given.isEmpty else {
      throw StoreError(
        .noCredentials, "no credentials were given", cure: "give a passphrase, key file, recovery code or recipient key")
    }
    let passphrase = given.passphrase.take()
    try Self.check(passphrase, 1...PassphraseHash.longestPassphrase, "a passphrase")
    let identity: SecretBytes? =
      if let content = given.identity.take() { try Identity.secretKey(content) } else { nil }
    let keyFile: KeyFile? =
      if let content = given.keyFile.take() { try KeyFile(content: content) } else { nil }
    let recoveryCode: SecretBytes? =
      if let text = given.recoveryCode.take() { try RecoveryCode.bytes(of: text) } else { nil }
    self.passphrase = passphrase
    self.keyFile = keyFile
    self.recoveryCode = recoveryCode
    self.identity = identity
  }

  private static func check(
    _ secret: borrowing SecretBytes?, _ allowed: ClosedRange<Int>, _ what: String
  ) throws(StoreError) {
    switch secret {
    case .some(let secret):
      guard !allowed.contains(secret.count) else { return }
      let range = allowed.count == 1 ? "\(allowed.lowerBound)" : "\(allowed.lowerBound) to \(allowed.upperBound)"
      throw StoreError(.unfitSecret, "\(what) has \(secret.count) bytes", cure: "give \(range) bytes")
    case .none: return
    }
  }
}

extension SlotInputs {
  /// The one kind of slot that these credentials make. A passphrase and a key file make one that needs both.
  ///
  /// - Throws: `.unfitSecret` for a key file alone that was not generated: a photo is a guessable key.
  package borrowing func kindToMake() throws(StoreError) -> SlotKind {
    switch (passphrase != nil, keyFile != nil) {
    case (true, true): return .passphraseAndKeyFile
    case (true, false): return .passphrase
    case (false, true):
      guard opensAlone else {
        throw StoreError(
          .unfitSecret, "the key file was not generated, and opens a vault only with a passphrase",
          cure: "give a passphrase too, or a key file from \(KeyFile.making)")
      }
      return .keyFile
    case (false, false): return recoveryCode != nil ? .recoveryCode : .recipient
    }
  }

  /// The format's IKM for a slot; nil if the credentials do not suit its kind.
  ///
  /// - Parameter memory: bytes that Argon2id may use.
  /// - Throws: `.kdfMemory`, `.memory`.
  borrowing func input(for frame: SlotFrame, memory: Int) throws(StoreError) -> SecretBytes? {
    switch frame.kind {
    case .passphrase: try passphraseHash(frame, memory)
    case .passphraseAndKeyFile: try bothInput(frame, memory)
    case .keyFile: opensAlone ? try keyFileInput(frame) : nil
    case .recoveryCode: try recoveryInput(frame)
    case .recipient, .foreign: nil
    }
  }

  /// The secret of a recipient's slot; nil without an identity, or with another recipient's.
  borrowing func recipientSecret(for publicKey: PublicKey32? = nil) throws(StoreError) -> SlotSecret? {
    switch identity {
    case .some(let identity):
      do throws(FormatError) {
        let secret = try SlotSecret.recipient(identity)
        guard publicKey == nil || secret.publicKey == publicKey else { return nil }
        return secret
      } catch {
        throw error.storeError()
      }
    case .none: return nil
    }
  }

  borrowing func hashesPassphrase(for frame: SlotFrame) -> Bool {
    switch frame.kind {
    case .passphrase: passphrase != nil
    case .passphraseAndKeyFile: passphrase != nil && keyFile != nil
    case .keyFile, .recoveryCode, .recipient, .foreign: false
    }
  }

  borrowing func whyNothingFits(_ kinds: Set<SlotKind>) -> String {
    switch (passphrase != nil, keyFile != nil, recoveryCode != nil, identity != nil) {
    case (true, false, false, false):
      kinds.contains(.passphrase) || !kinds.contains(.passphraseAndKeyFile)
        ? "wrong passphrase" : "the passphrase opens the vault only with its key file"
    case (false, true, false, false):
      if !opensAlone {
        "the key file was not generated, so it opens no vault alone"
      } else {
        kinds.contains(.keyFile) || !kinds.contains(.passphraseAndKeyFile)
          ? "wrong key file" : "the key file opens the vault only with its passphrase"
      }
    case (false, false, true, false): "wrong recovery code"
    case (false, false, false, true): "the vault has no slot for this identity"
    default: "none of the secrets that were given opens the vault"
    }
  }

  var isIdentityAlone: Bool { passphrase == nil && keyFile == nil && recoveryCode == nil && identity != nil }

  /// The kind of the credentials, if no slot of these kinds takes it; nil for several at once.
  borrowing func whatNoSlotTakes(_ kinds: Set<SlotKind>) -> String? {
    switch (passphrase != nil, keyFile != nil, recoveryCode != nil, identity != nil) {
    case (true, false, false, false): kinds.contains(where: \.takesPassphrase) ? nil : "a passphrase"
    case (false, true, false, false): kinds.isDisjoint(with: [.keyFile, .passphraseAndKeyFile]) ? "a key file" : nil
    case (false, false, true, false): kinds.contains(.recoveryCode) ? nil : "a recovery code"
    default: nil
    }
  }

  var isForeignKeyFile: Bool { keyFile != nil && !opensAlone && passphrase == nil && recoveryCode == nil && identity == nil }

  private var opensAlone: Bool {
    switch keyFile {
    case .some(let keyFile): keyFile.isGenerated
    case .none: false
    }
  }

  private borrowing func passphraseHash(_ frame: SlotFrame, _ memory: Int) throws(StoreError) -> SecretBytes? {
    switch passphrase {
    case .some(let passphrase):
      try passphrase.withUnsafeBytes { (passphrase) throws(StoreError) in
        try PassphraseHash.derive(passphrase, salt: frame.salt, cost: frame.cost, memory: memory)
      }
    case .none: nil
    }
  }

  private borrowing func bothInput(_ frame: SlotFrame, _ memory: Int) throws(StoreError) -> SecretBytes? {
    switch keyFile {
    case .some(let keyFile):
      guard let hash = try passphraseHash(frame, memory) else { return nil }
      return try hash.withUnsafeBytes { (hash) throws(StoreError) in
        try Self.derive(keyFile.key, .passphraseAndKeyFile, frame.salt, hash)
      }
    case .none: return nil
    }
  }

  private borrowing func keyFileInput(_ frame: SlotFrame) throws(StoreError) -> SecretBytes? {
    switch keyFile {
    case .some(let keyFile): try Self.derive(keyFile.key, .keyFile, frame.salt, .noBytes)
    case .none: nil
    }
  }

  private borrowing func recoveryInput(_ frame: SlotFrame) throws(StoreError) -> SecretBytes? {
    switch recoveryCode {
    case .some(let code): try Self.derive(code, .recoveryCode, frame.salt, .noBytes)
    case .none: nil
    }
  }

  private static func derive(
    _ key: borrowing SecretBytes, _ label: Label, _ salt: SlotSalt, _ message: UnsafeRawBufferPointer
  ) throws(StoreError) -> SecretBytes {
    try SecretBytes(count: 32, memory: { FormatError.memory($0).storeError() }) { (out) throws(StoreError) in
      key.withUnsafeBytes { KeyedHash.compute($0, label, salt: salt, into: out) { $0.update(message) } }
    }
  }
}
