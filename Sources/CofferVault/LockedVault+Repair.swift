public import CofferPlatform
internal import CofferStorage
public import SystemPackage

/// What a repair found and did.
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
  /// The file that holds the vault as it was; nil when nothing could be lost.
  public internal(set) var kept: FilePath?
  /// Where the vault went back to an older key: the slots of that time, all of which open it again, whoever removed them since; else none.
  public internal(set) var returnedSlots: [VaultStatus.Slot] = []

  /// Whether there was nothing to repair.
  public var foundNothing: Bool { !mendedHeader && !rebuiltState }

  /// What nobody can know any more after the state was rebuilt, in sentences.
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

extension LockedVault {
  /// Mends what can be mended: a copy of the header from the other one, and a state that is gone or unreadable from the records that
  /// open. The vault as it was is kept in a file beside it where anything may be lost.
  ///
  /// - Parameters:
  ///   - credentials: what opens the vault.
  ///   - rebuilding: whether the state is rebuilt although it is readable, where the records do not fit it: what does not open
  ///     is dropped, and what does is believed. A vault that is whole is left as it is.
  ///   - acceptingOlderKey: whether the vault may be repaired although its header is older than one that this machine, or the header's
  ///     own copy, knows: with that header, secrets that were removed since open the vault again.
  /// - Throws: `StoreError` `.rolledBack` for such a header when nobody accepted it; `.tampered` when records, digests or log do not fit a readable state and nobody asked for rebuilding;
  ///   what ``unlock(with:)`` throws; `.damaged` when too little is left.
  public func repair(
    with credentials: consuming Credentials, rebuilding: Bool = false, acceptingOlderKey: Bool = false
  ) throws(StoreError) -> RepairReport {
    let database = try VaultDatabase.open(path)
    let tried = try database.read { () throws(StoreError) in try VerifiedView.readHeader(database) }
    let slot = try OpenVault.search(tried.header, with: credentials, options, database.path)
    let repair = try VaultRepair(database, slot: slot, options: options)
    return try repair.run(rebuilding: rebuilding, acceptingOlderKey: acceptingOlderKey)
  }
}
