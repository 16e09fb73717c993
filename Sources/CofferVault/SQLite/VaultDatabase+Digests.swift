internal import CofferPlatform
internal import CofferStorage

/// The digests of the buckets that are not empty.
extension VaultDatabase {
  static let bucketCount = 1024
  static let digestBytes = 32

  /// Lends each digest to `body` with its bucket, ascending.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for a bucket or a length that cannot be; what `body` throws.
  func forEachDigest(_ body: (_ bucket: Int, _ hash: UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    var least: Int64 = 0
    try statement(.digests).forEach { row throws(StoreError) in
      let bucket = try row.int64(0)
      // Ascending, so that a crafted tree can neither repeat a bucket nor go on for ever.
      guard bucket >= least, bucket < Self.bucketCount else { throw row.damaged("the digests are not in order") }
      least = bucket + 1
      try body(Int(bucket), row.blob(1, count: Self.digestBytes))
    }
  }

  /// Stores the digest of `bucket`.
  func putDigest(_ hash: UnsafeRawBufferPointer, bucket: Int) throws(StoreError) {
    let statement = try statement(.putDigest)
    try statement.bind(Int64(bucket), at: 1)
    try statement.bind(lending: hash, at: 2)
    try statement.execute()
  }

  /// Removes the digest of `bucket`, which has become empty.
  func deleteDigest(bucket: Int) throws(StoreError) {
    let statement = try statement(.deleteDigest)
    try statement.bind(Int64(bucket), at: 1)
    try statement.execute()
  }
}
