internal import CCofferLibraries
internal import CofferPlatform
internal import CofferVault

/// One connection of libpq's, freed with this value. A child that was forked leaves it alone: its parent speaks on the same socket.
struct PostgresHandle: ~Copyable {
  let library: coffer_libpq
  let pointer: OpaquePointer
  /// How many warnings the server has sent.
  let warnings: UnsafeMutablePointer<Int32>
  private let process = getpid()

  init(_ library: coffer_libpq, _ pointer: OpaquePointer) {
    self.library = library
    self.pointer = pointer
    warnings = .allocate(capacity: 1)
    warnings.initialize(to: 0)
    coffer_libpq_count_warnings(pointer, warnings)
  }

  deinit {
    guard getpid() == process else { return }
    library.finish(pointer)
    warnings.deallocate()
  }
}

/// A connection in pipeline mode: statements are queued, and ``answers(until:)`` sends them and waits for all that they answer. No wait is
/// without end. Used from one thread at a time.
final class PostgresConnection {
  private let handle: PostgresHandle
  private let place: VaultPlace
  /// What helps where the server cannot be reached, beside waiting for it.
  private let away: StoreError.Remedy?
  /// The statements that the server has prepared.
  private var prepared: Set<String> = []
  private var queue: [Queued] = []
  /// What was taken of the answers before all of them were asked for.
  private var taken = Answers()
  /// Whether it can be used no more.
  private(set) var isLost = false
  /// Whether that is because the server did not answer in time.
  private(set) var wasLate = false

  /// What a queued statement answers.
  private enum Queued {
    /// That a statement was prepared.
    case prepared(String)
    /// That it was done, or rows that nobody wants.
    case done
    /// That it changed one row.
    case one
    case rows
  }

  /// Rows that are wanted, and the first failure.
  private struct Answers {
    var rows: [PostgresResult] = []
    var failure: StoreError?
  }

  /// Statements whose answers may wait at the server, at most. Without an end both sides might wait until the other one reads.
  private static let mostQueued = 256

  /// Connects.
  ///
  /// - Parameters:
  ///   - place: what errors are said of.
  ///   - options: what libpq takes where `connection` does not say it.
  ///   - away: what helps where the server cannot be reached.
  init(
    _ connection: String, place: VaultPlace, options: [(String, String)], away: StoreError.Remedy?,
    until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    handle = try Self.begin(connection, place, options)
    (self.place, self.away) = (place, away)
    try enter(until: deadline)
    let library = handle.library
    guard library.set_nonblocking(handle.pointer, 1) == 0, library.enter_pipeline(handle.pointer) == 1 else {
      throw lost("begin to speak to it")
    }
  }

