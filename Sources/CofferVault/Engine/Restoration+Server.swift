internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultRows

extension Restoration {
  /// As one commit of the vault. Makes the vault if there is none.
  ///
  /// - Returns: the place of the replaced rows.
  borrowing func restore(
    on server: ServerPlace, _ others: consuming Openers, _ returned: inout [VaultStatus.Slot]
  ) throws(StoreError) -> VaultPlace? {
    let current: any ServerRows
    do throws(StoreError) { current = try server.server().openToReplace(server.url) } catch {
      guard error.kind == .noVault else { throw error }
      try commitAlone(beside: nil, nil, &returned)
      _ = try server.server().create(server.url, granting: []) { (target) throws(StoreError) in try copyBackup(to: target) }
      pin?.isMade()
      return nil
    }
    defer { current.close() }
    return try replace(current, others, &returned)
  }

  private borrowing func replace(
    _ current: any ServerRows, _ others: consuming Openers, _ returned: inout [VaultStatus.Slot]
  ) throws(StoreError) -> VaultPlace {
    var slot = try currentSlot(of: current, others)
    let replacement = ServerReplacement(rows: current)
    return try replacement.run { (kept) throws(StoreError) in
      // On its own connection: the last commit stays visible there while the lock is held.
      let before = try place.rowsToRead()
      defer { before.close() }
      try commit(over: before, opened: slot.take(), &returned)
      try current.removeAllRows()
      try copyBackup(to: current)
    }
  }

  private borrowing func copyBackup(to target: any VaultRows) throws(StoreError) {
    try rows.read { () throws(StoreError) in try rows.copyRows(to: target) { _, _ in } }
  }
}

private struct ServerReplacement {
  let rows: any ServerRows

  /// Runs `body` as the only writer.
  ///
  /// - Returns: the place of the copy of the current rows.
  func run(_ body: (VaultPlace) throws(StoreError) -> Void) throws(StoreError) -> VaultPlace {
    var kept: VaultPlace?
    var (before, after) = ([UInt8]?.none, [UInt8]?.none)
    do throws(StoreError) {
      try rows.write { () throws(StoreError) in
        before = try rows.stateBytes()
        let copy = try rows.keepCopy()
        try body(copy)
        after = try rows.stateBytes()
        kept = copy
      }
    } catch {
      guard error.kind == .outcomeUnknown, rows.hasLostCommit else { throw error }
      try LostAnswer(error, of: "the backup", at: rows.place.description).settle { () throws(StoreError) in
        try isMade(before, after)
      }
    }
    guard let kept else { throw StoreError(.closed, "the restore did not end", place: rows.place.description, cure: "try again") }
    return kept
  }

  /// Whether the rows are the new ones; nil if they are still others. Holds the writers' lock.
  private func isMade(_ before: [UInt8]?, _ after: [UInt8]?) throws(StoreError) -> Bool? {
    let found = try rows.write { () throws(StoreError) in try rows.stateBytes() }
    return found == after ? true : found == before ? false : nil
  }
}
