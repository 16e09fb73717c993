internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// Removes bytes from a vault's file that no read shows any more, but that an older or the current key opens. Holds the open
/// vault's knowledge of such bytes, and of its attempts.
///
/// Never throws: the commit that left the bytes is made, and a later write reports or removes the rest.
final class OldBytes {
  /// A file above this keeps what SQLite moved within it when contents are removed for good, until the key is rotated: rewriting
  /// takes memory for the whole of it, and time in proportion.
  private static let mostRewritten: Int64 = 64 * 1024 * 1024

  /// The header under which the file is too damaged to be rewritten.
  private var hopeless: Digest32?
  /// Why the old bytes cannot be removed, where no later write will do it.
  private var unscrubbable: StoreError?
  /// Whether this vault removed contents for good, and has not tried since to remove their bytes.
  private var areOwed = false
  /// The header under which all that the mark stands for was removed by this vault: no older key opens any of it.
  private var removedUnder: Digest32?
  private var isScrubbing = false
  /// The header at the last attempt. Bytes under an older key are removed at once.
  private var tried: Digest32?
  private var pace = ScrubPace()

  /// Removes the remains of a commit of `vault`. Every writer does this, because the one who left them may have died.
  ///
  /// - Parameter sealed: the commit just made, if any.
  func remove(after sealed: SealedChange?, from vault: OpenVault) {
    if let sealed, sealed.removesForGood {
      areOwed = true
      if !sealed.hadOldBytes { removedUnder = vault.view.headerDigest }
    }
    removeWhenDue(from: vault)
  }

  /// Removes the remains that the state mentions, unless the file was rewritten a moment ago.
  private func removeWhenDue(from vault: OpenVault) {
    guard vault.view.database.canRemoveOldBytes, vault.view.state.scrub, !isScrubbing, hopeless != vault.view.headerDigest else {
      return
    }
    if tried != vault.view.headerDigest || pace.allows(.now) { tryToScrub(vault) }
  }

  /// Does so beside all writes, where this vault removed something for good that is still there.
  func removeOwedWhenDue(from vault: OpenVault) { if areOwed { removeWhenDue(from: vault) } }

  /// Removes, before `vault` is closed, remains of its own removals that are still due.
  func removeOwed(from vault: OpenVault) {
    guard areOwed, vault.view.database.canRemoveOldBytes, vault.view.state.scrub, vault.view.keys.isIntact,
      hopeless != vault.view.headerDigest
    else { return }
    tryToScrub(vault)
  }

  private func tryToScrub(_ vault: OpenVault) {
    let start = ContinuousClock.now
    isScrubbing = true
    defer {
      isScrubbing = false
      pace.note(from: start, to: .now)
    }
    (areOwed, tried) = (false, vault.view.headerDigest)
    do throws(StoreError) { try scrub(vault) } catch {
      // Where the file is damaged, no later write will do it: whoever changed the key is told, by `unscrubbed()`.
      if error.kind == .damaged {
        (hopeless, unscrubbable) = (vault.view.headerDigest, error)
        return
      }
      // Of a file that was moved away or removed, whoever did that knows.
      guard error.kind != .moved else { return }
      VaultNotices.say(
        "sealed bytes of an old key, or of what was removed, are still in the file, and the next command that writes will remove them: "
          + error.facts)
    }
  }

  /// The error for old bytes that stay in the file at `path` because it is damaged; nil if there are none.
  func unscrubbed(_ place: String) -> StoreError? {
    guard let reason = unscrubbable.take() else { return nil }
    return StoreError(
      .damaged, "the change is made, but what the old key opens cannot be removed from the file, of which pages are damaged",
      place: place, cure: "copy the items to a new vault with UnlockedVault.export, and remove this one",
      underlying: reason.underlying ?? reason, remedy: .leaveVault)
  }

  /// Rewrites the file without its free pages and empties the write-ahead log; then the state says that it is done, unless
  /// somebody has committed meanwhile, and may so have left new old bytes.
  private func scrub(_ vault: OpenVault) throws(StoreError) {
    let view = vault.view
    guard try view.database.isInPlace() else { return }
    let cleaned = (view.headerDigest, view.state.generation)
    let isOfKeys = removedUnder != view.headerDigest
    let size = try view.database.storedBytes()
    try view.database.removeOldBytes(rewriting: isOfKeys || size <= Self.mostRewritten)
    try vault.write { (_, change) throws(StoreError) in
      guard view.state.scrub, (view.headerDigest, view.state.generation) == cleaned else { return }
      view.setOldBytesRemain(false)
      change.changesMark = true
    }
    if !view.state.scrub { removedUnder = nil }
  }
}

/// How often a file is rewritten, so that a program that removes many items one after the other does not rewrite it for each.
struct ScrubPace {
  /// Of the time that goes by one part in so many is spent on it, at most.
  static let share = 20

  private var next: ContinuousClock.Instant?

  /// Whether the file may be rewritten at `now`.
  func allows(_ now: ContinuousClock.Instant) -> Bool { next.map { now >= $0 } ?? true }

  /// Notes that the file was rewritten, or that this failed, from `start` to `end`.
  mutating func note(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) {
    next = end + (end - start) * (Self.share - 1)
  }
}
