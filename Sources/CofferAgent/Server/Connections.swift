package import CofferClient
package import CofferPlatform
internal import CofferStorage
internal import Dispatch
internal import Synchronization
package import SystemPackage

/// The connections of programs of this user to a socket. Each has a thread.
package final class Connections: Sendable {
  /// The most connections: twice the shells and builds that ask on a busy machine; each costs a thread and at most a
  /// message.
  static let most = 128
  /// The deepest calls of SQLite and the coding need a tenth of it.
  static let stackBytes = 1 << 20
  /// Microseconds between tries to accept a connection while the system lacks room.
  private static let breather: UInt32 = 10_000

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

  private let open = Mutex<[ObjectIdentifier: Mark]>([:])
  private let running = DispatchGroup()
  private let bell: Bell
  private let stopping = Atomic<Bool>(false)

  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` if the process has no descriptor left.
  package init() throws(StoreError) { bell = try Bell() }

  var count: Int { open.withLock { $0.count } }

  /// Holds conversations with the programs that connect to `listener`, until ``stop()``.
  ///
  /// - Parameters:
  ///   - who: the other end, and `socket`, for errors.
  ///   - pause: called before each wait; its longest time.
  ///   - refused: gets the error about a program of another user, or one that there is no thread for.
  package func run(
    at listener: Int32, _ socket: FilePath, _ who: String, pause: () -> Duration? = { nil },
    refused: (StoreError) -> Void = { _ in },
    _ conversation: @escaping @Sendable (borrowing LocalSocket, Mark) -> Void
  ) throws(StoreError) {
    while !isStopping {
      guard try wait(for: listener, socket, most: pause()) else { continue }
      let descriptor = coffer_accept(listener)
      guard descriptor >= 0 else {
        // Out of descriptors or memory: the program still waits, and an immediate retry would waste time.
        if errno != ECONNABORTED, errno != EINTR, errno != EAGAIN { usleep(Self.breather) }
        continue
      }
      let connection = LocalSocket(descriptor)
      do throws(StoreError) {
        try AgentAddress.checkPeer(descriptor, who, place: socket.string, StoreError.self)
        try serve(connection, conversation)
      } catch { refused(error) }
    }
  }

  package var isStopping: Bool { stopping.load(ordering: .acquiring) }

  /// Ends ``run(at:_:_:pause:refused:_:)``, from any thread.
  package func stop() {
    stopping.store(true, ordering: .releasing)
    wake()
  }

  /// Has ``run(at:_:_:pause:refused:_:)`` ask for its pause again.
  func wake() { bell.ring() }

  /// Whether a program waits.
  private func wait(for listener: Int32, _ socket: FilePath, most pause: Duration?) throws(StoreError) -> Bool {
    var waiting = [listener, bell.hearing].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let milliseconds = pause.map { max(0, $0.components.seconds * 1000 + 1) } ?? -1
    guard poll(&waiting, 2, Int32(clamping: milliseconds)) >= 0 || errno == EINTR else {
      throw StoreError(errno: errno, "wait for connections", place: socket)
    }
    if waiting[1].revents != 0 { bell.silence() }
    return waiting[0].revents != 0
  }

  /// Holds a conversation on a new thread. Above the limit, the client that has been silent longest is disconnected.
  private func serve(
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
