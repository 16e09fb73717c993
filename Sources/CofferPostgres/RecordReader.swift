internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

struct RecordReader {
  let rows: PostgresRows

  /// Lends the record in `answer`; its columns begin with `first`.
  func lend(
    _ answer: PostgresResult, first: Int32 = 0, _ part: RecordPart, _ body: (borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard answer.count > 0 else { return }
    let value = part == .all && !answer.isNull(0, first + 2) ? try answer.bytes(0, first + 2, RowLimits.sealedBytes) : nil
    try body(
      RecordColumns(
        rid: answer.bytes(0, first, RowLimits.indexBytes...RowLimits.indexBytes),
        meta: answer.bytes(0, first + 1, RowLimits.sealedBytes), value: value))
  }

  /// Lends the record read ahead.
  func lend(
    _ ahead: RecordAhead, _ part: RecordPart, _ body: (borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    try ahead.rows.check(RecordQuery.types(.all, after: ahead.first))
    // Beside a state, three empty columns mean no record.
    guard ahead.rows.count > 0, ahead.first == 0 || !ahead.rows.isNull(0, ahead.first) else { return }
    try lend(ahead.rows, first: ahead.first, part, body)
  }

  /// Takes requested records that are not needed any more.
  func endScan() throws(StoreError) {
    for _ in 0..<(rows.transaction?.records?.pending ?? 0) { _ = try rows.transaction?.nextAnswer() }
    rows.transaction?.records = nil
  }

  /// The record at `index` from the batches; nil if it is absent, or too long for a batch.
  func scanned(_ index: UnsafeRawBufferPointer) throws(StoreError) -> ScannedRecord? {
    guard index.count == RowLimits.indexBytes else { return nil }
    // Batches that were requested ahead may end before it. The limit is for a server that sends them without end.
    for _ in 0..<3 + (rows.transaction?.records?.mostAhead ?? 0) {
      guard var scan = rows.transaction?.records else { return nil }
      let (found, isBehind) = try scan.record(at: index)
      rows.transaction?.records = scan
      if let found { return found.isWhole ? found : nil }
      guard isBehind else { return nil }
      try askForMore(from: index)
    }
    return nil
  }

  /// Takes the next batch, and asks for those after it, which the server finds meanwhile.
  private func askForMore(from index: UnsafeRawBufferPointer) throws(StoreError) {
    try ask([UInt8](index))
    if rows.transaction?.records?.hasNext ?? false {
      rows.transaction?.records?.turn(to: nil)
    } else {
      let answer = try rows.current().nextAnswer()
      try answer.check(RecordQuery.typesOfBatch)
      rows.transaction?.records?.turn(to: answer)
    }
    try ask(nil)
  }

  private func ask(_ index: [UInt8]?) throws(StoreError) {
    guard let scan = rows.transaction?.records, let froms = try rows.transaction?.records?.toAsk(from: index) else { return }
    guard !froms.isEmpty else { return }
    for from in froms {
      try from.span.bytes.withUnsafeBytes { (from) throws(StoreError) in try ask(scan.table, scan.part, from: from) }
    }
    try rows.current().connection.send(until: rows.session.deadline)
  }

  /// The records from `index` on. The last column has the length of a value that was omitted as too long.
  func batch(
    _ table: RecordTable, _ part: RecordPart, from index: UnsafeRawBufferPointer
  ) throws(StoreError) -> PostgresResult {
    try ask(table, part, from: index)
    let answer = try rows.current().lastAnswer()
    try answer.check(RecordQuery.typesOfBatch)
    return answer
  }

  private func ask(_ table: RecordTable, _ part: RecordPart, from index: UnsafeRawBufferPointer) throws(StoreError) {
    let value =
      part == .all
      ? "CASE WHEN octet_length(value) <= \(RecordQuery.mostAhead) THEN value END, coalesce(octet_length(value), -1)::bigint"
      : "NULL::bytea, (-1)::bigint"
    try rows.current().connection.ask(
      "SELECT \(RecordQuery.idx), \(RecordQuery.rid), \(RecordQuery.meta), \(value) FROM \(rows.schema).\(table.name) WHERE idx "
        + ">= $1 ORDER BY idx LIMIT \(ExpectedRows.batch)",
      [.bytes(index)], until: rows.session.deadline)
  }

  /// The lists of a table.
  ///
  /// - Parameter most: the most entries: a server could send more without end.
  func scannedLists(_ table: RecordTable, most: Int) throws(StoreError) -> ListScan {
    var scan = ListScan(table, rows.place)
    var from: [UInt8] = []
    while true {
      let answer = try from.span.bytes.withUnsafeBytes { (from) throws(StoreError) in
        try rows.asked(
          "SELECT \(RecordQuery.idx), \(RecordQuery.rid) FROM \(rows.schema).\(table.name) WHERE idx >= $1 "
            + "ORDER BY idx LIMIT \(RecordQuery.listBatch)", [.bytes(from)], [PostgresResult.bytea, PostgresResult.bytea])
      }
      try scan.append(answer)
      guard scan.count <= most else { throw answer.tampered("there are more records than the vault's state counts") }
      guard answer.count == RecordQuery.listBatch else { return scan }
      from = [UInt8](try answer.bytes(answer.count - 1, 0)) + [0]
    }
  }

  /// Rows read ahead are from before the change.
  func forgetAhead(_ table: RecordTable) {
    rows.transaction?.lists[table] = nil
    if table == .present { rows.transaction?.ahead = nil }
  }
}

/// A record read ahead with the state, or its absence.
struct RecordAhead {
  let index: [UInt8]
  let rows: PostgresResult
  /// Its first column.
  let first: Int32
}
