package import CofferPlatform
internal import CofferVaultFormat

extension LockedVault {
  /// Unlocks an unproven copy of a vault. The caller checks it with ``UnlockedVault/checkCopy(_:acceptingOlderKey:)`` before
  /// showing anything of it.
  package func unlockCopy(with credentials: consuming Credentials) throws(StoreError) -> UnlockedVault {
    UnlockedVault(try OpenVault.unlock(place, with: credentials, options: options, trust: .caller))
  }
}

extension VerifiedView {
  /// Within transactions of both: see ``UnlockedVault/checkCopy(_:acceptingOlderKey:)``.
  func checkCopy(_ copy: VerifiedView, _ acceptingOlderKey: Bool) throws(StoreError) {
    guard copy.id == id else { return }
    let (own, found) = (keys.epochMark, copy.keys.epochMark)
    let isOlder = found.epoch < own.epoch
    guard try isOlder ? comes(from: found) : copy.comes(from: own) else {
      throw StoreError(
        .forked, "the copy's key is not of this vault's history: someone with an older key made it, or both got new keys apart",
        place: copy.place.description,
        cure: "find out who wrote it; if its items are right, export them to a new vault and use that")
    }
    guard isOlder, !acceptingOlderKey else { return }
    throw StoreError(
      .rolledBack,
      "the copy's key is of epoch \(found.epoch), and the vault's of epoch \(own.epoch): anyone who had that key, "
        + "even a user removed since, may have made the copy",
      place: copy.place.description,
      cure: "use a copy made since, or say acceptingOlderKey: true if you know this one",
      remedy: .acceptOlderCopy)
  }

  private func comes(from key: EpochMark) throws(StoreError) -> Bool {
    try header.refusal(keys, by: [Anchor(vault: header.vault, key: key, source: .heldKey)], at: place.description) == nil
  }
}
