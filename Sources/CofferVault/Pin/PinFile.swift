internal import CofferPlatform
internal import CofferVaultFormat
internal import SystemPackage

/// An open `id-` or `mi-` file of two records. The valid one with the higher generation counts; the other is written next.
///
/// The descriptor stays open, so a commit costs a lock, two reads and one write. Its lock excludes other processes and other
/// open vaults of this one.
final class PinFile {
  static let count = PinRecord.offsets[1] + PinRecord.count
  /// A commit is done when its pin is written; nobody should wait long for a process stopped with the lock.
  private static let patience = Duration.seconds(1)

  let path: FilePath
  private let descriptor: Int32
  private let calls: SystemCalls
  private let isOfMirror: Bool
  /// Why it is read only, as an `errno`; nil if it is writable.
  private let unwritable: Int32?
  /// A power loss could take the last write.
  private(set) var isDirty = false
  /// The last bytes read or written at each of the two places, with their record: the same bytes are not hashed again.
  private var known: [(bytes: [UInt8], record: PinRecord)?] = [nil, nil]

  /// The file at `path`, in a folder checked before; nil if there is none.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` unless it is this user's private file.
  init?(_ path: FilePath, isOfMirror: Bool = false, calls: SystemCalls) throws(StoreError) {
    guard try TrustedPath.privateFile(path) != nil else { return nil }
    let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    var opened = calls.open(path.string, O_RDWR | flags, 0)
    // An unwritable pin can still be compared; writing reports the reason.
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

  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` if neither record is valid.
  func read(of vault: VaultSalt) throws(StoreError) -> PinRecord {
    // Without the lock, both records may be read half written by two writers in turn.
    if let (record, _) = try readOnce(vault) { return record }
    return try locked { () throws(StoreError) in try newest(vault).record }
  }

  /// Writes the record over the other one if `change` updates it. Not durable until ``synchronize()``.
  func update(of vault: VaultSalt, _ change: (inout PinRecord) -> Bool) throws(StoreError) -> PinRecord {
    try locked { () throws(StoreError) in
      var (record, place) = try newest(vault)
      if change(&record) { try write(record, to: 1 - place) }
      return record
    }
  }

  /// Replaces both records by a change of the one that counts (nil if none is readable), even by an older one. Durable on
  /// return.
  func reset(of vault: VaultSalt, _ change: (PinRecord?) -> PinRecord) throws(StoreError) -> PinRecord {
    let record = try locked { () throws(StoreError) in
      let record = change(try readOnce(vault)?.record)
      for place in PinRecord.offsets.indices { try write(record, to: place) }
      return record
    }
    try synchronize()
    return record
  }

  /// The record of any vault; nil if none is readable.
  func readAny() throws(StoreError) -> PinRecord? {
    if let (record, _) = try readOnce(nil) { return record }
    return try locked { () throws(StoreError) in try readOnce(nil)?.record }
  }

  /// Runs `body` under the file's lock, with the record that counts (nil if none is readable) and a function that durably
  /// makes another one count.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` if others hold the lock for too long; the errors of `body`.
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

  func synchronize() throws(StoreError) {
    guard isDirty else { return }
    let code = calls.synchronize(descriptor)
    guard code >= 0 else { throw StoreError(errno: -code, "make the pin durable", place: path) }
    isDirty = false
  }

  private func locked<Result>(
    patience: Duration = patience, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try FileLock.acquire(descriptor, calls, place: path, patience: patience, until: LockDeadline(after: patience)) { nil }
    defer { FileLock.release(descriptor, calls) }
    return try body()
  }

  private func newest(_ vault: VaultSalt) throws(StoreError) -> (record: PinRecord, place: Int) {
    guard let found = try readOnce(vault) else {
      throw StoreError(
        .damaged, "the rollback pin is unreadable, so an older copy would not be noticed", place: path.string,
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

  /// Nil if the bytes are no record.
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

  /// Eight bytes at a time: every write compares both records several times.
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
