internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// What has become of a file, in the header's field.
enum JournalUse: UInt32 {
  /// It is in use.
  case current = 0
  /// Its domain was removed.
  case removed
  /// It lost its name, and somebody is writing what it holds into the journal that has the name now.
  case beingCarried
  /// Everything that it holds is in another journal.
  case carried

  /// The field's eight bytes.
  @inline(__always)
  var field: UInt64 { CheckedNumber(rawValue, in: .use).rawValue }
}

// What the header says beside the word.
extension JournalMemory {
  /// The boot of the kernel under which the header was last brought into order.
  var boot: BootID {
    get throws(StoreError) { BootID(high: try load(.bootHigh), low: try load(.bootLow)) }
  }

  /// Whether the file was given up by its owner: no system call where the journal is mapped.
  @inline(__always)
  func isRetired() throws(StoreError) -> Bool {
    if try load(.use) == JournalUse.current.field { return false }
    return try use != .current
  }

  /// Where the records of the epoch of `word` begin.
  func start(of word: JournalWord) throws(StoreError) -> Int {
    let start = try number(JournalLayout.start(of: word.epoch))
    guard start <= JournalLayout.capacity else { throw damagedHeader }
    return Int(start)
  }

  /// The number in a field that has a check.
  ///
  /// A writer may be storing it just now: where the file is read with system calls, a part of it may be older than the rest.
  private func number(_ field: JournalLayout.Field) throws(StoreError) -> UInt32 {
    for _ in 0..<Self.looks {
      if let checked = CheckedNumber(rawValue: try load(field), in: field) { return checked.number }
    }
    throw damagedHeader
  }

  /// The property list that the records follow; of a file that was given up, the list as it was when all was written elsewhere.
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

  /// Says what has become of the file, under its lock: whoever has one open that was given up, opens a new one.
  func mark(_ use: JournalUse) throws(StoreError) { try store(use.field, .use) }

  /// What has become of the file.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.damaged` where the field says nothing that any Coffer wrote: then nobody can know whether its values
  ///   are in another journal.
  var use: JournalUse {
    get throws(StoreError) {
      guard let use = JournalUse(rawValue: try number(.use)) else { throw damagedHeader }
      return use
    }
  }

  /// This journal among all.
  var identity: UInt64 { get throws(StoreError) { try load(.identity) } }

  static func newIdentity() -> UInt64 { .random(in: 1 ... .max) }

  /// Says that what the file holds is being written into the journal `other`, whose word is `word`.
  func beginCarrying(into other: UInt64, behind word: JournalWord) throws(StoreError) {
    try store(other, .carriedInto)
    try store(word.rawValue, .carriedBehind)
    try mark(.beingCarried)
  }

  /// The word that the journal `other` had when somebody began to write there what this file holds; nil where that was another journal.
  func carriedBehind(in other: UInt64) throws(StoreError) -> JournalWord? {
    guard try load(.carriedInto) == other else { return nil }
    let word = JournalWord(rawValue: try load(.carriedBehind))
    return word.isWhole ? word : nil
  }

  /// Takes a file into use again whose name was given back to it. It is another journal to those who had carried its values over.
  ///
  /// - Parameter hasValues: whether it still has them: from where they were carried to they must not come back over newer ones. After a power
  ///   loss nobody knows.
  func revive(hasValues: Bool = true) throws(StoreError) {
    if hasValues, BootID.current.isKnown, try boot == .current { try remember(carried: [identity]) }
    try store(Self.newIdentity(), .identity)
    try mark(.current)
  }

  /// The journals that were carried over into this one before the present epoch, the latest last.
  var carried: [UInt64] {
    get throws(StoreError) {
      var all: [UInt64] = []
      for field in JournalLayout.carried { all.append(try load(field)) }
      // Zero is a field not yet used, and all that is left of a header overwritten with zeros: that journal's values were not carried over.
      return all.filter { $0 != 0 }
    }
  }

  /// Remembers journals that were carried over, whose records the next epoch will not have.
  func remember(carried identities: [UInt64]) throws(StoreError) {
    guard !identities.isEmpty else { return }
    // Each has one field: a fold that died here or behind this is repeated, and must not push another journal out by that.
    var all = [UInt64](repeating: 0, count: JournalLayout.carried.count)
    for identity in try carried + identities where identity != 0 {
      all.removeAll { $0 == identity }
      all.append(identity)
    }
    for (field, identity) in zip(JournalLayout.carried, all.suffix(JournalLayout.carried.count)) { try store(identity, field) }
  }

  /// The error of a header that no version of Coffer wrote: of another program's file, or of one whose bits have changed.
  var damagedHeader: StoreError {
    StoreError(.damaged, "the journal's header is not one, or was changed", place: path.string, cure: Journal.damageCure)
  }
}
