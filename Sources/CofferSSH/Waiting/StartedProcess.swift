internal import CofferPlatform

/// A child process that ends with this value.
struct StartedProcess: ~Copyable {
  private let id: Int32
  private var status: Int32?

  /// Milliseconds for a program to end what it has started, before it is killed.
  private static let farewell = 2000

  init(_ id: Int32) { self.id = id }

  /// How it ended, as waitpid(2) reports it; nil while it runs.
  mutating func ended() -> Int32? {
    guard status == nil else { return status }
    var raw: Int32 = 0
    let found = waitpid(id, &raw, WNOHANG)
    // An unknown end is no success.
    if found != 0 { status = found == id ? raw : -1 }
    return status
  }

  deinit {
    guard status == nil else { return }
    kill(id, SIGTERM)
    for _ in 0..<Self.farewell / 20 {
      if waitpid(id, nil, WNOHANG) != 0 { return }
      usleep(20_000)
    }
    kill(id, SIGKILL)
    while waitpid(id, nil, 0) < 0, errno == EINTR {}
  }
}
