internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// A commit that a server did not answer, of a vault that is open.
struct LostCommit {
  let vault: OpenVault
  private var view: VerifiedView { vault.view }

  /// Returns when `lost`, whose commit nobody answered, is in effect.
  ///
  /// - Throws: what ``/CofferStorage/LostAnswer/settle(_:)`` throws.
  func settle(_ lost: SealedChange, _ unknown: StoreError) throws(StoreError) {
    try LostAnswer(unknown, of: "the change", at: view.place.description).settle { () throws(StoreError) in try look(for: lost) }
  }

  /// Whether `lost` is in effect, as its own row of the log tells, which keeps the commit's id through a change of key; nil where
  /// the log has lost the row since. It is looked for in a transaction that holds the lock of all writers: a commit that is still
  /// on its way holds that until it is made or given up, and a look without it can miss it. The look's own commit waits for the
  /// standby: a server that was started again no longer waits with the one that is looked for.
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
