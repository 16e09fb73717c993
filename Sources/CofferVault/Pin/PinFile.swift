internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

/// An open `id-` or `mi-` file: two records, of which the valid one with the higher generation counts, and the other is written
/// next.
///
/// The descriptor stays open, so that a commit costs a lock, two reads and one write. Its lock belongs to this descriptor, and
/// excludes other processes as well as other open vaults of this one.
final class PinFile {
  /// Bytes of a whole file.
  static let count = PinRecord.offsets[1] + PinRecord.count
  /// A commit is done when its pin is written; nobody shall wait long for a process that was stopped with the lock.
  private static let patience = Duration.seconds(1)

  let path: FilePath
  private let descriptor: Int32
  private let calls: SystemCalls
  private let isOfMirror: Bool
  /// Why it was opened to be read alone, as an `errno`; nil where it can be written.
  private let unwritable: Int32?
  /// Whether something was written that a power loss could take.
  private(set) var isDirty = false
  /// The bytes that were read or written last at each of the two places, and the record that they are: the same bytes are not
  /// hashed again.
  private var known: [(bytes: [UInt8], record: PinRecord)?] = [nil, nil]

  /// The file at `path`, in a folder checked before; nil when there is none.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` unless it is this user's private file.
  init?(_ path: FilePath, isOfMirror: Bool = false, calls: SystemCalls) throws(StoreError) {
    guard try TrustedPath.privateFile(path) != nil else { return nil }
    let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    var opened = calls.open(path.string, O_RDWR | flags, 0)
    // A pin that cannot be written can still be compared with; writing says why it failed.
    let refused = opened == -EROFS || opened == -EACCES
    unwritable = refused ? -opened : nil
    if refused { opened = calls.open(path.string, O_RDONLY | flags, 0) }
    guard opened >= 0 else { throw StoreError(errno: -opened, "open the pin", place: path) }
    self.path = path
    self.isOfMirror = isOfMirror
    self.calls = calls
    descriptor = opened
  }

  deinit { close(descriptor) }

  /// The record that counts.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` when neither record is one.
  func read(of vault: VaultSalt) throws(StoreError) -> PinRecord {
    // Read without the lock, both records may be caught half written by two writers in turn.
    if let (record, _) = try readOnce(vault) { return record }
    return try locked { () throws(StoreError) in try newest(vault).record }
  }

  /// Lets `change` bring the record up to date, and writes it over the other one if it did. Not durable until ``synchronize()``.
  func update(of vault: VaultSalt, _ change: (inout PinRecord) -> Bool) throws(StoreError) -> PinRecord {
    try locked { () throws(StoreError) in
      var (record, place) = try newest(vault)
      if change(&record) { try write(record, to: 1 - place) }
      return record
    }
  }

  /// Makes the only record of the one that counts, nil where none is readable, also where the new one is older. Durable when it
  /// returns.
  func reset(of vault: VaultSalt, _ change: (PinRecord?) -> PinRecord) throws(StoreError) -> PinRecord {
    let record = try locked { () throws(StoreError) in
      let record = change(try readOnce(vault)?.record)
      for place in PinRecord.offsets.indices { try write(record, to: place) }
      return record
    }
    try synchronize()
    return record
  }

  /// The record that counts of whatever vault it is; nil where none is readable.
  func readAny() throws(StoreError) -> PinRecord? {
    if let (record, _) = try readOnce(nil) { return record }
    return try locked { () throws(StoreError) in try readOnce(nil)?.record }
  }

  /// Runs `body` as the only one who changes the file, with the record that counts, nil where none is readable, and with what
  /// makes another one count, durably.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` where others do so for too long; what `body` throws.
  func whileLocked<Result>(
    _ body: (PinRecord?, (PinRecord) throws(StoreError) -> Void) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try locked(patience: FileLock.patience) { () throws(StoreError) in
      let found = try readOnce(nil)
      return try body(found?.record) { (record) throws(StoreError) in
        let isNext = found.map { record.knowsMore(than: $0.record) } ?? false
        for place in PinRecord.offsets.indices where !isNext || place != found?.place { try write(record, to: place) }
        try synchronize()
      }
    }
  }

  /// Makes the written record survive a power loss.
  func synchronize() throws(StoreError) {
    guard isDirty else { return }
    let code = calls.synchronize(descriptor)
    guard code >= 0 else { throw StoreError(errno: -code, "make the pin durable", place: path) }
    isDirty = false
  }

  private func locked<Result>(
    patience: Duration = patience, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try FileLock.acquire(descriptor, calls, place: path, patience: patience) { nil }
    defer { FileLock.release(descriptor, calls) }
    return try body()
  }

  private func newest(_ vault: VaultSalt) throws(StoreError) -> (record: PinRecord, place: Int) {
    guard let found = try readOnce(vault) else {
      throw StoreError(
        .damaged, "the rollback pin is unreadable, so nothing tells whether the vault is an older copy", place: path.string,
        cure: "check that the vault is the newest one, then accept it with LockedVault.unlockAcceptingPin(with:)",
        remedy: .acceptUnpinned)
    }
    return found
  }

  private func readOnce(_ vault: VaultSalt?) throws(StoreError) -> (record: PinRecord, place: Int)? {
    var found: (record: PinRecord, place: Int)?
    for place in PinRecord.offsets.indices {
      guard let record = try record(at: place), vault.map({ $0 == record.vault }) ?? true else { continue }
      if let best = found?.record, !record.knowsMore(than: best) { continue }
      found = (record, place)
    }
    return found
  }

  /// The record at one of the two places; nil where the bytes are none.
  private func record(at place: Int) throws(StoreError) -> PinRecord? {
    try withUnsafeTemporaryAllocation(byteCount: PinRecord.count, alignment: 8) { (bytes) throws(StoreError) in
      let count = calls.read(descriptor, bytes, PinRecord.offsets[place])
      guard count >= 0 else { throw StoreError(errno: Int32(-count), "read the pin", place: path) }
      let found = UnsafeRawBufferPointer(rebasing: bytes[..<count])
      if let known = known[place], Self.areEqual(known.bytes, found) { return known.record }
      do {
        let record = try PinRecord(decoding: found, isOfMirror: isOfMirror)
        known[place] = ([UInt8](found), record)
        return record
      } catch { return nil }
    }
  }

  /// Eight bytes at a time: every write looks at both records several times.
  private static func areEqual(_ known: [UInt8], _ found: UnsafeRawBufferPointer) -> Bool {
    guard known.count == found.count, found.count == PinRecord.count else { return false }
    return known.withUnsafeBytes { known in
      stride(from: 0, to: PinRecord.count, by: 8).allSatisfy { at in
        known.loadUnaligned(fromByteOffset: at, as: UInt64.self) == found.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      }
    }
  }

  private func write(_ record: PinRecord, to place: Int) throws(StoreError) {
    if let unwritable { throw StoreError(errno: unwritable, "write the pin", place: path) }
    let bytes = record.encoded()
    let count = bytes.span.bytes.withUnsafeBytes { calls.write(descriptor, $0, PinRecord.offsets[place]) }
    guard count == PinRecord.count else {
      throw StoreError(errno: count < 0 ? Int32(-count) : EIO, "write the pin", place: path)
    }
    known[place] = (bytes, record)
    isDirty = true
  }
}

extension PinRecord {
  fileprivate func knowsMore(than other: PinRecord) -> Bool {
    (seen.generation, own.generation, refreshed) > (other.seen.generation, other.own.generation, other.refreshed)
  }
}
