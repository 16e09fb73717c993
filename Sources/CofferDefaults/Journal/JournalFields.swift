internal import FoundationEssentials

/// The word that a reader decides on: epoch and committed end of the journal, replaced in a single store.
///
/// Its upper 24 bits are the epoch, its lower 26 the end, and the 14 in between check both. Without the check, a bit flip on
/// the disk could end the journal early, and the next writer would overwrite later records.
///
/// A fold increments the epoch. It wraps around after 16 million folds of some milliseconds: a reader would have to miss
/// exactly that many.
struct JournalWord: Equatable {
  let rawValue: UInt64

  private static let endBits: UInt64 = 26
  private static let checkBits: UInt64 = 14

  var epoch: UInt64 { rawValue >> (Self.endBits + Self.checkBits) }
  /// In bytes after the header.
  var end: Int { Int(rawValue & (1 << Self.endBits - 1)) }
  var isWhole: Bool { epoch != 0 && self == JournalWord(epoch: epoch, end: end) }

  /// The word may not be whole.
  init(rawValue: UInt64) { self.rawValue = rawValue }

  /// `end` is at most ``JournalLayout/capacity``.
  @inline(__always)
  init(epoch: UInt64, end: Int) {
    let check = Self.check(of: epoch << Self.endBits | UInt64(end))
    rawValue = epoch << (Self.endBits + Self.checkBits) | check << Self.endBits | UInt64(end)
  }

  /// The exclusive or of the 50 bits in groups of 14. It detects any single flipped bit, and any few within 14 in a row, and
  /// costs a write next to nothing.
  @inline(__always)
  private static func check(of fields: UInt64) -> UInt64 {
    let halves = fields ^ fields >> (2 * checkBits)
    return (halves ^ halves >> checkBits) & (1 << checkBits - 1)
  }

  /// No journal has this word: its epoch counts from 1.
  static let never = JournalWord(rawValue: 0)

  func isBehind(_ other: JournalWord) -> Bool {
    epoch == other.epoch ? end < other.end : (epoch &- other.epoch) & 0xFF_FFFF > 1 << 23
  }

  @inline(__always)
  func advanced(by count: Int) -> JournalWord { JournalWord(epoch: epoch, end: end + count) }
  /// Two in a row are never both odd or both even.
  func nextEpoch(end: Int) -> JournalWord { JournalWord(epoch: epoch == 0xFF_FFFF ? 2 : epoch + 1, end: end) }
}

/// The kernel's boot: bytes in shared memory outlive the process, but not the kernel.
struct BootID: Equatable {
  let high: UInt64, low: UInt64

  /// Zero if the system does not tell, which counts as a new boot each time.
  static let current = read()

  var isKnown: Bool { high != 0 || low != 0 }

  private static func read() -> BootID {
    guard let text = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") else {
      return BootID(high: 0, low: 0)
    }
    let digits = String(decoding: text, as: UTF8.self).filter(\.isHexDigit)
    guard digits.count == 32, let high = UInt64(digits.prefix(16), radix: 16), let low = UInt64(digits.suffix(16), radix: 16)
    else { return BootID(high: 0, low: 0) }
    return BootID(high: high, low: low)
  }
}
