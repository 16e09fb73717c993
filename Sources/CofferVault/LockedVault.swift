public import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// A vault that nothing has unlocked: its file was found sound as far as can be told without a key. It hands out nothing.
public struct LockedVault: Sendable {
  /// Where it is.
  public let place: VaultPlace
  /// The vault's id.
  public let id: VaultID
  /// The format version of the file.
  public let formatVersion: Int
  /// The slots, in the order of their ids.
  public let slots: [SlotSummary]
  /// What unlocking compares the vault with.
  public var options: VaultOptions

  /// Opens the vault at `place`, changing nothing.
  ///
  /// A program that keeps its vault in the standard place calls `Places.standard().openVault()` instead, which has the options of
  /// that place. Without pins an older copy of the file that is put back opens like the newest: whoever wants that says
  /// ``VaultOptions/withoutPins``.
  ///
  /// - Throws: `StoreError` `.noVault`, `.notAVault`, `.damaged`, `.tampered`, `.newerFormat`, `.denied` (owner, mode or kind of
  ///   the file or its folder), `.unsupported` and `.unreachable` (a server), `.io`, and `.replaced` for another vault than
  ///   `options` expect.
  public static func open(
    _ place: VaultPlace, options: VaultOptions
  ) throws(StoreError) -> LockedVault {
    let database: any VaultRows
    do throws(StoreError) { database = try place.rowsToRead() } catch { throw options.missing(place, error) }
    let header = try database.read { () throws(StoreError) in try StoredParts.readHeader(database).header }
    let vault = LockedVault(database.place, header, options)
    try options.check(vault.id, at: vault.place)
    return vault
  }

  init(_ place: VaultPlace, _ header: VaultHeader, _ options: VaultOptions) {
    self.place = place
    self.options = options
    id = VaultID(bytes: header.vault.bytes)
    formatVersion = Int(header.format)
    slots = header.slots.map(\.summary)
  }

  /// Unlocks with the first slot that `credentials` open. Blocks for Argon2id (about 0.3 s) where a passphrase is tried.
  ///
  /// - Throws: `StoreError` `.wrongSecret`, `.noCredentials`, `.tampered`, `.damaged`, `.kdfMemory`; against the pin or the
  ///   options `.rolledBack`, `.forked`, `.replaced`, `.unproven` (a recipient sees the vault for the first time and nobody said
  ///   which to expect); and what ``open(_:options:)`` throws.
  public func unlock(with credentials: consuming Credentials) throws(StoreError) -> UnlockedVault {
    UnlockedVault(try OpenVault.unlock(place, with: credentials, options: options))
  }

  /// Unlocks the vault although this machine's pin refuses it, and expects this vault in this state from now on: for a backup put
  /// back or a vault replaced knowingly, and where the pin itself is damaged.
  ///
  /// - Throws: what ``unlock(with:)`` throws, but never `.rolledBack`, `.forked`, `.replaced` or `.damaged` because of the pin;
  ///   the errors of writing the pin, which here are the point; `.incomplete` when the options name no folder of pins.
  public func unlockAcceptingPin(with credentials: consuming Credentials) throws(StoreError) -> UnlockedVault {
    try place.checkIsNoMirror()
    guard options.pins != nil else {
      throw StoreError(.incomplete, "there is no folder of pins", place: place.description, cure: "name one in the options")
    }
    return UnlockedVault(try OpenVault.unlock(place, with: credentials, options: options, trust: .pinIsAccepted))
  }

  /// Unlocks the vault, for the first time on this machine or at this place, and remembers it from now on.
  ///
  /// An invitation in the options or in the identity's file proves the vault, and so does the slot of another secret than a
  /// recipient's. Where nothing does, somebody may compare what `confirm` is given with what one who has the vault sees, such as
  /// the first 32 digits of its mark. No other call accepts such a vault. Everything that is known of it must still hold, this
  /// machine's pin too.
  ///
  /// - Parameters:
  ///   - credentials: what opens the vault.
  ///   - confirm: whether the vault is the right one; asked once, and only where nothing proves it.
  /// - Throws: what ``unlock(with:)`` throws, `.unproven` also where `confirm` says no; the errors of writing the pin, which here
  ///   are the point; `.incomplete` when the options name no folder of pins.
  public func join(
    with credentials: consuming Credentials, confirm: (Invitation) -> Bool = { _ in false }
  ) throws(StoreError) -> UnlockedVault {
    try place.checkIsNoMirror()
    guard options.pins != nil else {
      throw StoreError(.incomplete, "there is no folder of pins", place: place.description, cure: "name one in the options")
    }
    let first = try credentials.copied()
    do throws(StoreError) {
      return UnlockedVault(try OpenVault.unlock(place, with: first, options: options, trust: .joining))
    } catch {
      guard error.kind == .unproven else { throw error }
      let claim = try OpenVault.claim(of: place, with: credentials.copied(), options)
      guard confirm(claim) else { throw error }
      var options = options
      options.invitations.append(claim)
      return UnlockedVault(try OpenVault.unlock(place, with: credentials, options: options, trust: .joining))
    }
  }
}
