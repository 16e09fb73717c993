internal import CofferPlatform
internal import CofferStorage

/// A commit that a server did not answer, of a vault that is open.
struct LostCommit {
  let vault: OpenVault
  private var view: VerifiedView { vault.view }

  /// How long a server that went away is waited for, at most, before a commit is left unsettled: it takes some seconds to start again.
  private static var patience: Duration { .seconds(15) }
  /// Between two looks, in microseconds.
  private static var pause: UInt32 { 100_000 }

  /// Returns when `lost`, whose commit nobody answered, is in effect.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unreachable`` where the commit was not made; `unknown` where that cannot be told: the log has lost the
  ///   row since, or the lock cannot be had in time; what reading the vault throws.
  func settle(_ lost: SealedChange, _ unknown: StoreError) throws(StoreError) {
    guard let isMade = try isMade(lost) else { throw unknown }
    guard !isMade else { return }
    throw StoreError(
      .unreachable, "the server went away before the change was committed, and nothing of it was made",
      place: view.place.description, cure: "try again", underlying: unknown.underlying)
  }

  private func isMade(_ lost: SealedChange) throws(StoreError) -> Bool? {
    let end = ContinuousClock.now + Self.patience
    while true {
      do throws(StoreError) { return try look(for: lost) } catch {
        guard [.busy, .unreachable, .outcomeUnknown].contains(error.kind) else { throw error }
        // Not reached, or the lock was not to be had: a moment later it may be.
        guard ContinuousClock.now < end else { return nil }
        usleep(Self.pause)
      }
    }
  }

  /// Whether `lost` is in effect, as its own row of the log tells, which keeps the commit's id through a change of key; nil where the log has
  /// lost the row since. It is looked for in a transaction that holds the lock of all writers: a commit that is still on its way holds that
  /// until it is made or given up, and a look without it can miss it.
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
