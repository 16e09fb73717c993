internal import CofferMemory
internal import CofferStorage
internal import SystemPackage

extension OpenVault {
  /// Within a transaction: notices commits by others and verifies what they left, down to the digests.
  func refresh() throws(StoreError) {
    let version = try database.dataVersion()
    guard version != dataVersion else { return }
    try database.recheckSchema()
    try reloadHeader()
    state = try Self.readState(database, header, headerDigest, keys)
    let read = try Self.readDigests(database, keys, expecting: state.root)
    lists = lists.filter { read.digests[$0.key] == tree.digests[$0.key] }
    tree = read
    try pins?.check(state, epoch: header.epoch)
    dataVersion = version
    pins?.remember(state, epoch: header.epoch, isOwn: false)
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
    try slot.reopen(in: next, path: path.string)
    let nextKeys = try checked { () throws(FormatError) in try Subkeys(of: slot.key, vault: next.vault) }
    headerBody = try checked { () throws(FormatError) in try next.openBody(nextKeys) }
    header = next
    headerDigest = digest
    keys = nextKeys
    lists = [:]
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
      if let digest = Digest32(bytes) { digests[bucket] = digest }
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

  static func tampered(_ what: String, _ path: FilePath) -> StoreError {
    StoreError(
      .tampered, what, place: path.string,
      cure: "someone changed the vault without its key: restore a backup, and ask who can write this file")
  }
}
