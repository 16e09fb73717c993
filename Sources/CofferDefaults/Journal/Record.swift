internal import CofferPlatform
internal import CofferStorage

/// One entry of the journal.
///
/// ```
/// 0  length of the record, UInt32      all numbers little-endian
/// 4  checksum of all that follows, and of the checksum before it, UInt32
/// 8  kind, UInt8     9  cause, UInt8     10  zero, UInt16
/// 12 process that wrote, UInt32         16  instance within it, UInt32
/// 20 the kind's content
/// ```
enum Record {
  /// Takes effect at once, visible as a whole.
  case write([Change], Cause = .write)
  /// Takes effect with the `commit` of this id. `place` is the file that decides.
  case prepare(Prepared)
  case commit(TransactionID)
  case drop(TransactionID)

  var endsTransaction: Bool {
    switch self {
    case .commit, .drop: true
    case .write, .prepare: false
    }
  }

  typealias Change = (name: String, form: PlainForm?)

  /// A batch whose outcome another store decides.
  struct Prepared: Sendable {
    let id: TransactionID
    let place: String
    let changes: [(name: String, form: PlainForm?)]
    var cause = Cause.write
  }

  struct Writer: Sendable {
    let process: UInt32
    let instance: UInt32
  }

  enum Kind: UInt8 { case write = 1, prepare, commit, drop }

  /// Readers ignore it.
  enum Cause: UInt8 { case write = 0, expiry, migration }

  static let headerBytes = 20
  static let idBytes = 16

  var kind: Kind {
    switch self {
    case .write: .write
    case .prepare: .prepare
    case .commit: .commit
    case .drop: .drop
    }
  }

  var cause: Cause {
    switch self {
    case .write(_, let cause): cause
    case .prepare(let batch): batch.cause
    case .commit, .drop: .write
    }
  }

  var count: Int {
    switch self {
    case .write(let changes, _): Self.headerBytes + Self.bytes(of: changes)
    case .prepare(let batch):
      Self.headerBytes + Self.idBytes + 4 + batch.place.utf8.count + Self.bytes(of: batch.changes)
    case .commit, .drop: Self.headerBytes + Self.idBytes
    }
  }

  private static func bytes(of changes: [Change]) -> Int { changes.reduce(0) { $0 + bytes(of: $1.form, under: $1.name) } }

  @inline(__always)
  static func bytes(of form: PlainForm?, under name: String) -> Int {
    4 + name.utf8.count + (form.map(FormCodec.count) ?? 1)
  }
}

/// The end of a chain of records, which the next one follows.
struct RecordLink: Equatable {
  /// Or the beginning of an epoch.
  var check: UInt32 = 0
  /// Zero without a record.
  var count = 0
}

extension Record {
  /// `buffer` has ``count`` bytes.
  @discardableResult
  func encode(into buffer: UnsafeMutableRawBufferPointer, epoch: UInt64, after before: RecordLink, writer: Writer) -> RecordLink {
    var output = ByteWriter(buffer, at: Self.headerBytes)
    switch self {
    case .write(let changes, _): Self.put(changes, &output)
    case .prepare(let batch):
      output.put(batch.id)
      output.put(batch.place)
      Self.put(batch.changes, &output)
    case .commit(let id), .drop(let id): output.put(id)
    }
    return Self.finish(kind, cause, buffer, epoch, before, writer)
  }

