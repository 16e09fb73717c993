public import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows
internal import Glibc
internal import Synchronization

/// A locked vault, found sound as far as possible without a key. It hands out nothing.
public struct LockedVault: Sendable {
  /// The place of the vault.
  public let place: VaultPlace
  /// The vault's id.
  public let id: VaultID
  /// The format version of the file.
  public let formatVersion: Int
  /// The slots, ordered by id.
  public let slots: [SlotSummary]
  /// What unlocking compares the vault with.
  public var options: VaultOptions
  /// The connection to a server, for the first unlocking.
  private let connection: Connection?

  /// Opens the vault at `place` without changing it.
  ///
  /// For a vault in the standard place, call `Places.standard().openVault()`, which has that place's options.
  /// ``VaultOptions/withoutPins`` accepts an older copy put in place of the file.
  ///
  /// - Throws: `StoreError` `.noVault`, `.notAVault`, `.damaged`, `.tampered`, `.newerFormat`, `.denied` (owner, mode or
  ///   kind of the file or its folder), `.unsupported` and `.unreachable` (a server), `.io`, and `.replaced` for another
  ///   vault than `options` expect.
  public static func open(
    _ place: VaultPlace, options: VaultOptions
  ) throws(StoreError) -> LockedVault {
    let database: any VaultRows
    do throws(StoreError) { database = try place.rowsToRead() } catch { throw options.missing(place, error) }
    try database.expect(.header)
    let header = try database.read { () throws(StoreError) in try StoredParts.readHeader(database).header }
    let vault = LockedVault(database.place, header, options, database.isRemote ? Connection(database) : nil)
    try options.check(vault.id, at: vault.place)
    return vault
  }

  private init(_ place: VaultPlace, _ header: VaultHeader, _ options: VaultOptions, _ connection: Connection?) {
    self.place = place
    self.options = options
    self.connection = connection
    id = VaultID(bytes: header.vault.bytes)
    formatVersion = Int(header.format)
    slots = header.slots.map(\.summary)
  }

  init(_ place: VaultPlace, _ header: VaultHeader, _ options: VaultOptions) { self.init(place, header, options, nil) }

  /// Making one costs several round trips.
  private final class Connection: Sendable {
    private let rows: Mutex<(any VaultRows)?>
    private let process = getpid()

    init(_ rows: sending any VaultRows) { self.rows = Mutex(rows) }

    /// Nil after the first time, and in a forked child, which shares the socket with its parent.
    func take() -> sending (any VaultRows)? { process == getpid() ? rows.withLock { $0.take() } : nil }
  }

  /// Unlocks with the first slot that `credentials` open. Blocks for Argon2id (about 0.3 s) if it tries a passphrase.
  ///
  /// - Throws: `StoreError` `.wrongSecret`, `.noCredentials`, `.tampered`, `.damaged`, `.kdfMemory`; against the pin or the
  ///   options `.rolledBack`, `.forked`, `.replaced`, `.unproven` (a recipient's first sight of the vault without an
  ///   expected id); and the errors of ``open(_:options:)``.
  public func unlock(with credentials: consuming Credentials) throws(StoreError) -> UnlockedVault {
    UnlockedVault(try OpenVault.unlock(place, over: connection?.take(), with: credentials, options: options))
  }

  /// Unlocks the vault although this machine's pin rejects it, and expects it in this state from now on. For a deliberate
  /// restore or replacement, or a damaged pin.
  ///
  /// - Throws: the errors of `unlock(with:)`, except `.rolledBack`, `.forked`, `.replaced` and `.damaged` because of the
  ///   pin; the errors of writing the pin; `.incomplete` if the options name no folder of pins.
  public func unlockAcceptingPin(with credentials: consuming Credentials) throws(StoreError) -> UnlockedVault {
    try place.checkIsNoMirror()
    guard options.pins != nil else {
      throw StoreError(.incomplete, "there is no folder for pins", place: place.description, cure: "name one in the options")
    }
    return UnlockedVault(try OpenVault.unlock(place, with: credentials, options: options, trust: .pinIsAccepted))
  }

  /// Unlocks the vault for the first time on this machine or at this place, and remembers it.
  ///
  /// An invitation in the options or in the identity's file proves the vault, as does the slot of a secret other than a
  /// recipient's. Without proof, a person can compare the argument of `confirm` with a member's display, such as the first
  /// 32 digits of the mark. No other call accepts an unproven vault. Everything known of the vault must still hold,
  /// including this machine's pin.
  ///
  /// - Parameters:
  ///   - credentials: the vault's secrets.
  ///   - confirm: whether the vault is the right one; asked once, and only without proof.
  /// - Throws: the errors of `unlock(with:)`, with `.unproven` also if `confirm` returns false; the errors of writing the
  ///   pin; `.incomplete` if the options name no folder of pins.
  public func join(
    with credentials: consuming Credentials, confirm: (Invitation) -> Bool = { _ in false }
  ) throws(StoreError) -> UnlockedVault {
    try place.checkIsNoMirror()
    guard options.pins != nil else {
      throw StoreError(.incomplete, "there is no folder for pins", place: place.description, cure: "name one in the options")
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
