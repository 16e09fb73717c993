package import CofferPlatform
package import CofferVaultFormat

// The engine's view of the rows. Inlined, so a closure's result is not passed through a generic call.
extension VaultRows {
  @inline(__always)
  package func read<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try beginReading()
    let result: Result
    do throws(StoreError) { result = try body() } catch {
      rollBack()
      throw behind(error)
    }
    try endReading()
    return result
  }

  @inline(__always)
  package func write<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try beginWriting()
    let result: Result
    do throws(StoreError) { result = try body() } catch {
      rollBack()
      throw error
    }
    try commit()
    return result
  }

  package func isStandby() -> Bool { false }

  /// The error for a standby's rows that were refused as too old. A server that lies about it is not read either.
  package func behind(_ error: StoreError) -> StoreError {
    guard error.kind == .rolledBack, isStandby() else { return error }
    return StoreError(
      .unreachable, "the standby does not have the newest commit that this machine has seen", place: place.description,
      cure: "try again when it has caught up, or read from the primary")
  }

  package var intents: (any IntentRows)? { nil }

  package func make(_ write: Intent.Write) throws(StoreError) {
    switch write {
    case .put(let record, let table, let replacing): try put(record, in: table, replacing: replacing)
    case .move(let record, let table, let former): try move(record, from: former, in: table)
    case .delete(let index, let table): try deleteRecord(at: index, in: table)
    }
  }

  package var bucketsWithoutDigest: [Int] { [] }

  /// A server answers any question after all earlier changes, or reports the failed ones.
  package func flush() throws(StoreError) { _ = try logRows.firstLogRow() }

  package func rehearse(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    try beginWriting()
    defer { rollBack() }
    try body()
    try flush()
  }

  @inline(__always)
  package func working<Result>(_ work: RowsWork, _ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    var result: Result?
    try during(work) { () throws(StoreError) in result = try body() }
    guard let result else { preconditionFailure("what did not throw has run its body") }
    return result
  }

  @inline(__always)
  func withHeader<Result>(
    _ copy: HeaderCopy, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    var result: Result?
    try lendHeader(copy) { (bytes) throws(StoreError) in result = try body(bytes) }
    return result
  }

  @inline(__always)
  package func withState<Result>(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result) throws(StoreError) -> Result? {
    var result: Result?
    try lendState { (bytes) throws(StoreError) in result = try body(bytes) }
    return result
  }

  package func stateBytes() throws(StoreError) -> [UInt8]? { try withState { (bytes) throws(StoreError) in [UInt8](bytes) } }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` if the record to replace is missing.
  @inline(__always)
  package func put(_ record: SealedRecord, in table: RecordTable = .present, replacing: Bool) throws(StoreError) {
    try lend(record) { (index, columns) throws(StoreError) in
      try putRecord(at: index, in: table, columns, over: replacing ? .taken : .free)
    }
  }

  package func move(_ record: SealedRecord, from former: RecordIndex, in table: RecordTable) throws(StoreError) {
    try former.withBytes { (former) throws(StoreError) in
      try lend(record) { (index, columns) throws(StoreError) in
        try putRecord(at: index, in: table, columns, over: .moved(from: former))
      }
    }
  }

  @inline(__always)
  private func lend(
    _ record: SealedRecord, _ body: (_ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    try record.index.withBytes { (index) throws(StoreError) in
      try record.id.withBytes { (rid) throws(StoreError) in
        try record.meta.span.bytes.withUnsafeBytes { (meta) throws(StoreError) in
          guard let value = record.value else {
            return try body(index, RecordColumns(rid: rid, meta: meta, value: nil))
          }
          try value.span.bytes.withUnsafeBytes { (value) throws(StoreError) in
            try body(index, RecordColumns(rid: rid, meta: meta, value: value))
          }
        }
      }
    }
  }

  @inline(__always)
  package func deleteRecord(at index: RecordIndex, in table: RecordTable = .present) throws(StoreError) {
    try index.withBytes { (index) throws(StoreError) in try deleteRecord(at: index, in: table) }
  }

  @inline(__always)
  package var outcomes: OutcomeTable { OutcomeTable(rows: self) }
  @inline(__always)
  package var log: LogTable { LogTable(rows: self) }

  /// Within a transaction, without a key. A damaged header says nothing about its format.
  package func checkWritable() throws(StoreError) {
    let header: VaultHeader
    do throws(StoreError) { header = try StoredParts.readHeader(self).header } catch {
      guard error.kind == .damaged else { throw error }
      return
    }
    try header.checkWritable(place)
  }

  /// Checks for rows that no look-up meets and anyone with write access can add: extra rows in the single-row tables, and an
  /// invalid first log number.
  package func checkNothingIsAdded() throws(StoreError) {
    for table in SingleTable.allCases {
      try forEachID(in: table) { (id) throws(StoreError) in
        guard id == table.id else {
          throw StoredParts.tampered("the table \(table.rawValue) has a row that no vault has", place)
        }
      }
    }
    do throws(StoreError) { _ = try log.first() } catch {
      guard error.kind == .damaged else { throw error }
      throw StoredParts.tampered("the log has a row of a number that no row has", place)
    }
  }

  package func removeWhatIsAdded() throws(StoreError) {
    try removeAddedRows(
      keepingLogRows: RowLimits.logRows, times: OutcomeTable.times, mostDropped: OutcomeTable.mostDropped)
  }

  package func checkStorage() throws(StoreError) {
    try checkStorage("pages of the file are damaged that hold nothing of the vault's items now")
  }
}
