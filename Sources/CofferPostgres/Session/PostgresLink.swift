internal import CCofferLibraries
internal import CofferPlatform
internal import CofferVault

/// A connection to a server: its traffic, its state, and its waits, each with a limit.
final class PostgresLink {
  let handle: PostgresHandle
  let place: VaultPlace
  /// The cure for an unreachable server, besides waiting.
  private let away: StoreError.Remedy?
  /// Whether it cannot be used any more.
  private(set) var isLost = false
  /// Whether that is because of a late answer.
  private(set) var wasLate = false
  /// Bytes received since the last reset, and bytes in the socket at libpq's last read.
  private var received = 0, waiting = 0
  /// The most bytes of answers to one queue, or of a batch of records: 256 with the longest descriptions, and a value of
  /// 8 KiB each, take 20 MiB. A reader holds up to three.
  static let mostReceived = 21 << 20
  /// The same for plain values, many of which are read at once.
  static let mostPlainReceived = 128 << 20
  private let most: Int

  /// Connects, and sets it to pipeline mode.
  ///
  /// - Parameters:
  ///   - place: the place for errors.
  ///   - options: defaults for keywords that `connection` does not set.
  ///   - overriding: keywords that override those of `connection`.
  ///   - away: the cure if the server cannot be reached.
  ///   - most: the most bytes of answers at once.
  init(
    _ connection: String, place: VaultPlace, options: [(String, String)], overriding: [(String, String)],
    away: StoreError.Remedy?, most: Int, until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    handle = try PostgresHandle.begin(connection, place, options, overriding: overriding)
    (self.place, self.away, self.most) = (place, away, most)
    try enter(until: deadline)
    let library = handle.library
    guard library.set_nonblocking(handle.pointer, 1) == 0, library.enter_pipeline(handle.pointer) == 1 else {
      throw lost("connect to it")
    }
  }

  private func enter(until deadline: ContinuousClock.Instant) throws(StoreError) {
    let library = handle.library
    guard library.status(handle.pointer) != 1 else { throw unreachable() }
    var next = UInt32(COFFER_LIBPQ_POLLING_WRITING)
    while next != COFFER_LIBPQ_POLLING_OK {
      let events = next == COFFER_LIBPQ_POLLING_READING ? POLLIN : POLLOUT
      guard try wait(for: Int16(truncatingIfNeeded: events), until: deadline) else {
        throw StoreError(
          .unreachable, "the server did not accept the connection in time", place: place.description,
          cure: "check that it can be reached, then try again", remedy: away)
      }
      next = library.connect_poll(handle.pointer)
      guard next != COFFER_LIBPQ_POLLING_FAILED else { throw unreachable() }
    }
  }

  /// Whether libpq still considers it connected.
  func check(_ doing: String) throws(StoreError) {
    guard handle.library.status(handle.pointer) == COFFER_LIBPQ_CONNECTION_OK else { throw lost(doing) }
  }

  /// libpq's next answer, nil at the end of a statement's.
  func next(until deadline: ContinuousClock.Instant) throws(StoreError) -> OpaquePointer? {
    while handle.library.is_busy(handle.pointer) != 0 {
      guard try wait(for: Int16(POLLIN), until: deadline) else { throw late() }
      guard handle.library.consume(handle.pointer) == 1 else { throw lost("read its answer") }
      // A listener reads the rows after connecting. libpq would keep all notices.
      _ = takeNotices()
    }
    return handle.library.result(handle.pointer)
  }

  func flush(until deadline: ContinuousClock.Instant) throws(StoreError) {
    while true {
      let code = handle.library.flush(handle.pointer)
      guard code >= 0 else { throw lost("reach it") }
      guard code > 0 else { return }
      guard try wait(for: Int16(POLLIN | POLLOUT), until: deadline) else { throw late() }
      guard handle.library.consume(handle.pointer) == 1 else { throw lost("reach it") }
    }
  }

