import CCofferSodium
import Foundation

@testable import CofferVault
@testable import CofferVaultFormat

/// A ciphertext that XChaCha20-Poly1305 opens under two keys.
///
/// Poly1305 is a polynomial in a point that the key gives. For a chosen tag, two ciphertext blocks are the unknowns of two
/// linear equations, one per key (Dodis, Grubbs, Ristenpart and Woodage 2018; Len, Grubbs and Ristenpart 2021).
struct Salamander {
  /// The plaintext under the first key is chosen, except bytes 32 to 63, which follow from the equations.
  let box: [UInt8]
  let nonce: [UInt8]

  init(_ keys: (first: [UInt8], second: [UInt8]), start: [UInt8], end: [UInt8], context: [UInt8]) {
    let nonce = (0..<24).map { _ in UInt8.random(in: 0...255) }
    let streams = [keys.first, keys.second].map { Self.keyStream($0, nonce, 128 + end.count) }
    let start = zip(start, streams[0][64...]).map { $0 ^ $1 }
    let end = zip(end, streams[0][128...]).map { $0 ^ $1 }
    let sides = streams.map { Side($0, start, end, context) }
    while true {
      let tag = (0..<16).map { _ in UInt8.random(in: 0...255) }
      guard let free = Self.solve(sides, tag) else { continue }
      (box, self.nonce) = (start + free + end + tag, nonce)
      return
    }
  }

  /// The cipher's stream: Poly1305's key is the first 32 of its first 64 bytes; the rest encrypts the message.
  private static func keyStream(_ key: [UInt8], _ nonce: [UInt8], _ count: Int) -> [UInt8] {
    var stream = [UInt8](repeating: 0, count: count)
    crypto_stream_xchacha20(&stream, UInt64(stream.count), nonce, key)
    return stream
  }

  private struct Side {
    let pad: [UInt8]
    let lower, higher, known: Poly1305Number

    init(_ stream: [UInt8], _ start: [UInt8], _ end: [UInt8], _ context: [UInt8]) {
      var clamped = Array(stream[..<16])
      for place in [3, 7, 11, 15] { clamped[place] &= 15 }
      for place in [4, 8, 12] { clamped[place] &= 252 }
      let point = Poly1305Number(clamped)
      pad = Array(stream[16..<32])
      let lengths = ByteWriter.bytes(16) {
        $0.write(UInt64(context.count))
        $0.write(UInt64(64 + end.count))
      }
      let after = Self.blocks(end) + Self.blocks(lengths)
      // The two free blocks come between.
      lower = after.reduce(point) { power, _ in power * point }
      higher = lower * point
      let before = (Self.blocks(context) + Self.blocks(start)).reduce(Poly1305Number.zero) { ($0 + $1) * point }
      known = before * higher + after.reduce(Poly1305Number.zero) { ($0 + $1) * point }
    }

    private static func blocks(_ bytes: [UInt8]) -> [Poly1305Number] {
      let padded = bytes + [UInt8](repeating: 0, count: (16 - bytes.count % 16) % 16)
      return stride(from: 0, to: padded.count, by: 16).map {
        Poly1305Number(Array(padded[$0..<$0 + 16]), isBlock: true)
      }
    }

    /// The unknowns' share of `tag`: (tag − s) mod 2¹²⁸ is one of the sums that end so.
    func missing(_ tag: [UInt8]) -> Poly1305Number {
      var difference: [UInt8] = []
      var borrow = 0
      for (left, right) in zip(tag, pad) {
        let value = Int(left) - Int(right) - borrow
        borrow = value < 0 ? 1 : 0
        difference.append(UInt8(truncatingIfNeeded: value))
      }
      return Poly1305Number(difference) - known
    }
  }

  /// The two blocks; nil if they are not blocks of 16 bytes, as for 15 tags of 16.
  private static func solve(_ sides: [Side], _ tag: [UInt8]) -> [UInt8]? {
    let (one, two) = (sides[0], sides[1])
    let (a, b, c, d) = (one.higher, one.lower, two.higher, two.lower)
    let inverse = (a * d - b * c).inverse
    let (left, right) = (one.missing(tag), two.missing(tag))
    guard let x = ((left * d - right * b) * inverse).block, let y = ((a * right - c * left) * inverse).block else { return nil }
    return x + y
  }
}

/// A number modulo 2¹³⁰ − 5, in five parts of 26 bits (RFC 8439, section 2.5).
struct Poly1305Number: Equatable {
  private var parts: [UInt64]
  private static let mask: UInt64 = 1 << 26 - 1
  private static let prime: [UInt64] = [mask - 4, mask, mask, mask, mask]
  static let zero = Poly1305Number(parts: [0, 0, 0, 0, 0])

  private init(parts: [UInt64]) {
    self.parts = parts
    reduce()
  }

  /// 16 bytes, and the bit above them that marks a message block.
  init(_ bytes: [UInt8], isBlock: Bool = false) {
    let low = bytes[..<8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let high = bytes[8...].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    parts = [
      low & Self.mask, low >> 26 & Self.mask, (low >> 52 | high << 12) & Self.mask, high >> 14 & Self.mask,
      high >> 40 | (isBlock ? 1 << 24 : 0),
    ]
  }

  /// The 16 bytes of a message block; nil unless the bit above them is the highest.
  var block: [UInt8]? {
    guard parts[4] >> 24 == 1 else { return nil }
    let low = parts[0] | parts[1] << 26 | parts[2] << 52
    let high = parts[2] >> 12 | parts[3] << 14 | parts[4] << 40
    return ByteWriter.bytes(16) {
      $0.write(low)
      $0.write(high)
    }
  }

  /// By Fermat: the power of 2¹³⁰ − 7, in which all bits but two are ones.
  var inverse: Poly1305Number {
    var power = Poly1305Number(parts: [1, 0, 0, 0, 0])
    for bit in (0..<130).reversed() {
      power = power * power
      if bit != 1 && bit != 2 { power = power * self }
    }
    return power
  }

  static func + (left: Self, right: Self) -> Self { Self(parts: zip(left.parts, right.parts).map { $0 + $1 }) }

  static func - (left: Self, right: Self) -> Self {
    Self(parts: (0..<5).map { left.parts[$0] + 2 * prime[$0] - right.parts[$0] })
  }

  static func * (left: Self, right: Self) -> Self {
    var parts = [UInt64](repeating: 0, count: 5)
    for i in 0..<5 {
      for j in 0..<5 { parts[(i + j) % 5] += left.parts[i] * right.parts[j] * (i + j < 5 ? 1 : 5) }
    }
    return Self(parts: parts)
  }

  private mutating func reduce() {
    for _ in 0..<3 {
      for place in 0..<5 {
        let carry = parts[place] >> 26
        parts[place] &= Self.mask
        parts[(place + 1) % 5] += carry * (place == 4 ? 5 : 1)
      }
    }
    guard parts[0] >= Self.prime[0], parts[1...].allSatisfy({ $0 == Self.mask }) else { return }
    parts = [parts[0] - Self.prime[0], 0, 0, 0, 0]
  }
}
