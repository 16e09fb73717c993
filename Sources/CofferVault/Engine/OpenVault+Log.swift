internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension OpenVault {
  /// Rows of the log that are kept, at most: some 2 MiB. A commit beyond it drops the older half, so that a vault that is written
  /// for years stays small, and the walk that dropping takes comes once in 5 000 rows.
  static let longestLog: UInt64 = 10_000

  /// Follows the chain from the oldest row that is left to the head in the state, and calls `body` with each entry.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` for a row that was changed, added or taken away.
  func walkLog(_ body: (_ sequence: UInt64, LogEntry) throws(StoreError) -> Void) throws(StoreError) {
    let end = try walk { (sequence, before, row) throws(StoreError) in
      let entry = try checked { () throws(FormatError) in
        try LogBox.open(row, sequence: sequence, after: before.head, keys: keys)
      }
      try body(sequence, entry)
    }
    try check(end)
  }

  /// Follows the chain without opening its rows: the head in the sealed state speaks for each of their bytes.
  func verifyLog() throws(StoreError) { try check(walk { _, _, _ in }) }

  /// Checks that the log ends and begins where it must.
  func check(_ end: LogEnd) throws(StoreError) {
    guard end.sequence == state.logSequence, end.head == state.logHead else {
      throw Self.tampered("the log does not end where the vault's state says", path)
    }
    // Whoever drops rows and their beginning with them must have said so in a row that the chain holds.
    guard end.trim == end.start else { throw Self.tampered("the log does not begin where it says", path) }
  }

  /// Where a walk over the log came to.
  struct LogEnd {
    var sequence: UInt64 = 0
    var head = Digest32.zero
    /// The first row that is left and the chain before it; nil when none was dropped.
    var start: LogEntry.Trim?
    /// What the last row about dropped rows says.
    var trim: LogEntry.Trim?
  }

  private func walk(
    _ body: (_ sequence: UInt64, _ before: LogEnd, _ row: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) -> LogEnd {
    var end = LogEnd()
    try database.forEachLogRow(from: 0) { (sequence, row) throws(StoreError) in
      let before = end
      if try follow(row, sequence, &end) { try body(sequence, before, row) }
    }
    return end
  }

  /// Moves `end` on to the next row. Only a row that may tell of dropped rows is opened.
  ///
  /// - Returns: false for the beginning that stands where rows were dropped.
  func follow(_ row: UnsafeRawBufferPointer, _ sequence: UInt64, _ end: inout LogEnd) throws(StoreError) -> Bool {
    if end.sequence == 0, end.start == nil, let start = LogEntry.Trim(row, before: sequence) {
      end = LogEnd(sequence: sequence, head: start.head, start: start)
      return false
    }
    guard sequence == end.sequence + 1 else { throw Self.tampered("the log lacks a row", path) }
    if row.count >= LogBox.overhead + LogEntry.leastTrimmed {
      try checked { () throws(FormatError) in
        let entry = try LogBox.open(row, sequence: sequence, after: end.head, keys: keys)
        if entry.event == .trimmed { end.trim = try LogEntry.Trim(detail: entry.detail) }
      }
    }
    end.head = LogBox.head(after: end.head, sequence: sequence, row: row, keys: keys)
    end.sequence = sequence
    return true
  }

  /// Drops the older half of a log that has grown too long, within the transaction that made it so.
  ///
  /// A log that is not whole is left as it is: dropping rows would hide that, and a log must not be why a write fails.
  func trimLog(_ state: inout VaultState) throws(StoreError) {
    guard state.logSequence - min(logStart, state.logSequence) > longestLog else { return }
    let first = state.logSequence - longestLog / 2
    var trim: LogEntry.Trim?
    do throws(StoreError) {
      // Before a log that lost rows stands its beginning, which is none of them; a first row of number 0 is none that can be.
      logStart = max(logStart, max(1, try database.firstLogRow() ?? 1) - 1)
      guard state.logSequence - min(logStart, state.logSequence) > longestLog else { return }
      let end = try walk { (sequence, before, _) throws(StoreError) in
        if sequence == first { trim = LogEntry.Trim(first: first, head: before.head) }
      }
      guard end.head == state.logHead, end.trim == end.start else { return }
    } catch {
      guard error.kind == .tampered || error.kind == .damaged else { throw error }
      return
    }
    guard let trim else { return }
    try Self.append(LogEntry(.trimmed, by: .current, time: now, detail: trim.detail), to: &state, database, keys)
    try database.trimLog(before: first)
    try trim.head.withBytes { (head) throws(StoreError) in try database.putLog(head, seq: first - 1) }
    logStart = first - 1
  }

  /// Rows in the log.
  func logLength() throws(StoreError) -> Int {
    guard let first = try database.firstLogRow() else { return 0 }
    var isStart = false
    try database.withLogRow(first) { isStart = LogEntry.Trim($0, before: first) != nil }
    return Int(clamping: state.logSequence + 1 - min(first, state.logSequence + 1)) - (isStart ? 1 : 0)
  }
}

extension LogEntry.Trim {
  /// What stands in the place of the last row that was dropped: the head of the chain after it, and nothing else. It is not sealed;
  /// the chain that begins with it ends at the head in the state, and the last row about dropped rows repeats it.
  init?(_ row: UnsafeRawBufferPointer, before sequence: UInt64) {
    guard let head = Digest32(row) else { return nil }
    self.init(first: sequence + 1, head: head)
  }
}
