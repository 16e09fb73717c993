internal import CofferPlatform

/// SHA-1, only for one-time passwords, whose standard requires it (RFC 6238).
///
/// libsodium has no SHA-1. HMAC needs no resistance to collisions, the property that SHA-1 has lost. A library in place of 40
/// lines of a fixed standard would be the larger risk.
///
/// Source: RFC 3174, sections 4 to 6.1.
enum SHA1 {
  static let count = 20
  static let blockCount = 64
  private static let rounds = 80

  /// Writes the hash of `message` to `digest`, which has ``count`` bytes. It works in guarded memory only.
  static func hash(
    _ message: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer
  ) throws(SecretMemoryError) {
    var words = try SecretBytes(zeros: (rounds + state.count) * 4)
    let whole = message.count / blockCount * blockCount
    let tail = try padded(UnsafeRawBufferPointer(rebasing: message[whole...]), of: message.count)
    words.withUnsafeMutableBytes { raw in
      let all = raw.bindMemory(to: UInt32.self)
      let schedule = UnsafeMutableBufferPointer(rebasing: all[..<rounds])
      let chain = UnsafeMutableBufferPointer(rebasing: all[rounds...])
      for (index, word) in state.enumerated() { chain[index] = word }
      for start in stride(from: 0, to: whole, by: blockCount) { mix(message, start, schedule, chain) }
      tail.withUnsafeBytes { rest in
        for start in stride(from: 0, to: rest.count, by: blockCount) { mix(rest, start, schedule, chain) }
      }
      for index in state.indices { digest.storeBytes(of: chain[index].bigEndian, toByteOffset: index * 4, as: UInt32.self) }
    }
  }

  private static let state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]

  /// The rest of a message of `count` bytes, a one bit, zeros, and the length in bits: whole blocks.
  private static func padded(_ rest: UnsafeRawBufferPointer, of count: Int) throws(SecretMemoryError) -> SecretBytes {
    var tail = try SecretBytes(zeros: rest.count + 9 > blockCount ? 2 * blockCount : blockCount)
    tail.withUnsafeMutableBytes { out in
      out.copyMemory(from: rest)
      out[rest.count] = 0x80
      out.storeBytes(of: UInt64(count * 8).bigEndian, toByteOffset: out.count - 8, as: UInt64.self)
    }
    return tail
  }

  private static func mix(
    _ bytes: UnsafeRawBufferPointer, _ start: Int, _ schedule: UnsafeMutableBufferPointer<UInt32>,
    _ chain: UnsafeMutableBufferPointer<UInt32>
  ) {
    for index in 0..<16 {
      schedule[index] = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: start + index * 4, as: UInt32.self))
    }
    for index in 16..<rounds {
      schedule[index] = rotate(schedule[index - 3] ^ schedule[index - 8] ^ schedule[index - 14] ^ schedule[index - 16], 1)
    }
    var (a, b, c, d, e) = (chain[0], chain[1], chain[2], chain[3], chain[4])
    for index in 0..<rounds {
      let (function, constant) = round(index, b, c, d)
      let next = rotate(a, 5) &+ function &+ e &+ schedule[index] &+ constant
      (a, b, c, d, e) = (next, a, rotate(b, 30), c, d)
    }
    // One by one: an array would stay in ordinary memory.
    chain[0] &+= a
    chain[1] &+= b
    chain[2] &+= c
    chain[3] &+= d
    chain[4] &+= e
  }

  private static func round(_ index: Int, _ b: UInt32, _ c: UInt32, _ d: UInt32) -> (UInt32, UInt32) {
    switch index {
    case 0..<20: (b & c | ~b & d, 0x5A82_7999)
    case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
    case 40..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
    default: (b ^ c ^ d, 0xCA62_C1D6)
    }
  }

  private static func rotate(_ word: UInt32, _ bits: UInt32) -> UInt32 { word << bits | word >> (32 - bits) }
}
