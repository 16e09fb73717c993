internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension VerifiedView {
  /// Records between two calls of a progress report.
  private static let progressStep = 256

  /// Checks everything without decrypting a record; see ``UnlockedVault/verify(progress:)``.
  func verify(_ log: VaultLog, _ progress: (Int, Int) -> Void) throws(StoreError) -> VerifyReport {
    try verifyHeaders()
    let buckets = (0..<DigestTree.buckets).filter { tree.digests[$0] != .zero }
    var listed = 0
    for bucket in 0..<DigestTree.buckets { listed += try list(of: bucket, fresh: true).entries.count }
    guard UInt64(listed) == state.records else {
      throw Self.tampered("the vault holds \(listed) records where its state says \(state.records)", path)
    }
    try verifyRows(total: listed, progress)
    try log.verify()
    try database.outcomes.check()
    try database.checkNothingIsAdded()
    try database.checkPages()
    return VerifyReport(records: listed, buckets: buckets.count)
  }

  func verifyHeaders() throws(StoreError) {
    for copy in [VaultDatabase.HeaderCopy.first, .second] {
      guard let found = try Self.readHeader(copy, database) else { throw Self.missing("header or its copy", database) }
      guard found.digest == headerDigest else { throw Self.tampered("the header and its copy differ", path) }
    }
  }

  /// Looks every listed record up by its index, as a `get` does: a scan of the table could show other rows than a look-up.
  private func verifyRows(total: Int, _ progress: (Int, Int) -> Void) throws(StoreError) {
    var done = 0
    for bucket in 0..<DigestTree.buckets {
      for entry in try list(of: bucket).entries {
        try withRow(entry.index, entry.id, .all) { (row) throws(StoreError) in
          guard try checked({ () throws(FormatError) in try row.authenticates(keys) }) else {
            throw Self.tampered("a record was changed without the key", path)
          }
        }
        done += 1
        if done % Self.progressStep == 0 { Reentrancy.inside { progress(done, total) } }
      }
    }
    Reentrancy.inside { progress(done, total) }
  }
}

extension SealedSlot {
  /// What is said of the slot without a key.
  var summary: SlotSummary {
    SlotSummary(id: SlotSummary.ID(bytes: id.bytes), kind: frame.kind, passes: frame.passes, mebibytes: frame.mebibytes)
  }
}
