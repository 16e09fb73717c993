internal import CofferPlatform
internal import CofferStorage

extension FrameWriter {
  mutating func put(_ id: TransactionID) throws(StoreError) { try put(id.bytes) }
  mutating func put(_ version: RecordVersion) throws(StoreError) { try put(version.bytes) }

  mutating func put(_ reading: Reading<Vault>) throws(StoreError) {
    try put(reading.stamp)
    try put(reading.form)
  }

  mutating func put(_ batch: Batch<Vault>) throws(StoreError) {
    try put(UInt32(clamping: batch.expectations.count))
    for (name, version) in batch.expectations {
      try put(name)
      try put(version)
    }
    try put(UInt32(clamping: batch.writes.count))
    for (name, write) in batch.writes {
      try put(name)
      try put(write.form)
    }
    try put(batch.decides != nil)
    if let id = batch.decides { try put(id) }
  }
}

extension FrameReader {
  /// Bytes of a record's version, at most: what ``RecordVersion`` promises.
  private static var longestVersion: Int { 32 }

  mutating func transactionID() throws(StoreError) -> TransactionID {
    guard let id = TransactionID(try plainBytes(limit: 16)) else { throw Self.malformed("a transaction's id has not 16 bytes") }
    return id
  }

  mutating func version() throws(StoreError) -> RecordVersion { RecordVersion(try plainBytes(limit: Self.longestVersion)) }

  mutating func reading() throws(StoreError) -> Reading<Vault> {
    let stamp = try version()
    return Reading(form: try optionalForm(), stamp: stamp)
  }

  mutating func batch() throws(StoreError) -> Batch<Vault> {
    var batch = Batch<Vault>()
    for _ in 0..<(try countOfNames(ofAtLeast: 8)) {
      let name = try text()
      batch.expectations[name] = try version()
    }
    for _ in 0..<(try countOfNames(ofAtLeast: 5)) {
      let name = try text()
      guard batch.writes.updateValue(Write(try optionalForm()), forKey: name) == nil else {
        throw Self.malformed("a name is written twice")
      }
    }
    if try flag() { batch.decides = try transactionID() }
    return batch
  }
}
