public import CofferMemory
public import CofferStorage
public import FoundationEssentials
public import SystemPackage

/// An open vault. Sendable and safe to share between threads; moving it out through ``lock()`` wipes its keys.
public struct UnlockedVault: ~Copyable, Sendable {
  /// The vault's file.
  public var path: FilePath { fatalError() }
  /// The vault's id.
  public var id: VaultID { fatalError() }

  /// Creates a vault with one slot: a passphrase, a key file, or both together, whatever `credentials` hold.
  ///
  /// Missing folders are made with mode 0700, the file with 0600.
  ///
  /// - Parameter cost: the Argon2id cost of a passphrase slot.
  /// - Throws: ``StoreError`` `.alreadyExists`, `.denied`, `.noSpace`, `.kdfMemory`; nothing is left behind then.
  public static func create(
    at path: FilePath, with credentials: consuming Credentials, cost: PassphraseCost = .standard, label: String = ""
  ) throws(StoreError) -> UnlockedVault { fatalError() }

  /// The value and metadata of `name`; nil when there is no such item.
  ///
  /// - Throws: ``StoreError`` `.expired`, `.clockBehind`, `.tampered`, `.damaged`, `.locked` (after a fork), `.io`.
  public borrowing func get(_ name: ItemName) throws(StoreError) -> SecretForm? { fatalError() }

  /// All but the value of `name`, without opening the value; nil when there is no such item. Tells of expired items too.
  public borrowing func item(_ name: ItemName) throws(StoreError) -> VaultItem? { fatalError() }

  /// All items, or those of one service, by name, without opening a value.
  public borrowing func list(service: String? = nil) throws(StoreError) -> [VaultItem] { fatalError() }

  /// Stores `form` under `name` and returns what a listing now says. A label or attributes left empty keep what was there.
  ///
  /// - Parameter condition: what must be so for the write to happen.
  /// - Throws: ``StoreError`` `.tooLarge`, `.alreadyExists`, `.conflict`, `.busy`, `.tampered`, `.noSpace`; nothing has changed then.
  @discardableResult
  public borrowing func set(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always
  ) throws(StoreError) -> VaultItem { fatalError() }

  /// Removes `name`; false when there was nothing.
  @discardableResult
  public borrowing func delete(_ name: ItemName) throws(StoreError) -> Bool { fatalError() }

  /// Checks every record of the vault, decrypting none: lists, digests, root and both tags of every row.
  ///
  /// - Parameter progress: called now and then with the number of records checked and their total.
  /// - Throws: ``StoreError`` `.tampered`, `.damaged`.
  public borrowing func verify(progress: (Int, Int) -> Void = { _, _ in }) throws(StoreError) -> VerifyReport { fatalError() }

  /// What is known of the vault: for `status`.
  public borrowing func status() throws(StoreError) -> VaultStatus { fatalError() }

  /// Waits for running calls, wipes the keys and closes the file.
  public consuming func lock() throws(StoreError) -> LockedVault { fatalError() }
}

/// What must be so for a write to happen.
public enum WriteCondition: Sendable, Equatable {
  /// Whatever is there is replaced.
  case always
  /// Nothing may be there: ``StoreError/Kind/alreadyExists`` otherwise.
  case absent
  /// The item's revision must be this one: ``StoreError/Kind/conflict`` otherwise.
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
    package init(summary: SlotSummary, label: String) {
      self.summary = summary
      self.label = label
    }
  }
  package init(items: Int, generation: UInt64, epoch: UInt64, created: Date, rotated: Date, slots: [Slot]) {
    self.items = items
    self.generation = generation
    self.epoch = epoch
    self.created = created
    self.rotated = rotated
    self.slots = slots
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
