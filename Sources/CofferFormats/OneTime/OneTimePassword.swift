internal import Coffer
package import CofferMemory
internal import CofferTerminal
package import FoundationEssentials

/// Makes the one-time codes of an account from a shared secret and the clock.
///
/// Source: RFC 6238.
package struct OneTimePassword: ~Copyable {
  /// Digits of a code. Source: RFC 4226, section 5.3: at least six, up to eight.
  static let digitCounts = 6...8
  /// Seconds that a code lasts, at most a day: longer, it is no code of the moment.
  static let periods = 1...86_400

  package let secret: SecretBytes
  package let hash: SecretDigest
  package let digits: Int
  let period: Int

  package struct Code: ~Copyable {
    package let text: SecretBytes
    package let secondsLeft: Int
    package let period: Int
  }

  package func code(at moment: Date) throws -> Code {
    guard case let seconds = moment.timeIntervalSince1970.rounded(.down), seconds >= 0, let now = Int(exactly: seconds) else {
      throw StoreError(.clockBehind, "the clock stands before 1970, and codes follow the clock", cure: "set the clock")
    }
    let tag = try withUnsafeBytes(of: UInt64(now / period).bigEndian) { counter in try hash.authenticate(counter, with: secret) }
    return Code(text: try Self.text(tag, digits: digits), secondsLeft: period - now % period, period: period)
  }

  /// Dynamic truncation: RFC 4226, section 5.3.
  private static func text(_ tag: borrowing SecretBytes, digits: Int) throws -> SecretBytes {
    var number = tag.withUnsafeBytes { raw in
      let offset = Int(raw[raw.count - 1] & 15)
      return UInt32(bigEndian: raw.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) & 0x7FFF_FFFF
    }
    var text = try SecretBytes(zeros: digits)
    text.withUnsafeMutableBytes { out in
      for index in out.indices.reversed() {
        out[index] = UInt8(ascii: "0") + UInt8(number % 10)
        number /= 10
      }
    }
    return text
  }
}
