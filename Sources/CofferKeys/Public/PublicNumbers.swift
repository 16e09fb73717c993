internal import CofferPlatform

/// The numbers of a public key, as parts of lent bytes.
enum PublicNumbers {
  case ed25519(UnsafeRawBufferPointer)
  case rsa(exponent: UnsafeRawBufferPointer, modulus: UnsafeRawBufferPointer)
  case ecdsa(Curve, point: UnsafeRawBufferPointer)

  /// Reads the fields after the type's name. Source: RFC 8709, section 4; RFC 4253, section 6.6; RFC 5656, section 3.1.
  init(_ type: SSHKeyType, from reader: inout WireReader) throws(StoreError) {
    guard let curve = type.curve else {
      self =
        type == .ed25519
        ? .ed25519(try reader.string())
        : .rsa(
          exponent: try reader.number(limit: RSALimit.exponentBytes), modulus: try reader.number(limit: RSALimit.bytes))
      return
    }
    guard try reader.text() == curve.name else { throw .malformed("the key's curve is not that of its type") }
    self = .ecdsa(curve, point: try reader.string())
  }

  /// Requires numbers that a key of this type may have.
  func check() throws(StoreError) {
    switch self {
    case .ed25519(let point): guard point.count == 32 else { throw .malformed("an Ed25519 key does not have 32 bytes") }
    case .rsa(let exponent, let modulus):
      let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
      guard RSALimit.bits ~= bits else { throw .unusable("the RSA key has \(bits) bits, not 2048 to 16384") }
      guard modulus.last.map({ $0 & 1 == 1 }) ?? false, exponent.last.map({ $0 & 1 == 1 }) ?? false,
        exponent.elementsEqual([1]) == false
      else { throw .malformed("the RSA key's numbers do not fit") }
      _ = try Gcrypt.library()
    case .ecdsa(let curve, let point): try Gcrypt.requirePoint(point, on: curve)
    }
  }

  /// Whether the part of a signature after its algorithm's name is one of `data`.
  func verifies(_ algorithm: String, _ signature: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer) throws(StoreError)
    -> Bool
  {
    switch self {
    case .ed25519(let point): return Ed25519.verifies(signature, data, point)
    case .rsa(let exponent, let modulus):
      guard let hash = GcryptHash(rsaAlgorithm: algorithm), signature.count <= modulus.count else { return false }
      return try Gcrypt.verifies(
        ["sig-val", ["rsa", ["s", .bytes(signature)]]], data, hash, "pkcs1",
        ["public-key", ["rsa", ["n", .bytes(modulus)], ["e", .bytes(exponent)]]])
    case .ecdsa(let curve, let point):
      var numbers = WireReader(signature)
      let (r, s) = (try numbers.number(limit: curve.count), try numbers.number(limit: curve.count))
      try numbers.end()
      return try Gcrypt.verifies(
        ["sig-val", ["ecdsa", ["r", .bytes(r)], ["s", .bytes(s)]]], data, curve.hash, "raw",
        ["public-key", ["ecc", ["curve", .word(curve.libraryName)], ["q", .bytes(point)]]])
    }
  }
}
