internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

// The parts rebuilt from rows that open, within the repair's transaction.
extension VaultRepair {
  /// Drops the records that do not open.
  ///
  /// - Returns: the tree over the remaining records, and their numbers.
  func rebuildSet() throws(StoreError) -> (DigestTree, RecordCounts) {
    var lists = [BucketList](repeating: BucketList(), count: DigestTree.buckets)
    var counts = RecordCounts.none
    for table in RecordTable.allCases { try rebuild(table, &lists, &counts) }
    try renumber(&lists)
    (report.items, report.records) = (Int(clamping: counts.items), Int(clamping: counts.records))
    return (try putDigests(lists), counts)
  }

  private func rebuild(
    _ table: RecordTable, _ lists: inout [BucketList], _ counts: inout RecordCounts
  ) throws(StoreError) {
    var unreadable: [RecordIndex] = []
    var fields: [(index: RecordIndex, item: RecordIndex, meta: RecordMeta)] = []
    try database.forEachRecord(in: table) { (bytes, columns) throws(StoreError) in
      guard let index = RecordIndex(bytes) else { return }  // It has 16 bytes.
      guard let (entry, meta) = try opened(index, in: table, columns) else { return unreadable.append(index) }
      lists[table.bucket(of: entry.index)].append(entry)
      if meta.role == .field { fields.append((index, meta.address.item.index(keys), meta)) } else { counts.add(meta) }
    }
    // A field needs its item, and must be among the first fields by name, up to the limit.
    for (item, ofItem) in Dictionary(grouping: fields, by: \.item) {
      let isThere = lists[table.bucket(of: item)].record(at: item) != nil
      let kept = isThere ? RecordMeta.mostFields : 0
      for (place, field) in ofItem.sorted(by: { $0.meta.field.utf8.lexicographicallyPrecedes($1.meta.field.utf8) }).enumerated() {
        guard place >= kept else {
          counts.add(field.meta)
          continue
        }
        lists[table.bucket(of: field.index)].remove(at: field.index)
        unreadable.append(field.index)
      }
    }
    for index in unreadable { try database.deleteRecord(at: index, in: table) }
    report.droppedRecords += unreadable.count
  }

  /// Gives current versions a revision above their history. An older record of an item opens too, and the next writes could
  /// then overwrite part of the history.
  private func renumber(_ lists: inout [BucketList]) throws(StoreError) {
    var highest: [RecordIndex: UInt64] = [:]
    try forEachMeta(in: .old) { (meta, _) in
      highest[meta.address.present.index(keys), default: 0] = max(meta.revision, highest[meta.address.present.index(keys)] ?? 0)
    }
    guard !highest.isEmpty else { return }
    var behind: [(index: RecordIndex, highest: UInt64)] = []
    try forEachMeta(in: .present) { (meta, index) in
      if let highest = highest[index], highest >= meta.revision { behind.append((index, highest)) }
    }
    for (index, highest) in behind {
      var record: SealedRecord?
      try index.withBytes { (bytes) throws(StoreError) in
        try database.lendRecord(at: bytes, in: .present, .all) { (columns) throws(StoreError) in
          record = try renumbered(index, columns, above: highest)
        }
      }
      guard let record else { throw StoredParts.missing("record", database) }
      try database.put(record, in: .present, replacing: true)
      _ = lists[RecordTable.present.bucket(of: index)].put(record.id, at: index)
    }
  }

  private func renumbered(
    _ index: RecordIndex, _ columns: borrowing RecordColumns, above highest: UInt64
  ) throws(StoreError) -> SealedRecord {
    guard let id = RecordID(columns.rid) else { throw StoredParts.missing("record", database) }
    return try StoredParts.checked(database.place) { () throws(FormatError) in
      let record = try RecordRow(table: .present, index: index, id: id, meta: columns.meta, value: columns.value).open(keys: keys)
      var meta = record.meta
      meta.revision = try FileCounter.next(highest, "revision of an item")
      return try record.sealed(as: meta, keys: keys)
    }
  }

  private func forEachMeta(in table: RecordTable, _ body: (RecordMeta, RecordIndex) -> Void) throws(StoreError) {
    try database.forEachRecord(in: table) { (bytes, columns) throws(StoreError) in
      guard let index = RecordIndex(bytes), let (_, meta) = try opened(index, in: table, columns) else { return }
      body(meta, index)
    }
  }

  private func putDigests(_ lists: [BucketList]) throws(StoreError) -> DigestTree {
    var digests: [Digest32] = []
    for (bucket, list) in lists.enumerated() {
      let digest = DigestTree.digest(bucket, list.entries, keys: keys)
      digests.append(digest)
      try database.deleteDigest(bucket: bucket)
      guard digest != .zero else { continue }
      try digest.withBytes { (digest) throws(StoreError) in try database.putDigest(digest, bucket: bucket) }
    }
    return DigestTree(digests, keys: keys)
  }

  /// The record's entry and description; nil unless description and value open and belong to their place.
  private func opened(
    _ index: RecordIndex, in table: RecordTable, _ columns: borrowing RecordColumns
  ) throws(StoreError) -> (BucketEntry, RecordMeta)? {
    guard let id = RecordID(columns.rid) else { return nil }
    do throws(FormatError) {
      let row = RecordRow(table: table, index: index, id: id, meta: columns.meta, value: columns.value)
      return (BucketEntry(index: index, id: id), try row.open(keys: keys).meta)
    } catch .memory(let error) {
      throw FormatError.memory(error).storeError()
    } catch {
      return nil
    }
  }

  /// Drops the rows from the first one outside the chain, and all beginnings but the one right before it: a beginning is
  /// unsealed, and only the row after it can confirm it.
  func rebuildLog() throws(StoreError) -> VaultLog.End {
    var end = VaultLog.End()
    var isWhole = true
    var isBeginning = true
    var dropped = 0
    try database.log.forEach(from: 0) { (sequence, row) throws(StoreError) in
      if isBeginning, let start = LogEntry.Trim(row, before: sequence) {
        if end.start != nil { dropped += 1 }
        end = VaultLog.End(sequence: sequence, head: start.head, start: start)
        return
      }
      isBeginning = false
      if isWhole, sequence == end.sequence + 1, try extend(&end, sequence, row) {
        return
      } else {
        isWhole = false
        dropped += 1
      }
    }
    if dropped > 0 {
      // In a log that begins with its first row, number 0 is no row.
      try database.log.trim(before: end.start.map { $0.first - 1 } ?? 1)
      try database.log.cut(from: end.sequence + 1)
    }
    report.droppedLogRows = dropped
    return end
  }

  private func extend(
    _ end: inout VaultLog.End, _ sequence: UInt64, _ row: UnsafeRawBufferPointer
  ) throws(StoreError) -> Bool {
    do throws(FormatError) {
      let entry = try LogBox.open(row, sequence: sequence, after: end.head, keys: keys)
      if entry.event == .trimmed { end.trim = try LogEntry.Trim(detail: entry.detail) }
      end.head = LogBox.head(after: end.head, sequence: sequence, row: row, keys: keys)
      end.sequence = sequence
      return true
    } catch .memory(let error) {
      throw FormatError.memory(error).storeError()
    } catch {
      return false
    }
  }
}
