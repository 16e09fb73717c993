internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import Synchronization

/// A vault shared by several stores, one per service, all unlocked and locked together.
final class HeldVault: Sendable {
  private enum Held: ~Copyable, Sendable {
    case locked(LockedVault)
    case unlocked(UnlockedVault)
  }

  let vaultPlace: VaultPlace
  /// For messages.
  var place: String { vaultPlace.description }
  private let held: Mutex<Held>
  /// Triggered when the vault was locked or unlocked. The owners are the stores.
  let access = Handler<Void>()

  init(locked vault: LockedVault) {
    vaultPlace = vault.place
    held = Mutex(.locked(vault))
  }

  init(unlocked vault: consuming UnlockedVault) {
    vaultPlace = vault.place
    held = Mutex(.unlocked(vault))
  }

  var isUnlocked: Bool {
    held.withLock { held in Self.core(held).map { !$0.isInherited } ?? false }
  }

  func unlock(with credentials: consuming Credentials) throws(StoreError) {
    var credentials = Optional(credentials)
    try held.withLock { (held) throws(StoreError) in
      let vault: LockedVault? =
        switch held {
        case .locked(let vault): vault
        // The child of a fork has no keys. Opening its parent's database throws an error that says what to do.
        case .unlocked(let vault): vault.core.isInherited ? vault.core.locked : nil
        }
      guard let vault, let given = credentials.take() else { return }
      held = .unlocked(try vault.unlock(with: given))
    }
    access.trigger()
  }

  func lock() {
    if let core = held.withLock({ held in Self.core(held) }) { drop(core) }
  }

  private func drop(_ core: VaultCore) {
    // Closed outside the mutex: closing waits for running calls, and a call may be asking this vault.
    let dropped = held.withLock { held -> Held? in
      guard Self.core(held) === core else { return nil }
      let dropped = consume held
      held = .locked(core.locked)
      return dropped
    }
    _ = consume dropped
    core.close()
    access.trigger()
  }

  private static func core(_ held: borrowing Held) -> VaultCore? {
    switch held {
    case .unlocked(let vault): vault.core
    case .locked: nil
    }
  }

  func opened() throws(StoreError) -> VaultCore {
    try Reentrancy.check(place)
    // An unlock holds this lock while it hashes a passphrase.
    let core = try held.withLock(at: place) { (held) throws(StoreError) in Self.core(held) }
    guard let core else {
      throw StoreError(.locked, "the vault is locked", place: place, cure: "unlock it, then try again")
    }
    return core
  }

  /// The error to throw for one of `core`, after locking the vault if the error ends its use.
  func lapsed(_ core: VaultCore, _ error: StoreError) -> StoreError {
    // Locked by another thread in between, or no longer usable: either way unlocking helps.
    guard error.isEndOfUse || (error.kind == .locked && !core.isOpen) else { return error }
    drop(core)
    guard error.isEndOfUse else { return error }
    let why = error.kind == .moved ? ", as the opened file is no longer here" : ""
    return StoreError(
      .locked, "the vault is locked\(why)", place: place, cure: "unlock it, then try again", underlying: error.underlying)
  }
}

extension StoreError {
  fileprivate var isEndOfUse: Bool { kind == .closed || kind == .moved }
}

extension VaultCore {
  var locked: LockedVault { LockedVault(place, header, options) }
}
