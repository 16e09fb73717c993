import Foundation
import Synchronization

/// A PostgreSQL server that gives prepared answers to anything, and then nothing more, without a wait.
///
/// Source: PostgreSQL, "Frontend/Backend Protocol", "Message Formats".
final class ScriptedServer: Sendable {
  /// One for this process. Its socket has no file: it uses Linux's abstract namespace.
  static let shared = ScriptedServer()

  /// libpq's connection URL.
  let url: String
  private let listener: Int32
  /// The answers on each future connection.
  private let scripts = Mutex<[[UInt8]]>([])

  private init() {
    let name = "coffer-\(getpid())"
    url = "postgresql://u@/d?host=%40\(name)&port=1#main"
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = Array("\0\(name)/.s.PGSQL.1".utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
    let bound = withUnsafePointer(to: address) { [listener] address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) }
    }
    precondition(bound == 0 && listen(listener, 16) == 0, "no socket: \(errno)")
    Thread.detachNewThread { [self] in serve() }
  }

  /// Sets the next connections' answers after the greeting; later connections are ended at once.
  func say(_ scripts: [[UInt8]]) { self.scripts.withLock { $0 = scripts } }

  var isSilent: Bool { scripts.withLock { $0.isEmpty } }

  private func serve() {
    var last: Int32?
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      // The previous one is not closed sooner: unread data of the client would be lost.
      if let last { close(last) }
      last = client
      let script = scripts.withLock { $0.isEmpty ? [] : $0.removeFirst() }
      if !script.isEmpty {
        // libpq ignores a server's messages between its greeting and the first question.
        for part in [ServerMessage.greeting, script] {
          var heard: UInt8 = 0
          guard recv(client, &heard, 1, 0) == 1 else { break }
          drain(client)
          say(part, to: client)
        }
      }
      shutdown(client, Int32(SHUT_WR))
    }
  }

  private func drain(_ client: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { room in
      _ = recv(client, room.baseAddress, room.count, Int32(MSG_DONTWAIT))
    }
  }

  private func say(_ bytes: [UInt8], to client: Int32) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      sent += count
    }
  }
}

enum ServerMessage {
  static func message(_ type: UInt8, _ body: [UInt8]) -> [UInt8] { [type] + bytes(UInt32(body.count + 4)) + body }

  /// A connection's start, up to the client's first question.
  static let greeting: [UInt8] = {
    let status = [
      ("server_version", "17.0"), ("client_encoding", "UTF8"), ("standard_conforming_strings", "on"), ("in_hot_standby", "off"),
      ("default_transaction_read_only", "off"),
    ]
    return message(UInt8(ascii: "R"), bytes(UInt32(0)))
      + status.flatMap { message(UInt8(ascii: "S"), Array("\($0)\0\($1)\0".utf8)) }
      + message(UInt8(ascii: "K"), bytes(UInt64(1))) + ready
  }()

  static let ready = message(UInt8(ascii: "Z"), [UInt8(ascii: "I")])

  /// One row of texts, as the answer to a statement prepared with the question.
  static func row(_ texts: [String]) -> [UInt8] {
    let columns = texts.flatMap { _ in
      Array("c\0".utf8) + bytes(UInt32(0), UInt16(0), UInt32(25), UInt16(0xFFFF), UInt32(0xFFFF_FFFF), UInt16(1))
    }
    let cells = texts.flatMap { bytes(UInt32($0.utf8.count)) + Array($0.utf8) }
    return message(UInt8(ascii: "1"), []) + message(UInt8(ascii: "2"), [])
      + message(UInt8(ascii: "T"), bytes(UInt16(texts.count)) + columns)
      + message(UInt8(ascii: "D"), bytes(UInt16(texts.count)) + cells) + message(UInt8(ascii: "C"), Array("SELECT 1\0".utf8))
  }

  /// An input's messages: a type, the content's length in two bytes, and the content. A type of 0 ends them, and later bytes
  /// are sent unchanged.
  static func messages(of input: ArraySlice<UInt8>) -> [UInt8] {
    var (rest, said) = (input, [UInt8]())
    while let type = rest.popFirst() {
      guard type != 0 else { return said + rest }
      let count = Int(rest.popFirst() ?? 0) | Int(rest.popFirst() ?? 0) << 8
      said += message(type, Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return said
  }

  private static func bytes(_ numbers: any FixedWidthInteger...) -> [UInt8] { numbers.flatMap { big($0) } }

  private static func big(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
