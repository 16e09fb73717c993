/// The journal's first page. Numbers are little-endian; the records follow at ``headerBytes``.
enum JournalLayout {
  /// One page, fully written, so that a store to it never needs a block that the disk lacks.
  static let headerBytes = 4096
  /// `CofferJ1`, read as a little-endian number.
  static let magic: UInt64 = 0x314A_7265_6666_6F43
  static let version: UInt64 = 3

  /// Address space for a journal. More is never written: a batch weighs at most ``Budget/domain``, and a fold comes first.
  static let mappedBytes = 64 << 20
  static let capacity = mappedBytes - headerBytes
  /// Plain writes leave the other half free for the records that a fold moves because they came while it wrote.
  static let capacityForWrites = capacity / 2
  /// Bytes that writes leave free for the ends of transactions, and for the names that a fold keeps. The size of the open
  /// transactions stays free too: otherwise a full journal could not be folded.
  static let keptForOutcomes = 1 << 20
  /// Blocks are reserved in large steps, so that few appends pay for it.
  static let step = 64 << 10
  /// A journal's size when it gets its name.
  static let smallestBytes = headerBytes + step
  /// A journal longer than this plus twice the list's weight is folded: past that, a new process reads the list faster than it
  /// replays the journal.
  static let foldAt = 1 << 20
  /// A longer one always folds: the rest has room for two transactions as large as a domain.
  static let foldAtMost = capacity / 4
  /// An epoch begins at the front again if the previous one left at least this much room there. Until the epoch is durable,
  /// writes can use only this room: about 10 000 small ones.
  static let frontRoom = 1 << 20

  enum Field: Int, CaseIterable {
    case magic = 0
    case version = 8
    /// The running kernel's boot, 16 bytes: under another boot the word may be older or newer than the records.
    case bootHigh = 16
    case bootLow = 24
    case listInode = 32
    case listModified = 40
    case listSize = 48
    /// The start of the records of even and odd epochs. A fold writes the records that it must keep to free space, notes that
    /// in the other epoch's field, and only then moves the word. Each is a ``CheckedNumber``.
    case evenStart = 56
    case oddStart = 64
    case allocated = 72
    /// The word of the state that the last fold wrote; zero if somebody else changed the list between the last two folds. A
    /// reader at that word need not reread the list.
    case foldedFrom = 80
    /// See ``JournalUse``: a writer that waited for the lock of a given-up file must open the new one. A ``CheckedNumber``.
    case use = 88
    /// In nanoseconds: after a slow fold, other processes wait longer for idle folds.
    case foldTime = 104
    /// The process that holds, or last held, the lock.
    case holder = 96
    /// Not zero while somebody watches: see ``Journal/unlock()``.
    case armed = 112
    /// A system call writes its lowest byte, always as zero: file watches do not see stores to a mapping.
    case bell = 120
    /// On its own cache line, because readers poll it.
    case word = 128
    /// Tells a copy from the file that the header was written for.
    case device = 192
    case inode = 200
    /// Random, or one more than the number of the deleted journal whose content this one has.
    case number = 208
    /// The checksum before the first record of even and of odd epochs. Each is a ``CheckedNumber``.
    case evenSeed = 216
    case oddSeed = 224
    /// Not zero from before a sync until one has succeeded, and 2 while a fold's epoch waits for that: see
    /// ``Journal/synchronize()``.
    case unsynced = 232
    /// In a given-up file, the ``number`` of the journal that certainly has its content; else zero.
    case successor = 240
    /// A fold's new list, the list that it expects to replace, and its epoch. The first are zeros between folds.
    case putInode = 248
    case putModified = 256
    case putSize = 264
    case formerInode = 272
    case formerModified = 280
    case formerSize = 288
    case putEpoch = 312
    /// The last process that folded, and a number that grows with each of its steps.
    case folder = 296
    case foldStep = 304
  }

  static func start(of epoch: UInt64) -> Field { epoch & 1 == 0 ? .evenStart : .oddStart }
  static func seed(of epoch: UInt64) -> Field { epoch & 1 == 0 ? .evenSeed : .oddSeed }
}

/// Detects a header number with a flipped bit, with an older part, or from another field. Each field has its own check,
/// because they change one at a time while others read them.
enum HeaderCheck {
  /// Odd, so that different numbers have different products; 2^64 divided by the golden ratio, whose bits look random.
  private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// The upper bits are the best.
  @inline(__always)
  static func of(_ number: UInt64, _ field: JournalLayout.Field) -> UInt64 {
    let product = (number &+ UInt64(field.rawValue)) &* factor
    return (product ^ product >> 32) &* factor
  }
}

/// A header field's number of up to 32 bits, with its check in the upper half.
struct CheckedNumber {
  let rawValue: UInt64
  let number: UInt32

  init(_ number: UInt32, in field: JournalLayout.Field) {
    self.number = number
    rawValue = (HeaderCheck.of(UInt64(number), field) >> 32) << 32 | UInt64(number)
  }

  init?(rawValue: UInt64, in field: JournalLayout.Field) {
    self.init(UInt32(truncatingIfNeeded: rawValue), in: field)
    guard self.rawValue == rawValue else { return nil }
  }
}
