internal import CofferPlatform

/// A child process that ends with this value.
struct StartedProcess: ~Copyable {
  private let id: Int32
  private var isOver = false

  /// Milliseconds for a program to end what it has started, before it is killed.
  private static let farewell = 2000

  init(_ id: Int32) { self.id = id }

  mutating func hasEnded() -> Bool {
    isOver = isOver || waitpid(id, nil, WNOHANG) != 0
    return isOver
  }

  deinit {
    guard !isOver else { return }
    kill(id, SIGTERM)
    for _ in 0..<Self.farewell / 20 {
      if waitpid(id, nil, WNOHANG) != 0 { return }
      usleep(20_000)
    }
    kill(id, SIGKILL)
    while waitpid(id, nil, 0) < 0, errno == EINTR {}
  }
}
