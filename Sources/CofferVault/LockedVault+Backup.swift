public import CofferPlatform
internal import CofferStorage
public import SystemPackage

/// A backup just made.
public struct BackupReport: Sendable, Equatable {
  /// The vault it is of.
  public let id: VaultID
  /// The commit it holds, as its file says; authenticated once the backup is unlocked.
  public let generation: UInt64
}

extension LockedVault {
  /// Writes a copy of the vault as it is at this moment to a new file at `target`, while others go on writing. Every record
  /// stays sealed, the same slots open the copy, and no secret is needed.
  ///
  /// The copy is one file for its owner alone. It appears under its name once it is complete, durable, and was opened and found
  /// to be this vault; its folder may be any that this user can write.
  ///
  /// - Parameters:
  ///   - target: the new file.
  ///   - progress: called now and then with the pages of the file that are copied and their total.
  /// - Throws: `StoreError` `.alreadyExists` (nothing is replaced), `.denied`, `.noSpace`, `.readOnly`, `.busy`, `.damaged`, `.io`, and what
  ///   ``checkAge()`` throws, as a backup of an older copy would be taken for one of the vault; nothing is left behind then.
  public func backup(
    to target: FilePath, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> BackupReport {
    guard try Stat.ofLink(target) == nil else {
      throw StoreError(
        .alreadyExists, "something stands there already", place: target.string, cure: "choose another path; nothing is replaced")
    }
    let pins = try pinWatch()
    let draft = try Draft(beside: path)
    try VaultDatabase.open(path).backUp(to: draft.path, progress: progress)
    let stated = try Self.age(of: draft.path)
    try check(stated, pins)
    try PrivateCopy.publish(draft.path, as: target)
    return BackupReport(id: stated.vault, generation: stated.generation)
  }

  private static func age(of copy: FilePath) throws(StoreError) -> StatedAge {
    let database = try VaultDatabase.open(copy)
    defer { database.close() }
    return try database.read { () throws(StoreError) in try StatedAge(database) }
  }
}

extension VerifiedView {
  /// The generation that the state's row states in the clear; nil where there is no state to speak of.
  static func statedGeneration(_ database: VaultDatabase) throws(StoreError) -> UInt64? {
    let stated = try database.withState { (bytes) throws(StoreError) -> UInt64? in
      guard bytes.count >= 8 else { return nil }
      return min(FileCounter.most, UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)))
    }
    return stated ?? nil
  }
}
