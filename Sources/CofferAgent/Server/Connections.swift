package import CofferClient
package import CofferPlatform
internal import CofferStorage
internal import Dispatch
internal import Synchronization

/// Each has a thread.
package final class Connections: Sendable {
  /// The most connections: twice the shells and builds that ask on a busy machine; each costs a thread and at most a
  /// message.
  static let most = 128
  /// The deepest calls of SQLite and the coding need a tenth of it.
  static let stackBytes = 1 << 20

  package final class Mark: Sendable {
    fileprivate let descriptor: Int32
    fileprivate let waitingSince = Mutex<ContinuousClock.Instant?>(.now)
    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Runs `body`, which waits for the client: meanwhile the connection may be ended in favor of another.
    package func waiting<Result: ~Copyable, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
      waitingSince.withLock { $0 = .now }
      defer { waitingSince.withLock { $0 = nil } }
      return try body()
    }
  }

  package init() {}

  private let open = Mutex<[ObjectIdentifier: Mark]>([:])
  private let running = DispatchGroup()

  var count: Int { open.withLock { $0.count } }

  /// Holds a conversation on a new thread. Above the limit, the client that has been silent longest is disconnected.
  package func serve(
    _ socket: consuming LocalSocket, _ conversation: @escaping @Sendable (borrowing LocalSocket, Mark) -> Void
  ) throws(StoreError) {
    let mark = Mark(socket.descriptor)
    let box = SocketBox(socket)
    try open.withLock { (open) throws(StoreError) in
      // Ended connections need a moment to close.
      guard open.count < 2 * Self.most else {
        throw StoreError(.busy, "too many clients", place: "agent", cure: "try again")
      }
      if open.count >= Self.most { Self.endMostSilent(of: open) }
      open[ObjectIdentifier(mark)] = mark
    }
    running.enter()
    do throws(StoreError) {
      try DetachedThread.start(stackBytes: Self.stackBytes, place: "agent") { [self] in
        box.withSocket { conversation($0, mark) }
        // Before the descriptor is closed and its number reused.
        _ = open.withLock { $0.removeValue(forKey: ObjectIdentifier(mark)) }
        box.close()
        running.leave()
      }
    } catch {
      _ = open.withLock { $0.removeValue(forKey: ObjectIdentifier(mark)) }
      running.leave()
      throw error
    }
  }

  package func endAll() {
    open.withLock { open in for mark in open.values { shutdown(mark.descriptor, Int32(SHUT_RDWR)) } }
    running.wait()
  }

  private static func endMostSilent(of open: [ObjectIdentifier: Mark]) {
    let silent = open.values.compactMap { mark in mark.waitingSince.withLock { $0 }.map { (mark, $0) } }
    guard let longest = silent.min(by: { $0.1 < $1.1 }) else { return }
    longest.0.waitingSince.withLock { $0 = nil }
    shutdown(longest.0.descriptor, Int32(SHUT_RDWR))
  }

  private final class SocketBox: Sendable {
    private let socket: Mutex<LocalSocket?>
    init(_ socket: consuming LocalSocket) { self.socket = Mutex(socket) }

    func withSocket(_ body: (borrowing LocalSocket) -> Void) {
      socket.withLock { socket in
        switch socket {
        case .some(let open): body(open)
        case .none: break
        }
      }
    }

    func close() { socket.withLock { $0 = nil } }
  }
}
