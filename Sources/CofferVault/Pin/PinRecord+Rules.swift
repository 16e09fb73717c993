internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

extension VaultState {
  var mark: PinRecord.Mark { PinRecord.Mark(generation: generation, commit: commit) }
}

extension VaultState.Replica {
  var mark: PinRecord.Mark { PinRecord.Mark(generation: generation, commit: commit) }
}

extension PinRecord {
  enum Finding {
    case fits
    /// The vault names the maximum number of writers, without this machine: its last write may be missing.
    case ownEntryEvicted
  }

  /// Compares a state with this machine's memory, read before the transaction that read the state.
  ///
  /// A commit is pinned after it is made, so a state read later is older than the pin only if the file was put back. If this
  /// machine's writes in the state are later than in the pin, the process died before updating the pin.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.rolledBack`, `.forked`.
  func check(_ state: VaultState, key found: EpochMark, vault place: VaultPlace) throws(StoreError) -> Finding {
    try checkEpoch(found.epoch, place)
    guard found.epoch > key.epoch || found.names(key) else {
      throw Self.forked("the key of epoch \(key.epoch) is not the one that was seen here", place)
    }
    try checkGeneration(state.generation, place)
    guard state.generation > seen.generation || state.commit == seen.commit else {
      throw Self.forked("the commit at generation \(seen.generation) is not the one that was seen here", place)
    }
    return try checkOwn(state, place)
  }

  /// Compares the vault's plaintext numbers with this machine's memory. Detects a copy that lacks commits seen here. Only
  /// the sealed state reveals a copy written to elsewhere, or a changed number.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.rolledBack`.
  func check(_ stated: StatedAge, vault place: VaultPlace) throws(StoreError) {
    try checkEpoch(stated.epoch, place)
    try checkGeneration(stated.generation, place)
  }

  private func checkGeneration(_ found: UInt64, _ place: VaultPlace) throws(StoreError) {
    guard found >= seen.generation else {
      throw Self.rolledBack("the vault is at generation \(found), and was at \(seen.generation) here before", place)
    }
  }

  private func checkEpoch(_ found: UInt64, _ place: VaultPlace) throws(StoreError) {
    guard found >= key.epoch else {
      throw Self.rolledBack("the vault's key is of epoch \(found), and of epoch \(key.epoch) was seen here before", place)
    }
  }

  private func checkOwn(_ state: VaultState, _ place: VaultPlace) throws(StoreError) -> Finding {
    guard own != .never else { return .fits }
    guard let entry = state.replica(replica) else {
      guard state.replicas.count < VaultState.mostReplicas else { return .ownEntryEvicted }
      throw Self.forked("the vault continued without this machine's write of generation \(own.generation)", place)
    }
    guard entry.generation > own.generation || (entry.generation == own.generation && entry.commit == own.commit) else {
      throw Self.forked("the vault continued without this machine's write of generation \(own.generation)", place)
    }
    return .fits
  }

  /// Updates the record to a state that was checked or committed here; false if it knew as much.
  ///
  /// The state names the last commit under this record's name. The committer may have used an earlier name: a commit counted
  /// for the wrong name would be missed in every later state.
  ///
  /// A record of a later key, or of another key of the same epoch, was written since by someone who accepted that, and
  /// stays.
  mutating func take(_ state: VaultState, key: EpochMark) -> Bool {
    guard key.epoch > self.key.epoch || key.names(self.key) else { return false }
    let before = self
    if state.generation > seen.generation {
      seen = state.mark
      self.key = key
    }
    if let last = state.replica(replica), last.generation > own.generation { own = last.mark }
    return self != before
  }

  func hasSeen(_ state: VaultState) -> Bool { seen == state.mark || seen.generation > state.generation }

  private static func rolledBack(_ what: String, _ place: VaultPlace) -> StoreError {
    if place.isMirror { return MirrorPin.older(.rolledBack, what, place) }
    return StoreError(
      .rolledBack, what, place: place.description,
      cure:
        "an older copy was put back: find the newer file; if the old one is right, accept it with "
        + "LockedVault.unlockAcceptingPin(with:)",
      remedy: .acceptOlder)
  }

  private static func forked(_ what: String, _ place: VaultPlace) -> StoreError {
    if place.isMirror { return MirrorPin.older(.forked, what, place) }
    return StoreError(
      .forked, what, place: place.description,
      cure:
        "two copies were written apart: find the other one; if this one is right, accept it with "
        + "LockedVault.unlockAcceptingPin(with:)",
      remedy: .acceptFork)
  }
}

/// The result of comparing an open vault with this machine's pin.
public enum PinStatus: Sendable, Equatable {
  /// No folder for pins was given: an older copy of the whole file would go unnoticed.
  case none
  /// This machine had not seen the vault before and remembers it from now on.
  case firstUse
  /// The vault matches the pin or is newer, and the pin is up to date.
  case upToDate
  /// The vault matches the pin or is newer, and cannot be written here: the pin did not change.
  case unchanged
  /// The vault matches the pin or is newer, and the pin could not be updated.
  case notWritten
}

/// The plaintext numbers of a vault's file: enough to detect an older copy put back unchanged. Unlocking the vault verifies
/// them.
struct StatedAge {
  let vault: VaultID
  let generation: UInt64
  let epoch: UInt64

  /// Reads them, within a transaction.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for a vault without a header or a state.
  init(_ database: any VaultRows) throws(StoreError) {
    let header = try StoredParts.readHeader(database).header
    guard let generation = try StoredParts.statedGeneration(database) else { throw StoredParts.missing("state", database) }
    self.generation = generation
    vault = VaultID(bytes: header.vault.bytes)
    epoch = header.epoch
  }
}
