internal import CofferMemory

/// An event in a vault's life and its author. Sealed; its place in the chain is in the state.
package struct LogEntry: Hashable, Sendable {
  /// The numbers are the format's.
  package enum Event: UInt8, Sendable, CaseIterable {
    case vaultCreated = 1
    case itemSet = 2
    case itemDeleted = 3
    case slotAdded = 4
    case slotRemoved = 5
    case keyRotated = 6
    case unlocked = 7
    case restored = 8
    /// Rows before this one were dropped; `detail` is ``Trim``.
    case trimmed = 9
    case repaired = 10
    case policyChanged = 11
    case slotChanged = 12
    case migrated = 13
    case undeleted = 14
    case pruned = 15
  }

  static let version: UInt8 = 1
  /// For a program's name: the last part of a path.
  static let longestProgram = 256
  static let longestDetail = 256
  static let part = "log"
  private static let fixedBytes = 1 + 1 + 8 + 4 + 4 + 2 + 16 + 16 + 16 + 32 + 2 + 2
  /// The minimum bytes of an entry about dropped rows. A shorter row need not be opened to rule that out.
  package static let leastTrimmed = fixedBytes + Trim.bytes
  package static let rowBytes =
    LogBox.overhead + fixedBytes...LogBox.overhead + fixedBytes + longestProgram + longestDetail + VaultFormat.longestExtension

  /// Possibly unknown to this version: a log must not keep a vault from being read or given a new key.
  private let number: UInt8
  /// Nil for an event unknown to this version.
  package var event: Event? { Event(rawValue: number) }
  /// Milliseconds since 1970.
  package let time: UInt64
  package let user: UInt32
  package let process: UInt32
  package let program: String
  /// The record concerned, or zeros.
  package let index: RecordIndex
  /// The commit that wrote the row. A writer unsure of its commit looks for this row.
  package let commit: CommitID
  /// The slot that opened the vault for the writer.
  package let slot: SlotID
  /// The slot's id, or the trim point; never a name or a value.
  package let detail: [UInt8]

  /// Cuts longer programs and details to their limits: a log must never make a write fail.
  package init(
    _ event: Event, time: UInt64, user: UInt32, process: UInt32, program: String, index: RecordIndex = .zero, detail: [UInt8] = []
  ) {
    number = event.rawValue
    self.time = time
    self.user = user
    self.process = process
    self.program = Self.cut(program)
    self.index = index
    commit = .zero
    slot = .zero
    self.detail = [UInt8](detail.prefix(Self.longestDetail))
  }

  /// Cuts between characters to stay valid UTF-8.
  private static func cut(_ program: String) -> String {
    var program = program
    while program.utf8.count > longestProgram { program.removeLast() }
    return program
  }

  /// The same entry about the record at `index`, or written by `commit` under `slot`.
  package init(_ entry: LogEntry, at index: RecordIndex? = nil, by commit: CommitID? = nil, with slot: SlotID? = nil) {
    number = entry.number
    time = entry.time
    user = entry.user
    process = entry.process
    program = entry.program
    self.index = index ?? entry.index
    self.commit = commit ?? entry.commit
    self.slot = slot ?? entry.slot
    detail = entry.detail
  }

  /// - Parameter head: the chain before the row.
  func write(to out: inout ByteWriter, after head: Digest32) {
    out.write(Self.version)
    out.write(number)
    out.write(time)
    out.write(user)
    out.write(process)
    out.write(short: program)
    out.write(index)
    out.write(commit)
    out.write(slot)
    out.write(head)
    out.write(short: detail)
    out.writeNoExtension()
  }

  var encodedCount: Int { Self.fixedBytes + program.utf8.count + detail.count }

  /// - Parameter head: receives the chain before the row.
  package init(decoding bytes: UnsafeRawBufferPointer, head: inout Digest32) throws(FormatError) {
    (self, head) = try FormatError.reading(bytes, of: Self.part) { (reader) throws(FormatError) in
      var head = Digest32.zero
      return (try LogEntry(from: &reader, head: &head), head)
    }
  }

  private init(from reader: inout ByteReader, head: inout Digest32) throws(FormatError) {
    let version: UInt8 = try reader.number()
    guard version == Self.version else { throw reader.damaged("an entry has the unknown version \(version)") }
    number = try reader.number()
    time = try reader.counter("time")
    user = try reader.number()
    process = try reader.number()
    program = try reader.text(limit: Self.longestProgram, "program")
    index = try reader.block16()
    commit = try reader.block16()
    slot = try reader.block16()
    head = try reader.block32()
    detail = [UInt8](try reader.short(limit: Self.longestDetail, "detail"))
    try reader.extend()
    // Checked here too: a row too short to be about dropped rows is not opened in a check of the log.
    if event == .trimmed { _ = try Trim(detail: detail) }
  }

  /// The detail of ``Event/trimmed``: the first remaining row, and the head of the chain before it.
  package struct Trim: Hashable, Sendable {
    static let bytes = 8 + 32
    package let first: UInt64
    package let head: Digest32

    package var detail: [UInt8] {
      ByteWriter.bytes(Self.bytes) { out in
        out.write(first)
        out.write(head)
      }
    }

    package init(first: UInt64, head: Digest32) {
      self.first = first
      self.head = head
    }

    package init(detail: [UInt8]) throws(FormatError) {
      self = try detail.span.bytes.withUnsafeBytes { (detail) throws(FormatError) in
        try FormatError.reading(detail, of: LogEntry.part) { (reader) throws(FormatError) in
          Trim(first: try reader.counter("first row", atLeast: 2), head: try reader.block32())
        }
      }
    }
  }
}

