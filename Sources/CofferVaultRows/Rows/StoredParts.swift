package import CofferPlatform
internal import CofferStorage
package import CofferVaultFormat

/// The single rows of a vault, opened or sealed under the caller's keys.
package enum StoredParts {
  /// Returns the first of the two copies that matches its checksum.
  package static func readHeader(_ database: any VaultRows) throws(StoreError) -> (header: VaultHeader, digest: Digest32) {
    var damage: StoreError?
    for copy in [HeaderCopy.first, .second] {
      do { if let found = try readHeader(copy, database) { return found } } catch {
        guard error.kind == .damaged else { throw error }
        damage = error
      }
    }
    throw damage ?? missing("header", database)
  }

  package static func readHeader(
    _ copy: HeaderCopy, _ database: any VaultRows
  ) throws(StoreError) -> (header: VaultHeader, digest: Digest32)? {
    try database.withHeader(copy) { (bytes) throws(StoreError) in
      try checked(database.place) { () throws(FormatError) in try VaultHeader.decode(bytes) }
    }
  }

  package static func readState(
    _ database: any VaultRows, _ header: VaultHeader, _ headerDigest: Digest32, _ keys: borrowing Subkeys
  ) throws(StoreError) -> VaultState {
    let state = try database.withState { (bytes) throws(StoreError) in
      try checked(database.place) { () throws(FormatError) in
        try VaultState(opening: bytes, epoch: header.epoch, header: headerDigest, keys: keys)
      }
    }
    guard let state else { throw missing("state", database) }
    return state
  }

  package static func readDigests(
    _ database: any VaultRows, _ keys: borrowing Subkeys, expecting root: Digest32, from held: DigestTree? = nil
  ) throws(StoreError) -> DigestTree {
    try putMissingDigests(database, keys)
    var digests = [Digest32](repeating: .zero, count: DigestTree.buckets)
    try database.forEachDigest(in: nil) { (bucket, bytes) throws(StoreError) in
      // A bucket without records has no row. A row of zeros would not change the root.
      guard let digest = Digest32(bytes), digest != .zero else {
        throw tampered("a bucket without records has a digest", database.place)
      }
      digests[bucket] = digest
    }
    let tree = held.map { $0.changed(to: digests, keys: keys) } ?? DigestTree(digests, keys: keys)
    guard tree.root == root else { throw tampered("the bucket digests do not fit the vault's state", database.place) }
    return tree
  }

  /// The root in the state then proves the rows that were read here.
  private static func putMissingDigests(_ database: any VaultRows, _ keys: borrowing Subkeys) throws(StoreError) {
    for bucket in database.bucketsWithoutDigest {
      var entries: [BucketEntry] = []
      try database.forEachIndex(inBucket: bucket) { (index, id) throws(StoreError) in
        if let index = RecordIndex(index), let id = RecordID(id) { entries.append(BucketEntry(index: index, id: id)) }
      }
      guard !entries.isEmpty else { continue }
      try DigestTree.digest(bucket, entries, keys: keys).withBytes { (digest) throws(StoreError) in
        try database.putDigest(digest, bucket: bucket)
      }
    }
  }

  package static func put(
    _ state: VaultState, _ header: VaultHeader, _ headerDigest: Digest32, _ database: any VaultRows,
    _ keys: borrowing Subkeys
  ) throws(StoreError) {
    let sealed = state.sealed(epoch: header.epoch, header: headerDigest, keys: keys)
    try sealed.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in try database.putState(bytes) }
  }

  package static func checked<Result: ~Copyable>(
    _ place: VaultPlace, _ body: () throws(FormatError) -> Result
  ) throws(StoreError) -> Result {
    do { return try body() } catch { throw error.storeError(place: place.description) }
  }

  /// The unsealed number in the state's row; nil if there is no valid state.
  package static func statedGeneration(_ database: any VaultRows) throws(StoreError) -> UInt64? {
    let stated = try database.withState { (bytes) throws(StoreError) -> UInt64? in
      guard bytes.count >= 8 else { return nil }
      return min(FileCounter.most, UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)))
    }
    return stated ?? nil
  }

  package static func verifyHeaders(of database: any VaultRows, are known: Digest32) throws(StoreError) {
    for copy in [HeaderCopy.first, .second] {
      guard let found = try readHeader(copy, database) else { throw missing("header or its copy", database) }
      guard found.digest == known else { throw tampered("the header and its copy differ", database.place) }
    }
  }

  package static func missing(_ part: String, _ database: any VaultRows) -> StoreError {
    StoreError(
      .damaged, "the vault's \(part) is missing", place: database.place.description, cure: "restore the vault from a backup")
  }

  package static func replaced(_ found: VaultSalt, _ expected: VaultSalt, _ place: VaultPlace) -> StoreError {
    StoreError(
      .replaced, "vault \(found) is where \(expected) was read before", place: place.description,
      cure: "unlock it again, if this vault is the right one")
  }

  package static func putBack(_ kind: StoreError.Kind, _ what: String, _ place: VaultPlace) -> StoreError {
    StoreError(
      kind, "an older vault was put back while it was open: \(what)", place: place.description,
      cure: "find out who put it back; to continue from the older state, close the vault, or lock it, and open it again")
  }

  package static func tampered(_ what: String, _ place: VaultPlace) -> StoreError {
    StoreError(
      .tampered, what, place: place.description,
      cure: "someone changed the vault without its key: restore a backup, and ask who can write this file")
  }
}

extension SealedSlot {
  package var summary: SlotSummary {
    SlotSummary(id: SlotSummary.ID(bytes: id.bytes), kind: frame.kind, passes: frame.passes, mebibytes: frame.mebibytes)
  }
}

extension VaultHeader {
  /// Refuses to write to a vault of a later format, which this version may know only in part.
  package func checkWritable(_ place: VaultPlace) throws(StoreError) {
    guard format > VaultFormat.version else { return }
    throw StoreError(
      .newerFormat(found: Int(format), supported: VaultFormat.version),
      "the vault is of format version \(format), and this version writes \(VaultFormat.version): it can be read, and nothing "
        + "was changed",
      place: place.description, cure: "update coffer")
  }
}
