package import CofferPlatform
package import CofferVaultFormat
package import CofferVaultRows
package import FoundationEssentials

/// A vault in sealed pieces, which only lie at a remote: opened under the keys of the one here, and made from its rows. The
/// pieces' rows never change, so that no transaction is needed.
package enum HeadVault {
  /// The header and the state of a head. Its groups need not be there.
  package struct Outline: Sendable {
    package let key: EpochMark
    /// How the key descends from the one here.
    package let line: Line
    /// Its replicas are the head's vector.
    package let state: VaultState
    /// When the key was made, by the clock of its maker.
    package let rotated: Date
    package let slots: [VaultStatus.Slot]
  }

  /// The descent of a head's key.
  package enum Line: Sendable {
    /// It is the key of this vault.
    case same
    /// It comes from the key of this vault, and from every other one that must be proven.
    case later
    /// It does not.
    case apart
  }

  /// The slot of a head, opened by other secrets than those that opened the vault here: they are tried once for all heads.
  package final class Slot: Sendable {
    fileprivate let slot: OpenSlot
    fileprivate init(_ slot: consuming OpenSlot) { self.slot = slot }

    /// Whether its secret proves the vault's key, as a recipient's does not.
    package var provesKey: Bool { slot.anchor != nil }
  }

  /// Opens a slot of `rows`.
  ///
  /// - Throws: `.wrongSecret`, `.kdfMemory`, `.replaced` for another vault.
  package static func slot(
    of rows: any VaultRows, by vault: borrowing UnlockedVault, with credentials: consuming Credentials
  ) throws(StoreError) -> Slot {
    let header = try Found.header(rows, vault).header
    return Slot(try OpenVault.search(header, with: credentials, vault.core.options, rows.place))
  }

  /// Opens header and state of `rows`, and reads no record: see ``open(_:by:with:taking:)``.
  package static func outline(
    of rows: any VaultRows, by vault: borrowing UnlockedVault, with slot: Slot? = nil
  ) throws(StoreError) -> Outline {
    let found = try Found(rows, vault, slot)
    var line = found.isLater ? Line.later : .same
    var known: KnownHeader
    do throws(StoreError) { known = try found.known(proving: found.anchors, rows.place) } catch {
      guard error.kind == .forked else { throw error }
      known = try found.known(proving: [], rows.place)
      line = .apart
    }
    let state = try StoredParts.readState(rows, found.header, found.digest, known.keys)
    try check(state, rows.place)
    return Outline(
      key: known.keys.epochMark, line: line, state: state, rotated: known.rotated, slots: known.summaries(inUse: nil))
  }

  /// Whether the key of `rows` is `key`, or comes from it.
  package static func comes(
    _ rows: any VaultRows, from key: EpochMark, by vault: borrowing UnlockedVault, with slot: Slot? = nil
  ) throws(StoreError) -> Bool {
    let found = try Found(rows, vault, slot)
    guard key.epoch <= found.header.epoch else { return false }
    return try found.known(proving: [], rows.place).comes(
      from: [Anchor(vault: found.header.vault, key: key, source: .header)])
  }

  /// Opens `rows` as a copy of `vault`: under its key, or a later one that comes from it. Its header, state and the set of
  /// its rows are checked; ``UnlockedVault/verify(progress:)`` and ``CommittedRows`` check the rows.
  ///
  /// - Parameters:
  ///   - slot: a slot of `rows`, where the one that opened `vault` does not open it.
  ///   - taken: a key of another line that a person chose: only invitations must prove it.
  /// - Throws: ``/CofferPlatform/StoreError`` `.replaced` for another vault, `.rolledBack` for an older key, `.forked` for a
  ///   key of another history, `.locked` if no known secret opens it, `.tampered`, `.damaged`.
  package static func open(
    _ rows: sending any VaultRows, by vault: borrowing UnlockedVault, with slot: Slot? = nil, taking taken: EpochMark? = nil
  ) throws(StoreError) -> UnlockedVault {
    let place = rows.place
    let found = try Found(rows, vault, slot, isTaken: taken != nil)
    let key = try taken == nil ? nil : found.known(proving: [], place).keys.epochMark
    let anchors = key != nil && key == taken ? found.anchors.filter { $0.source == .invitation } : found.anchors
    let head = try OpenVault(
      database: rows, header: found.header, headerDigest: found.digest, slot: found.slot, anchors: anchors, pin: nil,
      options: VaultOptions(pins: nil, lockFolder: vault.core.options.lockFolder), clock: { Date() })
    try check(head.view.state, place)
    return UnlockedVault(head)
  }

  /// A header, the slot that opens it, and the keys that it must come from.
  private struct Found: ~Copyable {
    let header: VaultHeader
    let digest: Digest32
    let slot: OpenSlot
    let anchors: [Anchor]
    /// Whether the key is another one than here, for a head whose key comes from that.
    let isLater: Bool

    static func header(
      _ rows: any VaultRows, _ vault: borrowing UnlockedVault
    ) throws(StoreError) -> (header: VaultHeader, digest: Digest32) {
      let found = try StoredParts.readHeader(rows)
      guard found.header.vault.bytes == vault.id.bytes else {
        throw StoreError(
          .replaced, "vault \(found.header.vault) is there, and vault \(vault.id) here", place: rows.place.description,
          cure: "give the remote of this vault")
      }
      return found
    }

    /// - Parameter isTaken: whether the key may be older than here: another head under it had a slot that was removed here.
    init(
      _ rows: any VaultRows, _ vault: borrowing UnlockedVault, _ other: Slot?, isTaken: Bool = false
    ) throws(StoreError) {
      let place = rows.place
      let (header, digest) = try Self.header(rows, vault)
      var slot: OpenSlot?
      var anchors: [Anchor] = []
      var epoch: UInt64 = 0
      try vault.core.run { (vault) throws(StoreError) in
        try vault.read { (own) throws(StoreError) in
          anchors = own.view.lineAnchors
          epoch = own.view.header.epoch
          guard header.epoch >= epoch || isTaken else {
            throw StoreError(
              .rolledBack, "the key there is of epoch \(header.epoch), and the one here of epoch \(epoch)",
              place: place.description, cure: "sync on the machine that put it, which then follows the newer key")
          }
          do throws(StoreError) { slot = try own.view.slot(for: header, at: place) } catch {
            guard error.kind == .locked, let found = try other?.slot.copied(in: header) else { throw error }
            anchors += found.anchor.map { [$0] } ?? []
            slot = consume found
          }
        }
      }
      guard let opened = slot.take() else { throw StoredParts.missing("slot", rows) }
      self.slot = opened
      (self.header, self.digest, self.anchors) = (header, digest, anchors)
      isLater = header.epoch > epoch
    }

    /// The header with its proven key.
    borrowing func known(proving anchors: [Anchor], _ place: VaultPlace) throws(StoreError) -> KnownHeader {
      try KnownHeader(header, digest, slot: slot, proving: anchors, place: place)
    }
  }

  /// Opens `rows` where there is no vault yet, as far as the options' invitations and the credentials prove it.
  ///
  /// - Throws: the errors of unlocking a vault; `.unproven` if only a recipient's key opens it and nobody has invited.
  package static func open(
    _ rows: sending any VaultRows, with credentials: consuming Credentials, options: VaultOptions
  ) throws(StoreError) -> UnlockedVault {
    let place = rows.place
    // The pins count the commits of the vault, and a head the puts.
    var options = options
    options.pins = nil
    let head = try OpenVault.unlock(over: rows, with: credentials, options: options, trust: .everyAnchor)
    try check(head.view.state, place)
    return UnlockedVault(head)
  }

  /// A head names the machine that put it, or no later one could be told from it.
  private static func check(_ state: VaultState, _ place: VaultPlace) throws(StoreError) {
    guard state.replicas.contains(where: { $0.generation == state.generation }), state.logSequence == 0, !state.scrub else {
      throw StoreError(
        .damaged, "the state is of no machine's put", place: place.description, cure: "begin the remote anew from this vault")
    }
  }

  /// This machine, as the vault's pin names it: its id among the writers of the vault.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/incomplete`` for a vault that this machine does not remember.
  package static func replica(of vault: borrowing UnlockedVault) throws(StoreError) -> ReplicaID {
    // Another process may have accepted the vault under a new name.
    let found = try vault.core.read { (vault) throws(StoreError) in
      try vault.view.pins?.read()
      return vault.view.pins?.replica
    }
    guard let found else {
      throw StoreError(
        .incomplete, "this machine does not remember the vault", place: vault.place.description,
        cure: "name a folder of pins in the options")
    }
    return found
  }

  /// The current commit of a vault, without a secret.
  package static func state(of vault: LockedVault) throws(StoreError) -> CommittedState {
    let database = try vault.place.rowsToRead()
    defer { database.close() }
    return try database.read { () throws(StoreError) in try CommittedState(database) }
  }

  /// Those of `wanted` that the vault's log has.
  package static func commits(
    of vault: borrowing UnlockedVault, among wanted: Set<CommitID>
  ) throws(StoreError) -> Set<CommitID> {
    try vault.core.read { (vault) throws(StoreError) in
      var found: Set<CommitID> = []
      try vault.log.forEach(last: .max) { (_, entry) throws(StoreError) in
        if wanted.contains(entry.commit) { found.insert(entry.commit) }
      }
      return found
    }
  }

  /// Runs `body` over the current commit of `vault`, in one read transaction.
  package static func read<Result: Sendable>(
    _ vault: borrowing UnlockedVault, _ body: (CommittedRows) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try vault.core.read { (vault) throws(StoreError) in try body(CommittedRows(view: vault.view)) }
  }
}
