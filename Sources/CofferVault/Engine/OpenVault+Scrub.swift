internal import CofferStorage

extension OpenVault {
  /// Removes from the file what an older key opens, where the state says that it is still there. Everyone who writes does this, as
  /// whoever changed the key may have died before.
  ///
  /// Never an error: the change that left the old bytes is committed, and what remains is said and done by a later write.
  func scrubOnce() {
    guard scrubbed != headerDigest else { return }
    scrubbed = headerDigest
    do throws(StoreError) { try scrub() } catch {
      VaultNotices.say(
        "sealed bytes of the old key are still in the file, and the next command that writes will remove them: \(error)")
    }
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
