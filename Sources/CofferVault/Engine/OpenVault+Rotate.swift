internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension OpenVault {
  /// Records between two calls of a progress report.
  private static let progressStep = 256

  /// Gives the vault a new key, and seals it to the slots of `plan`: one transaction, after which the old key opens nothing of
  /// this file. Other processes follow by the slot they were unlocked with.
  func rotate(_ plan: borrowing SlotPlan, _ progress: (Int, Int) -> Void) throws(StoreError) {
    try database.withLargeCache { () throws(StoreError) in
      try changingHeader { (change) throws(StoreError) in try rotate(plan, &change, progress) }
    }
  }

  private func rotate(
    _ plan: borrowing SlotPlan, _ change: inout Change, _ progress: (Int, Int) -> Void
  ) throws(StoreError) {
    try verifyHeaders()
    try database.checkNothingIsAdded()
    let epoch = try checked { () throws(FormatError) in try FileCounter.next(header.epoch, "header") }
    let key = try checked { () throws(FormatError) in try VaultKey.random() }
    let nextKeys = try checked { () throws(FormatError) in try Subkeys(of: key, vault: header.vault) }
    let next = try nextHeader(plan, epoch: epoch, key: key, nextKeys, rotated: now)
    let events = slotEvents(plan)
    let moved = try resealRecords(under: nextKeys, progress)
    state.logHead = try resealLog(under: nextKeys, moved.places)
    // Until the file was rewritten, its free pages hold what the old key opens.
    state.scrub = true
    keys = nextKeys
    try replaceHeader(with: next)
    lists = [:]
    tree = DigestTree(emptyUnder: keys)
    change.lists = moved.lists
    change.events = events + [entry(.keyRotated, about: ByteWriter.bytes(8) { $0.write(epoch) })]
  }

  /// What the log says of the slots: which are no longer sealed to, and which is another now.
  private func slotEvents(_ plan: borrowing SlotPlan) -> [LogEntry] {
    var events: [LogEntry] = []
    for slot in header.slots {
      if plan.replaces(slot.id) { events.append(entry(.slotChanged, about: slot.id.bytes)) }
      if !plan.keeps(slot.id) { events.append(entry(.slotRemoved, about: slot.id.bytes)) }
    }
    return events
  }

  /// The records of the vault under their new key: a list for every bucket, and where each record went.
  private typealias Moved = (lists: [Int: BucketList], places: [RecordIndex: RecordIndex])

  /// Seals every record anew, and removes it from where it stood. One record is in memory at a time, and 64 bytes for each of the
  /// others. All lists are verified first: what an attacker put into the file must not be sealed as genuine.
  private func resealRecords(
    under nextKeys: borrowing Subkeys, _ progress: (Int, Int) -> Void
  ) throws(StoreError) -> Moved {
    var entries: [BucketEntry] = []
    for bucket in 0..<DigestTree.buckets { entries += try list(of: bucket, fresh: true).entries }
    guard UInt64(entries.count) == state.records else {
      throw Self.tampered("the vault holds \(entries.count) records where its state says \(state.records)", path)
    }
    var next: [BucketEntry] = []
    var places: [RecordIndex: RecordIndex] = [:]
    next.reserveCapacity(entries.count)
    places.reserveCapacity(entries.count)
    for (done, entry) in entries.enumerated() {
      let moved = try reseal(entry, under: nextKeys)
      next.append(moved)
      places[entry.index] = moved.index
      if (done + 1) % Self.progressStep == 0 { Reentrancy.inside { progress(done + 1, entries.count) } }
    }
    Reentrancy.inside { progress(entries.count, entries.count) }
    return (Self.lists(of: next), places)
  }

  private func reseal(_ entry: BucketEntry, under nextKeys: borrowing Subkeys) throws(StoreError) -> BucketEntry {
    let record = try withRow(entry.index, entry.id, .all) { (row) throws(StoreError) in
      try checked { () throws(FormatError) in
        let open = try row.open(keys: keys)
        return switch open.value {
        case .some(let value):
          try value.withUnsafeBytes { (value) throws(FormatError) in
            try SealedRecord(open.meta, value: value, keys: nextKeys)
          }
        case .none: try SealedRecord(open.meta, value: nil, keys: nextKeys)
        }
      }
    }
    try entry.index.withBytes { (index) throws(StoreError) in try database.deleteRecord(index) }
    try put(record, replacing: false)
    return record.entry
  }

  /// The list of every bucket, also of the empty ones, whose old digests must go.
  private static func lists(of entries: [BucketEntry]) -> [Int: BucketList] {
    var lists: [Int: BucketList] = [:]
    for bucket in 0..<DigestTree.buckets { lists[bucket] = BucketList() }
    for entry in entries.sorted(by: { $0.index < $1.index }) { lists[entry.index.bucket, default: BucketList()].append(entry) }
    return lists
  }
}

extension OpenVault {
  /// Seals every row of the log anew, in its place, and follows both chains: the old one must end where the state says. What a row
  /// tells of a record that still exists is told of its new place; a place that is empty now has no new one, and stays. So does the
  /// beginning of a log that lost its older rows, which the row about that repeats.
  ///
  /// - Returns: the head of the new chain.
  private func resealLog(
    under nextKeys: borrowing Subkeys, _ places: [RecordIndex: RecordIndex]
  ) throws(StoreError) -> Digest32 {
    var end = LogEnd()
    var nextHead = Digest32.zero
    var from: UInt64 = 0
    while case let rows = try database.logRows(from: from), !rows.isEmpty {
      for (sequence, row) in rows {
        let read = try row.span.bytes.withUnsafeBytes { (row) throws(StoreError) in try self.read(row, sequence, &end) }
        switch read {
        // What the chain begins with where rows were dropped: in the clear before, and as good a beginning under the new key.
        case .none: nextHead = end.head
        case .some(let entry):
          let moved = places[entry.index].map { LogEntry(entry, at: $0) } ?? entry
          nextHead = try replaceLog(moved, sequence, after: nextHead, nextKeys)
        }
        from = sequence + 1
      }
    }
    try check(end)
    return nextHead
  }

  /// Reads the row after `end` and moves on to it; nil for the beginning that stands where rows were dropped.
  private func read(
    _ row: UnsafeRawBufferPointer, _ sequence: UInt64, _ end: inout LogEnd
  ) throws(StoreError) -> LogEntry? {
    let before = end
    guard try follow(row, sequence, &end) else { return nil }
    return try checked { () throws(FormatError) in try LogBox.open(row, sequence: sequence, after: before.head, keys: keys) }
  }

  private func replaceLog(
    _ entry: LogEntry, _ sequence: UInt64, after head: Digest32, _ nextKeys: borrowing Subkeys
  ) throws(StoreError) -> Digest32 {
    let box = LogBox.seal(entry, sequence: sequence, after: head, keys: nextKeys)
    return try box.span.bytes.withUnsafeBytes { (box) throws(StoreError) in
      try database.putLog(box, seq: sequence)
      return LogBox.head(after: head, sequence: sequence, row: box, keys: nextKeys)
    }
  }
}
