public import CofferMemory
public import CofferPlatform
public import CofferStorage
public import FoundationEssentials
public import SystemPackage

/// An open vault. Safe to share between threads; locking it consumes it, so that nothing can be asked of a locked vault.
public struct UnlockedVault: ~Copyable, Sendable {
  let core: VaultCore

  init(_ vault: sending OpenVault) { core = VaultCore(vault) }

  deinit { core.close() }

  /// Creates a vault with one slot: for a passphrase, a key file, or both together, whatever `credentials` hold.
  ///
  /// A missing folder is made with mode 0700; the file, of mode 0600, appears under its name once it is complete.
  ///
  /// - Parameters:
  ///   - path: where the vault will be.
  ///   - credentials: what opens it.
  ///   - cost: the Argon2id cost of a passphrase, which becomes the floor of all later passphrase slots; nil measures this machine:
  ///     3 passes and more over 64, 128 or 256 MiB, half a second here, and a floor of 3 passes over 64 MiB.
  ///   - label: a name for the slot, at most 64 bytes.
  ///   - options: how the vault is opened, and where this machine remembers it.
  /// - Throws: `StoreError` `.alreadyExists`, `.denied`, `.noSpace`, `.kdfMemory`, `.locked` (no credentials); nothing is left
  ///   behind then.
  public static func create(
    at path: FilePath, with credentials: consuming Credentials, cost: PassphraseCost? = nil, label: String = "",
    options: VaultOptions
  ) throws(StoreError) -> UnlockedVault {
    UnlockedVault(try OpenVault.create(at: path, with: credentials, cost: cost, label: label, options: options))
  }

  /// The vault's file.
  public var path: FilePath { core.path }
  /// The vault's id.
  public var id: VaultID { core.id }

  /// The value and metadata of `name`; nil when there is no such item.
  ///
  /// - Throws: `StoreError` `.expired`, `.clockBehind`, `.tampered`, `.damaged`, `.locked` (after a fork), `.io`.
  public borrowing func get(_ name: ItemName) throws(StoreError) -> SecretForm? {
    try about(name) { () throws(StoreError) in
      try core.read { (vault) throws(StoreError) in
        try vault.items.get(name)?.form
      }
    }
  }

  /// All but the value of `name`, without opening the value; nil when there is no such item. Tells of expired items too.
  public borrowing func item(_ name: ItemName) throws(StoreError) -> VaultItem? {
    try about(name) { () throws(StoreError) in
      try core.read { (vault) throws(StoreError) in
        try vault.items.item(name)
      }
    }
  }

  /// All items, or those of one service, by name, without opening a value.
  public borrowing func list(service: String? = nil) throws(StoreError) -> [VaultItem] {
    try core.read { (vault) throws(StoreError) in
      try vault.items.list(service: service)
    }
  }

  /// Stores `form` under `name` and returns what a listing now says. A label or attributes left empty keep what was there; an
  /// expiry does not outlive its value.
  ///
  /// - Parameters:
  ///   - form: the value and what describes it.
  ///   - name: the item.
  ///   - condition: what must be so for the write to happen.
  /// - Throws: `StoreError` `.tooLarge`, `.alreadyExists`, `.conflict`, `.busy`, `.tampered`, `.noSpace`, `.io`; nothing has changed
  ///   then, and nothing of it comes back. `.outcomeUnknown` when the disk fails so that nobody can tell.
  @discardableResult
  public borrowing func set(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always
  ) throws(StoreError) -> VaultItem {
    try about(name) { () throws(StoreError) in
      try core.write { (vault, change) throws(StoreError) in
        try vault.items.put(form, for: name, if: condition, &change)
      }
    }
  }

  /// Stores `secret` under `name`, called `label` in listings. A label left empty keeps the one that was there.
  ///
  /// - Throws: what ``set(_:for:if:)`` throws.
  @discardableResult
  public borrowing func set(_ secret: consuming SecretBytes, label: String = "", for name: ItemName) throws(StoreError)
    -> VaultItem
  {
    try set(SecretForm(secret, metadata: ItemMetadata(label: label)), for: name)
  }

  /// Removes `name`; false when there was nothing.
  @discardableResult
  public borrowing func delete(_ name: ItemName) throws(StoreError) -> Bool {
    try about(name) { () throws(StoreError) in
      try core.write { (vault, change) throws(StoreError) in
        try vault.items.remove(name, &change)
      }
    }
  }

  /// Checks everything a vault holds without decrypting a value: both headers, state, lists, digests, root, the log's chain,
  /// both tags of every row, that there is no row more, and every page of the file.
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

  /// Waits for running calls, wipes the keys and closes the file.
  public consuming func lock() throws(StoreError) -> LockedVault {
    core.close()
    return try LockedVault.open(core.path, options: core.options)
  }
}

/// Runs `body`, whose errors are said of `name`.
private func about<Result>(_ name: ItemName, _ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
  do { return try body() } catch { throw error.about(key: name.description) }
}

/// What must be so for a write to happen.
public enum WriteCondition: Sendable, Equatable {
  /// Whatever is there is replaced.
  case always
  /// Nothing may be there: ``/CofferPlatform/StoreError/Kind/alreadyExists`` otherwise.
  case absent
  /// The item's revision must be this one: ``/CofferPlatform/StoreError/Kind/conflict`` otherwise.
  case revision(UInt64)
}

/// What ``UnlockedVault/verify(progress:)`` checked.
public struct VerifyReport: Sendable, Equatable {
  /// Records whose place and both tags are right.
  public let records: Int
  /// Buckets whose digests fit the root.
  public let buckets: Int
  package init(records: Int, buckets: Int) {
    self.records = records
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

/// The Argon2id cost of a passphrase slot: passes over a memory.
public struct PassphraseCost: Sendable, Equatable {
  /// Passes over the memory.
  public let passes: UInt32
  /// Memory in MiB.
  public let mebibytes: UInt32
  /// 3 passes over 256 MiB: 324 ms measured.
  public static let standard = PassphraseCost(passes: 3, mebibytes: 256)
  /// 1 pass over 8 MiB, the least that a reader accepts: for tests, where slowness protects nothing.
  public static let testing = PassphraseCost(passes: 1, mebibytes: 8)
  /// A cost of `passes` over `mebibytes` MiB.
  public init(passes: UInt32, mebibytes: UInt32) {
    self.passes = passes
    self.mebibytes = mebibytes
  }
}
