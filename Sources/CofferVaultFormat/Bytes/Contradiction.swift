internal import CofferPlatform
internal import CofferStorage

/// How a vault's key contradicts one known from a source that the vault's writer cannot reach.
package struct Contradiction: Error, Equatable {
  let vault: String
  let epoch: UInt64
  let source: Source
  let refusal: Refusal

  package enum Source: Hashable, Sendable {
    /// This machine's memory.
    case pin
    /// The content of the slot, under the secret that opened it.
    case slot
    /// An invitation from a person.
    case invitation
    /// The key with which this process holds the vault open.
    case heldKey
    /// The backup to restore.
    case backup
    /// The other copy of the vault's header.
    case header
  }

  package enum Refusal: Equatable, Sendable {
    case replaced
    case rolledBack(found: UInt64)
    case forked
    /// The header lists no epoch as old as the anchor's, and is so full that it may have been dropped.
    case tooOld(most: Int)
  }
}

extension Contradiction {
  func error(place: String?) -> StoreError {
    switch refusal {
    case .replaced:
      StoreError(
        .replaced, "another vault is where \(vault) is expected", place: place,
        cure: "put the expected vault back, or use an invitation to this one if it is right")
    case .rolledBack(let found):
      StoreError(
        .rolledBack, "the vault's key is of epoch \(found), and \(source) of epoch \(epoch)", place: place, cure: olderCure,
        remedy: source == .pin ? .acceptOlder : nil)
    case .forked:
      StoreError(
        .forked, "the vault's key does not come from the key of epoch \(epoch), which is that of \(source)", place: place,
        cure: forkCure, remedy: forkRemedy)
    case .tooOld(let most):
      StoreError(
        .forked,
        "the vault's key was changed more than \(most) times since epoch \(epoch), which is that of \(source)",
        place: place, cure: "ask someone who has the vault for an invitation and use it")
    }
  }

  private var olderCure: String {
    switch source {
    case .pin:
      "an older copy was put back: find the newer file; if the old one is right, accept it with "
        + "LockedVault.unlockAcceptingPin(with:)"
    case .invitation: "an older copy was put back: find the newer file, or ask for a new invitation if the old one is right"
    case .slot, .heldKey, .backup, .header: "an older copy was put back: find the newer file"
    }
  }

  private var forkRemedy: StoreError.Remedy? {
    switch source {
    case .pin: .acceptFork
    case .backup: .acceptOlderKey
    case .slot, .invitation, .heldKey, .header: nil
    }
  }

  private var forkCure: String {
    switch source {
    case .pin:
      "someone without the key made this vault, or two copies were written apart: find the other one; if this one is right, "
        + "accept it with LockedVault.unlockAcceptingPin(with:)"
    case .invitation: "someone without the key made this vault, or the invitation is to another: ask the sender for a new one"
    case .slot, .heldKey, .header: "someone without the key made this vault: find the right file, or restore a backup"
    case .backup: "the backup is of another history than the vault: restore another backup, or say acceptingOlderKey: true"
    }
  }
}

extension Contradiction.Source: CustomStringConvertible {
  package var description: String {
    switch self {
    case .pin: "this machine's pin"
    case .slot: "the slot's own secret"
    case .invitation: "the invitation"
    case .heldKey: "the key that this process holds"
    case .backup: "the backup"
    case .header: "the other copy of its header"
    }
  }
}
