internal import CofferPlatform
internal import CofferStorage

/// What an open vault knows of bytes that are to leave the file, and has tried.
struct OldBytes {
  /// The header whose old bytes this vault has tried to remove: one try each, as every one rewrites the file.
  fileprivate var scrubbed: Digest32?
  /// Why the old bytes cannot be removed, where no later write will do it.
  fileprivate var unscrubbable: StoreError?
  /// Whether the write-ahead log may still hold what a commit of this vault removed for good.
  fileprivate var areInLog = false
}

// Bytes that anyone could open who has a key, an older one or the present one, and that no read shows any more.
extension OpenVault {
  /// Removes what a commit left behind, after each one. Everyone who writes does this, as whoever left it may have died before.
  ///
  /// Never an error: the change is committed, and what remains is said and done by a later write.
  ///
  /// - Parameter removesForGood: whether the commit that was just made removed contents for good.
  func removeOldBytes(ofCommit removesForGood: Bool) {
    if removesForGood { oldBytes.areInLog = true }
    if oldBytes.areInLog { emptyLog(isFirstTry: removesForGood) }
    if view.state.scrub, !oldBytes.areInLog { scrubOnce() }
  }

  /// Empties the write-ahead log of what was removed for good. In the file itself SQLite has overwritten it.
  ///
  /// Where somebody keeps reading the state says that old bytes remain, so that whoever writes next removes them, and everyone is told.
  private func emptyLog(isFirstTry: Bool) {
    do throws(StoreError) {
      try view.database.emptyLog(waiting: isFirstTry)
      oldBytes.areInLog = false
    } catch {
      guard isFirstTry else { return }
      say("sealed bytes of what was removed for good", error)
      markRemaining()
    }
  }

  private func markRemaining() {
    do throws(StoreError) {
      try write { (_, change) throws(StoreError) in
        guard !view.state.scrub else { return }
        view.setOldBytesRemain(true)
        change.changesMark = true
      }
      oldBytes.scrubbed = nil
    } catch { say("what cannot be noted in the vault: sealed bytes of what was removed for good", error) }
  }

  /// Removes from the file what an older key opens, or what the log could not be emptied of, where the state says that it is still there.
  ///
  /// Where the file is damaged, no later write will do it: whoever changed the key is told, by ``unscrubbed()``.
  private func scrubOnce() {
    guard oldBytes.scrubbed != view.headerDigest else { return }
    oldBytes.scrubbed = view.headerDigest
    do throws(StoreError) { try scrub() } catch {
      guard error.kind != .damaged else { return oldBytes.unscrubbable = error }
      say("sealed bytes of the old key, or of what was removed,", error)
    }
  }

  private func say(_ what: String, _ error: StoreError) {
    VaultNotices.say("\(what) are still in the file, and the next command that writes will remove them: \(error.facts)")
  }

  /// What is to be said of old bytes that stay because the file is damaged; nil where none do.
  func unscrubbed() -> StoreError? {
    guard let reason = oldBytes.unscrubbable.take() else { return nil }
    return StoreError(
      .damaged, "the change is made, but what the old key opens cannot be removed from the file, of which pages are damaged",
      place: view.path.string, cure: "copy the items to a new vault with UnlockedVault.export, and remove this one",
      underlying: reason.underlying ?? reason, remedy: .leaveVault)
  }

  /// Rewrites the file without its free pages and empties the write-ahead log; then the state says that it is done, unless another
  /// process has changed the header and so left new old bytes.
  private func scrub() throws(StoreError) {
    let cleaned = view.headerDigest
    try view.database.removeOldBytes()
    try write { (_, change) throws(StoreError) in
      guard view.state.scrub, view.headerDigest == cleaned else { return }
      view.setOldBytesRemain(false)
      change.changesMark = true
    }
  }
}
