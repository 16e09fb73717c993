internal import CofferPlatform
internal import CofferVault
internal import CofferVaultFormat
public import FoundationEssentials

/// A remote of a vault, as this machine remembers it.
public struct SyncStatus: Sendable, Equatable {
  /// A machine that has put a head there.
  public struct Machine: Sendable, Equatable {
    /// Its id among the writers of the vault: 32 hexadecimal digits.
    public let id: String
    /// The name that it gave itself; nil if it is unknown.
    public let name: String?
    /// The generation of its last put.
    public let generation: UInt64
    /// The time of that put by its own clock; nil if it is unknown.
    public let put: Date?
  }

  /// The remote, as it is named.
  public let remote: String
  /// The time of the last sync.
  public let synced: Date
  /// The number of the vault's items then.
  public let items: Int
  /// Whether the agent syncs unasked.
  public let isAutomatic: Bool
  /// The commits of this vault since then; nil if it was not looked at, or has another history.
  public internal(set) var commitsToPut: UInt64?
  /// The machines by id.
  public internal(set) var machines: [Machine]

  init(_ record: SyncRecord) {
    remote = record.address
    synced = Milliseconds.date(record.synced)
    items = Int(clamping: record.items)
    isAutomatic = record.isAutomatic
    machines = record.seen.replicas.map { replica in
      Machine(
        id: replica.id.description, name: record.names[replica.id], generation: replica.generation,
        put: record.times[replica.id].map { Milliseconds.date($0) })
    }
  }

  /// The same with the commits that `vault` states to have. No key is needed, and nothing is proven.
  init(_ record: SyncRecord, of vault: LockedVault) throws(StoreError) {
    self.init(record)
    let generation = try HeadVault.state(of: vault).generation
    commitsToPut = generation < record.state.generation ? nil : generation - record.state.generation
  }
}

/// The files that a compaction has removed at a remote.
public struct SyncCompaction: Sendable, Equatable {
  /// The number of removed heads, all of whose items others have.
  public internal(set) var heads = 0
  /// The number of removed groups, which no head names.
  public internal(set) var groups = 0
}
