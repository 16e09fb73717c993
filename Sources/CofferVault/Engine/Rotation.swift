internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

struct Rotation {
  let view: VerifiedView
  let items: ItemTable
  let slots: SlotTable
  let log: VaultLog

  private static let progressStep = 256

  /// Within the write transaction of `change`. Afterwards the old key opens nothing of this file. Other processes follow
  /// through their slot.
  func run(_ plan: borrowing SlotPlan, _ change: inout Change, _ progress: (Int, Int) -> Void) throws(StoreError) {
    let epoch = try view.checked { () throws(FormatError) in try FileCounter.next(view.header.epoch, "key epoch") }
    let events = slotEvents(plan)
    try run(to: epoch, &change, progress) { (key, keys) throws(StoreError) in
      try slots.nextHeader(plan, key: key, keys, rotated: view.now)
    }
    change.events.insert(contentsOf: events, at: 0)
  }

  /// - Parameter header: makes the header of the next epoch or a later one.
  func run(
    to epoch: UInt64, _ change: inout Change, _ progress: (Int, Int) -> Void,
    header: (borrowing VaultKey, borrowing Subkeys) throws(StoreError) -> VaultHeader
  ) throws(StoreError) {
    let key = try view.checked { () throws(FormatError) in try VaultKey.random() }
    let keys = try view.checked { () throws(FormatError) in try Subkeys(of: key, vault: view.header.vault, epoch: epoch) }
    let next = try header(key, keys)
    try run(to: next, keys, taking: nil, &change, progress)
  }

  /// - Parameters:
  ///   - next: a header with the key of `nextKeys`.
  ///   - other: a vault under that key; its rows are taken where they have the content of rows here.
  func run(
    to next: VaultHeader, _ nextKeys: consuming Subkeys, taking other: VerifiedView?, _ change: inout Change,
    _ progress: (Int, Int) -> Void
  ) throws(StoreError) {
    try StoredParts.verifyHeaders(of: view.database, are: view.headerDigest)
    try view.database.checkNothingIsAdded()
    let moved = try resealRecords(under: nextKeys, taking: other, progress)
    let head = try log.reseal(under: nextKeys, moved.places)
    try view.begin(next, keys: nextKeys, logHead: head)
    change.lists = moved.lists
    // Until the commit the set is empty, and only the change knows of previous versions.
    change.hasTouchedPast = moved.lists.contains { $0.key >= RecordTable.old.buckets.lowerBound && !$0.value.entries.isEmpty }
    change.events = [entry(.keyRotated, about: ByteWriter.bytes(8) { $0.write(next.epoch) })]
  }

  private func slotEvents(_ plan: borrowing SlotPlan) -> [LogEntry] {
    var events: [LogEntry] = []
    for slot in view.header.slots {
      if plan.replaces(slot.id) { events.append(entry(.slotChanged, about: slot.id.bytes)) }
      if !plan.keeps(slot.id) { events.append(entry(.slotRemoved, about: slot.id.bytes)) }
    }
    return events
  }

  private typealias Moved = (lists: [Int: BucketList], places: [RecordIndex: RecordIndex])

