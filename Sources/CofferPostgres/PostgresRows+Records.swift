internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

// Each record would cost a round trip: announced ones come some hundred at a time.
extension PostgresRows {
  private var reader: RecordReader { RecordReader(rows: self) }

  func expect(_ rows: ExpectedRows) throws(StoreError) {
    switch rows {
    case .lists(let table, let most):
      // Before the access to the transaction, within which the lists are read.
      let lists = try reader.scannedLists(table, most: most)
      transaction?.lists[table] = lists
    case .records(let table, let part, let starts):
      try reader.endScan()
      transaction?.records = RecordScan(table: table, part: part, starts: starts)
    case .item(let index, let needsList, let log):
      announced = .item(.init(index: index, needsList: needsList, log: (Int64(clamping: log.first), log.most)))
    case .others(let first, let most): announced = .others((Int64(clamping: first), most))
    case .header: announced = .header
    case .digests: announced = .digests
    case .single: try reader.endScan()
    }
  }

  // MARK: One record

  func lendRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ part: RecordPart,
    _ body: (borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    if let ahead = transaction?.ahead, table == .present, ahead.index.elementsEqual(index) {
      return try reader.lend(ahead, part, body)
    }
    if let scan = transaction?.records, scan.table == table, part == .metadata || scan.part == .all {
      if let found = try reader.scanned(index) { return try body(found.columns(part)) }
    }
    let answer = try asked(RecordQuery.record(schema, table, part), [.bytes(index)], RecordQuery.types(part))
    try reader.lend(answer, part, body)
  }

  // MARK: All of them

  func forEachRecord(
    in table: RecordTable, _ body: (_ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    var (from, last) = ([UInt8](), [UInt8]?.none)
    while true {
      let answer = try from.span.bytes.withUnsafeBytes { (from) throws(StoreError) in try reader.batch(table, .all, from: from) }
      for row in 0..<answer.count {
        let index = try answer.bytes(row, 0, RowLimits.indexBytes...RowLimits.indexBytes)
        let key = [UInt8](index)
        guard last.map({ $0.lexicographicallyPrecedes(key) }) ?? true else { throw damaged("the records are not in order") }
        last = key
        let found = try ScannedRecord(answer, row, .all).checked()
        if found.isWhole {
          try body(index, found.columns(.all))
        } else {
          let whole = try asked(RecordQuery.record(schema, table, .all), [.bytes(index)], RecordQuery.types(.all))
          try reader.lend(whole, .all) { (columns) throws(StoreError) in try body(index, columns) }
        }
      }
      guard answer.count == ExpectedRows.batch, let last else { return }
      from = last + [0]
    }
  }

  func forEachIndex(
    inBucket bucket: Int, _ body: (_ index: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let table = RecordTable(ofBucket: bucket)
    if let lists = transaction?.lists[table], let entries = lists.entries(of: bucket) {
      for entry in entries { try lists.lend(entry, body) }
      return
    }
    let transaction = try current()
    try RecordQuery.askForList(schema, bucket - table.buckets.lowerBound, table, transaction.connection, session.deadline)
    let list = try ListScan(transaction.lastAnswer(), bucket: bucket, place)
    for entry in list.entries(of: bucket) ?? 0..<0 { try list.lend(entry, body) }
  }

  // MARK: Changes

  func putRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ record: borrowing RecordColumns, over standing: RecordPlace
  ) throws(StoreError) {
    if queueing.draft != nil { return queueing.note(index, table, record, over: standing) }
    reader.forgetAhead(table)
    let value = record.value.map { PostgresConnection.Parameter.bytes($0) } ?? .null
    let parameters: [PostgresConnection.Parameter] = [.bytes(index), .bytes(record.rid), .bytes(record.meta), value]
    let name = "\(schema).\(table.name)"
    switch standing {
    case .free:
      try queue(
        """
        INSERT INTO \(name) (idx, rid, meta, value) VALUES ($1, $2, $3, $4)
          ON CONFLICT (idx) DO UPDATE SET rid = excluded.rid, meta = excluded.meta, value = excluded.value
        """, parameters, changesOne: true)
    case .taken:
      try queue("UPDATE \(name) SET rid = $2, meta = $3, value = $4 WHERE idx = $1", parameters, changesOne: true)
    case .moved(let former):
      try queue(
        "UPDATE \(name) SET idx = $1, rid = $2, meta = $3, value = $4 WHERE idx = $5", parameters + [.bytes(former)],
        changesOne: true)
    }
  }

  func deleteRecord(at index: UnsafeRawBufferPointer, in table: RecordTable) throws(StoreError) {
    if queueing.draft != nil { return queueing.noteRemoval(index, table) }
    reader.forgetAhead(table)
    try remove(from: table.name, where: "idx = $1", [.bytes(index)])
  }
}
