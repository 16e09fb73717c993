internal import CCofferPlatform
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// A port of this machine at which a browser comes back once, with the answer in the address that it asks for.
final class LoopbackDoor: Sendable {
  let port: UInt16
  private let socket: Mutex<Int32>

  /// Bytes of a request, at most: browsers send some kilobytes of headers, and a code has hundreds of bytes.
  private static let largestRequest = 1 << 14
  /// A program that connects and says nothing is not waited for. Milliseconds.
  private static let longestRequest: Int32 = 5_000
  private static let look: Int32 = 100

  init() throws(StoreError) {
    var port: UInt16 = 0
    let socket = coffer_loopback_listen(&port)
    guard socket >= 0 else {
      throw StoreError(.io(errno), "no port can be listened to", cure: "log in by a code", underlying: nil)
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

  /// The parameters that the browser brings to `/callback`, `state` among them. Whoever asks for something else, or does not know the state, is
  /// told that there is nothing: any user of this machine can knock, and only who knows the state ends the wait.
  func answer(of state: SecretForm, within seconds: Double, _ cancellation: Cancellation) throws -> [String: String] {
    let deadline = ContinuousClock.now + .seconds(seconds)
    let listening = socket.withLock { $0 }
    while ContinuousClock.now < deadline {
      guard !cancellation.isCancelled else { throw CancellationError() }
      guard Self.isReady(listening, Self.look) else { continue }
      let peer = coffer_accept(listening)
      guard peer >= 0 else { continue }
      defer { _ = CofferPlatform.close(peer) }
      guard let line = Self.requestLine(peer), let parameters = Self.parameters(line),
        try Self.isSame(parameters["state"], state)
      else {
        Self.reply(peer, "404 Not Found", "There is nothing here.")
        continue
      }
      Self.reply(peer, "200 OK", "You can close this page and go back to the program that opened it.")
      return parameters
    }
    throw StoreError(.loginRefused, "nobody came back from the browser within \(Int(seconds / 60)) minutes", cure: "log in again")
  }

  private static func isSame(_ given: String?, _ state: SecretForm) throws -> Bool {
    guard let given else { return false }
    let bytes = try given.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    return bytes.isEqual(to: state.bytes)
  }

  private static func isReady(_ descriptor: Int32, _ milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) == 1
  }

  /// The first line of a request that came whole.
  private static func requestLine(_ peer: Int32) -> String? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    let deadline = ContinuousClock.now + .milliseconds(Int(longestRequest))
    // To the end of its headers: a browser that is answered before it has said all may show an error in place of the page.
    while bytes.count < largestRequest, ContinuousClock.now < deadline, isReady(peer, look) || bytes.isEmpty {
      let count = chunk.withUnsafeMutableBytes { recv(peer, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT)) }
      if count == 0 { break }
      guard count > 0 else { continue }
      bytes += chunk[..<count]
      if bytes.suffix(4).elementsEqual([13, 10, 13, 10]) { break }
    }
    guard let end = bytes.firstIndex(of: 13) else { return nil }
    return String(validating: bytes[..<end], as: UTF8.self)
  }

  /// What stands behind the question mark of `GET /callback?… HTTP/1.1`; nil for any other line, and for a name that stands there twice.
  static func parameters(_ line: String) -> [String: String]? {
    let parts = line.utf8.split(separator: UInt8(ascii: " "))
    let begin = "/callback?"
    guard parts.count == 3, parts[0].elementsEqual("GET".utf8), parts[1].starts(with: begin.utf8) else { return nil }
    var found: [String: String] = [:]
    for pair in parts[1].dropFirst(begin.utf8.count).split(separator: UInt8(ascii: "&")) {
      let sides = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2, let name = decoded(sides[0]), let value = decoded(sides[1]) else { return nil }
      // Source: RFC 6749, 3.1: no parameter stands there twice.
      guard found.updateValue(value, forKey: name) == nil else { return nil }
    }
    return found
  }

  /// As a form says it: a blank may be a plus. Source: HTML, "URL-encoded form data".
  private static func decoded(_ text: Substring.UTF8View) -> String? {
    PercentEncoding.decode(text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
      .flatMap { String(validating: $0, as: UTF8.self) }
  }

  private static func reply(_ peer: Int32, _ status: String, _ text: String) {
    let page = "<!doctype html><meta charset=\"utf-8\"><title>coffer</title><p>\(text)</p>\n"
    let answer =
      "HTTP/1.1 \(status)\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: \(page.utf8.count)\r\n"
      + "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n\(page)"
    var rest = Array(answer.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      // The browser has gone; what it brought counts all the same.
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