  /// Holds one record in memory at a time, and 64 bytes for each of the others. All lists are verified first, so no rows of
  /// an attacker are sealed as genuine.
  private func resealRecords(
    under nextKeys: borrowing Subkeys, taking other: VerifiedView?, _ progress: (Int, Int) -> Void
  ) throws(StoreError) -> Moved {
    var entries: [(table: RecordTable, entry: BucketEntry)] = []
    for table in RecordTable.allCases {
      for list in try view.lists(of: table) { entries += list.entries.map { (table, $0) } }
    }
    guard UInt64(entries.count) == view.state.counts.records else {
      throw StoredParts.tampered(
        "the vault holds \(entries.count) records where its state says \(view.state.counts.records)", view.place)
    }
    var next: [(table: RecordTable, entry: BucketEntry)] = []
    var places: [RecordIndex: RecordIndex] = [:]
    let taken = try other.map { (other) throws(StoreError) in try take(other, entries) } ?? [:]
    next.reserveCapacity(entries.count)
    places.reserveCapacity(entries.count)
    var scanned: RecordTable?
    for (done, (table, entry)) in entries.enumerated() {
      if scanned != table {
        try view.database.expect(.records(table, .all, starts: []))
        scanned = table
      }
      let moved: BucketEntry, current: RecordAddress?
      if let known = taken[entry.index] {
        (moved, current) = known
      } else {
        (moved, current) = try reseal(entry, in: table, under: nextKeys)
      }
      next.append((table, moved))
      if let current {
        // The log names an item by its current place, even a kept deletion.
        places[current.index(view.keys)] = current.index(nextKeys)
      } else {
        places[entry.index] = moved.index
      }
      if (done + 1) % Self.progressStep == 0 { Reentrancy.inside { progress(done + 1, entries.count) } }
    }
    try view.database.expect(.single)
    Reentrancy.inside { progress(entries.count, entries.count) }
    return (lists(of: next), places)
  }

  /// Replaces rows here with those of `other` that have the same content. One pass in the order of `other`, whose rows may
  /// lie in large pieces.
  ///
  /// - Returns: the results of ``reseal(_:in:under:)`` by the former index.
  private func take(
    _ other: VerifiedView, _ entries: [(table: RecordTable, entry: BucketEntry)]
  ) throws(StoreError) -> [RecordIndex: Resealed] {
    let ids = Dictionary(uniqueKeysWithValues: entries.map { ($0.entry.index, $0.entry.id) })
    var taken: [RecordIndex: Resealed] = [:]
    for table in RecordTable.allCases {
      for list in try other.lists(of: table) {
        for entry in list.entries {
          try other.withRow(entry.index, entry.id, in: table, .all) { (row) throws(StoreError) in
            let found = try other.checked { () throws(FormatError) in try row.open(keys: other.keys) }
            let index = found.meta.index(view.keys)
            guard let id = ids[index], try view.open(index, id, in: table).isEqual(to: found) else { return }
            let record = SealedRecord(row)
            try view.database.move(record, from: index, in: table)
            taken[index] = (record.entry, table == .old ? found.meta.address.present : nil)
          }
        }
      }
    }
    return taken
  }

  private typealias Resealed = (entry: BucketEntry, current: RecordAddress?)

  /// - Returns: its entry; for a previous version, also the address of the current one.
  private func reseal(
    _ entry: BucketEntry, in table: RecordTable, under nextKeys: borrowing Subkeys
  ) throws(StoreError) -> Resealed {
    let (record, current) = try view.withRow(entry.index, entry.id, in: table, .all) { (row) throws(StoreError) in
      try view.checked { () throws(FormatError) in
        let open = try row.open(keys: view.keys)
        return (try open.sealed(as: open.meta, keys: nextKeys), table == .old ? open.meta.address.present : nil)
      }
    }
    try view.database.move(record, from: entry.index, in: table)
    return (record.entry, current)
  }

  /// Includes buckets that are empty now, because their old digests must go.
  private func lists(of entries: [(table: RecordTable, entry: BucketEntry)]) -> [Int: BucketList] {
    var lists: [Int: BucketList] = [:]
    for bucket in RecordTable.allCases.flatMap(view.tree.filled) { lists[bucket] = BucketList() }
    for (table, entry) in entries.sorted(by: { $0.entry.index < $1.entry.index }) {
      lists[table.bucket(of: entry.index), default: BucketList()].append(entry)
    }
    return lists
  }

  private func entry(_ event: LogEntry.Event, about detail: [UInt8]) -> LogEntry {
    LogEntry(event, by: .current, time: view.now, detail: detail)
  }
}

extension OpenRecord {
  fileprivate borrowing func isEqual(to other: borrowing OpenRecord) -> Bool {
    guard meta == other.meta else { return false }
    switch value {
    case .some(let own):
      switch other.value {
      case .some(let value): return own.isEqual(to: value)
      case .none: return false
      }
    // The description tells whether there is a value.
    case .none: return true
    }
  }
}
