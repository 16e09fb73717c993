internal import CofferPlatform
internal import Foundation
internal import Synchronization
import Testing

/// A proxy between a client and a server's socket, which cuts the next connection after so many bytes of one direction.
public final class SocketProxy: Sendable {
  /// The unique number in its socket's name.
  public let port: Int
  private static let ports = Atomic<Int>(6543)
  private let listener: Int32
  private let target: String
  private struct Plan { var left: Int?; var isUp = true }
  private let plan = Mutex(Plan())
  private let held = Mutex<UInt32>(0)
  private let counted = Mutex(Counted())
  private struct Counted { var up = 0, down = 0, syncs = 0, clients: Set<Int32> = [] }

  /// Listens in `folder` before the socket of the number `target`.
  public init(_ folder: String, target: Int) throws {
    port = Self.ports.add(1, ordering: .relaxed).oldValue
    self.target = "\(folder)/.s.PGSQL.\(target)"
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let bound = Self.withAddress("\(folder)/.s.PGSQL.\(port)") { [listener] address, size in bind(listener, address, size) }
    try #require(bound == 0 && listen(listener, 64) == 0)
    chmod("\(folder)/.s.PGSQL.\(port)", 0o777)
    Thread.detachNewThread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        serve(client)
      }
    }
  }

  deinit { Glibc.close(listener) }

  /// Accepts no more connections.
  public func end() { shutdown(listener, Int32(SHUT_RDWR)) }

  /// Cuts after `bytes` more up to the server, or down from it.
  public func cut(after bytes: Int, up: Bool) { plan.withLock { $0 = Plan(left: bytes, isUp: up) } }
  /// Cuts nothing.
  public func mend() { plan.withLock { $0.left = nil } }
  /// Delays the server's answers by so many microseconds.
  public func hold(_ microseconds: UInt32) { held.withLock { $0 = microseconds } }
  /// Whether the wire was cut, or none was planned.
  public var isCut: Bool { plan.withLock { $0.left == nil } }

  /// Bytes up and down since the last call, and the clients' `Sync` messages, each the end of statements sent at once. Counts
  /// all that they sent before.
  public func count() -> (up: Int, down: Int, syncs: Int) {
    while true {
      let found = counted.withLock { counted -> (up: Int, down: Int, syncs: Int)? in
        let isRead = counted.clients.allSatisfy { client in
          var waiting: Int32 = 0
          return ioctl(client, UInt(FIONREAD), &waiting) != 0 || waiting == 0
        }
        guard isRead else { return nil }
        defer { (counted.up, counted.down, counted.syncs) = (0, 0, 0) }
        return (counted.up, counted.down, counted.syncs)
      }
      if let found { return found }
      sched_yield()
    }
  }

  private func serve(_ client: Int32) {
    let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
      close(client)
      close(server)
      return
    }
    counted.withLock { _ = $0.clients.insert(client) }
    let ended = Ended()
    for (from, to, up) in [(client, server, true), (server, client, false)] {
      Thread.detachNewThread { [self] in
        pump(from, to, up)
        guard ended.count.add(1, ordering: .acquiringAndReleasing).newValue == 2 else { return }
        counted.withLock { _ = $0.clients.remove(client) }
        close(from)
        close(to)
      }
    }
  }

  private final class Ended: Sendable { let count = Atomic<Int>(0) }

  private func pump(_ from: Int32, _ to: Int32, _ up: Bool) {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    // The first message has no letter.
    var unread: [UInt8] = [0]
    while true {
      var waiting = pollfd(fd: from, events: Int16(POLLIN), revents: 0)
      poll(&waiting, 1, -1)
      var got = 0
      counted.withLock { counted in
        got = read(from, &bytes, bytes.count)
        guard got > 0 else { return }
        if up { (counted.up, unread) = (counted.up + got, unread + bytes[..<got]) } else { counted.down += got }
        while up, unread.count > 4 {
          let size = unread[1..<5].reduce(0) { $0 << 8 | Int($1) } + 1
          guard unread.count >= size else { return }
          counted.syncs += unread[0] == UInt8(ascii: "S") ? 1 : 0
          unread.removeFirst(size)
        }
      }
      guard got > 0 else { break }
      let allowed = plan.withLock { plan -> Int in
        guard plan.isUp == up, let left = plan.left else { return got }
        plan.left = left > got ? left - got : nil
        return min(left, got)
      }
      if !up { usleep(held.withLock { $0 }) }  // No event: it is held for so long.
      var done = 0
      while done < allowed {
        let put = bytes.withUnsafeBytes { send(to, $0.baseAddress?.advanced(by: done), allowed - done, Int32(MSG_NOSIGNAL)) }
        guard put > 0 else { break }
        done += put
      }
      guard allowed == got else { break }
    }
    // Both ways, so that the other thread ends too.
    shutdown(from, Int32(SHUT_RDWR))
    shutdown(to, Int32(SHUT_RDWR))
  }

  /// Whether a program listens at the socket `path`, whose name exists a moment earlier.
  public static func isListening(_ path: String) -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    return withAddress(path) { connect(descriptor, $0, $1) } == 0
  }

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix(107))) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
