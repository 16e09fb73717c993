internal import CofferMemory
package import CofferPlatform

/// A private key of SSH, checked: its numbers fit together, and its public half is theirs. It signs, and shows only its public
/// half and, for storage, its file.
package struct SSHPrivateKey: ~Copyable, Sendable {
  package let publicKey: SSHPublicKey
  /// That of the request that added the key; files hold none.
  package let certificate: SSHCertificate?
  package let comment: String
  /// The type's name and the key's numbers, as in a file.
  let fields: SecretBytes

  /// A new Ed25519 key.
  ///
  /// - Throws: ``StoreError`` `.memory`.
  package static func generate(comment: String) throws(StoreError) -> SSHPrivateKey {
    let seed = try StoreError.guarding { try SecretBytes.random(Ed25519.seedCount) }
    let key = try seed.withUnsafeBytes { (seed) throws(StoreError) in try Ed25519.expand(seed) }
    var writer = try SSHWriter()
    try writer.put(SSHKeyType.ed25519.rawValue)
    try key.withUnsafeBytes { (key) throws(StoreError) in
      try writer.put(UnsafeRawBufferPointer(rebasing: key[Ed25519.seedCount...]))
      try writer.put(key)
    }
    try writer.put(comment)
    return try writer.secret().read { (reader) throws(StoreError) in try SSHPrivateKey(from: &reader) }
  }

  /// Reads type, numbers and comment, as a request to add a key and a file hold them. Constraints follow in the one, padding in
  /// the other.
  ///
  /// - Parameters:
  ///   - isSealed: whether they come from a vault, and were checked when they went there. An ECDSA key is not checked again: that
  ///     takes as long as a signature.
  ///   - mostBits: a lower limit for the length of an RSA key.
  /// - Throws: ``StoreError`` `.undecodable` for malformed fields and numbers that do not fit; `.unsupported` for other types,
  ///   and for RSA and ECDSA without libgcrypt; `.memory`.
  ///
  /// Source: RFC 9987 (SSH agent), adding keys; OpenSSH's PROTOCOL.key and PROTOCOL.certkeys.
  package init(from reader: inout SSHReader, isSealed: Bool = false, mostBits: Int? = nil) throws(StoreError) {
    let (type, isCertificate) = try SSHKeyType.named(reader.text())
    let certificate = isCertificate ? try SSHCertificate(blob: Array(reader.string())) : nil
    guard certificate?.key.type ?? type == type else { throw .malformedKey("the certificate is of another type than its key") }
    let fields = try Self.fields(type, certificate?.key, from: &reader)
    let comment = String(decoding: try reader.string(), as: UTF8.self)
    let publicKey = try fields.withUnsafeBytes { (raw) throws(StoreError) in
      let numbers = try KeyNumbers(type, type.privateNames, of: raw)
      let publicKey = try SSHPublicKey(numbers)
      if let mostBits { try numbers.checkLength(most: mostBits) }
      if !isSealed || type.curve == nil { try numbers.checkPrivate() }
      return publicKey
    }
    guard certificate?.key ?? publicKey == publicKey else { throw .malformedKey("the certificate is of another key") }
    self.init(fields, publicKey, certificate, comment)
  }

  private static func fields(
    _ type: SSHKeyType, _ certified: SSHPublicKey?, from reader: inout SSHReader
  ) throws(StoreError) -> SecretBytes {
    var writer = try SSHWriter()
    try writer.put(type.rawValue)
    if let certified {
      try certified.withNumbers { (numbers) throws(StoreError) in
        var numbers = numbers
        try numbers.read(type.certifiedNames, from: &reader)
        try numbers.write(type.privateNames, to: &writer)
      }
    } else {
      try KeyNumbers(type, type.privateNames, from: &reader).write(type.privateNames, to: &writer)
    }
    return writer.secret()
  }

  /// Without checks, which tests of faults leave out.
  init(_ fields: consuming SecretBytes, _ publicKey: SSHPublicKey, _ certificate: SSHCertificate?, _ comment: String) {
    (self.publicKey, self.certificate, self.comment) = (publicKey, certificate, comment)
    self.fields = fields
  }

  /// The signature of `data`: an algorithm's name and its bytes.
  ///
  /// - Parameter flags: 2 or 4, RSA with SHA-256 or SHA-512. Other keys have one algorithm, and ignore them.
  /// - Throws: ``StoreError`` `.unsupported` for RSA without either, which would be SHA-1; `.damaged` for an RSA signature that
  ///   its own key does not verify; `.afterFork`; `.memory`.
  package func sign(_ data: UnsafeRawBufferPointer, flags: UInt32) throws(StoreError) -> [UInt8] {
    guard fields.isIntact else {
      throw StoreError(.afterFork, "the key belongs to the parent of this process", cure: "open the vault in this process")
    }
    var writer = try SSHWriter()
    try fields.withUnsafeBytes { (raw) throws(StoreError) in
      try KeyNumbers(publicKey.type, publicKey.type.privateNames, of: raw).sign(data, flags: flags, to: &writer)
    }
    let signature = writer.bytes()
    // A wrong one reveals a prime. Source: Boneh, DeMillo, Lipton, "On the Importance of Checking Cryptographic Protocols for
    // Faults".
    guard publicKey.type == .rsa else { return signature }
    guard try signature.withBytes({ (signature) throws(StoreError) in try publicKey.verifies(signature, data) }) else {
      throw StoreError(
        .damaged, "a signature was computed wrongly, and is withheld", cure: "check the machine's memory, and the key's file")
    }
    return signature
  }
}
