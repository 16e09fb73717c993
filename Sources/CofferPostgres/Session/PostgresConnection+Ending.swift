internal import CofferPlatform

extension PostgresConnection {
  /// Ends a failed transaction. If that fails too, the connection is given up, and the server rolls back.
  func rollBack(until deadline: ContinuousClock.Instant) {
    guard !isLost else { return }
    // The queue ends first: it may fail, and nothing is done up to its end.
    do throws(StoreError) { _ = try answers(doing: "roll back", until: deadline) } catch {}
    do throws(StoreError) {
      try perform("ROLLBACK", until: deadline)
      _ = try answers(doing: "roll back", until: deadline)
    } catch { giveUp() }
  }

  /// Ends a read without waiting: the next transaction takes the answer.
  func endReading(until deadline: ContinuousClock.Instant) throws(StoreError) {
    try perform("COMMIT", until: deadline)
    try send(until: deadline)
  }

  /// Commits durably, after the statements queued by `last`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` if no answer came (``isLost`` is then true) or the
  ///   server's standby may lack it; after any other error it was not made.
  func commit(
    at place: VaultPlace, until deadline: ContinuousClock.Instant, _ last: () throws(StoreError) -> Void
  ) throws(StoreError) {
    let before = warnings
    do throws(StoreError) {
      try last()
      try perform("COMMIT", until: deadline)
      _ = try answers(doing: "commit", until: deadline)
    } catch {
      guard isLost else {
        rollBack(until: deadline)
        throw error
      }
      // It may be on its way, or done. It is not canceled: a late cancel hits another statement.
      throw StoreError(
        .outcomeUnknown, "the server went away during the commit: the change may or may not have been made",
        place: place.description, cure: "check what is stored before you try again", underlying: error)
    }
    guard warnings == before else {
      throw StoreError(
        .outcomeUnknown, "the server has the change, but its standby may not: the change may not last",
        place: place.description, cure: "check the standby, then what is stored")
    }
  }
}
