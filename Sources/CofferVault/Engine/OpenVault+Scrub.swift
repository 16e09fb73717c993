internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension OpenVault {
  /// Removes from the file what an older key opens, where the state says that it is still there. Everyone who writes does this, as
  /// whoever changed the key may have died before.
  ///
  /// Never an error: the change that left the old bytes is committed, and what remains is said and done by a later write. Where the
  /// file is damaged, none will do it: whoever changed the key is told, by ``unscrubbed()``.
  func scrubOnce() {
    guard scrubbed != headerDigest else { return }
    scrubbed = headerDigest
    do throws(StoreError) { try scrub() } catch {
      guard error.kind != .damaged else { return unscrubbable = error }
      VaultNotices.say(
        "sealed bytes of the old key are still in the file, and the next command that writes will remove them: \(error)")
    }
  }

  /// What is to be said of old bytes that stay because the file is damaged; nil where none do.
  func unscrubbed() -> StoreError? {
    guard let reason = unscrubbable.take() else { return nil }
    return StoreError(
      .damaged, "the change is made, but what the old key opens cannot be removed from the file, of which pages are damaged",
      place: path.string, cure: "copy the items to a new vault with UnlockedVault.export, and remove this one",
      underlying: reason.underlying ?? reason, remedy: .leaveVault)
  }

  /// Rewrites the file without its free pages and empties the write-ahead log; then the state says that it is done, unless another
  /// process has changed the header and so left new old bytes.
  private func scrub() throws(StoreError) {
    let cleaned = headerDigest
    try database.removeOldBytes()
    try writing { (change) throws(StoreError) in
      guard state.scrub, headerDigest == cleaned else { return }
      state.scrub = false
      change.isScrubbed = true
    }
  }
}
