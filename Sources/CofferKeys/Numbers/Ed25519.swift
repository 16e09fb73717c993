internal import CCofferSodium
internal import CofferMemory
internal import CofferPlatform

/// Signatures of RFC 8032 by libsodium.
enum Ed25519 {
  static let seedCount = 32
  /// The seed and the public key, in libsodium and in SSH.
  static let privateCount = 64

  /// The private key of `seed`.
  static func expand(_ seed: UnsafeRawBufferPointer) throws(StoreError) -> SecretBytes {
    _ = Sodium.ready
    guard seed.count == seedCount else { throw .malformedKey("an Ed25519 key does not have 32 bytes") }
    var key = try StoreError.guarding { try SecretBytes(zeros: privateCount) }
    var point = [UInt8](repeating: 0, count: Int(crypto_sign_PUBLICKEYBYTES))
    _ = key.withMutableAddress { out in seed.withAddress { crypto_sign_seed_keypair(&point, out, $0) == 0 } }
    return key
  }

  /// - Precondition: `key` is of ``expand(_:)``: with another public half a signature would reveal it.
  static func sign(_ data: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) -> [UInt8] {
    _ = Sodium.ready
    var signature = [UInt8](repeating: 0, count: Int(crypto_sign_BYTES))
    let (start, count) = (data.bindMemory(to: UInt8.self).baseAddress, UInt64(data.count))
    return key.withAddress { crypto_sign_detached(&signature, nil, start, count, $0) == 0 } ? signature : []
  }

  static func verifies(_ signature: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer, _ point: UnsafeRawBufferPointer)
    -> Bool
  {
    _ = Sodium.ready
    guard signature.count == Int(crypto_sign_BYTES), point.count == Int(crypto_sign_PUBLICKEYBYTES) else { return false }
    let (start, count) = (data.bindMemory(to: UInt8.self).baseAddress, UInt64(data.count))
    return signature.withAddress { signature in
      point.withAddress { crypto_sign_verify_detached(signature, start, count, $0) == 0 }
    }
  }
}
