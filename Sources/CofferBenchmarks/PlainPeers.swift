internal import Foundation
internal import Synchronization

/// The minimum of a thread-safe read: a lock and a dictionary.
final class LockPeer: Sendable {
  private let values: Mutex<[String: Int]>

  init(_ names: [String]) { values = Mutex(Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })) }

  func get(_ name: String) -> Int? { values.withLock { $0[name] } }
}

/// The minimum of a write shared by processes: a lock of the file, one `write`, and the unlock.
final class FlockPeer {
  private let fd: Int32
  private let bytes = [UInt8](repeating: 65, count: 128)

  init(_ path: String) { fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }

  deinit { close(fd) }

  func append(_ count: Int) throws {
    flock(fd, LOCK_EX)
    defer { flock(fd, LOCK_UN) }
    guard write(fd, bytes, count) == count else { throw SQLitePeer.PeerFailed() }
  }
}

/// Foundation's `UserDefaults`, which keeps a value only after `synchronize`.
struct FoundationPeer {
  private let defaults: UserDefaults

  init(_ suite: String, _ names: [String]) throws {
    guard let defaults = UserDefaults(suiteName: suite) else { throw SQLitePeer.PeerFailed() }
    self.defaults = defaults
    for (number, name) in names.enumerated() { defaults.set(number, forKey: name) }
    defaults.synchronize()
  }

  func set(_ number: Int, _ name: String) {
    defaults.set(number, forKey: name)
    defaults.synchronize()
  }

  func get(_ name: String) -> Int { defaults.integer(forKey: name) }
}
