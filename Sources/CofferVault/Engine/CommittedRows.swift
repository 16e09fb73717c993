package import CofferPlatform
package import CofferVaultFormat
package import CofferVaultRows

/// One commit of a vault, without a key: each has a state of its own.
package struct CommittedState: Hashable, Sendable {
  package let generation: UInt64
  /// The digest of the sealed state's row.
  package let digest: Digest32

  package init(generation: UInt64, digest: Digest32) { (self.generation, self.digest) = (generation, digest) }

  /// Reads it within a transaction. Nothing is proven.
  init(_ rows: any VaultRows) throws(StoreError) {
    guard let generation = try StoredParts.statedGeneration(rows) else { throw StoredParts.missing("state", rows) }
    var digest: Digest32?
    try rows.lendState { (bytes) throws(StoreError) in digest = PlainHash.digest(bytes) }
    self.init(generation: generation, digest: digest ?? .zero)
  }
}

/// The rows of a vault's commit, lent within a read transaction, each checked with the keys before it leaves.
package struct CommittedRows {
  let view: VerifiedView

  package var state: VaultState { view.state }
  package var key: EpochMark { view.keys.epochMark }
  package var rows: any VaultRows { view.database }

  /// The same without a key.
  package func committed() throws(StoreError) -> CommittedState { try CommittedState(view.database) }

  /// Lends the rows of a bucket of `rec`, then of the same one of `old`, ascending by index, but for those at `kept`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` for a row that the key has not sealed: others would refuse it.
  package func forEachRow(
    ofPair pair: Int, without kept: Set<RecordIndex> = [],
    _ body: (RecordTable, _ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    for table in RecordTable.allCases {
      let bucket = table.buckets.lowerBound + pair
      guard view.tree.digests[bucket] != .zero else { continue }
      for entry in try view.list(of: bucket, fresh: true).entries where !kept.contains(entry.index) {
        try view.withRow(entry.index, entry.id, in: table, .all) { (row) throws(StoreError) in
          guard try view.checked({ () throws(FormatError) in try row.authenticatedMeta(view.keys) }) != nil else {
            throw StoredParts.tampered("a record was changed without the key", view.place)
          }
          try entry.index.withBytes { (index) throws(StoreError) in
            try entry.id.withBytes { (rid) throws(StoreError) in
              try body(table, index, RecordColumns(rid: rid, meta: row.meta, value: row.value))
            }
          }
        }
      }
    }
  }

  /// The bytes of the header.
  package func header() throws(StoreError) -> [UInt8] {
    var header: [UInt8]?
    for copy in [HeaderCopy.first, .second] where header == nil {
      try view.database.lendHeader(copy) { (bytes) throws(StoreError) in
        if PlainHash.digest(bytes) == view.headerDigest { header = [UInt8](bytes) }
      }
    }
    guard let header else { throw StoredParts.missing("header", view.database) }
    return header
  }
}

extension VerifiedView {
  /// The slot that opened this vault, with the key of another header of it. Within an epoch that is the held key, also where
  /// the header has no such slot: it may have been added here since.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/locked`` if the slot is gone or has another secret there,
  ///   ``/CofferPlatform/StoreError/Kind/tampered`` if neither key opens the header.
  func slot(for other: VaultHeader, at place: VaultPlace) throws(StoreError) -> OpenSlot {
    guard var slot = try slot.copied(in: header) else { throw Self.noSlot(place) }
    if other.epoch == header.epoch {
      do throws(FormatError) {
        _ = try other.openBody(keys, proving: [])
        return slot
      } catch {
        // Somebody made another key of the same epoch, which the kept secret may open, or has no key.
        guard case .unauthentic = error else { throw error.storeError(place: place.description) }
      }
    }
    do throws(StoreError) { try slot.reopen(in: other, place: place.description) } catch {
      throw error.kind == .locked ? Self.noSlot(place) : error
    }
    return slot
  }

  private static func noSlot(_ place: VaultPlace) -> StoreError {
    StoreError(
      .locked, "the slot that opened this vault is gone there, or has another secret", place: place.description,
      cure: "give a secret that opens it there")
  }
}
