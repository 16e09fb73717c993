public import CofferPlatform
public import CofferVault
package import CofferVaultFormat
package import FoundationEssentials
public import SystemPackage

/// One vault's sync with one remote, which only keeps files.
///
/// ```swift
/// let places = try Places.standard()
/// let vault = try LockedVault.open(places.vault, options: places.vaultOptions).unlock(with: credentials)
/// let sync = try VaultSync("git@host:ada/vault.git", pins: places.pins, caches: places.caches)
/// let report = try sync.run(vault, SyncOptions(machine: "desk"))
/// ```
///
/// The calls run git or rclone and wait for the network: keep them off threads that must answer. A vault has one sync at a time
/// on a machine; another one waits for 5 s.
public struct VaultSync: Sendable {
  let name: RemoteName
  let pins: FilePath
  let caches: FilePath
  /// The clock of the memory, and of a compaction.
  package var clock: @Sendable () -> Date = { Date() }

  /// The remote, as it is remembered and shown.
  public var remote: String { name.text }

  /// Raced by others so often, a sync gives up: some machine put something each time.
  private static let mostRaces = 8

  /// Names a remote. Neither reads nor makes anything.
  ///
  /// - Parameters:
  ///   - remote: a folder, a git address, `rclone:REMOTE:PATH` or `command:PROGRAM`.
  ///   - pins: the folder of this machine's pins, where it remembers the remote.
  ///   - caches: a folder for pieces that can be brought again.
  /// - Throws: `StoreError` `.invalidName` for any other text, and for an address with a secret.
  public init(_ remote: String, pins: FilePath, caches: FilePath) throws(StoreError) {
    name = try RemoteName(remote)
    (self.pins, self.caches) = (pins, caches)
  }

  /// Joins the heads at the remote with `vault`, and puts the result there. After an error nothing has changed; if the put
  /// failed, the heads are taken.
  ///
  /// A later key that another machine gave the vault is followed, if it comes from the one here.
  ///
  /// - Parameters:
  ///   - vault: this machine's copy.
  ///   - options: how to sync.
  ///   - credentials: another secret, where the one that opened `vault` does not open the heads there, as after a change of the
  ///     passphrase on another machine.
  /// - Throws: `StoreError` `.rolledBack` for a remote that lacks a put that this machine has seen, `.forked` for two puts of
  ///   one machine and one generation, and for a key of another history, `.locked` if no given secret opens a later key,
  ///   `.conflict` for a slot that got two new secrets, `.replaced` for another vault, `.unreachable` for a remote that cannot
  ///   be reached or is not whole yet, `.busy` if others were always faster, `.tampered`, `.damaged`, `.noSpace`; the errors of
  ///   reading and writing the vault.
  public func run(
    _ vault: borrowing UnlockedVault, _ options: SyncOptions, with credentials: consuming Credentials? = nil
  ) throws(StoreError) -> SyncReport {
    let secrets = HeadSecrets(credentials)
    return try withTurn(vault.id) { () throws(StoreError) in
      for _ in 0..<Self.mostRaces {
        if let report = try round(of: vault.id, options).run(vault, secrets) { return report }
      }
      throw StoreError(
        .busy, "other machines put something \(Self.mostRaces) times meanwhile", place: remote, cure: "try again; all was taken")
    }
  }

  /// Whether nothing is to be done: since the last sync, neither the vault nor the heads there have changed. Needs no key.
  /// The time of the last sync is then now.
  ///
  /// - Throws: `StoreError` `.unreachable`, `.busy` while another sync runs, `.damaged` for an unreadable memory; the errors
  ///   of reading the vault.
  public func isInStep(_ vault: LockedVault) throws(StoreError) -> Bool {
    guard try SyncRecord.read(vault.id.salt, remote, in: pins) != nil else { return false }
    return try withTurn(vault.id) { () throws(StoreError) in
      let state = try HeadVault.state(of: vault)
      return try round(of: vault.id, SyncOptions(machine: "")).isInStep(state)
    }
  }

  /// For a look at a remote whose vault is not known yet.
  private static let nobody = VaultID(bytes: [UInt8](repeating: 0, count: 16))

