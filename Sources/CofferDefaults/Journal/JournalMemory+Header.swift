internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

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

  func seed(of epoch: UInt64) throws(StoreError) -> RecordLink { RecordLink(check: try checked(JournalLayout.seed(of: epoch))) }

  /// A writer may be storing the number, and system calls may read one part of it older than the rest.
  private func checked(_ field: JournalLayout.Field) throws(StoreError) -> UInt32 {
    for _ in 0..<Self.looks {
      if let checked = CheckedNumber(rawValue: try load(field), in: field) { return checked.number }
    }
    throw damagedHeader
  }

  var list: ListFingerprint {
    get throws(StoreError) {
      ListFingerprint(
        inode: try load(.listInode), modified: try load(.listModified), size: try load(.listSize))
    }
  }

  func store(_ list: ListFingerprint) throws(StoreError) {
    try store(list.inode, .listInode)
    try store(list.modified, .listModified)
    try store(list.size, .listSize)
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

  var damagedHeader: StoreError {
    StoreError(.damaged, "the journal's header is not one, or was changed", place: path.string, cure: Journal.damageCure)
  }
}
