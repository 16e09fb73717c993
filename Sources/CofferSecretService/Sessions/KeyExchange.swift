internal import CCofferLibraries
internal import CofferMemory
internal import CofferPlatform

/// libgcrypt, for the numbers and ciphers of sessions: clients use it too, and it comes with libsystemd. libsodium lacks
/// this group and cipher.
enum Gcrypt {
  /// Loaded for the first session that needs it; nil if not installed.
  static let table: coffer_libgcrypt? = {
    var reason: UnsafePointer<CChar>?
    return coffer_libgcrypt_load(&reason)?.pointee
  }()
}

private struct BigNumber: ~Copyable {
  let raw: OpaquePointer
  private let library: coffer_libgcrypt
  private static let format = Int32(COFFER_GCRYPT_UNSIGNED)

  /// The number in big-endian `bytes`.
  init(_ bytes: UnsafeRawBufferPointer, _ library: coffer_libgcrypt) throws(Refusal) {
    var made: OpaquePointer?
    guard let start = bytes.baseAddress, library.mpi_scan(&made, Self.format, start, bytes.count, nil) == 0, let made
    else { throw .invalidArguments("the session's public key is not a number") }
    raw = made
    self.library = library
  }

  /// `base` to the power of `exponent` modulo `modulus`, in libgcrypt's locked memory.
  init(
    _ base: borrowing BigNumber, to exponent: borrowing BigNumber, in modulus: borrowing BigNumber, _ library: coffer_libgcrypt
  ) throws(Refusal) {
    guard let made = library.mpi_snew(UInt32(8 * KeyExchange.count)) else { throw .failed("memory ran out") }
    library.mpi_powm(made, base.raw, exponent.raw, modulus.raw)
    raw = made
    self.library = library
  }

  deinit { library.mpi_release(raw) }

  /// Writes its bytes, padded in front to the size of `out`.
  func write(to out: UnsafeMutableRawBufferPointer) throws(Refusal) {
    var written = 0
    guard let start = out.bindMemory(to: UInt8.self).baseAddress,
      library.mpi_print(Self.format, start, out.count, &written, raw) == 0
    else { throw .failed("a number of the session has too many bytes") }
    memmove(start + (out.count - written), start, written)
    memset(start, 0, out.count - written)
  }
}

/// Our half of the key exchange `dh-ietf1024-sha256-aes128-cbc-pkcs7`.
///
/// It only protects secrets from recording of the bus: 1024 bits are within reach of a state today. The bus belongs to one
/// user on one machine.
///
/// Source: Secret Service API 0.2, "Transfer of Secrets"; RFC 2409, section 6.2 (the second Oakley group); RFC 5869 (HKDF).
enum KeyExchange {
  static let name = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
  /// Bytes of the group's prime, and the most of a public key.
  static let count = 128
  /// Bytes of our secret exponent. Finding one of 256 bits takes 2^128 steps, far more than breaking a group of 1024 bits,
  /// and the prime is a safe one; 1024 bits would take four times as long. Source: RFC 7919, section 5.2.
  private static let exponentCount = 32

  /// 2^1024 - 2^960 - 1 + 2^64 · (⌊2^894 π⌋ + 129093).
  static let prime: [UInt8] = [
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xC9, 0x0F, 0xDA, 0xA2, 0x21, 0x68, 0xC2, 0x34, 0xC4, 0xC6, 0x62, 0x8B,
    0x80, 0xDC, 0x1C, 0xD1, 0x29, 0x02, 0x4E, 0x08, 0x8A, 0x67, 0xCC, 0x74, 0x02, 0x0B, 0xBE, 0xA6, 0x3B, 0x13, 0x9B, 0x22,
    0x51, 0x4A, 0x08, 0x79, 0x8E, 0x34, 0x04, 0xDD, 0xEF, 0x95, 0x19, 0xB3, 0xCD, 0x3A, 0x43, 0x1B, 0x30, 0x2B, 0x0A, 0x6D,
    0xF2, 0x5F, 0x14, 0x37, 0x4F, 0xE1, 0x35, 0x6D, 0x6D, 0x51, 0xC2, 0x45, 0xE4, 0x85, 0xB5, 0x76, 0x62, 0x5E, 0x7E, 0xC6,
    0xF4, 0x4C, 0x42, 0xE9, 0xA6, 0x37, 0xED, 0x6B, 0x0B, 0xFF, 0x5C, 0xB6, 0xF4, 0x06, 0xB7, 0xED, 0xEE, 0x38, 0x6B, 0xFB,
    0x5A, 0x89, 0x9F, 0xA5, 0xAE, 0x9F, 0x24, 0x11, 0x7C, 0x4B, 0x1F, 0xE6, 0x49, 0x28, 0x66, 0x51, 0xEC, 0xE6, 0x53, 0x81,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
  ]

  /// Our public key for the client, and the shared key.
  struct Outcome: ~Copyable {
    let publicKey: [UInt8]
    let key: SecretBytes
  }

  /// Answers a client's public key.
  ///
  /// - Throws: ``Refusal`` `NotSupported` if libgcrypt is not installed; `InvalidArgs` for a key outside of the group.
  static func answer(_ theirs: UnsafeRawBufferPointer) throws(Refusal) -> Outcome {
    guard let library = Gcrypt.table else { throw .notSupported("libgcrypt is not installed: use plain") }
    try check(theirs)
    let random = try Refusal.memory { () throws(SecretMemoryError) in try SecretBytes.random(exponentCount) }
    let exponent = try random.withUnsafeBytes { (raw) throws(Refusal) in try BigNumber(raw, library) }
    let modulus = try number(prime, library)
    let ours = try BigNumber(number([2], library), to: exponent, in: modulus, library)
    let common = try BigNumber(BigNumber(theirs, library), to: exponent, in: modulus, library)
    var publicKey = [UInt8](repeating: 0, count: count)
    let written: Result<Void, Refusal> = publicKey.withUnsafeMutableBytes { out in
      do throws(Refusal) { return .success(try ours.write(to: out)) } catch { return .failure(error) }
    }
    try written.get()
    var shared = try Refusal.memory { () throws(SecretMemoryError) in try SecretBytes(zeros: count) }
    try shared.withUnsafeMutableBytes { (out) throws(Refusal) in try common.write(to: out) }
    return Outcome(publicKey: publicKey, key: try derive(shared))
  }

  private static func number(_ bytes: [UInt8], _ library: coffer_libgcrypt) throws(Refusal) -> BigNumber {
    try bytes.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try BigNumber(raw, library) }
  }

  /// Requires a number between 1 and the prime less 1: others would reveal the key.
  private static func check(_ theirs: UnsafeRawBufferPointer) throws(Refusal) {
    let digits = theirs.drop { $0 == 0 }
    let isLarge = digits.count > count || digits.count == count && !digits.lexicographicallyPrecedes(prime.dropLast() + [0xFE])
    guard digits.count > 0, digits.elementsEqual([1]) == false, !isLarge else {
      throw .invalidArguments("the session's public key is not in its group")
    }
  }

  /// The session's key: HKDF with SHA-256, without salt and information. One block is longer than the key.
  static func derive(_ shared: borrowing SecretBytes) throws(Refusal) -> SecretBytes {
    try Refusal.memory { () throws(SecretMemoryError) in
      let salt = try SecretBytes(zeros: SecretDigest.sha256.count)
      let expanded = try shared.withUnsafeBytes { (bytes) throws(SecretMemoryError) in
        try SecretDigest.sha256.derive(from: bytes, salt: salt)
      }
      return try expanded.prefix(SecretCipher.keyCount)
    }
  }
}
