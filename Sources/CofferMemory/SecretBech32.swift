internal import CofferPlatform

/// Encodes and decodes Bech32 within guarded memory: a prefix, `1`, and bytes with a checksum. All letters are of the prefix's
/// case, and no limit of length holds.
///
/// Source: BIP 173, section "Bech32"; C2SP age, "X25519 recipient stanza" (the length).
package enum SecretBech32 {
  private static let checksumCount = 6

  /// Hands the text of `raw` to `put`, byte by byte.
  package static func encode(_ raw: UnsafeRawBufferPointer, prefix: String, _ put: (UInt8) -> Void) {
    let isUpper = isUppercase(prefix)
    var checksum = Checksum(prefix)
    for byte in prefix.utf8 { put(byte) }
    put(UInt8(ascii: "1"))
    var (bits, count): (UInt32, UInt32) = (0, 0)
    func putGroup(_ group: UInt32) {
      checksum.add(group)
      put(letter(group, isUpper))
    }
    for byte in raw {
      (bits, count) = (bits << 8 & 0xFFFF | UInt32(byte), count + 8)
      while count >= 5 {
        count -= 5
        putGroup(bits >> count & 31)
      }
    }
    if count > 0 { putGroup(bits << (5 - count) & 31) }
    for _ in 0..<checksumCount { checksum.add(0) }
    for place in (0..<UInt32(checksumCount)).reversed() { put(letter((checksum.state ^ 1) >> (5 * place) & 31, isUpper)) }
  }

  /// The decoded bytes; nil if `text` is not Bech32 with that prefix.
  package static func decode(_ text: borrowing SecretBytes, prefix: String) throws(SecretMemoryError) -> SecretBytes? {
    let head = prefix.utf8.count + 1
    let groups = text.count - head - checksumCount
    // Less than 5 bits fill no byte.
    guard groups >= 0, groups * 5 % 8 < 5 else { return nil }
    var bytes = try SecretBytes(zeros: groups * 5 / 8)
    let isValid = text.withUnsafeBytes { raw in
      guard raw.starts(with: Array((prefix + "1").utf8)) else { return false }
      return bytes.withUnsafeMutableBytes { write(raw[head...], groups, prefix, to: $0) }
    }
    return isValid ? consume bytes : nil
  }

  private static func write(
    _ letters: Slice<UnsafeRawBufferPointer>, _ groups: Int, _ prefix: String, to out: UnsafeMutableRawBufferPointer
  ) -> Bool {
    let isUpper = isUppercase(prefix)
    var checksum = Checksum(prefix)
    var (bits, count, at): (UInt32, UInt32, Int) = (0, 0, 0)
    for (index, sign) in letters.enumerated() {
      guard let group = (0..<32).first(where: { letter($0, isUpper) == sign }) else { return false }
      checksum.add(group)
      guard index < groups else { continue }
      (bits, count) = (bits << 5 & 0xFFFF | group, count + 5)
      if count >= 8 {
        count -= 8
        out[at] = UInt8(truncatingIfNeeded: bits >> count)
        at += 1
      }
    }
    // Bits beyond the last byte would be a second spelling.
    return checksum.state == 1 && bits & (1 << count - 1) == 0
  }

  private static func isUppercase(_ prefix: String) -> Bool { prefix.utf8.contains { 0x41...0x5A ~= $0 } }

  private static func letter(_ group: UInt32, _ isUpper: Bool) -> UInt8 {
    let alphabet: StaticString = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    let letter = alphabet.utf8Start[Int(group)]
    return isUpper && letter >= 0x61 ? letter - 0x20 : letter
  }

  private struct Checksum {
    var state: UInt32 = 1

    init(_ prefix: String) {
      let signs = prefix.lowercased().utf8.map { UInt32($0) }
      for sign in signs { add(sign >> 5) }
      add(0)
      for sign in signs { add(sign & 31) }
    }

    mutating func add(_ group: UInt32) {
      let top = state >> 25
      state = (state & 0x1FF_FFFF) << 5 ^ group
      let generators: (UInt32, UInt32, UInt32, UInt32, UInt32) = (0x3B6A_57B2, 0x2650_8E6D, 0x1EA1_19FA, 0x3D42_33DD, 0x2A14_62B3)
      state ^= generators.0 & (0 &- (top & 1)) ^ generators.1 & (0 &- (top >> 1 & 1)) ^ generators.2 & (0 &- (top >> 2 & 1))
      state ^= generators.3 & (0 &- (top >> 3 & 1)) ^ generators.4 & (0 &- (top >> 4 & 1))
    }
  }
}
