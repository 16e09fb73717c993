/// The one word on which a reader decides: epoch and committed end of the journal, replaced in a single store.
///
/// The epoch grows when the journal is folded into the list. Its 24 bits come round after 16 million folds: a reader would
/// have to sleep through exactly that many, at some milliseconds each.
struct JournalWord: Equatable {
  var rawValue: UInt64

  /// Grows with each fold.
  var epoch: UInt64 { rawValue >> 40 }
  /// Where the last committed record ends, in bytes after the header.
  var end: Int { Int(rawValue & 0xFF_FFFF_FFFF) }

  init(rawValue: UInt64) { self.rawValue = rawValue }
  init(epoch: UInt64, end: Int) { rawValue = epoch << 40 | UInt64(end) }

  /// No journal ever says so: its epoch counts from 1.
  static let never = JournalWord(rawValue: 0)

  func advanced(by count: Int) -> JournalWord { JournalWord(rawValue: rawValue + UInt64(count)) }
  func nextEpoch(end: Int) -> JournalWord { JournalWord(epoch: max(1, (epoch + 1) & 0xFF_FFFF), end: end) }
}
