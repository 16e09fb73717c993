package import CofferPlatform
package import CofferVaultFormat
package import CofferVaultRows
internal import FoundationEssentials

/// A vault in sealed pieces, which only lie at a remote: opened under the keys of the one here, and made from its rows.
package enum HeadVault {
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
    let (header, digest) = try rows.read { () throws(StoreError) in try StoredParts.readHeader(rows) }
    try requireSame(header, as: vault.id, place)
    let options = vault.core.options
    var slot: OpenSlot?
    if let credentials { slot = try OpenVault.search(header, with: credentials, options, place) }
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
    let head = try rows.read { () throws(StoreError) in
      guard let slot = slot.take() else { throw StoredParts.missing("slot", rows) }
      return try OpenVault(
        database: rows, header: header, headerDigest: digest, slot: slot,
        anchors: [Anchor(vault: header.vault, key: own, source: .heldKey)], pin: nil,
        options: VaultOptions(pins: nil, lockFolder: options.lockFolder), clock: { Date() })
    }
    try check(head.view.state, place)
    return UnlockedVault(head)
  }

  /// A head's verified header and state. Its rows were not read.
  package struct Outline: Sendable {
    package let key: EpochMark
    package let state: VaultState
  }

  /// Reads header and state of `rows` as a copy of `vault`; nil if they are under an older key than the vault's.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.replaced`, `.forked`, `.locked`, `.tampered`, `.damaged`, as
  ///   ``open(_:by:with:)``.
  package static func outline(_ rows: any VaultRows, of vault: borrowing UnlockedVault) throws(StoreError) -> Outline? {
    let place = rows.place
    let (header, digest) = try rows.read { () throws(StoreError) in try StoredParts.readHeader(rows) }
    try requireSame(header, as: vault.id, place)
    return try vault.core.read { (own) throws(StoreError) in
      let key = own.view.keys.epochMark
      guard header.epoch >= key.epoch else { return nil }
      let slot = try own.view.slot(for: header, at: place)
      let anchor = Anchor(vault: header.vault, key: key, source: .heldKey)
      let known = try KnownHeader(header, digest, slot: slot, proving: [anchor], place: place)
      let state = try StoredParts.readState(rows, header, digest, known.keys)
      try check(state, place)
      return Outline(key: known.keys.epochMark, state: state)
    }
  }

  private static func requireSame(_ header: VaultHeader, as vault: VaultID, _ place: VaultPlace) throws(StoreError) {
    guard header.vault.bytes != vault.bytes else { return }
    throw StoreError(
      .replaced, "vault \(header.vault) is there, and vault \(vault) here", place: place.description,
      cure: "give the remote of this vault")
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
