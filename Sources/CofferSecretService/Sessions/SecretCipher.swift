internal import CCofferLibraries
internal import CofferMemory
internal import CofferPlatform

/// AES-128 in CBC mode with PKCS #7 padding, as used by sessions.
///
/// It does not authenticate: programs that can change messages on the bus, which keeps others out, can change the content.
enum SecretCipher {
  /// Bytes of a key, an initialization vector and a block.
  static let keyCount = 16
  static let blockCount = 16

  static func encrypt(
    _ secret: borrowing SecretBytes, _ key: borrowing SecretBytes, _ vector: UnsafeRawBufferPointer
  ) throws(Refusal) -> SecretBytes {
    let padding = blockCount - secret.count % blockCount
    var whole = try Refusal.memory { () throws(SecretMemoryError) in try SecretBytes(zeros: secret.count + padding) }
    whole.withUnsafeMutableBytes { out in
      secret.withUnsafeBytes { out.copyMemory(from: $0) }
      for index in secret.count..<out.count { out[index] = UInt8(padding) }
    }
    try run(&whole, key, vector) { library in library.cipher_encrypt }
    return whole
  }

  /// - Throws: ``Refusal`` `InvalidArgs` unless ``encrypt(_:_:_:)`` made the bytes with that key.
  static func decrypt(
    _ bytes: UnsafeRawBufferPointer, _ key: borrowing SecretBytes, _ vector: UnsafeRawBufferPointer
  ) throws(Refusal) -> SecretBytes {
    guard vector.count == blockCount, bytes.count > 0, bytes.count % blockCount == 0 else { throw notOfSession }
    var plain = try Refusal.memory { () throws(SecretMemoryError) in try SecretBytes(copying: bytes) }
    try run(&plain, key, vector) { library in library.cipher_decrypt }
    let padding = plain.withUnsafeBytes { raw in
      let last = Int(raw[raw.count - 1])
      return 1...blockCount ~= last && raw.suffix(last).allSatisfy { $0 == UInt8(last) } ? last : 0
    }
    guard padding > 0 else { throw notOfSession }
    plain.truncate(to: plain.count - padding)
    return plain
  }

  private static let notOfSession = Refusal.invalidArguments("the secret is not encrypted for its session")

  private typealias Step =
    @convention(c) (OpaquePointer, UnsafeMutableRawPointer, Int, UnsafeRawPointer?, Int) -> UInt32

  private static func run(
    _ bytes: inout SecretBytes, _ key: borrowing SecretBytes, _ vector: UnsafeRawBufferPointer,
    _ step: (coffer_libgcrypt) -> Step
  ) throws(Refusal) {
    guard let library = Gcrypt.table else { throw .notSupported("libgcrypt is not installed: use plain") }
    var made: OpaquePointer?
    let (algorithm, mode) = (Int32(COFFER_GCRYPT_AES128), Int32(COFFER_GCRYPT_CBC))
    guard library.cipher_open(&made, algorithm, mode, UInt32(COFFER_GCRYPT_SECURE)) == 0, let cipher = made else {
      throw .failed("the cipher of the session cannot be made")
    }
    defer { library.cipher_close(cipher) }
    let isDone = key.withUnsafeBytes { key in
      bytes.withUnsafeMutableBytes { out in
        guard let key = key.baseAddress, let vector = vector.baseAddress, let start = out.baseAddress else { return false }
        return library.cipher_setkey(cipher, key, keyCount) == 0 && library.cipher_setiv(cipher, vector, blockCount) == 0
          && step(library)(cipher, start, out.count, nil, 0) == 0
      }
    }
    guard isDone else { throw .failed("the cipher of the session failed") }
  }
}

extension Refusal {
  /// For allocations of guarded memory.
  static func memory<Made: ~Copyable>(_ body: () throws(SecretMemoryError) -> Made) throws(Refusal) -> Made {
    do throws(SecretMemoryError) { return try body() } catch {
      throw .limit("guarded memory ran out; close other programs, or raise ulimit -l")
    }
  }
}
