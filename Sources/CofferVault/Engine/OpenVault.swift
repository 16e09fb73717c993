internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

/// A vault with its keys: the database, what has been verified of it, and the operations. Not Sendable: ``VaultCore`` lets
/// one thread in at a time.
///
/// Everything one answer rests on is read in one read transaction, from digests whose root the sealed state holds.
final class OpenVault {
  let database: VaultDatabase
  let path: FilePath
  let id: VaultID
  /// The slot that opened the vault, kept to follow a rotation made by another process.
  var slot: OpenSlot
  let options: VaultOptions
  let clock: @Sendable () -> Date

  var header: VaultHeader
  /// Of the header's row, checksum included: the state is bound to it.
  var headerDigest: Digest32
  var headerBody: HeaderBody
  var keys: Subkeys
  var state: VaultState
  var tree: DigestTree
  /// Verified lists by bucket, kept while the bucket's digest stays what it was.
  var lists: [Int: BucketList] = [:]
  /// SQLite's counter of commits by others, as of `state`; nil forces a reload.
  var dataVersion: Int64?
  /// What this machine remembers of the vault; nil where no folder for pins was given.
  var pins: PinWatch?
  /// Said of the unlocking when this process first writes.
  var unlocking: LogEntry?
  /// Rows of the log that are kept, at most; see ``trimLog(_:)``.
  var longestLog = OpenVault.longestLog
  /// Rows up to this number were dropped at least: others may have dropped more.
  var logStart: UInt64 = 0
  /// Whether the slot opens this vault no more: only unlocking anew helps.
  var isOver = false
  /// What opened a slot that costs too little, until the next write raises it; see ``raiseCostOnce()``.
  var weakInputs: SlotInputs?
  /// The header whose old bytes this vault has tried to remove: one try each, as every one rewrites the file.
  var scrubbed: Digest32?
  /// Why the old bytes cannot be removed, where no later write will do it.
  var unscrubbable: StoreError?

  /// A vault whose header `slot` opened. Within a read transaction: verifies state and digests.
  init(
    database: VaultDatabase, header: VaultHeader, headerDigest: Digest32, slot: consuming OpenSlot,
    options: VaultOptions = .withoutPins, clock: @escaping @Sendable () -> Date
  ) throws(StoreError) {
    let path = database.path
    let keys = try Self.checked(path) { () throws(FormatError) in try Subkeys(of: slot.key, vault: header.vault) }
    headerBody = try Self.checked(path) { () throws(FormatError) in try header.openBody(keys) }
    state = try Self.readState(database, header, headerDigest, keys)
    tree = try Self.readDigests(database, keys, expecting: state.root)
    self.keys = keys
    self.database = database
    self.path = path
    self.slot = slot
    self.header = header
    self.headerDigest = headerDigest
    self.options = options
    self.clock = clock
    id = VaultID(bytes: header.vault.bytes)
  }

  /// Runs `body` in one read transaction over a state that is current and verified.
  ///
  /// What does not fit may be this process's memory of an older state: everything is read anew once, and what does not fit then
  /// was tampered with.
  func read<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try checkKeys()
    var isSecondTry = false
    while true {
      do throws(StoreError) {
        return try database.read { () throws(StoreError) in
          try refresh()
          try checkPlace()
          return try body()
        }
      } catch {
        guard error.kind.mayBeOfAnOlderMemory, !isSecondTry else { throw error }
        isSecondTry = true
        forget()
        try pins?.read()
      }
    }
  }

  /// Brings what is known of the vault up to its last commit.
  func refreshNow() throws(StoreError) { try read { () throws(StoreError) in } }

  /// Runs `body` in one write transaction and commits what it gathered in the change.
  func write<Result>(_ body: (inout Change) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try checkKeys()
    var sealed: SealedChange?
    let result: Result
    // Before the transaction: every pinned commit was made before it was pinned, so a state read later cannot be older.
    try pins?.read()
    do {
      result = try database.write { () throws(StoreError) in
        try refresh()
        // Also where nobody else has committed since: the pin may know of a commit that this file lacks.
        try pins?.check(state, epoch: header.epoch)
        var change = Change()
        let result = try body(&change)
        if !change.isEmpty {
          if let unlocking { change.events.insert(unlocking, at: 0) }
          sealed = try seal(change)
        }
        try checkPlace()
        return result
      }
    } catch {
      // Whether a failed COMMIT took effect is known only from the file.
      forget()
      throw error
    }
    if let sealed {
      adopt(sealed)
      unlocking = nil
      pins?.remember(state, epoch: header.epoch)
    }
    raiseCostOnce()
    if state.scrub { scrubOnce() }
    return result
  }

  /// Keys that the kernel has wiped (a forked child) open nothing, and SQLite's handle is the parent's.
  private func checkKeys() throws(StoreError) {
    guard keys.isIntact else {
      throw StoreError(
        .locked, "the vault was unlocked before this process was forked", place: path.string,
        cure: "unlock it after the fork, and not before")
    }
  }

  /// A file that was moved away or replaced goes on being open: what it takes, nobody will read, and what it tells is of the past.
  private func checkPlace() throws(StoreError) {
    guard try database.isInPlace() else {
      throw StoreError(
        .closed, "the file that was opened no longer stands here", place: path.string,
        cure: "find out what replaced or removed the vault, and open it again")
    }
  }

  /// Drops the record of a decided transaction, which no seal covers.
  func forget(_ transaction: TransactionID) throws(StoreError) {
    try checkKeys()
    try database.write { () throws(StoreError) in try database.forget(transaction) }
  }

  /// Makes the next operation read everything anew.
  func forget() {
    dataVersion = nil
    lists = [:]
  }

  /// What `body` reads from the file, with its refusals said of the file.
  static func checked<Result: ~Copyable>(
    _ path: FilePath, _ body: () throws(FormatError) -> Result
  ) throws(StoreError) -> Result {
    do { return try body() } catch { throw error.storeError(place: path.string) }
  }

  func checked<Result: ~Copyable>(_ body: () throws(FormatError) -> Result) throws(StoreError) -> Result {
    try Self.checked(path, body)
  }

  /// Milliseconds since 1970.
  var now: UInt64 { Milliseconds.count(clock()) }

  private func adopt(_ sealed: SealedChange) {
    state = sealed.state
    tree.take(sealed.tree)
    for (bucket, list) in sealed.lists { lists[bucket] = list }
  }
}

extension StoreError.Kind {
  /// Whether reading everything anew may show that nothing is wrong: another process may have committed since.
  fileprivate var mayBeOfAnOlderMemory: Bool {
    switch self {
    case .tampered, .rolledBack, .forked: true
    default: false
    }
  }
}