  /// `buffer` has the bytes of all records.
  static func encode(
    _ records: [Record], into buffer: UnsafeMutableRawBufferPointer, epoch: UInt64, after before: RecordLink, writer: Writer
  ) -> RecordLink {
    var (offset, last) = (0, before)
    for record in records {
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[offset..<offset + record.count])
      last = record.encode(into: part, epoch: epoch, after: last, writer: writer)
      offset += record.count
    }
    return last
  }

  /// A single write without an array: the path of every `set`.
  @inline(__always)
  static func encode(
    _ form: PlainForm?, under name: String, into buffer: UnsafeMutableRawBufferPointer, epoch: UInt64, after before: RecordLink,
    writer: Writer
  ) -> RecordLink {
    var output = ByteWriter(buffer, at: headerBytes)
    output.put(name)
    FormCodec.put(form, &output)
    return finish(.write, .write, buffer, epoch, before, writer)
  }

  private static func put(_ changes: [Change], _ output: inout ByteWriter) {
    for change in changes {
      output.put(change.name)
      FormCodec.put(change.form, &output)
    }
  }

  @inline(__always)
  private static func finish(
    _ kind: Kind, _ cause: Cause, _ buffer: UnsafeMutableRawBufferPointer, _ epoch: UInt64, _ before: RecordLink, _ writer: Writer
  ) -> RecordLink {
    var head = ByteWriter(buffer, at: 8)
    head.put(kind.rawValue)
    head.put(cause.rawValue)
    head.put(UInt16(0))
    head.put(writer.process)
    head.put(writer.instance)
    let sum = Checksum.of(UnsafeRawBufferPointer(rebasing: buffer[8...]), epoch: epoch, after: before.check)
    head = ByteWriter(buffer, at: 0)
    head.put(UInt32(buffer.count))
    head.put(sum)
    return RecordLink(check: sum, count: buffer.count)
  }

  /// Chains the records in `buffer` to `last` in the epoch `next`; nil if they are not whole records of `epoch` after
  /// `before`.
  static func chain(
    _ buffer: UnsafeMutableRawBufferPointer, of epoch: UInt64, after before: RecordLink, in next: UInt64, after last: RecordLink
  ) -> RecordLink? {
    var (offset, before, last) = (0, before, last)
    while offset < buffer.count {
      guard buffer.count - offset >= headerBytes else { return nil }
      let count = Int(UInt32(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
      guard count >= headerBytes, count <= buffer.count - offset else { return nil }
      let body = UnsafeRawBufferPointer(rebasing: buffer[offset + 8..<offset + count])
      let sum = UInt32(littleEndian: buffer.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
      guard Checksum.of(body, epoch: epoch, after: before.check) == sum else { return nil }
      before = RecordLink(check: sum, count: count)
      last = RecordLink(check: Checksum.of(body, epoch: next, after: last.check), count: count)
      buffer.storeBytes(of: last.check.littleEndian, toByteOffset: offset + 4, as: UInt32.self)
      offset += count
    }
    return last
  }

  /// Nil unless `bytes` begin with a complete record that follows `before`.
  static func decode(
    _ bytes: UnsafeRawBufferPointer, epoch: UInt64, after before: RecordLink
  ) -> (record: Record, end: RecordLink)? {
    guard bytes.count >= headerBytes else { return nil }
    let count = Int(UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)))
    guard count >= headerBytes, count <= bytes.count else { return nil }
    let sum = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    guard Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[8..<count]), epoch: epoch, after: before.check) == sum,
      let kind = Kind(rawValue: bytes[8])
    else { return nil }
    var input = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[headerBytes..<count]))
    // A cause of a later version counts as a write.
    guard let record = content(kind, Cause(rawValue: bytes[9]) ?? .write, &input), input.isAtEnd else { return nil }
    return (record, RecordLink(check: sum, count: count))
  }

  /// The length of the whole consecutive records of `epoch` at the start of `bytes`.
  static func wholeBytes(_ bytes: UnsafeRawBufferPointer, epoch: UInt64, after before: RecordLink) -> Int {
    var (offset, last) = (0, before)
    while let (_, end) = decode(UnsafeRawBufferPointer(rebasing: bytes[offset...]), epoch: epoch, after: last) {
      offset += end.count
      last = end
    }
    return offset
  }

  static func writer(_ bytes: UnsafeRawBufferPointer) -> Writer {
    let process = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
    let instance = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
    return Writer(process: process, instance: instance)
  }

  private static func content(_ kind: Kind, _ cause: Cause, _ input: inout ByteReader) -> Record? {
    switch kind {
    case .write: return changes(&input).map { .write($0, cause) }
    case .prepare:
      guard let id = input.transaction(), let place = input.text(), let changes = changes(&input) else { return nil }
      return .prepare(Prepared(id: id, place: place, changes: changes, cause: cause))
    case .commit: return input.transaction().map(Record.commit)
    case .drop: return input.transaction().map(Record.drop)
    }
  }

  private static func changes(_ input: inout ByteReader) -> [Change]? {
    var changes: [Change] = []
    while !input.isAtEnd {
      guard let name = input.text(), let form = FormCodec.take(&input) else { return nil }
      changes.append((name, form))
    }
    return changes
  }
}
