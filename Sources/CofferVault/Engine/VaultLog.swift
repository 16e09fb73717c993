internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

/// The log of a vault: a chain of sealed rows that ends at the head in the vault's state.
final class VaultLog {
  private let view: VerifiedView
  var longest = VaultLog.longest
  private var start: UInt64 = 0

  init(_ view: VerifiedView) { self.view = view }

  /// About 2 MiB of rows. A longer log drops its older half, so the walk for it comes once in 5 000 rows.
  private static let longest: UInt64 = 10_000

  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` for a changed, added or missing row.
  func forEach(_ body: (_ sequence: UInt64, LogEntry) throws(StoreError) -> Void) throws(StoreError) {
    let end = try walk(to: view.state.logSequence) { (sequence, before, row) throws(StoreError) in
      let entry = try view.checked { () throws(FormatError) in
        try LogBox.open(row, sequence: sequence, after: before.head, keys: view.keys)
      }
      try body(sequence, entry)
    }
    try check(end)
  }

  /// From the newest row back. Earlier rows are not checked.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` for a changed, added or missing row.
  func forEach(last count: Int, _ body: (_ sequence: UInt64, LogEntry) throws(StoreError) -> Void) throws(StoreError) {
    var (sequence, head) = (view.state.logSequence, view.state.logHead)
    for _ in 0..<max(0, count) {
      guard sequence > 0 else {
        guard head == .zero else { throw StoredParts.tampered("the log does not begin where it must", view.place) }
        return
      }
      guard let entry = try entry(at: sequence, &head) else { return }
      try body(sequence, entry)
      sequence -= 1
    }
  }

  /// Moves `head`, the chain at `sequence`, back one row; nil at the beginning of a trimmed log.
  private func entry(at sequence: UInt64, _ head: inout Digest32) throws(StoreError) -> LogEntry? {
    let after = head
    let found = try view.database.log.withRow(sequence) { (row) throws(StoreError) -> (entry: LogEntry, before: Digest32)? in
      if let start = LogEntry.Trim(row, before: sequence) {
        guard start.head == after else { throw StoredParts.tampered("the log does not begin where it must", view.place) }
        return nil
      }
      let (entry, before) = try view.checked { () throws(FormatError) in
        try LogBox.open(row, sequence: sequence, keys: view.keys)
      }
      guard LogBox.head(after: before, sequence: sequence, row: row, keys: view.keys) == after else {
        throw StoredParts.tampered("a row of the log is not the one it should be", view.place)
      }
      return (entry, before)
    }
    guard let found else { throw StoredParts.tampered("the log lacks a row", view.place) }
    guard let found else { return nil }
    head = found.before
    return found.entry
  }

  /// Checks the chain without opening a row: the head in the sealed state authenticates each byte.
  func verify() throws(StoreError) { try check(walk(to: view.state.logSequence) { _, _, _ in }) }

  func check(_ end: End) throws(StoreError) {
    guard end.sequence == view.state.logSequence, end.head == view.state.logHead else {
      throw StoredParts.tampered("the log does not end where the vault's state says", view.place)
    }
    // An honest writer records dropped rows in a row of the chain.
    guard end.trim == end.start else { throw StoredParts.tampered("the log does not begin where it says", view.place) }
  }

  struct End {
    var sequence: UInt64 = 0
    var head = Digest32.zero
    /// The first remaining row and the chain before it; nil for an untrimmed log.
    var start: LogEntry.Trim?
    var trim: LogEntry.Trim?
  }

