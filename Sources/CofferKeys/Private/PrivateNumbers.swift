internal import CofferMemory
internal import CofferPlatform

/// The numbers of a private key, as parts of lent bytes.
enum PrivateNumbers {
  case ed25519(point: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer)
  case rsa(RSANumbers)
  case ecdsa(Curve, point: UnsafeRawBufferPointer, secret: UnsafeRawBufferPointer)

  /// Reads the fields after the type's name.
  ///
  /// - Parameter certified: the public numbers, if they are in a certificate: the fields then lack them, but for Ed25519.
  ///
  /// Source: RFC 9987 (SSH agent), adding keys; OpenSSH's PROTOCOL.key and PROTOCOL.certkeys.
  init(_ type: SSHKeyType, certified: PublicNumbers?, from reader: inout WireReader) throws(StoreError) {
    switch (type, type.curve) {
    case (_, let curve?):
      var point: UnsafeRawBufferPointer
      if case .ecdsa(_, let certified)? = certified {
        point = certified
      } else {
        guard try reader.text() == curve.name else { throw .malformed("the key's curve is not that of its type") }
        point = try reader.string()
      }
      self = .ecdsa(curve, point: point, secret: try reader.number(limit: curve.count))
    case (.ed25519, _): self = .ed25519(point: try reader.string(), key: try reader.string())
    default:
      var (modulus, exponent): (UnsafeRawBufferPointer, UnsafeRawBufferPointer)
      if case .rsa(let certifiedExponent, let certifiedModulus)? = certified {
        (modulus, exponent) = (certifiedModulus, certifiedExponent)
      } else {
        modulus = try reader.number(limit: RSALimit.bytes)
        exponent = try reader.number(limit: RSALimit.exponentBytes)
      }
      self = .rsa(
        RSANumbers(
          modulus: modulus, exponent: exponent, privateExponent: try reader.number(limit: RSALimit.bytes),
          inverse: try reader.number(limit: RSALimit.bytes), firstPrime: try reader.number(limit: RSALimit.bytes),
          secondPrime: try reader.number(limit: RSALimit.bytes)))
    }
  }

  /// Writes the fields after the type's name, without a certificate.
  func write(to writer: inout WireWriter) throws(StoreError) {
    switch self {
    case .ed25519(let point, let key): for part in [point, key] { try writer.put(part) }
    case .ecdsa(let curve, let point, let secret):
      try writer.put(curve.name)
      try writer.put(point)
      try writer.put(number: secret)
    case .rsa(let rsa):
      for number in [rsa.modulus, rsa.exponent, rsa.privateExponent, rsa.inverse, rsa.firstPrime, rsa.secondPrime] {
        try writer.put(number: number)
      }
    }
  }

  /// The public half, checked, after a check that the private numbers are its.
  func publicKey(_ type: SSHKeyType) throws(StoreError) -> SSHPublicKey {
    var blob = try WireWriter()
    try blob.put(type.rawValue)
    switch self {
    case .ed25519(let point, _): try blob.put(point)
    case .ecdsa(let curve, let point, _):
      try blob.put(curve.name)
      try blob.put(point)
    case .rsa(let numbers): for number in [numbers.exponent, numbers.modulus] { try blob.put(number: number) }
    }
    let publicKey = try SSHPublicKey(blob: blob.bytes())
    guard try isConsistent() else { throw .malformed("the private half of the key does not match the public one") }
    return publicKey
  }

  private func isConsistent() throws(StoreError) -> Bool {
    switch self {
    case .ed25519(let point, let key):
      guard key.count == Ed25519.privateCount else { return false }
      let expected = try Ed25519.expand(UnsafeRawBufferPointer(rebasing: key[..<Ed25519.seedCount]))
      return expected.withUnsafeBytes { $0.elementsEqual(key) && $0[Ed25519.seedCount...].elementsEqual(point) }
    case .ecdsa(let curve, let point, let secret): return try Gcrypt.isConsistent(Self.term(curve, point, secret))
    case .rsa(let numbers): return try numbers.areConsistent()
    }
  }

  private static func term(_ curve: Curve, _ point: UnsafeRawBufferPointer, _ secret: UnsafeRawBufferPointer) -> Term {
    ["private-key", ["ecc", ["curve", .word(curve.libraryName)], ["q", .bytes(point)], ["d", .bytes(secret)]]]
  }

  /// Writes an algorithm's name and the signature's bytes.
  func sign(_ data: UnsafeRawBufferPointer, _ type: SSHKeyType, flags: UInt32, to writer: inout WireWriter) throws(StoreError) {
    switch self {
    case .ed25519(_, let key):
      try writer.put(type.rawValue)
      try writer.put(Ed25519.sign(data, key))
    case .ecdsa(let curve, let point, let secret):
      // A nonce made of key and message: no state of a random source can repeat or bias it.
      let signature = try Gcrypt.sign(data, curve.hash, "rfc6979", Self.term(curve, point, secret))
      var pair = try WireWriter()
      for name in ["r", "s"] {
        try signature.value(name).lent { (digits) throws(StoreError) in try pair.put(number: digits) }
      }
      try writer.put(type.rawValue)
      try writer.put(pair.bytes())
    case .rsa(let numbers):
      let (algorithm, hash) = try Self.rsaAlgorithm(flags)
      let digits = try Gcrypt.sign(data, hash, "pkcs1", numbers.term).value("s").drop { $0 == 0 }
      try writer.put(algorithm)
      // Source: RFC 8332, section 3: as long as the modulus.
      try writer.put(Array(repeating: 0, count: max(0, numbers.modulus.count - digits.count)) + digits)
    }
  }

  /// Source: RFC 9987 (SSH agent), signature flags.
  private static func rsaAlgorithm(_ flags: UInt32) throws(StoreError) -> (String, GcryptHash) {
    // OpenSSH's order, should both be set.
    if flags & 2 != 0 { return ("rsa-sha2-256", .sha256) }
    if flags & 4 != 0 { return ("rsa-sha2-512", .sha512) }
    throw .unusable("a signature with SHA-1 is asked for")
  }
}
