internal import CofferPlatform
internal import CofferVaultFormat

/// Removes bytes from a vault's file that no read returns but an older or the current key opens.
///
/// Never throws: the commit that left the bytes is made, and a later write reports or removes the rest.
final class OldBytes {
  /// Rewriting takes memory for the whole file. A larger file keeps SQLite's moved copies of removed versions until the key
  /// is rotated.
  private static let mostRewritten: Int64 = 64 * 1024 * 1024

  private var hopeless: Digest32?
  /// Why not even a later write can remove the old bytes.
  private var unscrubbable: StoreError?
  private var areOwed = false
  /// The header under which this vault removed everything the mark stands for. No older key opens any of it.
  private var removedUnder: Digest32?
  private var isScrubbing = false
  /// The header at the last attempt. Bytes under an older key are removed immediately.
  private var tried: Digest32?
  private var pace = ScrubPace()

  /// Every writer does this, because the one who left the remains may have died.
  ///
  /// - Parameter sealed: the commit just made, if any.
  func remove(after sealed: SealedChange?, from vault: OpenVault) {
    if let sealed, sealed.removesForGood {
      areOwed = true
      if !sealed.hadOldBytes { removedUnder = vault.view.headerDigest }
    }
    removeWhenDue(from: vault)
  }

  /// Does nothing if the file was just rewritten.
  private func removeWhenDue(from vault: OpenVault) {
    guard vault.view.database.canRemoveOldBytes, vault.view.state.scrub, !isScrubbing, hopeless != vault.view.headerDigest else {
      return
    }
    if tried != vault.view.headerDigest || pace.allows(.now) { tryToScrub(vault) }
  }

  /// The same outside a write, if remains of this vault's permanent removals are still there.
  func removeOwedWhenDue(from vault: OpenVault) { if areOwed { removeWhenDue(from: vault) } }

  /// Removes the remains of its own removals before the vault is closed.
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
      // No later write can clean a damaged file, so `unscrubbed()` reports it to the caller who changed the key.
      if error.kind == .damaged {
        (hopeless, unscrubbable) = (vault.view.headerDigest, error)
        return
      }
      // A moved or removed file needs no notice.
      guard error.kind != .moved else { return }
      VaultNotices.say(
        "sealed bytes of an old key or of removed data are still in the file; the next command that writes will "
          + "remove them: "
          + error.facts)
    }
  }

  func unscrubbed(_ place: String) -> StoreError? {
    guard let reason = unscrubbable.take() else { return nil }
    return StoreError(
      .damaged, "the change was made, but old bytes cannot be removed from the file, because some of its pages are damaged",
      place: place, cure: "copy the items to a new vault with UnlockedVault.export, and remove this one",
      underlying: reason.underlying ?? reason, remedy: .leaveVault)
  }

  /// The state then clears its mark, unless somebody has committed meanwhile and may have left new old bytes.
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

/// Limits how often a file is rewritten, for a program that removes many items in a row.
struct ScrubPace {
  /// Scrubbing takes at most one part in this many of the time.
  static let share = 20

  private var next: ContinuousClock.Instant?

  func allows(_ now: ContinuousClock.Instant) -> Bool { next.map { now >= $0 } ?? true }

  mutating func note(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) {
    next = end + (end - start) * (Self.share - 1)
  }
}
