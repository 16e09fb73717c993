internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

/// A commit of an open vault that a server did not answer.
struct LostCommit {
  let vault: OpenVault
  private var view: VerifiedView { vault.view }

  /// Returns if `lost` took effect.
  ///
  /// - Throws: the errors of ``/CofferStorage/LostAnswer/settle(_:)``.
  func settle(_ lost: SealedChange, _ unknown: StoreError) throws(StoreError) {
    try LostAnswer(unknown, of: "the change", at: view.place.description).settle { () throws(StoreError) in try look(for: lost) }
  }

  /// Whether the log has the commit's row, with the id that a change of key preserves; nil if the row is gone. A pending
  /// commit holds the writers' lock, so a look without that lock can miss it. The look also commits, and so waits for the
  /// standby: a restarted server no longer waits with the lost commit.
  private func look(for lost: SealedChange) throws(StoreError) -> Bool? {
    view.forgetHeader()
    try view.readPin()
    return try view.database.write { () throws(StoreError) -> Bool? in
      try view.refresh()
      let (last, sequence) = (view.state.logSequence, lost.state.logSequence)
      guard last >= sequence else { return false }
      var found: CommitID?
      try vault.log.forEach(last: Int(clamping: last - sequence + 1)) { (number, entry) in
        if number == sequence { found = entry.commit }
      }
      return found.map { $0 == lost.state.commit }
    }
  }
}
