internal import CofferVaultRows

/// The findings and effects of a repair.
public struct RepairReport: Sendable, Equatable {
  /// Whether a copy of the header was rewritten from the other one.
  public internal(set) var mendedHeader = false
  /// Whether the state was rebuilt from the records that open.
  public internal(set) var rebuiltState = false
  /// Records dropped because they do not open.
  public internal(set) var droppedRecords = 0
  /// Log rows dropped because they are not part of its chain.
  public internal(set) var droppedLogRows = 0
  /// The vault's generation after the repair.
  public internal(set) var generation: UInt64 = 0
  /// Items after the repair.
  public internal(set) var items = 0
  /// Records after the repair: items, fields, previous and deleted versions.
  public internal(set) var records = 0
  /// The copy of the vault before the repair; nil if nothing could be lost.
  public internal(set) var kept: VaultPlace?
  /// If the vault went back to an older key, the slots of that time, which all open it again, even if removed since; else
  /// empty.
  public internal(set) var returnedSlots: [VaultStatus.Slot] = []

  /// Whether there was nothing to repair.
  public var foundNothing: Bool { !mendedHeader && !rebuiltState && returnedSlots.isEmpty }

  /// The facts that are no longer certain after the state was rebuilt, in sentences.
  public var unproven: [String] {
    guard rebuiltState else { return [] }
    let olderKey =
      returnedSlots.isEmpty
      ? []
      : [
        "The key is an older one: anyone with it, or with a secret that was removed since, can read stored data until it changes."
      ]
    return olderKey + [
      "Missing items may never have been there, or may have been removed by someone who can write the file.",
      "An item may be older than the last one stored.",
      "Entries may be missing at the end of the log.",
      "Other machines that wrote to this vault will call it forked until they accept it.",
    ]
  }
}
