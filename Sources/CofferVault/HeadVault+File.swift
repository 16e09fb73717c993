package import CofferPlatform
internal import CofferStorage
package import CofferVaultFormat
package import CofferVaultRows
internal import FoundationEssentials
package import SystemPackage

extension HeadVault {
  /// The id, the key's epoch and the slots that the header of `rows` tells. Nothing is proven.
  package static func stated(
    _ rows: any VaultRows
  ) throws(StoreError) -> (vault: VaultID, epoch: UInt64, slots: [SlotSummary]) {
    let header = try StoredParts.readHeader(rows).header
    return (VaultID(bytes: header.vault.bytes), header.epoch, header.slots.map(\.summary))
  }

  /// Makes a vault's file of the rows of `head`, byte for byte, and one commit with this machine's item. It appears under its
  /// name with that commit, durable; this machine remembers it there.
  ///
  /// - Parameters:
  ///   - file: the new vault's file. Missing folders are made.
  ///   - options: how to open it. They name a folder of pins, and whatever these know of the vault must hold.
  ///   - item: this machine's item, for its new id among the writers of the vault.
  /// - Throws: ``/CofferPlatform/StoreError`` `.alreadyExists`, `.replaced` where this machine expects another vault, the
  ///   refusal of a known key, `.incomplete` without a folder of pins, `.denied`, `.noSpace`, `.tampered`. Leaves nothing
  ///   behind.
  package static func makeFile(
    _ file: FilePath, of head: borrowing UnlockedVault, options: VaultOptions,
    item: (ReplicaID) throws(StoreError) -> ItemChange
  ) throws(StoreError) -> UnlockedVault {
    let target = try VaultFile(file).made()
    let place = VaultPlace.file(target)
    guard let vault = VaultSalt(head.id.bytes), let pins = options.pins else {
      throw StoreError(.incomplete, "there is no folder for pins", place: place.description, cure: "name one in the options")
    }
    if let other = try place.expected(by: pins).first(where: { $0.bytes != vault.bytes }) {
      throw StoreError(
        .replaced, "vault \(other) was there before, and this is \(vault)", place: place.description,
        cure: "choose another path, or put the right vault back")
    }
    let pin = try PinWatch(pins, vault: vault, place: place, accepting: true)
    try check(head, pin)
    let copy = try NewCopy.begin(for: target, of: nil)
    let (replica, before) = (ReplicaID.random(), try pin.knownReplica())
    let seen = try pin.knownGeneration()
    let known = try StoredParts.checked(place) { () throws(FormatError) in try FileCounter.next(seen, "generation") }
    try copy.making { (draft) throws(StoreError) in
      let rows = try VaultDatabase.create(at: draft) { (copy) throws(StoreError) in
        try head.core.read { (head) throws(StoreError) in try head.view.database.copyRows(to: copy) { _, _ in } }
      }
      let made = try opened(rows, as: head, .withoutPins)
      let item = try item(replica)
      try made.write { (made, change) throws(StoreError) in
        _ = try made.items.whole.apply([item], &change)
        // The puts have numbers of their own. Above all that this machine has seen, the pin finds no older copy.
        (change.replica, change.previousReplica) = (replica, before)
        change.leastGeneration = known
      }
      try rows.removeOldBytes(rewriting: false)
      rows.close()
    }
    try copy.publish()
    let made = try opened(place.rowsToRead(isBrief: options.isBrief), as: head, options)
    pin.acceptOwn(made.view.state, key: made.view.keys.epochMark, replica: replica)
    made.begin(pin)
    return UnlockedVault(made)
  }

  /// A remote may not go back behind the key that this machine has seen.
  private static func check(_ head: borrowing UnlockedVault, _ pin: PinWatch) throws(StoreError) {
    guard let key = try pin.knownKey() else { return }
    try head.core.read { (head) throws(StoreError) in
      let anchor = Anchor(vault: head.view.header.vault, key: key, source: .pin)
      _ = try head.view.checked { () throws(FormatError) in
        try head.view.header.openBody(head.view.keys, proving: [anchor])
      }
    }
  }

  /// Rows with the header of an open vault, under its key.
  private static func opened(
    _ rows: any VaultRows, as vault: borrowing UnlockedVault, _ options: VaultOptions
  ) throws(StoreError) -> OpenVault {
    var slot: OpenSlot?, known: (header: VaultHeader, digest: Digest32)?
    try vault.core.read { (vault) throws(StoreError) in
      slot = try vault.view.slot.copied(in: vault.view.header)
      known = (vault.view.header, vault.view.headerDigest)
    }
    return try rows.read { () throws(StoreError) in
      guard let slot = slot.take(), let known else { throw StoredParts.missing("slot", rows) }
      return try OpenVault(
        database: rows, header: known.header, headerDigest: known.digest, slot: slot, anchors: [], pin: nil, options: options,
        clock: { Date() })
    }
  }
}
