internal import CCofferLibraries
internal import CofferPlatform

/// A connection in pipeline mode: ``answers(doing:until:)`` sends the queued statements, and waits for their answers. Every
/// wait is limited. Used from one thread at a time.
final class PostgresConnection {
  private let link: PostgresLink
  /// Names of statements prepared at the server.
  private var prepared: [String: String] = [:]
  private var queue: [Queued] = []
  /// Answers taken early.
  private var taken = Answers()
  private enum Queued {
    /// Confirms a preparation.
    case prepared(String)
    /// Confirms a statement, or has unwanted rows.
    case done
    case rows
  }

  private struct Answers {
    var rows: [PostgresResult] = []
    var failure: StoreError?
  }

  /// The most statements with pending answers. Without a limit each side might wait for the other to read.
  private static let mostQueued = 256

  init(_ link: PostgresLink) { self.link = link }

  /// Whether it cannot be used any more.
  var isLost: Bool { link.isLost }
  /// Whether that is because of a late answer.
  var wasLate: Bool { link.wasLate }

  func giveUp() { _ = link.lost("reach it") }

  /// The parameters after service files, the environment and libpq's defaults.
  var parameters: [String: String] { link.handle.parameters }

  /// The reached host, or the folder of its socket.
  var host: String { link.handle.host }

  /// The server's process id at the connection, perhaps from a pooler.
  var backend: String { String(link.handle.library.backend_pid(link.handle.pointer)) }

  var usesTLS: Bool { link.handle.library.ssl_in_use(link.handle.pointer) != 0 }

  // MARK: Queueing

  /// A parameter of a statement, lent until it is queued.
  enum Parameter {
    case bytes(UnsafeRawBufferPointer)
    case number(Int64)
    case text(String)
    case null
  }

  /// Queues a statement whose rows are wanted.
  ///
  /// - Parameter isKept: whether the server keeps it prepared.
  func ask(
    _ sql: String, _ parameters: [Parameter] = [], isKept: Bool = true, until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    try send(sql, parameters, .rows, isKept: isKept, until: deadline)
  }

  /// Queues a statement whose rows, if any, are not wanted. Of a long queue the server executes the older half meanwhile.
  ///
  /// - Parameter changesOne: whether it must change one row. If not, it fails at the server, and with it the commit after
  ///   it.
  func perform(
    _ sql: String, _ parameters: [Parameter] = [], changesOne: Bool = false, until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    let sql = changesOne ? "WITH changed AS (\(sql) RETURNING 1) SELECT 1 / (count(*) = 1)::int FROM changed" : sql
    try send(sql, parameters, .done, until: deadline)
    guard queue.count >= Self.mostQueued else { return }
    try self.send(until: deadline)
    try take(Self.mostQueued / 2, "reach it", until: deadline)
    if let failure = taken.failure { throw failure }
  }

  /// Queues the removal of matching rows. If one remains, that fails at the server.
  func remove(
    from table: String, where condition: String, _ parameters: [Parameter] = [], until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    try perform("DELETE FROM \(table) WHERE \(condition)", parameters, until: deadline)
    try perform(
      "SELECT 1 / (NOT EXISTS (SELECT 1 FROM \(table) WHERE \(condition)))::int", parameters, until: deadline)
  }

