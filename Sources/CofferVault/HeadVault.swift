package import CofferPlatform
package import CofferVaultFormat
package import CofferVaultRows
internal import FoundationEssentials

/// A vault in sealed pieces, which only lie at a remote: opened under the keys of the one here, and made from its rows. The
/// pieces' rows never change, so that no transaction is needed.
package enum HeadVault {
  /// The header and the state of a head. Its groups need not be there.
  package struct Outline: Sendable {
    package let key: EpochMark
    /// Its replicas are the head's vector.
    package let state: VaultState
  }

  /// Opens header and state of `rows`, and reads no record: see ``open(_:by:with:)``.
  package static func outline(
    of rows: any VaultRows, by vault: borrowing UnlockedVault, with credentials: consuming Credentials? = nil
  ) throws(StoreError) -> Outline {
    let found = try Found(rows, vault, credentials)
    let known = try KnownHeader(found.header, found.digest, slot: found.slot, proving: [found.anchor], place: rows.place)
    let state = try StoredParts.readState(rows, found.header, found.digest, known.keys)
    try check(state, rows.place)
    return Outline(key: known.keys.epochMark, state: state)
  }

  /// Opens `rows` as a copy of `vault`: under its key, or a later one that comes from it. Its header, state and the set of
  /// its rows are checked; ``UnlockedVault/verify(progress:)`` and ``CommittedRows`` check the rows.
  ///
  /// - Parameter credentials: secrets for a slot of `rows`; nil for the slot that opened `vault`.
  /// - Throws: ``/CofferPlatform/StoreError`` `.replaced` for another vault, `.rolledBack` for an older key, `.forked` for a
  ///   key of another history, `.locked` if no known secret opens it, `.tampered`, `.damaged`.
  package static func open(
    _ rows: sending any VaultRows, by vault: borrowing UnlockedVault, with credentials: consuming Credentials? = nil
  ) throws(StoreError) -> UnlockedVault {
    let place = rows.place
    let found = try Found(rows, vault, credentials)
    let head = try OpenVault(
      database: rows, header: found.header, headerDigest: found.digest, slot: found.slot, anchors: [found.anchor], pin: nil,
      options: VaultOptions(pins: nil, lockFolder: vault.core.options.lockFolder), clock: { Date() })
    try check(head.view.state, place)
    return UnlockedVault(head)
  }

  /// A header, the slot that opens it, and the key here that it must come from.
  private struct Found: ~Copyable {
    let header: VaultHeader
    let digest: Digest32
    let slot: OpenSlot
    let anchor: Anchor

    init(
      _ rows: any VaultRows, _ vault: borrowing UnlockedVault, _ credentials: consuming Credentials?
    ) throws(StoreError) {
      let place = rows.place
      let (header, digest) = try StoredParts.readHeader(rows)
      guard header.vault.bytes == vault.id.bytes else {
        throw StoreError(
          .replaced, "vault \(header.vault) is there, and vault \(vault.id) here", place: place.description,
          cure: "give the remote of this vault")
      }
      var slot: OpenSlot?
      if let credentials { slot = try OpenVault.search(header, with: credentials, vault.core.options, place) }
      let own = try vault.core.read { (own) throws(StoreError) in
        let key = own.view.keys.epochMark
        guard header.epoch >= key.epoch else {
          throw StoreError(
            .rolledBack, "the key there is of epoch \(header.epoch), and the one here of epoch \(key.epoch)",
            place: place.description, cure: "sync on the machine that put it, which then follows the newer key")
        }
        if slot == nil { slot = try own.view.slot(for: header, at: place) }
        return key
      }
      guard let opened = slot.take() else { throw StoredParts.missing("slot", rows) }
      self.slot = opened
      (self.header, self.digest) = (header, digest)
      anchor = Anchor(vault: header.vault, key: own, source: .heldKey)
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
    let found = try vault.core.read { (vault) throws(StoreError) in vault.view.pins?.replica }
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
