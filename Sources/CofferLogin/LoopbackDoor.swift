internal import CCofferPlatform
internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// A port of this machine to which a browser returns once, with the answer in the requested address.
final class LoopbackDoor: Sendable {
  let port: UInt16
  private let socket: Mutex<Int32>

  /// Most concurrent visitors; one more replaces the oldest.
  private static let mostVisitors = 64
  private static let look: Int32 = 100

  init() throws(StoreError) {
    var port: UInt16 = 0
    let socket = coffer_loopback_listen(&port)
    guard socket >= 0 else {
      throw StoreError(.io(errno), "no port can be opened", cure: "log in by a code", underlying: nil)
    }
    self.port = port
    self.socket = Mutex(socket)
  }

  deinit { close() }

  func close() {
    socket.withLock { socket in
      if socket >= 0 { _ = CofferPlatform.close(socket) }
      socket = -1
    }
  }

  /// Waits for `/callback` with the right `state`; returns its parameters and the browser, which waits for its page. Other
  /// requests get "not found", because any user of this machine can connect. Connections are served concurrently, so that a
  /// silent one does not block the browser.
  func answer(
    of state: SecretForm, within seconds: Double, _ cancellation: Cancellation
  ) throws -> (parameters: [String: String], browser: DoorVisitor) {
    let deadline = ContinuousClock.now + .seconds(seconds)
    let listening = socket.withLock { $0 }
    var visitors: [DoorVisitor] = []
    while ContinuousClock.now < deadline {
      guard !cancellation.isCancelled else { throw CancellationError() }
      var entries = ([listening] + visitors.map(\.peer)).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&entries, nfds_t(entries.count), Self.look) > 0 else { continue }
      for visitor in zip(visitors, entries.dropFirst()).filter({ $1.revents != 0 }).map(\.0) where visitor.hasSaidAll() {
        visitors.removeAll { $0 === visitor }
        if let parameters = visitor.line.flatMap(Self.parameters), try CodeGrant.isSame(parameters["state"], state) {
          return (parameters, visitor)
        }
        visitor.reply("404 Not Found", "There is nothing here.")
      }
      guard entries[0].revents != 0, case let peer = coffer_accept(listening), peer >= 0 else { continue }
      if visitors.count == Self.mostVisitors { visitors.removeFirst() }
      visitors.append(DoorVisitor(peer))
    }
    throw StoreError(.loginRefused, "the browser did not return within \(Int(seconds / 60)) minutes", cure: "log in again")
  }

  /// The parameters in `GET /callback?… HTTP/1.1`; nil for any other line.
  static func parameters(_ line: String) -> [String: String]? {
    let parts = line.utf8.split(separator: UInt8(ascii: " "))
    let begin = "/callback?"
    guard parts.count == 3, parts[0].elementsEqual("GET".utf8), parts[1].starts(with: begin.utf8) else { return nil }
    return CodeGrant.parameters(parts[1].dropFirst(begin.utf8.count))
  }
}

/// A connection whose request arrives in pieces.
final class DoorVisitor {
  let peer: Int32
  private var bytes: [UInt8] = []

  /// Most bytes of a request: browsers send some kilobytes of headers, and a code has hundreds of bytes.
  private static let largestRequest = 1 << 14

  init(_ peer: Int32) { self.peer = peer }

  deinit { _ = CofferPlatform.close(peer) }

  /// Reads the bytes that have arrived; whether the request is complete to the end of its headers. A browser that is answered
  /// early may show an error in place of the page.
  func hasSaidAll() -> Bool {
    var chunk = [UInt8](repeating: 0, count: 4096)
    let count = chunk.withUnsafeMutableBytes { recv(peer, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT)) }
    guard count > 0 else { return count == 0 || errno != EAGAIN }
    bytes += chunk[..<count]
    return bytes.count >= Self.largestRequest || bytes.suffix(4).elementsEqual([13, 10, 13, 10])
  }

  /// The first line; nil if incomplete.
  var line: String? { bytes.firstIndex(of: 13).flatMap { String(validating: bytes[..<$0], as: UTF8.self) } }

  /// Sends a page, which fits the socket's buffer; a browser that has left needs none.
  func reply(_ status: String, _ text: String) {
    let page = "<!doctype html><meta charset=\"utf-8\"><title>coffer</title><p>\(text)</p>\n"
    let answer =
      "HTTP/1.1 \(status)\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: \(page.utf8.count)\r\n"
      + "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n\(page)"
    Array(answer.utf8).withUnsafeBytes { _ = send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) }
  }
}
