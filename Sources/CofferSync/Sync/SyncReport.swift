public import CofferVault
public import FoundationEssentials

/// How a sync is done.
public struct SyncOptions: Sendable {
  /// This machine's name, for people at others.
  public var machine: String
  /// Takes the heads there although this machine has seen more, as after a remote was lost or replaced on purpose, and puts all
  /// files of the vault again.
  public var accepts = false
  /// Until when an item deleted elsewhere can be restored here; nil removes it for good.
  public var keptUntil: Date? = .distantFuture

  /// Only reports: neither the vault nor the remote changes, and nothing is remembered.
  public var isTrial = false
  /// The mark of a key, 32 hexadecimal digits or more: of two histories of the vault's key, the one to go on with. The other
  /// one's heads are removed from the remote.
  public var takesKey: String?

  /// The usual way: nothing is accepted that this machine would refuse.
  public init(machine: String) { self.machine = machine }
}

/// The effects of a sync, or those that a trial would have.
public struct SyncReport: Sendable, Equatable, Codable {
  /// The changes that were taken over from a head.
  public struct Taken: Sendable, Equatable, Codable {
    /// The name of the machine that put the head.
    public let machine: String
    /// The generation of its put.
    public let generation: UInt64
    /// The time of the put, by that machine's clock.
    public let put: Date
    /// The changes.
    public let changes: MergeReport
  }

  /// The remote, as it is remembered.
  public internal(set) var remote: String
  /// In the order in which they were merged.
  public internal(set) var taken: [Taken] = []
  /// The generation that was put; nil if nothing had to be.
  public internal(set) var put: UInt64?
  /// The number of this vault's items that heads have, after the sync.
  public internal(set) var items = 0
  /// The number of heads under an older key. They were passed over: their machines follow at their next sync.
  public internal(set) var passedOver = 0
  /// The number of files there that are none of Coffer's, or heads that are not whole.
  public internal(set) var strangers = 0

  init(remote: String) { self.remote = remote }
}
