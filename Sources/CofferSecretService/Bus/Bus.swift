internal import CCofferLibraries
internal import CofferPlatform
internal import SystemPackage

/// A connection to the user's message bus, for one thread, as sd-bus demands.
final class Bus {
  let library: coffer_sdbus
  let connection: OpaquePointer

  /// Connects to the bus at `address`, or else to that of `DBUS_SESSION_BUS_ADDRESS` or in `XDG_RUNTIME_DIR`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` without libsystemd;
  ///   ``/CofferPlatform/StoreError/Kind/io(_:)`` without a bus.
  init(address: String? = nil) throws(StoreError) {
    let library = try Self.load()
    self.library = library
    var made: OpaquePointer?
    let code = address.map { Self.open($0, &made, library) } ?? library.open_user(&made)
    guard code >= 0, let made else {
      throw StoreError(
        .io(-code), "there is no session bus to connect to", place: address ?? Self.place,
        cure: "set DBUS_SESSION_BUS_ADDRESS, or run it under dbus-run-session",
        underlying: StoreError(errno: -code, "connect to the bus", place: "bus"))
    }
    connection = made
  }

  private static func open(_ address: String, _ made: inout OpaquePointer?, _ library: coffer_sdbus) -> Int32 {
    let code = library.new_bus(&made)
    guard code >= 0, let bus = made else { return code }
    for code in [library.set_address(bus, address), library.set_bus_client(bus, 1), library.start(bus)] where code < 0 {
      _ = library.flush_close_unref(bus)
      return code
    }
    return code
  }

  deinit { _ = library.flush_close_unref(connection) }

  private static func load() throws(StoreError) -> coffer_sdbus {
    var reason: UnsafePointer<CChar>?
    if let table = coffer_sdbus_load(&reason) { return table.pointee }
    throw StoreError(
      .unsupported, "libsystemd, which connects to the bus, is not installed (\(reason.map { String(cString: $0) } ?? ""))",
      place: "libsystemd.so.0", cure: "install libsystemd0 (on Fedora systemd-libs)")
  }

  /// The reason why libsystemd cannot be loaded; nil if it can.
  static func obstacle() -> String? {
    do throws(StoreError) { _ = try load() } catch { return error.what }
    return nil
  }

  /// The environment's bus, for errors.
  private static var place: String { getenv("DBUS_SESSION_BUS_ADDRESS").map { String(cString: $0) } ?? "the session's bus" }

  var address: String {
    var text: UnsafePointer<CChar>?
    guard library.get_address(connection, &text) >= 0, let text else { return Self.place }
    return String(cString: text)
  }

  /// Waits up to `limit` for the bus or `bell`.
  func wait(_ bell: Int32, for limit: Duration?) throws(StoreError) {
    let events = library.get_events(connection)
    guard events >= 0 else { throw failure(events, "wait for the bus") }
    var waiting = [
      pollfd(fd: library.get_fd(connection), events: Int16(truncatingIfNeeded: events), revents: 0),
      pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
    ]
    let most = [limit, try ownTimeout()].compactMap(\.self).min()
    let milliseconds = most.map { Int64(max(.zero, $0) / .milliseconds(1)) + 1 } ?? -1
    guard poll(&waiting, 2, Int32(clamping: milliseconds)) >= 0 || errno == EINTR else {
      throw StoreError(errno: errno, "wait for the bus", place: "bus")
    }
  }

  /// The time until sd-bus wants to run again; nil for never.
  private func ownTimeout() throws(StoreError) -> Duration? {
    var until: UInt64 = 0
    let code = library.get_timeout(connection, &until)
    guard code >= 0 else { throw failure(code, "wait for the bus") }
    guard code > 0, until != .max else { return nil }
    let now = UInt64(clamping: coffer_time_awake() / 1000)
    return .microseconds(until > now ? Int64(clamping: until - now) : 0)
  }

  /// Errors of a connection whose peer is gone.
  private static let ends: Set<Int32> = [ECONNRESET, ECONNABORTED, ENOTCONN, EPIPE, ESHUTDOWN]

