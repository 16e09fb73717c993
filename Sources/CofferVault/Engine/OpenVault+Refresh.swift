internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension OpenVault {
  /// Within a transaction: notices commits by others and verifies what they left, down to the digests.
  func refresh() throws(StoreError) {
    let version = try database.dataVersion()
    guard version != dataVersion else { return }
    try database.recheckSchema()
    try reloadHeader()
    let next = try Self.readState(database, header, headerDigest, keys)
    try checkProgress(to: next)
    try pins?.check(next, epoch: header.epoch)
    let read = try Self.readDigests(database, keys, expecting: next.root)
    state = next
    lists = lists.filter { read.digests[$0.key] == tree.digests[$0.key] }
    tree = read
    dataVersion = version
    pins?.remember(state, epoch: header.epoch)
  }

  /// A later transaction never sees an older commit, so a state that does was put back while the vault was open. An old state is
  /// authentic; only what this process remembers tells it from the present one.
  private func checkProgress(to next: VaultState) throws(StoreError) {
    guard next.generation >= state.generation else {
      throw Self.putBack(.rolledBack, "commit \(next.generation) stands where commit \(state.generation) was read before", path)
    }
    guard next.generation > state.generation || next.commit == state.commit else {
      throw Self.putBack(.forked, "another commit \(next.generation) stands where one was read before", path)
    }
  }

  /// Follows a rotation made elsewhere: the slot's kept secret opens the new epoch's box, without a passphrase.
  private func reloadHeader() throws(StoreError) {
    let (next, digest) = try Self.readHeader(database)
    guard digest != headerDigest else { return }
    guard next.vault == header.vault else {
      throw StoreError(
        .replaced, "vault \(next.vault) stands where \(header.vault) was unlocked", place: path.string,
        cure: "unlock it again, if this vault is the right one")
    }
    guard next.epoch >= header.epoch else {
      throw Self.putBack(.rolledBack, "the header of key epoch \(next.epoch) stands where \(header.epoch) was read before", path)
    }
    guard slot.kind != .recipient else { return try follow(next, digest) }
    do { try slot.reopen(in: next, path: path.string) } catch {
      isOver = error.kind == .locked
      throw error
    }
    let nextKeys = try checked { () throws(FormatError) in try Subkeys(of: slot.key, vault: next.vault) }
    headerBody = try checked { () throws(FormatError) in try next.openBody(nextKeys) }
    header = next
    headerDigest = digest
    keys = nextKeys
    lists = [:]
  }

  /// Follows a header under the key that is held, the only one that a recipient's slot can follow: whoever reads the file knows the
  /// public key and can seal a vault of his own to it, so that a new key's box opens says nothing of who made it.
  private func follow(_ next: VaultHeader, _ digest: Digest32) throws(StoreError) {
    do throws(FormatError) { headerBody = try next.openBody(keys) } catch .memory(let error) {
      throw FormatError.memory(error).storeError(place: path.string)
    } catch {
      isOver = true
      throw StoreError(
        .locked, "the vault's key was changed, and nothing proves to a recipient's slot who changed it", place: path.string,
        cure: "ask who rotated the key, then unlock the vault again")
    }
    header = next
    headerDigest = digest
  }

  /// The header and its digest: of the two copies, the first that fits its own checksum.
  static func readHeader(_ database: VaultDatabase) throws(StoreError) -> (header: VaultHeader, digest: Digest32) {
    var damage: StoreError?
    for copy in [VaultDatabase.HeaderCopy.first, .second] {
      do { if let found = try readHeader(copy, database) { return found } } catch {
        guard error.kind == .damaged else { throw error }
        damage = error
      }
    }
    throw damage ?? missing("header", database)
  }

  /// One copy of the header; nil when its row is missing.
  static func readHeader(
    _ copy: VaultDatabase.HeaderCopy, _ database: VaultDatabase
  ) throws(StoreError) -> (header: VaultHeader, digest: Digest32)? {
    try database.withHeader(copy) { (bytes) throws(StoreError) in
      let header = try checked(database.path) { () throws(FormatError) in try VaultHeader(decoding: bytes) }
      return (header, PlainHash.digest(bytes))
    }
  }

  static func readState(
    _ database: VaultDatabase, _ header: VaultHeader, _ headerDigest: Digest32, _ keys: borrowing Subkeys
  ) throws(StoreError) -> VaultState {
    let state = try database.withState { (bytes) throws(StoreError) in
      try checked(database.path) { () throws(FormatError) in
        try VaultState(opening: bytes, epoch: header.epoch, header: headerDigest, keys: keys)
      }
    }
    guard let state else { throw missing("state", database) }
    return state
  }

  static func readDigests(
    _ database: VaultDatabase, _ keys: borrowing Subkeys, expecting root: Digest32
  ) throws(StoreError) -> DigestTree {
    var digests = [Digest32](repeating: .zero, count: DigestTree.buckets)
    try database.forEachDigest { (bucket, bytes) throws(StoreError) in
      // A bucket without records has no row: one of zeros would change nothing that the root tells of.
      guard let digest = Digest32(bytes), digest != .zero else {
        throw tampered("a bucket without records has a digest", database.path)
      }
      digests[bucket] = digest
    }
    let tree = DigestTree(digests, keys: keys)
    guard tree.root == root else { throw tampered("the bucket digests do not fit the vault's state", database.path) }
    return tree
  }

  /// The list of `bucket` as the verified digests have it.
  ///
  /// - Parameter fresh: read the rows even when a verified list is kept: a write must notice rows that were changed behind
  ///   it, or it would bless what it then leaves in place.
  func list(of bucket: Int, fresh: Bool = false) throws(StoreError) -> BucketList {
    if !fresh, let kept = lists[bucket] { return kept }
    var list = BucketList()
    try database.forEachIndex(inBucket: bucket) { (index, id) throws(StoreError) in
      if let index = RecordIndex(index), let id = RecordID(id) { list.append(BucketEntry(index: index, id: id)) }
    }
    guard DigestTree.digest(bucket, list.entries, keys: keys) == tree.digests[bucket] else {
      throw Self.tampered("the records of a bucket do not fit its digest", path)
    }
    lists[bucket] = list
    return list
  }

  static func missing(_ part: String, _ database: VaultDatabase) -> StoreError {
    StoreError(
      .damaged, "the vault's \(part) is missing", place: database.path.string, cure: "restore the vault from a backup")
  }

  private static func putBack(_ kind: StoreError.Kind, _ what: String, _ path: FilePath) -> StoreError {
    StoreError(
      kind, "an older vault was put back while it was open: \(what)", place: path.string,
      cure: "find out who replaced the file's content; to go on from the older state, lock the vault and unlock it again")
  }

  static func tampered(_ what: String, _ path: FilePath) -> StoreError {
    StoreError(
      .tampered, what, place: path.string,
      cure: "someone changed the vault without its key: restore a backup, and ask who can write this file")
  }
}
