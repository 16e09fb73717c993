internal import CofferPlatform
internal import CofferVault

// How transactions end.
extension PostgresConnection {
  /// Ends a transaction that failed. Where even that fails the connection is given up, and the server rolls back by itself.
  func rollBack(until deadline: ContinuousClock.Instant) {
    guard !isLost else { return }
    // The queue may fail, and then nothing up to its end is done: the end comes first.
    do throws(StoreError) { _ = try answers(doing: "roll back", until: deadline) } catch {}
    do throws(StoreError) {
      try perform("ROLLBACK", until: deadline)
      _ = try answers(doing: "roll back", until: deadline)
    } catch { giveUp() }
  }

  /// Ends a transaction that read. Nobody waits for that: its answer is taken with the next transaction's first.
  func endReading(until deadline: ContinuousClock.Instant) throws(StoreError) {
    try perform("COMMIT", until: deadline)
    try send(until: deadline)
  }

  /// Makes a transaction durable, after what `last` queues.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` where nobody answered, when ``isLost`` says so too, and where
  ///   the server's standby may lack it; with any other error it was not made.
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
      // It may be on its way, or done. Nobody cancels it: a cancel that comes late hits something else.
      throw StoreError(
        .outcomeUnknown, "the server went away while the change was committed: whether it was made is not known",
        place: place.description, cure: "look at what is stored before you try again", underlying: error)
    }
    guard warnings == before else {
      throw StoreError(
        .outcomeUnknown, "the server has the change, and warns that its standby may not: whether it lasts is not known",
        place: place.description, cure: "look at the standby, then at what is stored")
    }
  }
}
