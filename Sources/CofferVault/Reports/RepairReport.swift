internal import CofferVaultFormat
internal import CofferVaultRows

/// The findings and effects of a repair.
public struct RepairReport: Sendable, Equatable {
  /// Whether one copy of the header was written anew from the other.
  public internal(set) var mendedHeader = false
  /// Whether the state was rebuilt from the records that open.
  public internal(set) var rebuiltState = false
  /// Records that were dropped because they do not open.
  public internal(set) var droppedRecords = 0
  /// Rows of the log that were dropped because they do not belong to its chain.
  public internal(set) var droppedLogRows = 0
  /// The vault's generation now.
  public internal(set) var generation: UInt64 = 0
  /// Items in the vault now.
  public internal(set) var items = 0
  /// Records in the vault now: items, their fields, previous versions and deleted ones.
  public internal(set) var records = 0
  /// What holds the vault as it was; nil when nothing could be lost.
  public internal(set) var kept: VaultPlace?
  /// Where the vault went back to an older key: the slots of that time, all of which open it again, whoever removed them since;
  /// else none.
  public internal(set) var returnedSlots: [VaultStatus.Slot] = []

  /// Whether there was nothing to repair.
  public var foundNothing: Bool { !mendedHeader && !rebuiltState && returnedSlots.isEmpty }

  /// The facts that are lost after the state was rebuilt, in sentences.
  public var unproven: [String] {
    guard rebuiltState else { return [] }
    let olderKey =
      returnedSlots.isEmpty
      ? []
      : ["The key is an older one: whoever had it, or a secret that was removed since, reads what is stored until it is changed."]
    return olderKey + [
      "Items that are missing may never have been there, or may have been removed by someone who can write the file.",
      "An item may be older than the last one stored: an older record of it opens too.",
      "Entries may be missing at the end of the log.",
      "Other machines that wrote to this vault will call it forked until they accept it.",
    ]
  }
}
