internal import CofferPlatform

enum JournalUse: UInt32 {
  case current = 0
  case removed
  /// Another file took its name. It is never written again.
  case givenUp

  @inline(__always)
  var field: UInt64 { CheckedNumber(rawValue, in: .use).rawValue }
}

extension JournalMemory {
  var boot: BootID {
    get throws(StoreError) { BootID(high: try load(.bootHigh), low: try load(.bootLow)) }
  }

  @inline(__always)
  func isRetired() throws(StoreError) -> Bool {
    if try load(.use) == JournalUse.current.field { return false }
    return try use != .current
  }

  func start(of word: JournalWord) throws(StoreError) -> Int {
    let start = try checked(JournalLayout.start(of: word.epoch))
    guard start <= JournalLayout.capacity else { throw damagedHeader }
    return Int(start)
  }

  /// A record of an epoch that is not durable must not overwrite one of the previous epoch. If a power loss restored that
  /// epoch's header, some of its records, older than the list, would count again.
  @inline(never)
  func hasRoom(after word: JournalWord, for count: Int) throws(StoreError) -> Bool {
    let former = Int(try checked(JournalLayout.start(of: word.epoch &- 1)))
    return try start(of: word) > former || word.end + count <= former
  }

  func seed(of epoch: UInt64) throws(StoreError) -> RecordLink { RecordLink(check: try checked(JournalLayout.seed(of: epoch))) }

  /// A writer may be storing the number, and system calls may read one part of it older than the rest.
  private func checked(_ field: JournalLayout.Field) throws(StoreError) -> UInt32 {
    for _ in 0..<Self.looks {
      if let checked = CheckedNumber(rawValue: try load(field), in: field) { return checked.number }
    }
    throw damagedHeader
  }

  var list: ListFingerprint { get throws(StoreError) { try load(.listInode, .listModified, .listSize) } }
  var put: ListFingerprint { get throws(StoreError) { try load(.putInode, .putModified, .putSize) } }
  var former: ListFingerprint { get throws(StoreError) { try load(.formerInode, .formerModified, .formerSize) } }

  func store(_ list: ListFingerprint) throws(StoreError) { try store(list, .listInode, .listModified, .listSize) }

  func storeExchange(of former: ListFingerprint, for put: ListFingerprint, in epoch: UInt64) throws(StoreError) {
    try store(epoch, .putEpoch)
    try store(former, .formerInode, .formerModified, .formerSize)
    try store(put, .putInode, .putModified, .putSize)
  }

  /// Forgets a dead fold's copies for the next epoch. Otherwise a later fold's word would restore them after a power loss.
  func forgetNextEpoch() throws(StoreError) {
    let field = JournalLayout.seed(of: try word().nextEpoch(end: 0).epoch)
    try store(CheckedNumber(0, in: field).rawValue, field)
  }

  func storeNoExchange() throws(StoreError) { try store(.none, .putInode, .putModified, .putSize) }

  private func load(
    _ inode: JournalLayout.Field, _ modified: JournalLayout.Field, _ size: JournalLayout.Field
  ) throws(StoreError) -> ListFingerprint {
    ListFingerprint(inode: try load(inode), modified: try load(modified), size: try load(size))
  }

  private func store(
    _ list: ListFingerprint, _ inode: JournalLayout.Field, _ modified: JournalLayout.Field, _ size: JournalLayout.Field
  ) throws(StoreError) {
    try store(list.inode, inode)
    try store(list.modified, modified)
    try store(list.size, size)
  }

  /// The caller holds the file's lock. A process with a given-up file then opens the new one.
  func mark(_ use: JournalUse) throws(StoreError) { try store(use.field, .use) }

  /// - Throws: ``/CofferPlatform/StoreError`` `.damaged` for a value that Coffer cannot have written.
  var use: JournalUse {
    get throws(StoreError) {
      guard let use = JournalUse(rawValue: try checked(.use)) else { throw damagedHeader }
      return use
    }
  }

  /// False for a copy of the file that the header was written for.
  func isOf(_ file: FileStatus) throws(StoreError) -> Bool {
    guard try load(.device) == file.device else { return false }
    return try load(.inode) == file.inode
  }

  /// A new number makes `file` another journal than the header's.
  func adopt(_ file: FileStatus) throws(StoreError) {
    // Later, and no heir's: see `Relocation.mostHeirs`.
    try store(load(.number) &+ .random(in: 1 << 21...1 << 40), .number)
    try store(file.device, .device)
    try store(file.inode, .inode)
    try store(0, .successor)
    try mark(.current)
  }

  /// Shows progress to processes that wait for the right to fold. The caller has the right.
  func noteFoldStep() throws(StoreError) {
    let process = UInt64(UInt32(bitPattern: getpid()))
    if try load(.folder) != process { try store(process, .folder) }
    try store(try load(.foldStep) &+ 1, .foldStep)
  }

  /// The last process that folded, and the number of its step; nil if unknown. It only paces a wait.
  var lastFoldStep: (process: UInt32, number: UInt64)? {
    do { return (UInt32(truncatingIfNeeded: try load(.folder)), try load(.foldStep)) } catch { return nil }
  }

  var damagedHeader: StoreError {
    StoreError(.damaged, "the journal's header is not one, or was changed", place: path.string, cure: Journal.damageCure)
  }
}