/// The log's chain: each head is made of the previous one and the row's digest. A row also holds the previous head, so the
/// chain can be followed from either end.
///
/// The key is derived from the row's place and its random nonce, which precedes the box. Two copies of a vault that continue
/// from the same commit (a restored backup, a retried transaction) write different rows at the same place; under one key and
/// nonce, each would reveal the other's content.
package enum LogBox {
  package static let overhead = 24 + AEAD.tagBytes

  package static func seal(_ entry: LogEntry, sequence: UInt64, after head: Digest32, keys: borrowing Subkeys) -> [UInt8] {
    let count = entry.encodedCount
    let nonce = Nonce24.random()
    return withWipedScratch(count) { message in
      ByteWriter.fill(message) { entry.write(to: &$0, after: head) }
      return withKey(sequence, nonce, keys) { key in
        ByteWriter.bytes(count + overhead) { out in
          nonce.withBytes { out.write($0) }
          out.fill(count + AEAD.tagBytes) { AEAD.seal(UnsafeRawBufferPointer(message), key: key, nonce: nonce, into: $0) }
        }
      }
    }
  }

  package static func open(
    _ row: UnsafeRawBufferPointer, sequence: UInt64, after head: Digest32, keys: borrowing Subkeys
  ) throws(FormatError) -> LogEntry {
    let (entry, before) = try open(row, sequence: sequence, keys: keys)
    // A row of a diverged copy of the vault has the same key.
    guard before == head else { throw .unauthentic(LogEntry.part) }
    return entry
  }

  /// The entry at `sequence`, and the head before it according to the entry.
  package static func open(
    _ row: UnsafeRawBufferPointer, sequence: UInt64, keys: borrowing Subkeys
  ) throws(FormatError) -> (entry: LogEntry, before: Digest32) {
    let part = LogEntry.part
    guard LogEntry.rowBytes.contains(row.count), let nonce = Nonce24(row.part(0..<24)) else {
      throw .unauthentic(part)  // No row was ever so short or so long.
    }
    let box = row.part(24..<row.count)
    return try withKey(sequence, nonce, keys) { (key) throws(FormatError) in
      let message = try SecretBytes(count: box.count - AEAD.tagBytes, memory: FormatError.memory) { (out) throws(FormatError) in
        guard AEAD.open(box, key: key, nonce: nonce, into: out) else { throw .unauthentic(part) }
      }
      return try message.withUnsafeBytes { (message) throws(FormatError) in
        var before = Digest32.zero
        return (try LogEntry(decoding: message, head: &before), before)
      }
    }
  }

  package static func head(
    after head: Digest32, sequence: UInt64, row: UnsafeRawBufferPointer, keys: borrowing Subkeys
  ) -> Digest32 {
    let vault = keys.vault
    let digest = PlainHash.digest(row)
    return keys.withKey(.log) { key in
      KeyedHash.digest(key, .logHead, salt: vault) { hash in
        hash.update(head)
        hash.update(sequence)
        hash.update(digest)
      }
    }
  }

  private static func withKey<Result: ~Copyable, Failure: Error>(
    _ sequence: UInt64, _ nonce: Nonce24, _ keys: borrowing Subkeys,
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let vault = keys.vault
    return try withWipedScratch(32) { (out) throws(Failure) in
      keys.withKey(.log) { key in
        KeyedHash.compute(key, .log, salt: vault, into: out) { hash in
          hash.update(sequence)
          nonce.withBytes { hash.update($0) }
        }
      }
      return try body(UnsafeRawBufferPointer(out))
    }
  }
}