  /// The vault at the remote, as its newest head tells it: its id, and the slots that open it. Nothing is proven.
  ///
  /// - Throws: `StoreError` `.notFound` if nothing lies there, `.unreachable`, `.damaged`.
  public func stated() throws(StoreError) -> (id: VaultID, slots: [SlotSummary]) {
    try withTurn(Self.nobody) { () throws(StoreError) in
      let round = try round(of: Self.nobody, SyncOptions(machine: ""))
      let stated = try HeadVault.stated(round.newest(round.look()))
      return (stated.vault, stated.slots)
    }
  }

  /// Makes a vault's file of the remote's files, and syncs it. The file has the rows of the newest head, and appears with
  /// this machine's item under its name; this machine remembers the vault there.
  ///
  /// The head must be proven by the credentials or by an invitation. A person may compare the report's generation with that of
  /// a machine that has the vault: a remote can withhold later puts from a machine that has seen none.
  ///
  /// - Parameters:
  ///   - file: the new vault.
  ///   - credentials: secrets for a slot of the head.
  ///   - options: how to open the vault; its folder of pins is this sync's.
  ///   - sync: as for ``run(_:_:with:)``. A trial opens the head and makes no file.
  /// - Throws: `StoreError` `.alreadyExists`, `.notFound` if nothing lies there, `.unproven` for a recipient's key without an
  ///   invitation, `.wrongSecret`, `.rolledBack` for a remote that was seen with more; the errors of ``run(_:_:with:)``, after
  ///   which the file may be there.
  public func clone(
    to file: FilePath, with credentials: consuming Credentials, options: VaultOptions, _ sync: SyncOptions
  ) throws(StoreError) -> SyncReport {
    guard try FileStatus(ofLinkAt: file) == nil else {
      throw StoreError(
        .alreadyExists, "something is already there", place: file.string, cure: "choose another path; nothing is replaced")
    }
    var options = options
    options.pins = pins
    let turn = try SyncTurn.take(of: Self.nobody, in: pins)
    let first = try round(of: Self.nobody, sync)
    let listing = try first.look()
    let head = try HeadVault.open(first.pieces(of: first.newest(listing).head), with: credentials, options: options)
    guard let vault = try round(of: head.id, sync).clone(head, listing, to: file, options) else {
      var report = SyncReport(remote: remote)
      (report.items, report.strangers) = (try head.count(ItemQuery()), listing.strangers)
      return report
    }
    turn.end()
    do throws(StoreError) { return try run(vault, sync) } catch {
      throw StoreError(
        error.kind, "the vault was cloned, but its first sync failed: \(error.what)", place: error.place ?? remote,
        cure: "sync with the remote: \(error.cure)", underlying: error, remedy: error.remedy)
    }
  }

  /// Removes unneeded files at the remote: heads that another one dominates, and groups that no head names. A group
  /// stays for a day after it was last needed, as a machine may be putting it.
  ///
  /// - Throws: the errors of ``run(_:_:with:)``; nothing else changes.
  public func compact(_ vault: borrowing UnlockedVault) throws(StoreError) -> SyncCompaction {
    try withTurn(vault.id) { () throws(StoreError) in
      let round = try round(of: vault.id, SyncOptions(machine: ""))
      let listing = try round.look()
      var report = SyncReport(remote: remote)
      let secrets = HeadSecrets(nil)
      // A head under an unproven key dominates nothing.
      let choice = try round.choose(round.found(listing.heads, secrets, by: vault, &report), secrets, by: vault)
      return try round.compact(choice.heads, choice.former(of: listing.heads), listing.heads, isAsked: true)
    }
  }

  func round(of vault: VaultID, _ options: SyncOptions) throws(StoreError) -> SyncRound {
    try SyncRound(name, vault, pins: pins, caches: caches, options, clock: clock)
  }

  func withTurn<Result>(
    _ vault: VaultID, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let turn = try SyncTurn.take(of: vault, in: pins)
    let result = try body()
    turn.end()
    return result
  }
}

extension VaultID {
  package var salt: VaultSalt {
    guard let salt = VaultSalt(bytes) else { preconditionFailure("a vault's id has 16 bytes") }
    return salt
  }
}
