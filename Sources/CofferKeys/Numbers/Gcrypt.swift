internal import CCofferLibraries
internal import CofferPlatform

/// A hash function of libgcrypt's, under its name there.
enum GcryptHash: String {
  case sha256, sha384, sha512

  /// That of an RSA signature; nil for SHA-1. Source: RFC 8332, section 3.
  init?(rsaAlgorithm: String) {
    switch rsaAlgorithm {
    case "rsa-sha2-256": self = .sha256
    case "rsa-sha2-512": self = .sha512
    default: return nil
    }
  }

  private var algorithm: (Int32, count: Int) {
    switch self {
    case .sha256: (Int32(COFFER_GCRYPT_SHA256), 32)
    case .sha384: (Int32(COFFER_GCRYPT_SHA384), 48)
    case .sha512: (Int32(COFFER_GCRYPT_SHA512), 64)
    }
  }

  fileprivate func digest(_ data: UnsafeRawBufferPointer, _ library: coffer_libgcrypt) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: algorithm.count)
    library.hash(algorithm.0, &digest, data.baseAddress, data.count)
    return digest
  }
}

/// RSA and ECDSA of libgcrypt, which libsodium lacks. The Secret Service has it too.
enum Gcrypt {
  private static let table: coffer_libgcrypt? = {
    var reason: UnsafePointer<CChar>?
    return coffer_libgcrypt_load(&reason)?.pointee
  }()

  /// Loaded for the first key that needs it.
  ///
  /// - Throws: ``StoreError`` `.unsupported` if it is not installed.
  static func library() throws(StoreError) -> coffer_libgcrypt {
    guard let table else {
      throw StoreError(
        .unsupported, "RSA and ECDSA keys need libgcrypt 1.8", cure: "install libgcrypt20 (on Fedora libgcrypt), or use Ed25519")
    }
    return table
  }

  static func failed(_ what: String, _ status: UInt32) -> StoreError {
    StoreError(.unsupported, "libgcrypt cannot make \(what) (error \(status & 0xFFFF))", cure: "check the key with ssh-keygen -y")
  }

  /// - Parameter padding: libgcrypt's flag: `pkcs1`, `rfc6979`, or `raw` to verify ECDSA.
  static func sign(
    _ data: UnsafeRawBufferPointer, _ hash: GcryptHash, _ padding: String, _ key: Term
  ) throws(StoreError) -> SExpression {
    let message = try message(data, hash, padding)
    return try SExpression(signing: message, by: SExpression(key, isSecret: true))
  }

  static func verifies(
    _ signature: Term, _ data: UnsafeRawBufferPointer, _ hash: GcryptHash, _ padding: String, _ key: Term
  ) throws(StoreError) -> Bool {
    let message = try message(data, hash, padding)
    let signature = try SExpression(signature)
    let key = try SExpression(key)
    return try library().key_verify(signature.raw, message.raw, key.raw) == 0
  }

  private static func message(
    _ data: UnsafeRawBufferPointer, _ hash: GcryptHash, _ padding: String
  ) throws(StoreError) -> SExpression {
    try hash.digest(data, library()).withBytes { (digest) throws(StoreError) in
      try SExpression(["data", ["flags", .word(padding)], ["hash", .word(hash.rawValue), .bytes(digest)]])
    }
  }

  /// Whether libgcrypt finds the private key consistent: for ECDSA, the point is on the curve, and the private number gives it.
  static func isConsistent(_ key: Term) throws(StoreError) -> Bool {
    let key = try SExpression(key, isSecret: true)
    return try library().key_test(key.raw) == 0
  }

  /// Requires an uncompressed point of the curve, with coordinates below its prime.
  ///
  /// Source: SEC 1, sections 2.3.4 and 3.2.2.1. The curves' cofactor is 1.
  static func requirePoint(_ point: UnsafeRawBufferPointer, on curve: Curve) throws(StoreError) {
    let library = try library()
    guard point.count == 1 + 2 * curve.count, point[0] == 4 else {
      throw .malformedKey("a point is not uncompressed, or not of its curve's length")
    }
    var context: OpaquePointer?
    let status = library.curve_open(&context, nil, curve.libraryName)
    guard status == 0, let context else { throw failed("the curve \(curve.name)", status) }
    defer { library.curve_close(context) }
    let x = try Number(UnsafeRawBufferPointer(rebasing: point[1...curve.count]), library)
    let y = try Number(UnsafeRawBufferPointer(rebasing: point[(1 + curve.count)...]), library)
    let one = try [UInt8(1)].withBytes { (raw) throws(StoreError) in try Number(raw, library) }
    guard let prime = library.curve_number("p", context, 1), let raw = library.mpi_point_set(nil, x.raw, y.raw, one.raw) else {
      throw failed("a point", 0)
    }
    defer {
      library.mpi_release(prime)
      library.point_release(raw)
    }
    guard library.mpi_cmp(x.raw, prime) < 0, library.mpi_cmp(y.raw, prime) < 0, library.curve_has(raw, context) != 0 else {
      throw .malformedKey("a point is not on its curve")
    }
  }
}
