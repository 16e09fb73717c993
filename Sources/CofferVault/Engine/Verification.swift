internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// The check of a whole open vault, within a read transaction; see ``UnlockedVault/verify(progress:)``.
struct Verification {
  let view: VerifiedView

  private static let progressStep = 256

  func run(_ log: VaultLog, _ progress: (Int, Int) -> Void) throws(StoreError) -> VerifyReport {
    try StoredParts.verifyHeaders(of: view.database, are: view.headerDigest)
    let buckets = RecordTable.allCases.flatMap(view.tree.filled)
    var listed = 0
    for table in RecordTable.allCases { for list in try view.lists(of: table) { listed += list.entries.count } }
    guard UInt64(listed) == view.state.counts.records else {
      throw StoredParts.tampered(
        "the vault holds \(listed) records where its state says \(view.state.counts.records)", view.place)
    }
    let counts = try verifyRows(total: listed, progress)
    guard counts == view.state.counts else {
      throw StoredParts.tampered("the vault holds other items than its state counts", view.place)
    }
    try log.verify()
    try view.database.outcomes.check()
    try view.database.checkNothingIsAdded()
    try view.database.checkStorage()
    return VerifyReport(records: listed, items: Int(clamping: counts.items), buckets: buckets.count)
  }

  /// Looks records up by index, as a `get` does: a table scan could show other rows than a look-up.
  private func verifyRows(total: Int, _ progress: (Int, Int) -> Void) throws(StoreError) -> RecordCounts {
    var (done, counts) = (0, RecordCounts.none)
    var fields: [RecordIndex: Int] = [:]
    for table in RecordTable.allCases {
      let buckets = view.tree.filled(table)
      try view.scanning(table, .all, in: buckets) { () throws(StoreError) in
        for bucket in buckets {
          for entry in try view.list(of: bucket).entries {
            try view.withRow(entry.index, entry.id, in: table, .all) { (row) throws(StoreError) in
              guard let meta = try view.checked({ () throws(FormatError) in try row.authenticatedMeta(view.keys) }) else {
                throw StoredParts.tampered("a record was changed without the key", view.place)
              }
              counts.add(meta)
              if meta.role == .field { fields[meta.address.item.index(view.keys), default: 0] += 1 }
            }
            done += 1
            if done % Self.progressStep == 0 { Reentrancy.inside { progress(done, total) } }
          }
        }
      }
    }
    Reentrancy.inside { progress(done, total) }
    try checkFields(fields)
    return counts
  }

  private func checkFields(_ counts: [RecordIndex: Int]) throws(StoreError) {
    for (item, count) in counts {
      let isThere = try view.list(of: RecordTable.present.bucket(of: item)).record(at: item) != nil
      try view.checked { () throws(FormatError) in
        guard isThere else { throw .damaged(RecordMeta.part, "it is a field of a missing item") }
        guard count <= RecordMeta.mostFields else { throw .damaged(RecordMeta.part, "its item has \(count) fields") }
      }
    }
  }
}