  /// Has libpq begin to connect.
  private static func begin(
    _ connection: String, _ place: VaultPlace, _ options: [(String, String)], overriding: [(String, String)] = []
  ) throws(StoreError) -> PostgresHandle {
    let library = try PostgresLibrary.load()
    let all = options + [("dbname", connection)] + overriding
    let keywords = all.map { strdup($0.0) } + [nil]
    let values = all.map { strdup($0.1) } + [nil]
    defer { for text in keywords + values { free(text) } }
    // What stands later overrides what stands before it, and what the URL says is taken where it stands.
    let pointer = keywords.map { UnsafePointer($0) }.withUnsafeBufferPointer { keywords in
      values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
        keywords.baseAddress.flatMap { keywords in values.baseAddress.flatMap { library.connect(keywords, $0, 1) } }
      }
    }
    guard let pointer else {
      throw StoreError(.memory, "could not connect", place: place.description, cure: "free some memory and try again")
    }
    return PostgresHandle(library, pointer)
  }

  /// What `place` is known by, without a server. libpq puts the parameters of a place together before it looks at them, and one that it does
  /// not know keeps it from going on.
  static func names(_ place: PostgresPlace) throws(StoreError) -> PlaceNames {
    let handle = try begin(place.connection, VaultPlace(place.url), [], overriding: [("target_session_attrs", "none")])
    return PlaceNames(parameters(of: handle), host: host(of: handle), name: place.name)
  }

  private func enter(until deadline: ContinuousClock.Instant) throws(StoreError) {
    let library = handle.library
    guard library.status(handle.pointer) != 1 else { throw unreachable() }
    var next = UInt32(COFFER_LIBPQ_POLLING_WRITING)
    while next != COFFER_LIBPQ_POLLING_OK {
      let events = next == COFFER_LIBPQ_POLLING_READING ? POLLIN : POLLOUT
      guard try wait(for: Int16(truncatingIfNeeded: events), until: deadline) else {
        throw StoreError(
          .unreachable, "the server did not let this program in in time", place: place.description,
          cure: "check that it is there and can be reached, then try again", remedy: away)
      }
      next = library.connect_poll(handle.pointer)
      guard next != COFFER_LIBPQ_POLLING_FAILED else { throw unreachable() }
    }
  }

  /// The parameters that the connection has, after service files, the environment and libpq's own defaults.
  func parameters() -> [String: String] { Self.parameters(of: handle) }

  private static func parameters(of handle: borrowing PostgresHandle) -> [String: String] {
    let options = handle.library.options(handle.pointer)
    defer { handle.library.free_options(options) }
    var found: [String: String] = [:]
    var next = options
    while let option = next, let keyword = option.pointee.keyword {
      // A password is nobody's business here.
      let isSecret = option.pointee.dispchar.map { $0.pointee == UInt8(ascii: "*") } ?? false
      if !isSecret, let value = option.pointee.val { found[String(cString: keyword)] = String(cString: value) }
      next = option + 1
    }
    return found
  }

  /// The host that was reached, or the folder of its socket.
  var host: String { Self.host(of: handle) }

  private static func host(of handle: borrowing PostgresHandle) -> String {
    handle.library.host(handle.pointer).map { String(cString: $0) } ?? ""
  }

  /// The number of the server's version, such as 150004.
  var serverVersion: Int { Int(handle.library.server_version(handle.pointer)) }

  /// Whether what is said is encrypted by TLS.
  var usesTLS: Bool { handle.library.ssl_in_use(handle.pointer) != 0 }

  /// Whether a transaction is under way, as far as is known.
  var isInTransaction: Bool { handle.library.transaction_status(handle.pointer) != 0 }

  // MARK: Queueing

  /// A parameter of a statement, lent until it is queued.
  enum Parameter {
    case bytes(UnsafeRawBufferPointer)
    case number(Int64)
    case text(String)
    case null
  }

  /// Queues a statement whose rows are wanted.
  func ask(_ sql: String, _ parameters: [Parameter] = [], until deadline: ContinuousClock.Instant) throws(StoreError) {
    try send(sql, parameters, .rows, until: deadline)
  }

  /// Queues a statement whose rows, if there are any, nobody wants. Of many the server makes the older half while the next are queued.
  ///
  /// - Parameter changesOne: whether it must change one row.
  func perform(
    _ sql: String, _ parameters: [Parameter] = [], changesOne: Bool = false, until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    try send(sql, parameters, changesOne ? .one : .done, until: deadline)
    guard queue.count >= Self.mostQueued else { return }
    try self.send(until: deadline)
    try take(Self.mostQueued / 2, "speak to it", until: deadline)
    if let failure = taken.failure { throw failure }
  }

  private func send(
    _ sql: String, _ parameters: [Parameter], _ queued: Queued, until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    guard !isLost else { throw lost("speak to it") }
    let library = handle.library
    if prepared.insert(sql).inserted {
      guard library.send_prepare(handle.pointer, Self.name(of: sql), sql, 0, nil) == 1 else { throw lost("speak to it") }
      queue.append(.prepared(sql))
    }
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
        return library.send_prepared(
          handle.pointer, Self.name(of: sql), Int32(parameters.count), values, lengths, formats, 1)
      }
    }
    guard sent == 1 else { throw lost("speak to it") }
    queue.append(queued)
  }

  /// Where empty parameters point: NULL would stand for SQL's.
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

  /// A name for a statement: its text has one for as long as a connection lasts.
  private static func name(of sql: String) -> String {
    var hash: UInt64 = 14_695_981_039_346_656_037
    for byte in sql.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
    return "coffer\(hash)"
  }

  // MARK: Answers

  /// Sends what is queued, without waiting for the answers.
  func send(until deadline: ContinuousClock.Instant) throws(StoreError) {
    guard handle.library.sync(handle.pointer) == 1 else { throw lost("speak to it") }
    syncs += 1
    try flush(until: deadline)
  }

  /// How many ends of queues the server was sent, and has not answered.
  private var syncs = 0

  /// Sends what is queued, and waits for all of its answers.
  ///
  /// - Returns: those of the statements whose rows are wanted, in their order.
  /// - Throws: the error of the first statement that failed; those after it were not run. Where the connection is lost, ``isLost`` says so.
  func answers(doing: String = "speak to it", until deadline: ContinuousClock.Instant) throws(StoreError) -> [PostgresResult] {
    try send(until: deadline)
    try take(queue.count, doing, until: deadline)
    while syncs > 0 {
      guard let result = try next(until: deadline) else { throw lost(doing) }
      let status = handle.library.result_status(result)
      handle.library.clear(result)
      guard status == COFFER_LIBPQ_PIPELINE_SYNC else { throw lost(doing) }
      syncs -= 1
    }
    let found = taken
    taken = Answers()
    if let failure = found.failure { throw failure }
    return found.rows
  }

  /// Takes the answers to the first `count` statements.
  private func take(_ count: Int, _ doing: String, until deadline: ContinuousClock.Instant) throws(StoreError) {
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
      // What was to be prepared after a statement that failed was not.
      case .prepared(let sql): if result == nil { prepared.remove(sql) }
      case .done: break
      case .one: if let result, result.affected != 1, taken.failure == nil { taken.failure = missing() }
      case .rows:
        if let result { taken.rows.append(result) } else if taken.failure == nil { throw lost(doing) }
      }
    }
  }

  /// How many warnings the server has sent.
  var warnings: Int32 { handle.warnings.pointee }

  /// What one statement answers; nil where it was not run, as one before it failed.
  private func answer(_ doing: String, until deadline: ContinuousClock.Instant) throws(StoreError) -> PostgresResult? {
    var (found, failure) = (PostgresResult?.none, StoreError?.none)
    while let result = try next(until: deadline) {
      let status = handle.library.result_status(result)
      switch status {
      case UInt32(COFFER_LIBPQ_TUPLES_OK), UInt32(COFFER_LIBPQ_COMMAND_OK):
        found = PostgresResult(result, handle.library, place)
      case UInt32(COFFER_LIBPQ_PIPELINE_ABORTED):
        handle.library.clear(result)
      case UInt32(COFFER_LIBPQ_PIPELINE_SYNC):
        // The end of what was sent before without waiting.
        handle.library.clear(result)
        syncs -= 1
        continue
      default:
        let state = handle.library.error_field(result, Int32(COFFER_LIBPQ_SQLSTATE)).map { String(cString: $0) }
        handle.library.clear(result)
        guard let state else { throw lost(doing) }
        failure = StoreError(PostgresFailure(state), doing, place: place.description)
      }
    }
    guard handle.library.status(handle.pointer) == COFFER_LIBPQ_CONNECTION_OK else {
      isLost = true
      throw failure ?? lost(doing)
    }
    if let failure { throw failure }
    return found
  }

  /// The next answer of libpq's, nil at the end of one statement's.
  private func next(until deadline: ContinuousClock.Instant) throws(StoreError) -> OpaquePointer? {
    while handle.library.is_busy(handle.pointer) != 0 {
      guard try wait(for: Int16(POLLIN), until: deadline) else { throw late() }
      guard handle.library.consume(handle.pointer) == 1 else { throw lost("read its answer") }
    }
    return handle.library.result(handle.pointer)
  }

  private func flush(until deadline: ContinuousClock.Instant) throws(StoreError) {
    while true {
      let code = handle.library.flush(handle.pointer)
      guard code >= 0 else { throw lost("speak to it") }
      guard code > 0 else { return }
      guard try wait(for: Int16(POLLIN | POLLOUT), until: deadline) else { throw late() }
      guard handle.library.consume(handle.pointer) == 1 else { throw lost("speak to it") }
    }
  }

  /// Waits until the socket is ready; false at `deadline`.
  private func wait(for events: Int16, until deadline: ContinuousClock.Instant) throws(StoreError) -> Bool {
    var waiting = pollfd(fd: handle.library.socket(handle.pointer), events: events, revents: 0)
    while true {
      let left = deadline - .now
      guard left > .zero else { return false }
      let code = poll(&waiting, 1, Int32(clamping: Int64(left / .milliseconds(1)) + 1))
      if code > 0 { return true }
      guard code == 0 || errno == EINTR else { throw StoreError(errno: errno, "wait for the server", place: "poll") }
    }
  }

  /// Waits until somebody has told something on a channel that is listened to, or `bell` was rung; whether it was the former.
  func waitForNotice(_ bell: Bell) throws(StoreError) -> Bool {
    var waiting = [
      pollfd(fd: handle.library.socket(handle.pointer), events: Int16(POLLIN), revents: 0),
      pollfd(fd: bell.hearing, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&waiting, 2, -1) >= 0 || errno == EINTR else {
      throw StoreError(errno: errno, "wait for the server", place: "poll")
    }
    guard waiting[1].revents == 0 else { return false }
    guard handle.library.consume(handle.pointer) == 1 else { throw lost("hear of changes") }
    var isTold = false
    while let notice = handle.library.notifies(handle.pointer) {
      handle.library.free_memory(notice)
      isTold = true
    }
    return isTold
  }

  // MARK: Errors

  private func lost(_ doing: String) -> StoreError {
    isLost = true
    return StoreError(
      .unreachable, "the connection to the server was lost, and this program could not \(doing)", place: place.description,
      cure: "try again when the server is there")
  }

  private func missing() -> StoreError {
    StoreError(
      .tampered, "a record that should exist is missing", place: place.description,
      cure: "someone changed the vault without its key: restore a backup, and ask who can write to this database")
  }

  private func late() -> StoreError {
    (isLost, wasLate) = (true, true)
    return StoreError(
      .unreachable, "the server did not answer in time", place: place.description,
      cure: "try again; a place may say coffer_timeout=SECONDS for another time")
  }

  /// What libpq says of a server that was not reached. Part of it may be the server's, which chose it: letters alone are repeated.
  private func unreachable() -> StoreError {
    isLost = true
    let text = handle.library.error_message(handle.pointer).map { String(cString: $0) } ?? ""
    let line = text.utf8.map { (32...126).contains($0) ? Character(Unicode.Scalar($0)) : " " }
    let decision = Unreached.decision(text)
    return StoreError(
      decision.kind,
      "\(decision.what): \(String(line.prefix(300)).split(separator: " ").joined(separator: " "))",
      place: place.description, cure: decision.cure, remedy: decision.kind == .unreachable ? away : nil)
  }
}
