package import CofferPlatform
internal import CofferVaultFormat
package import SystemPackage

extension VaultRows {
  package func backUp(to file: FilePath, progress: (Int, Int) -> Void) throws(StoreError) {
    let made = try VaultDatabase.create(at: file) { (copy) throws(StoreError) in
      try read { () throws(StoreError) in try copyRows(to: copy, progress) }
    }
    made.close()
  }

  /// Called within a read here, and within a write of `copy`, which has no rows.
  package func copyRows(to copy: any VaultRows, _ progress: (Int, Int) -> Void) throws(StoreError) {
    for header in [HeaderCopy.first, .second] {
      try lendHeader(header) { (bytes) throws(StoreError) in try copy.putHeader(header, bytes) }
    }
    try lendState { (bytes) throws(StoreError) in try copy.putState(bytes) }
    try forEachDigest(in: nil) { (bucket, hash) throws(StoreError) in try copy.putDigest(hash, bucket: bucket) }
    var done = 0
    for table in RecordTable.allCases {
      try forEachRecord(in: table) { (index, columns) throws(StoreError) in
        try copy.putRecord(at: index, in: table, columns, over: .free)
        done += 1
        progress(done, done)
      }
    }
    try logRows.forEachLogRow(from: RowLimits.logRows.lowerBound, most: nil) { (seq, box) throws(StoreError) in
      try copy.logRows.appendLogRow(seq, box)
    }
    try outcomeRows.forEachOutcome { (transaction, outcome) throws(StoreError) in
      try copy.outcomeRows.putOutcome(outcome, of: transaction)
    }
  }
}
