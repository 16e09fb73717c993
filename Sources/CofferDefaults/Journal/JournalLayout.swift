/// The journal's first page. Numbers are little-endian; the records follow at ``headerBytes``.
enum JournalLayout {
  /// One page, written out in full, so that a store to it never needs a block that the disk does not have.
  static let headerBytes = 4096
  /// `CofferJ1`, read as a little-endian number.
  static let magic: UInt64 = 0x314A_7265_6666_6F43
  /// The version that is written, and the newest that is read.
  static let version: UInt64 = 2

  /// Address space for a journal. Blocks are taken in steps; more than this is never written, because a batch weighs at most
  /// ``Budget/domain`` and a fold comes first.
  static let mappedBytes = 64 << 20
  /// Room for records.
  static let capacity = mappedBytes - headerBytes
  /// Bytes that writes leave free for the records that end transactions, and for the names of those that a fold keeps. As much
  /// again as the open transactions take is left free too: a journal that is full could else be folded no more.
  static let keptForOutcomes = 1 << 20
  /// Blocks are taken from the disk in steps of this many bytes, so that few appends pay for it.
  static let step = 64 << 10
  /// A journal has this many bytes when it gets its name.
  static let smallestBytes = headerBytes + step
  /// A journal longer than this and twice the list is folded: replaying it takes a new process less time than the list does.
  static let foldAt = 1 << 20
  /// A longer one always folds: the rest has room for a transaction as large as a domain, twice over.
  static let foldAtMost = capacity / 4

  /// Where each field stands.
  enum Field: Int, CaseIterable {
    case magic = 0
    case version = 8
    /// The running kernel's boot, 16 bytes: under another one the word may be older or newer than the records.
    case bootHigh = 16
    case bootLow = 24
    /// The property list that the journal's records follow.
    case listInode = 32
    case listModified = 40
    case listSize = 48
    /// Where the records of even and of odd epochs begin. A fold that must keep a prepared batch writes it where the present
    /// epoch has nothing, says so in the field that the present epoch does not use, and only then moves the word. Each is a
    /// ``CheckedNumber``.
    case evenStart = 56
    case oddStart = 64
    /// Bytes of the file that are real blocks.
    case allocated = 72
    /// The word whose state the last fold wrote down without any foreign change in between; a reader who gets to that word
    /// needs not read the list again. Zero where there is none.
    case foldedFrom = 80
    /// Whether the file is in use, or why it was given up, see ``JournalUse``: a writer that waited for its lock must open the
    /// new one. A ``CheckedNumber``.
    case use = 88
    /// How long the last fold took, in nanoseconds: idle folds by others wait the longer for it.
    case foldTime = 104
    /// The process that holds, or last held, the lock.
    case holder = 96
    /// Not zero where somebody wants to be told of the next change: see ``Journal/unlock()``.
    case armed = 112
    /// Its lowest byte is written, always as zero, with a system call: file watches hear of that and not of stores to a mapping.
    case bell = 120
    /// The word: on a cache line of its own, for readers poll it.
    case word = 128
    /// The file that the header was written for, so that a copy of it is told from it.
    case device = 192
    case inode = 200
    /// Which journal this is: random, or one more than that of the journal which was deleted and of whose content this one was
    /// made.
    case number = 208
    /// The predecessor of the first records of even and of odd epochs: the checksum of the last record before. Each is a
    /// ``CheckedNumber``.
    case evenSeed = 216
    case oddSeed = 224
    /// Not zero from before a sync of the file until one has succeeded, and 2 where a fold's epoch waits for that: see
    /// ``Journal/synchronize()`` and ``Journal/completeFold()``.
    case unsynced = 232
    /// In a file that was given up, the ``number`` of the journal that certainly has its content; else zero.
    case successor = 240
  }

  /// Where the records of `epoch` begin.
  static func start(of epoch: UInt64) -> Field { epoch & 1 == 0 ? .evenStart : .oddStart }
  /// The field of the predecessor.
  static func seed(of epoch: UInt64) -> Field { epoch & 1 == 0 ? .evenSeed : .oddSeed }
}

/// What tells a number in the journal's header from one of which a bit has flipped, of which a part is older, or that belongs
/// into another field. It is no defence against intent.
///
/// Each field has its own: they change one at a time, while others read them, and a sum over all of them would fit at no moment
/// in between.
enum HeaderCheck {
  /// Odd, so that any two numbers that differ have different products; of 2^64 divided by the golden ratio, whose bits look
  /// random.
  private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// 64 bits of which the upper ones are the best.
  @inline(__always)
  static func of(_ number: UInt64, _ field: JournalLayout.Field) -> UInt64 {
    let product = (number &+ UInt64(field.rawValue)) &* factor
    return (product ^ product >> 32) &* factor
  }
}

/// A number of a header's field, of up to 32 bits, and its check in the upper half.
struct CheckedNumber {
  /// The field's eight bytes.
  let rawValue: UInt64
  /// The number.
  let number: UInt32

  /// `number` as it stands in `field`.
  init(_ number: UInt32, in field: JournalLayout.Field) {
    self.number = number
    rawValue = (HeaderCheck.of(UInt64(number), field) >> 32) << 32 | UInt64(number)
  }

  /// The number in `field`; nil if its check fails.
  init?(rawValue: UInt64, in field: JournalLayout.Field) {
    self.init(UInt32(truncatingIfNeeded: rawValue), in: field)
    guard self.rawValue == rawValue else { return nil }
  }
}
