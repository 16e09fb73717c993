internal import CCofferSodium
internal import CofferPlatform

/// A hash function over secrets, whose result is secret too: a guesser can test passwords against a password's hash.
package enum SecretDigest: Sendable, CaseIterable {
  case sha1, sha256, sha512

  /// Bytes of a hash.
  package var count: Int {
    switch self {
    case .sha1: SHA1.count
    case .sha256: 32
    case .sha512: 64
    }
  }

  /// Bytes of a block. Source: FIPS 180-4, figure 1.
  private var blockCount: Int { self == .sha512 ? 128 : SHA1.blockCount }

  package func hash(_ message: borrowing SecretBytes) throws(SecretMemoryError) -> SecretBytes {
    var digest = try SecretBytes(zeros: count)
    try message.withUnsafeBytes { (bytes) throws(SecretMemoryError) in
      try digest.withUnsafeMutableBytes { (out) throws(SecretMemoryError) in try hash(bytes, into: out) }
    }
    return digest
  }

  /// HMAC of `message` under `key`, both of any length.
  ///
  /// Source: RFC 2104, section 2.
  package func authenticate(
    _ message: UnsafeRawBufferPointer, with key: borrowing SecretBytes
  ) throws(SecretMemoryError) -> SecretBytes {
    let inner = try padded(key, 0x36, message)
    let hashed = try hash(inner)
    let outer = try hashed.withUnsafeBytes { (bytes) throws(SecretMemoryError) in try padded(key, 0x5C, bytes) }
    return try hash(outer)
  }

  /// HKDF: a key as long as one hash, from `secret`.
  ///
  /// Source: RFC 5869, sections 2.2 and 2.3. No caller needs a second block.
  package func derive(
    from secret: UnsafeRawBufferPointer, salt: borrowing SecretBytes, info: String = ""
  ) throws(SecretMemoryError) -> SecretBytes {
    let extracted = try authenticate(secret, with: salt)
    return try (Array(info.utf8) + [1]).span.bytes.withUnsafeBytes { (block) throws(SecretMemoryError) in
      try authenticate(block, with: extracted)
    }
  }

  /// The key, or its hash if it is longer than a block, filled up to a block and mixed with `pad`; then `message`.
  private func padded(
    _ key: borrowing SecretBytes, _ pad: UInt8, _ message: UnsafeRawBufferPointer
  ) throws(SecretMemoryError) -> SecretBytes {
    let short = try key.count > blockCount ? hash(key) : key.duplicate()
    var whole = try SecretBytes(zeros: blockCount + message.count)
    whole.withUnsafeMutableBytes { out in
      short.withUnsafeBytes { out.copyMemory(from: $0) }
      for index in 0..<blockCount { out[index] ^= pad }
      UnsafeMutableRawBufferPointer(rebasing: out[blockCount...]).copyMemory(from: message)
    }
    return whole
  }

  private func hash(
    _ message: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
  ) throws(SecretMemoryError) {
    _ = Sodium.ready
    let (bytes, count) = (message.bindMemory(to: UInt8.self).baseAddress, UInt64(message.count))
    // Room for a hash has an address.
    guard let digest = out.bindMemory(to: UInt8.self).baseAddress else { return }
    switch self {
    case .sha1: try SHA1.hash(message, into: out)
    case .sha256: crypto_hash_sha256(digest, bytes, count)
    case .sha512: crypto_hash_sha512(digest, bytes, count)
    }
  }
}
