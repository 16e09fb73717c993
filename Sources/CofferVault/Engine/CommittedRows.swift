package import CofferPlatform
package import CofferVaultFormat
package import CofferVaultRows

/// The rows of a vault's commit, lent within a read transaction, each checked with the keys before it leaves.
package struct CommittedRows {
  let view: VerifiedView

  package var state: VaultState { view.state }
  package var key: EpochMark { view.keys.epochMark }
  package var rows: any VaultRows { view.database }

  /// The digests of a bucket of `rec` and of the same one of `old`: equal ones under one key are of equal rows.
  package func digests(ofPair pair: Int) -> [Digest32] {
    RecordTable.allCases.map { view.tree.digests[$0.buckets.lowerBound + pair] }
  }

  /// Lends the rows of a bucket of `rec`, then of the same one of `old`, ascending by index.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` for a row that the key has not sealed: others would refuse it.
  package func forEachRow(
    ofPair pair: Int,
    _ body: (RecordTable, _ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    for table in RecordTable.allCases {
      let bucket = table.buckets.lowerBound + pair
      guard view.tree.digests[bucket] != .zero else { continue }
      for entry in try view.list(of: bucket, fresh: true).entries {
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

  /// The bytes of the header, and of a state for a head with these rows and an empty log.
  ///
  /// - Parameters:
  ///   - generation: one above those of the heads that it joins.
  ///   - replicas: the last put of each machine, ascending by id, with the head's own entry.
  package func head(
    generation: UInt64, commit: CommitID, replicas: [VaultState.Replica]
  ) throws(StoreError) -> (header: [UInt8], state: [UInt8]) {
    precondition(replicas.contains { $0.generation == generation && $0.commit == commit }, "a head is in its own vector")
    let state = VaultState(
      generation: generation, commit: commit, root: view.tree.root, counts: view.state.counts, time: view.now, logSequence: 0,
      logHead: .zero, replicas: replicas)
    return (try header(), state.sealed(epoch: view.header.epoch, header: view.headerDigest, keys: view.keys))
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
