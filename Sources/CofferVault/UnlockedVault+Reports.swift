public import CofferPlatform
internal import CofferStorage
public import FoundationEssentials

// What a vault tells of itself.
extension UnlockedVault {
  /// Checks everything a vault holds without decrypting a value: both headers, state, lists, digests, root, the log's chain,
  /// both tags of every row of both tables, that there is no row more, and every page of the file.
  ///
  /// - Parameter progress: called now and then with the number of records checked and their total; it must not call the vault.
  /// - Throws: `StoreError` `.tampered`, `.damaged`.
  public borrowing func verify(progress: (Int, Int) -> Void = { _, _ in }) throws(StoreError) -> VerifyReport {
    try core.read { (vault) throws(StoreError) in
      try vault.verify(progress)
    }
  }

  /// What is known of the vault: for `status`.
  public borrowing func status() throws(StoreError) -> VaultStatus {
    try core.read { (vault) throws(StoreError) in
      vault.status
    }
  }

  /// What happened to the vault, oldest first, after the whole chain was checked. Reading writes nothing, and is not logged.
  ///
  /// - Parameter limit: how many of the newest entries to return; nil for all that are kept.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` when a row was changed, added or taken away.
  public borrowing func log(limit: Int? = nil) throws(StoreError) -> [VaultLogEntry] {
    try core.read { (vault) throws(StoreError) in
      try vault.entries(limit: limit)
    }
  }

  /// How many entries the log keeps at the moment.
  public borrowing func logLength() throws(StoreError) -> Int {
    try core.read { (vault) throws(StoreError) in
      try vault.log.length()
    }
  }

  /// What someone who is to trust this vault needs to know of it: its id, and what its key is known by. It is to be given by a way that nobody
  /// can change, and anew when a slot was removed.
  public borrowing func invitation() throws(StoreError) -> Invitation {
    try core.read { (vault) throws(StoreError) in Invitation(vault: vault.view.id, key: vault.view.keys.epochMark) }
  }

  /// Checks that the vault's key comes from that of each of `invitations`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/replaced``, ``/CofferPlatform/StoreError/Kind/rolledBack``, ``/CofferPlatform/StoreError/Kind/forked``.
  public borrowing func check(_ invitations: [Invitation]) throws(StoreError) {
    guard !invitations.isEmpty else { return }
    try core.read { (vault) throws(StoreError) in try vault.view.check(invitations) }
  }

  /// What comparing the vault with this machine's pin has shown since it was unlocked.
  public borrowing func pinStatus() throws(StoreError) -> PinStatus {
    try core.run { (vault) throws(StoreError) in vault.view.pins?.status ?? .none }
  }
}

extension OpenVault {
  /// The newest `limit` entries of the log, or all, with the names of items that there are.
  func entries(limit: Int?) throws(StoreError) -> [VaultLogEntry] {
    var names: [RecordIndex: ItemName] = [:]
    for item in try items.list(service: nil) { names[items.index(of: item.name)] = item.name }
    var entries: [VaultLogEntry] = []
    try log.forEach { (sequence, entry) throws(StoreError) in
      entries.append(VaultLogEntry(sequence, entry, name: names[entry.index]))
    }
    return limit.map { Array(entries.suffix(max(0, $0))) } ?? entries
  }
}

/// What ``UnlockedVault/verify(progress:)`` checked.
public struct VerifyReport: Sendable, Equatable {
  /// Records whose place and both tags are right: items, their fields, and former contents.
  public let records: Int
  /// Items among them.
  public let items: Int
  /// Buckets whose digests fit the root.
  public let buckets: Int
  package init(records: Int, items: Int, buckets: Int) {
    self.records = records
    self.items = items
    self.buckets = buckets
  }
}

/// What an unlocked vault tells about itself.
public struct VaultStatus: Sendable, Equatable {
  /// Items stored.
  public let items: Int
  /// Commits since creation.
  public let generation: UInt64
  /// The key epoch: grows with each rotation.
  public let epoch: UInt64
  /// When the vault was created, and its key last rotated.
  public let created: Date, rotated: Date
  /// The slots with their labels.
  public let slots: [Slot]
  /// One slot.
  public struct Slot: Sendable, Equatable {
    /// What the header says of it.
    public let summary: SlotSummary
    /// A name for people.
    public let label: String
    /// Whether this vault was unlocked with it.
    public let isInUse: Bool
    package init(summary: SlotSummary, label: String, isInUse: Bool) {
      self.summary = summary
      self.label = label
      self.isInUse = isInUse
    }
  }
  /// Whether sealed bytes of an older key are still in the file, because another program kept reading it: the next write removes
  /// them.
  public let oldBytesRemain: Bool
  package init(
    items: Int, generation: UInt64, epoch: UInt64, created: Date, rotated: Date, slots: [Slot], oldBytesRemain: Bool
  ) {
    self.items = items
    self.generation = generation
    self.epoch = epoch
    self.created = created
    self.rotated = rotated
    self.slots = slots
    self.oldBytesRemain = oldBytesRemain
  }
}