  /// The next message; nil if there is none.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` if the bus went away.
  func next() throws(StoreError) -> BusMessage? {
    while true {
      var raw: OpaquePointer?
      let code = library.process(connection, &raw)
      guard code >= 0 else {
        throw Self.ends.contains(-code)
          ? StoreError(.io(-code), "the bus has ended", place: address, cure: "connect to the bus that follows it")
          : failure(code, "hear the bus")
      }
      if let raw { return BusMessage(raw, self) }
      if code == 0 { return nil }
    }
  }

  /// Sends `message`, as soon as the bus takes it.
  func send(_ message: BusMessage) throws(StoreError) {
    let code = library.send(connection, message.raw, nil)
    guard code >= 0 else { throw failure(code, "send a message on the bus") }
  }

  /// Calls a method of the bus itself.
  func ask(_ member: String, _ put: (BusMessage) throws(Refusal) -> Void) throws(StoreError) -> BusMessage {
    try call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, put)
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` with the answer's error.
  func call(
    _ destination: String, _ path: String, _ interface: String, _ member: String,
    _ put: (BusMessage) throws(Refusal) -> Void
  ) throws(StoreError) -> BusMessage {
    let question = try answered { () throws(Refusal) in
      let question = try BusMessage(callOf: member, interface, path, at: destination, self)
      try put(question)
      return question
    }
    var (error, answer) = (coffer_sdbus_error(name: nil, message: nil, need_free: 0), OpaquePointer?.none)
    let code = library.call(connection, question.raw, Self.patience, &error, &answer)
    defer { library.error_free(&error) }
    guard code >= 0, let answer else {
      let said = error.message.map { ": " + String(cString: $0) } ?? ""
      throw StoreError(
        .io(-code), "\(member) failed on the bus\(said)", place: destination, cure: "look at the bus with busctl --user")
    }
    return BusMessage(answer, self)
  }

  /// Microseconds: five seconds, for a very busy machine.
  private static let patience: UInt64 = 5_000_000

  /// False if the owner keeps the name.
  func takeName(_ name: String, replacing: Bool) throws(StoreError) -> Bool {
    let flags = COFFER_SDBUS_ALLOW_REPLACEMENT | (replacing ? COFFER_SDBUS_REPLACE_EXISTING : 0)
    let code = library.request_name(connection, name, UInt64(flags))
    if code == -EEXIST { return false }
    guard code >= 0 else { throw failure(code, "take the name \(name)") }
    return true
  }

  /// The connection and process that own `name`; nil if none does.
  func owner(of name: String) throws(StoreError) -> (connection: String, process: Int32)? {
    let has = try ask("NameHasOwner") { (message) throws(Refusal) in try message.put(name) }
    guard try answered({ () throws(Refusal) in try has.flag() }) else { return nil }
    let owner = try ask("GetNameOwner") { (message) throws(Refusal) in try message.put(name) }
    let connection = try answered { () throws(Refusal) in try owner.string() }
    return (connection, try process(of: connection))
  }

  func process(of connection: String) throws(StoreError) -> Int32 {
    let answer = try ask("GetConnectionUnixProcessID") { (message) throws(Refusal) in try message.put(connection) }
    return Int32(clamping: try answered { () throws(Refusal) in try answer.number() })
  }

  func listen(to rule: String) throws(StoreError) {
    _ = try ask("AddMatch") { (message) throws(Refusal) in try message.put(rule) }
  }

  func answered<Result>(_ body: () throws(Refusal) -> Result) throws(StoreError) -> Result {
    do throws(Refusal) { return try body() } catch {
      throw StoreError(
        .io(EPROTO), "cannot use the bus: \(error.text)", place: address, cure: "look at it with busctl --user")
    }
  }

  func failure(_ code: Int32, _ what: String) -> StoreError {
    StoreError(
      .io(-code), "cannot \(what)", place: address, cure: "see whether the bus still runs: busctl --user",
      underlying: StoreError(errno: -code, what, place: "bus"))
  }
}
