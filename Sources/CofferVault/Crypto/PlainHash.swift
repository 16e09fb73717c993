internal import CCofferSodium
internal import CofferMemory

/// H of the vault's format: BLAKE2b, 32 bytes out, without key, salt or personalisation. It tells damage, never forgery.
enum PlainHash {
  static func digest(_ bytes: UnsafeRawBufferPointer) -> Digest32 {
    Digest32(filling: { write(bytes, into: $0) })
  }

  static func digest(_ bytes: [UInt8]) -> Digest32 { bytes.span.bytes.withUnsafeBytes { digest($0) } }

  /// The digest of something secret, which is secret too.
  static func secretDigest(_ bytes: UnsafeRawBufferPointer) throws(FormatError) -> SecretBytes {
    try SecretBytes(count: 32, memory: FormatError.memory) { (out) throws(FormatError) in write(bytes, into: out) }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer) {
    _ = Sodium.ready
    crypto_generichash_blake2b(out.u8, out.count, bytes.u8, UInt64(bytes.count), nil, 0)
  }
}
