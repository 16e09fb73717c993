internal import CCofferSodium
internal import CofferMemory
package import CofferPlatform

/// A public key of SSH, checked: its numbers are in range, and its point is on its curve.
package struct SSHPublicKey: Sendable, Hashable {
  package let type: SSHKeyType
  /// The key as SSH sends it: its type's name and its numbers.
  package let blob: [UInt8]

  /// - Throws: ``StoreError`` `.undecodable` for bytes that are no key; `.unsupported` for a type that Coffer does not use,
  ///   certificates too, and for RSA and ECDSA without libgcrypt.
  package init(blob: [UInt8]) throws(StoreError) {
    type = try blob.read { (reader) throws(StoreError) in
      let (type, isCertificate) = try SSHKeyType.named(reader.text())
      guard !isCertificate else { throw .unusable("a certificate stands in place of a key") }
      try KeyNumbers(type, type.publicNames, from: &reader).checkPublic()
      return type
    }
    self.blob = blob
  }

  /// - Parameter line: `TYPE BASE64 [COMMENT]`, as in a `.pub` file, or in known_hosts after the names.
  /// - Throws: as ``init(blob:)``.
  package init(line: String) throws(StoreError) { try self.init(blob: SSHLine.blob(of: line)) }

  /// `TYPE BASE64 COMMENT`, without a newline.
  package func line(comment: String) -> String { SSHLine.text(type.rawValue, blob, comment) }

  /// `SHA256:` and the hash in Base64 without padding, as `ssh-keygen -l` shows it.
  package var fingerprint: String { SSHLine.fingerprint(of: blob) }

  /// Whether `signature`, an algorithm's name and its bytes, is this key's of `data`. A malformed one is none.
  ///
  /// Source: RFC 4253, section 6.6; RFC 8332, section 3; RFC 5656, section 3.1.2; RFC 8709, section 6.
  package func verify(_ signature: UnsafeRawBufferPointer, of data: UnsafeRawBufferPointer) -> Bool {
    // Malformed bytes and numbers out of range are the reasons for an error: the key and libgcrypt are checked.
    do throws(StoreError) { return try verifies(signature, data) } catch { return false }
  }

  func verifies(_ signature: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    let (algorithm, bytes) = try SSHReader.read(signature) { (reader) throws(StoreError) in
      (try reader.text(), try reader.string())
    }
    guard type == .rsa || algorithm == type.rawValue else { return false }
    return try withNumbers { (numbers) throws(StoreError) in try numbers.verifies(algorithm, bytes, data) }
  }

  init(_ numbers: KeyNumbers) throws(StoreError) {
    var blob = try SSHWriter()
    try blob.put(numbers.type.rawValue)
    try numbers.write(numbers.type.publicNames, to: &blob)
    try self.init(blob: blob.bytes())
  }

  func withNumbers<Result: ~Copyable>(_ body: (KeyNumbers) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try blob.withBytes { (raw) throws(StoreError) in try body(KeyNumbers(type, type.publicNames, of: raw)) }
  }
}

/// The text form of a key or certificate. Source: OpenSSH's sshd(8), "AUTHORIZED_KEYS FILE FORMAT".
enum SSHLine {
  /// - Throws: ``StoreError`` `.undecodable` for another text, and for a type that is not that of the blob.
  static func blob(of line: String) throws(StoreError) -> [UInt8] {
    let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
    guard parts.count > 1 else { throw .malformedKey("a line is not TYPE BASE64 COMMENT") }
    guard let blob = try decoded(parts[1], { try SecretBase64.decode($0) }) else {
      throw .malformedKey("a line's second word is not Base64")
    }
    let name = try blob.withBytes { (raw) throws(StoreError) in
      var reader = SSHReader(raw)
      return try reader.text()
    }
    guard name == parts[0] else { throw .malformedKey("a line's first word is not the type of its key") }
    return blob
  }

  static func text(_ type: String, _ blob: [UInt8], _ comment: String) -> String {
    let comment = comment.spelledOut()
    return "\(type) \(base64(blob))" + (comment.isEmpty ? "" : " \(comment)")
  }

  static func fingerprint(of blob: [UInt8]) -> String {
    _ = Sodium.ready
    var digest = [UInt8](repeating: 0, count: 32)
    crypto_hash_sha256(&digest, blob, UInt64(blob.count))
    return "SHA256:" + base64(digest).prefix { $0 != "=" }
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    bytes.withBytes { SecretBase64.encode($0) { text.append($0) } }
    return String(decoding: text, as: UTF8.self)
  }
}
