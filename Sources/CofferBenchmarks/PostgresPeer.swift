internal import CCofferLibraries
internal import Foundation

/// Bare libpq with its own table on the same server, with rows like a vault's.
final class PostgresPeer {
  private let library: coffer_libpq
  private let connection: OpaquePointer
  private let blob: [UInt8]
  private var prepared: Set<String> = []

  struct PeerFailed: Error { let doing: String }

  init(_ folder: String, port: Int32? = nil, valueBytes: Int = 448) throws {
    var reason: UnsafePointer<CChar>?
    guard let table = coffer_libpq_load(&reason) else { throw PeerFailed(doing: "load libpq") }
    library = table.pointee
    var words = ["host": folder, "user": "coffer", "dbname": "postgres"]
    words["port"] = port.map { String($0) }
    let names = words.keys.map { strdup($0) } + [nil], values = words.values.map { strdup($0) } + [nil]
    defer { for text in names + values { free(text) } }
    guard let made = library.connect(names.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 0) else {
      throw PeerFailed(doing: "connect")
    }
    connection = made
    blob = [UInt8](repeating: 7, count: valueBytes)
    var state = UInt32(COFFER_LIBPQ_POLLING_WRITING)
    while state != UInt32(COFFER_LIBPQ_POLLING_OK) {
      guard state != UInt32(COFFER_LIBPQ_POLLING_FAILED) else { throw PeerFailed(doing: "connect") }
      try wait(for: state == UInt32(COFFER_LIBPQ_POLLING_READING) ? POLLIN : POLLOUT)
      state = library.connect_poll(connection)
    }
    guard library.enter_pipeline(connection) == 1 else { throw PeerFailed(doing: "enter pipeline mode") }
  }

  deinit { library.finish(connection) }

  func fill(_ count: Int) throws {
    try run("DROP TABLE IF EXISTS peer")
    try run("CREATE TABLE peer (idx bigint PRIMARY KEY, value bytea)")
    try run("BEGIN")
    for number in 0..<count { try ask("INSERT INTO peer VALUES ($1, $2)", Int64(number), blob) }
    try answer()
    try run("COMMIT")
  }

  /// One row, by a prepared statement.
  func get(_ number: Int) throws {
    try ask("SELECT value FROM peer WHERE idx = $1", Int64(number), nil)
    try answer()
  }

  /// One row in its own transaction, which the server has on its disk.
  func set(_ number: Int) throws {
    try ask("UPDATE peer SET value = $2 WHERE idx = $1", Int64(number), blob)
    try answer()
  }

  /// All of `count` rows written in one transaction, sent in one pipeline.
  func rewrite(_ count: Int) throws {
    try ask("BEGIN", nil, nil)
    for first in stride(from: 0, to: count, by: 1000) {
      for number in first..<min(count, first + 1000) {
        try ask("UPDATE peer SET value = $2 WHERE idx = $1", Int64(number), blob)
      }
      try answer()
    }
    try ask("COMMIT", nil, nil)
    try answer()
  }

  /// All rows, each one looked at.
  func readAll() throws -> Int {
    try ask("SELECT idx, value FROM peer ORDER BY idx", nil, nil)
    return try answer()
  }

  func listen(to channel: String) throws { try run("LISTEN \(channel)") }
  func notify(_ channel: String) throws { try run("NOTIFY \(channel)") }

  func awaitNotice() throws {
    while true {
      guard library.consume(connection) == 1 else { throw PeerFailed(doing: "listen") }
      if let notice = library.notifies(connection) { return library.free_memory(notice) }
      try wait(for: POLLIN)
    }
  }

  private func run(_ sql: String) throws {
    try ask(sql, nil, nil)
    try answer()
  }

  private func ask(_ sql: String, _ number: Int64?, _ bytes: [UInt8]?) throws {
    let name = "p\(sql.utf8.reduce(UInt64(5381)) { $0 &* 33 &+ UInt64($1) })"
    if prepared.insert(sql).inserted {
      guard library.send_prepare(connection, name, sql, 0, nil) == 1 else { throw PeerFailed(doing: sql) }
      waiting += 1
    }
    let (big, hasNumber) = ((number ?? 0).bigEndian, number != nil)
    let sent = withUnsafeBytes(of: big) { number in
      (bytes ?? []).withUnsafeBytes { raw in
        let all = [number, raw].prefix(bytes != nil ? 2 : hasNumber ? 1 : 0)
        let values = all.map { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
        return library.send_prepared(
          connection, name, Int32(all.count), values, all.map { Int32($0.count) }, [Int32](repeating: 1, count: all.count), 1)
      }
    }
    guard sent == 1 else { throw PeerFailed(doing: sql) }
    waiting += 1
  }

  /// Statements sent and not yet answered.
  private var waiting = 0

  /// Waits for all answers; the number of rows.
  @discardableResult
  private func answer() throws -> Int {
    guard library.sync(connection) == 1 else { throw PeerFailed(doing: "send") }
    var (rows, sum) = (0, 0)
    while waiting > 0 {
      while let result = try next() {
        let status = library.result_status(result)
        guard status == UInt32(COFFER_LIBPQ_TUPLES_OK) || status == UInt32(COFFER_LIBPQ_COMMAND_OK) else {
          throw PeerFailed(doing: String(cString: library.error_message(connection) ?? strdup("?")))
        }
        for row in 0..<library.rows(result) {
          let last = library.columns(result) - 1
          if library.length(result, row, last) > 0, let value = library.value(result, row, last) { sum += Int(value[0]) }
          rows += 1
        }
        library.clear(result)
      }
      waiting -= 1
    }
    if let end = try next() { library.clear(end) }
    use(sum)
    return rows
  }

  private func next() throws -> OpaquePointer? {
    while library.is_busy(connection) != 0 {
      guard library.flush(connection) >= 0 else { throw PeerFailed(doing: "send") }
      try wait(for: POLLIN)
      guard library.consume(connection) == 1 else { throw PeerFailed(doing: "read") }
    }
    return library.result(connection)
  }

  private func wait(for events: Int32) throws {
    var waiting = pollfd(fd: library.socket(connection), events: Int16(events), revents: 0)
    guard poll(&waiting, 1, 60_000) > 0 else { throw PeerFailed(doing: "wait for the server") }
  }
}