  private func send(
    _ sql: String, _ parameters: [Parameter], _ queued: Queued, isKept: Bool = true, until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    guard !isLost else { throw link.lost("reach it") }
    let library = link.handle.library
    let name = isKept ? try prepare(sql) : nil
    var numbers = parameters.map { parameter in
      if case .number(let number) = parameter { number.bigEndian } else { Int64(0) }
    }
    var texts: [[UInt8]] = parameters.map { parameter in if case .text(let text) = parameter { Array(text.utf8) } else { [] } }
    let sent = numbers.withUnsafeMutableBytes { numbers in
      Self.lend(&texts) { texts in
        var values: [UnsafePointer<CChar>?] = []
        var lengths: [Int32] = []
        for (place, parameter) in parameters.enumerated() {
          let bytes: UnsafeRawBufferPointer? =
            switch parameter {
            case .bytes(let bytes): bytes
            case .number: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(numbers)[place * 8..<(place + 1) * 8])
            case .text: texts[place]
            case .null: nil
            }
          lengths.append(Int32(clamping: bytes?.count ?? 0))
          values.append(bytes.map { ($0.baseAddress ?? Self.nowhere).assumingMemoryBound(to: CChar.self) })
        }
        let formats = [Int32](repeating: 1, count: parameters.count)
        let (pointer, count) = (link.handle.pointer, Int32(parameters.count))
        return name.map { library.send_prepared(pointer, $0, count, values, lengths, formats, 1) }
          ?? library.send_parameters(pointer, sql, count, nil, values, lengths, formats, 1)
      }
    }
    guard sent == 1 else { throw link.lost("reach it") }
    queue.append(queued)
  }

  /// The address for empty parameters: NULL would mean SQL's.
  private static nonisolated(unsafe) let nowhere = UnsafeRawPointer(UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))

  private static func lend<Result>(_ texts: inout [[UInt8]], _ body: ([UnsafeRawBufferPointer]) -> Result) -> Result {
    let count = texts.reduce(0) { $0 + $1.count }
    return withUnsafeTemporaryAllocation(byteCount: max(1, count), alignment: 1) { all in
      var (lent, start) = ([UnsafeRawBufferPointer](), 0)
      for text in texts {
        let part = UnsafeMutableRawBufferPointer(rebasing: all[start..<start + text.count])
        part.copyBytes(from: text)
        lent.append(UnsafeRawBufferPointer(part))
        start += text.count
      }
      return body(lent)
    }
  }

  /// Prepares a new statement at the server, and returns its name.
  private func prepare(_ sql: String) throws(StoreError) -> String {
    if let name = prepared[sql] { return name }
    let name = Self.name(of: sql)
    let library = link.handle.library
    guard library.send_prepare(link.handle.pointer, name, sql, 0, nil) == 1 else { throw link.lost("reach it") }
    prepared[sql] = name
    queue.append(.prepared(sql))
    return name
  }

  /// A name derived from the text alone: other clients of the server's connection, as in a pool, cannot run another
  /// statement by it.
  private static func name(of sql: String) -> String {
    var hash: UInt64 = 14_695_981_039_346_656_037
    for byte in sql.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
    return "coffer\(hash)"
  }

  // MARK: Answers

  func send(until deadline: ContinuousClock.Instant) throws(StoreError) {
    guard link.handle.library.sync(link.handle.pointer) == 1 else { throw link.lost("reach it") }
    syncs += 1
    try link.flush(until: deadline)
  }

  /// The number of queue ends sent to the server and not yet answered.
  private var syncs = 0

  /// Sends the queue, and waits for all of its answers.
  ///
  /// - Returns: the wanted rows, in order of the statements.
  /// - Throws: the error of the first failed statement; later ones were not run. ``isLost`` tells whether the connection is
  ///   lost.
  func answers(doing: String = "reach it", until deadline: ContinuousClock.Instant) throws(StoreError) -> [PostgresResult] {
    try send(until: deadline)
    try take(queue.count, doing, until: deadline)
    while syncs > 0 {
      guard let result = try link.next(until: deadline) else { throw link.lost(doing) }
      let status = link.handle.library.result_status(result)
      link.handle.library.clear(result)
      guard status == COFFER_LIBPQ_PIPELINE_SYNC else { throw link.lost(doing) }
      syncs -= 1
    }
    let found = taken
    taken = Answers()
    if let failure = found.failure { throw failure }
    return found.rows
  }

  /// Waits for the next wanted rows of a queue that was sent.
  ///
  /// - Throws: the error of the first failed statement, which ``answers(doing:until:)`` throws again.
  func nextAnswer(doing: String, until deadline: ContinuousClock.Instant) throws(StoreError) -> PostgresResult {
    while taken.rows.isEmpty, taken.failure == nil, !queue.isEmpty { try take(1, doing, until: deadline) }
    if let failure = taken.failure { throw failure }
    guard !taken.rows.isEmpty else { throw link.lost(doing) }
    return taken.rows.removeFirst()
  }

  private func take(_ count: Int, _ doing: String, until deadline: ContinuousClock.Instant) throws(StoreError) {
    link.beginCounting()
    let first = queue.prefix(count)
    queue.removeFirst(count)
    for kind in first {
      let result: PostgresResult?
      do throws(StoreError) { result = try answer(doing, until: deadline) } catch {
        guard !isLost else { throw error }
        if taken.failure == nil { taken.failure = error }
        result = nil
      }
      switch kind {
      // A statement after a failed one was not prepared.
      case .prepared(let sql): if result == nil { prepared[sql] = nil }
      case .done: break
      case .rows:
        if let result { taken.rows.append(result) } else if taken.failure == nil { throw link.lost(doing) }
      }
    }
  }

  /// Counts the server's warnings that its standby may lack a commit.
  var warnings: Int32 { link.handle.warnings.pointee }

  /// The answer to one statement; nil if it was not run after an earlier failure.
  private func answer(_ doing: String, until deadline: ContinuousClock.Instant) throws(StoreError) -> PostgresResult? {
    var (found, failure) = (PostgresResult?.none, StoreError?.none)
    while let result = try link.next(until: deadline) {
      let status = link.handle.library.result_status(result)
      switch status {
      case UInt32(COFFER_LIBPQ_TUPLES_OK), UInt32(COFFER_LIBPQ_COMMAND_OK):
        found = PostgresResult(result, link.handle.library, link.place)
      case UInt32(COFFER_LIBPQ_PIPELINE_ABORTED):
        link.handle.library.clear(result)
      case UInt32(COFFER_LIBPQ_PIPELINE_SYNC):
        // The end of an earlier queue, sent without waiting.
        link.handle.library.clear(result)
        syncs -= 1
        continue
      default:
        let state = link.handle.library.error_field(result, Int32(COFFER_LIBPQ_SQLSTATE)).map { String(cString: $0) }
        link.handle.library.clear(result)
        guard let state else { throw link.lost(doing) }
        failure = StoreError(PostgresFailure(state), doing, place: link.place.description)
      }
    }
    do throws(StoreError) { try link.check(doing) } catch { throw failure ?? error }
    if let failure { throw failure }
    return found
  }

  /// Waits for a notice on the channel, a ring of `bell`, or the end of `time`; false after a ring.
  func waitForNotice(_ bell: Bell?, for time: Duration) throws(StoreError) -> Bool { try link.waitForNotice(bell, for: time) }
}