  /// Row `last` must be the last one.
  private func walk(
    to last: UInt64, _ body: (_ sequence: UInt64, _ before: End, _ row: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) -> End {
    var end = End()
    try view.database.log.forEach(from: 0) { (sequence, row) throws(StoreError) in
      guard sequence <= last else {
        throw StoredParts.tampered("the log continues after the end in the vault's state", view.place)
      }
      let before = end
      if try follow(row, sequence, &end) { try body(sequence, before, row) }
    }
    return end
  }

  /// Opens only a row that may be about dropped rows.
  ///
  /// - Returns: false at the beginning of a trimmed log.
  func follow(_ row: UnsafeRawBufferPointer, _ sequence: UInt64, _ end: inout End) throws(StoreError) -> Bool {
    if end.sequence == 0, end.start == nil, let start = LogEntry.Trim(row, before: sequence) {
      end = End(sequence: sequence, head: start.head, start: start)
      return false
    }
    guard sequence == end.sequence + 1 else { throw StoredParts.tampered("the log lacks a row", view.place) }
    guard LogEntry.rowBytes.contains(row.count) else {
      throw StoredParts.tampered("a row of the log has a length that no row has", view.place)
    }
    if row.count >= LogBox.overhead + LogEntry.leastTrimmed {
      try view.checked { () throws(FormatError) in
        let entry = try LogBox.open(row, sequence: sequence, after: end.head, keys: view.keys)
        if entry.event == .trimmed { end.trim = try LogEntry.Trim(detail: entry.detail) }
      }
    }
    end.head = LogBox.head(after: end.head, sequence: sequence, row: row, keys: view.keys)
    end.sequence = sequence
    return true
  }

  /// - Parameter author: the commit and the slot, if not this write's.
  @discardableResult
  func append(
    _ entry: LogEntry, by author: (commit: CommitID, slot: SlotID)? = nil, to state: inout VaultState
  ) throws(StoreError) -> RecentRow {
    let before = state.logHead, author = author ?? (state.commit, view.slot.id)
    try Self.append(entry, by: author.commit, to: &state, with: author.slot, view.database, view.keys)
    return RecentRow(sequence: state.logSequence, before: before, commit: author.commit, index: entry.index)
  }

  static func append(
    _ entry: LogEntry, by commit: CommitID? = nil, to state: inout VaultState, with slot: SlotID, _ database: any VaultRows,
    _ keys: borrowing Subkeys
  ) throws(StoreError) {
    let last = state.logSequence
    let sequence = try StoredParts.checked(database.place) { () throws(FormatError) in
      try FileCounter.next(last, "number of log entries")
    }
    let entry = LogEntry(entry, by: commit ?? state.commit, with: slot)
    let row = LogBox.seal(entry, sequence: sequence, after: state.logHead, keys: keys)
    state.logHead = try row.span.bytes.withUnsafeBytes { (row) throws(StoreError) in
      try database.log.append(row, seq: sequence)
      return LogBox.head(after: state.logHead, sequence: sequence, row: row, keys: keys)
    }
    state.logSequence = sequence
  }

  /// Drops the older half of a log that is too long, in the transaction that made it so.
  ///
  /// A damaged log stays: dropping rows would hide the damage, and a log must not make a write fail.
  func trim(_ state: inout VaultState) throws(StoreError) {
    guard state.logSequence - min(start, state.logSequence) > longest else { return }
    let first = state.logSequence - longest / 2
    var trim: LogEntry.Trim?
    // The commit needs its changes sent even if the log is damaged.
    try view.database.flush()
    do throws(StoreError) {
      // A trimmed log has a row for its beginning before the first entry. No entry has number 0.
      start = max(start, max(1, try view.database.log.first() ?? 1) - 1)
      guard state.logSequence - min(start, state.logSequence) > longest else { return }
      let end = try walk(to: state.logSequence) { (sequence, before, _) throws(StoreError) in
        if sequence == first { trim = LogEntry.Trim(first: first, head: before.head) }
      }
      guard end.head == state.logHead, end.trim == end.start else { return }
    } catch {
      guard error.kind == .tampered || error.kind == .damaged else { throw error }
      return
    }
    guard let trim else { return }
    try append(LogEntry(.trimmed, by: .current, time: view.now, detail: trim.detail), to: &state)
    try view.database.log.trim(before: first)
    try trim.head.withBytes { (head) throws(StoreError) in try view.database.log.put(head, seq: first - 1) }
    start = first - 1
  }

  /// Reseals every row of the log in place and follows both chains; the old one must end at the head in the state. A row
  /// about an existing record gets the record's new place. Unchanged are rows about an empty place, and the beginning of a
  /// trimmed log, which the row about the trim repeats.
  ///
  /// - Returns: the head of the new chain.
  func reseal(
    under nextKeys: borrowing Subkeys, _ places: [RecordIndex: RecordIndex]
  ) throws(StoreError) -> Digest32 {
    var end = End()
    var nextHead = Digest32.zero
    var from: UInt64 = 0
    while case let rows = try view.database.log.rows(from: from), !rows.isEmpty {
      for (sequence, row) in rows {
        let read = try row.span.bytes.withUnsafeBytes { (row) throws(StoreError) in try self.read(row, sequence, &end) }
        switch read {
        // The beginning of a trimmed log is unsealed and equally valid under the new key.
        case .none: nextHead = end.head
        case .some(let entry):
          let moved = places[entry.index].map { LogEntry(entry, at: $0) } ?? entry
          nextHead = try replace(moved, sequence, after: nextHead, nextKeys)
        }
        from = sequence + 1
      }
    }
    try check(end)
    return nextHead
  }

  private func read(
    _ row: UnsafeRawBufferPointer, _ sequence: UInt64, _ end: inout End
  ) throws(StoreError) -> LogEntry? {
    let before = end
    guard try follow(row, sequence, &end) else { return nil }
    return try view.checked { () throws(FormatError) in
      try LogBox.open(row, sequence: sequence, after: before.head, keys: view.keys)
    }
  }

  private func replace(
    _ entry: LogEntry, _ sequence: UInt64, after head: Digest32, _ nextKeys: borrowing Subkeys
  ) throws(StoreError) -> Digest32 {
    let box = LogBox.seal(entry, sequence: sequence, after: head, keys: nextKeys)
    return try box.span.bytes.withUnsafeBytes { (box) throws(StoreError) in
      try view.database.log.put(box, seq: sequence)
      return LogBox.head(after: head, sequence: sequence, row: box, keys: nextKeys)
    }
  }

  func length() throws(StoreError) -> Int {
    guard let first = try view.database.log.first() else { return 0 }
    var isStart = false
    try view.database.log.withRow(first) { isStart = LogEntry.Trim($0, before: first) != nil }
    return Int(clamping: view.state.logSequence + 1 - min(first, view.state.logSequence + 1)) - (isStart ? 1 : 0)
  }
}

extension LogEntry.Trim {
  /// The beginning of a trimmed log: the chain's head after the last dropped row, in place of that row. It is unsealed, but
  /// the chain from it ends at the head in the state, and the last row about dropped rows repeats it.
  package init?(_ row: UnsafeRawBufferPointer, before sequence: UInt64) {
    guard let head = Digest32(row) else { return nil }
    self.init(first: sequence + 1, head: head)
  }
}

extension OpenVault {
  /// Includes the names of existing and restorable items.
  func entries(limit: Int?) throws(StoreError) -> [VaultLogEntry] {
    var names: [RecordIndex: ItemName?] = [.zero: .none]
    var entries: [VaultLogEntry] = []
    let add = { (sequence: UInt64, entry: LogEntry) throws(StoreError) in
      let name: ItemName?
      if let known = names[entry.index] { name = known } else { name = try self.items.name(ofRecordAt: entry.index) }
      names[entry.index] = .some(name)
      entries.append(VaultLogEntry(sequence, entry, name: name))
    }
    guard let limit else {
      try log.forEach(add)
      return entries
    }
    try log.forEach(last: limit, add)
    return entries.reversed()
  }
}