  private func wait(for events: Int16, until deadline: ContinuousClock.Instant) throws(StoreError) -> Bool {
    // libpq reads up to 8 KiB at a time, regardless of later bytes.
    if waiting > 0 { received += max(waiting - unread, min(waiting, 8192)) }
    guard received <= most else {
      isLost = true
      throw StoreError(
        .damaged, "the server sent more than any answer has", place: place.description,
        cure: "check what is at that address, and ask who can write to this database")
    }
    defer { self.waiting = unread }
    var waiting = pollfd(fd: handle.library.socket(handle.pointer), events: events, revents: 0)
    while true {
      let left = deadline - .now
      guard left > .zero else { return false }
      let code = poll(&waiting, 1, Int32(clamping: Int64(left / .milliseconds(1)) + 1))
      if code > 0 { return true }
      guard code == 0 || errno == EINTR else { throw StoreError(errno: errno, "wait for the server", place: "poll") }
    }
  }

  func beginCounting() { (received, waiting) = (0, 0) }

  /// Received bytes that libpq has not read.
  private var unread: Int {
    var count: Int32 = 0
    return ioctl(handle.library.socket(handle.pointer), UInt(FIONREAD), &count) == 0 ? Int(count) : 0
  }

  private func takeNotices() -> Bool {
    var isTold = false
    while let notice = handle.library.notifies(handle.pointer) {
      handle.library.free_memory(notice)
      isTold = true
    }
    return isTold
  }

  /// Waits for a notice, a ring of `bell`, or the end of `time`; false after a ring, and after other data from the server.
  func waitForNotice(_ bell: Bell?, for time: Duration) throws(StoreError) -> Bool {
    // One may have come with the last answer.
    if takeNotices() { return true }
    var waiting = [
      pollfd(fd: handle.library.socket(handle.pointer), events: Int16(POLLIN), revents: 0),
      pollfd(fd: bell?.hearing ?? -1, events: Int16(POLLIN), revents: 0),
    ]
    // Rounded up: a wait that ends too soon would count as a notice.
    let ready = poll(&waiting, 2, Int32(clamping: Int64((time / .milliseconds(1)).rounded(.up))))
    guard ready >= 0 || errno == EINTR else { throw StoreError(errno: errno, "wait for the server", place: "poll") }
    guard ready != 0 else { return true }
    guard waiting[1].revents == 0 else { return false }
    guard handle.library.consume(handle.pointer) == 1 else { throw lost("hear of changes") }
    return takeNotices()
  }

  // MARK: Errors

  /// Marks the connection as lost, and returns the error.
  func lost(_ doing: String) -> StoreError {
    isLost = true
    return StoreError(
      .unreachable, "the connection to the server was lost; this program could not \(doing)", place: place.description,
      cure: "try again when the server is back")
  }

  private func late() -> StoreError {
    (isLost, wasLate) = (true, true)
    return StoreError(
      .unreachable, "the server did not answer in time", place: place.description,
      cure: "try again; coffer_timeout=SECONDS in the place gives it more time")
  }

  /// libpq's message about an unreachable server. The server may have chosen part of it: only printable ASCII is repeated.
  private func unreachable() -> StoreError {
    isLost = true
    let text = handle.library.error_message(handle.pointer).map { String(cString: $0) } ?? ""
    let decision = Unreached.decision(text)
    // What libpq quotes of a place that it misreads may be a part of a password.
    let told = decision.kind == .invalidName ? text.prefix { $0 != "\"" } : text[...]
    let line = String(told.utf8.map { (32...126).contains($0) ? Character(Unicode.Scalar($0)) : " " }.prefix(300))
    let words = line.split(separator: " ").joined(separator: " ")
    return StoreError(
      decision.kind, "\(decision.what): \(words.hasSuffix(":") ? String(words.dropLast()) : words)",
      place: place.description, cure: decision.cure, remedy: decision.kind == .unreachable ? away : nil)
  }
}
