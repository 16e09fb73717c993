internal import CofferClient
internal import CofferPlatform
internal import Synchronization

final class Watchers: Sendable {
  private let bells = Mutex<[ObjectIdentifier: Bell]>([:])

  /// From any thread.
  func tell() {
    bells.withLock { bells in for bell in bells.values { bell.ring() } }
  }

  fileprivate func add(_ bell: Bell) { bells.withLock { $0[ObjectIdentifier(bell)] = bell } }
  fileprivate func remove(_ bell: Bell) { _ = bells.withLock { $0.removeValue(forKey: ObjectIdentifier(bell)) } }
}

extension AgentVault {
  /// Less than a client waits for an answer.
  private static let longestWatch = Duration.seconds(30)
  /// Pauses before the file is read again: its log is written before a commit becomes visible, which is not notified.
  private static let looks: [Duration] = [
    .milliseconds(2), .milliseconds(8), .milliseconds(32), .milliseconds(128), .milliseconds(512),
  ]

  /// The current moment, once it differs from `known`, ``longestWatch`` is over, or the client has left.
  func moment(after known: AgentMoment?, of socket: borrowing LocalSocket) throws(StoreError) -> AgentMoment {
    let bell = try Bell()
    watchers.add(bell)
    defer { watchers.remove(bell) }
    // Started before the first comparison, so that nothing is missed. Without it, others' changes are seen at the end.
    let watch = try watchPlace(bell)
    defer { watch?.cancel() }
    let deadline = ContinuousClock.now + Self.longestWatch
    var rest = Self.looks[...]
    while true {
      let now = moment
      let left = deadline - .now
      guard now == known, left > .zero else { return now }
      var waiting = [
        pollfd(fd: bell.hearing, events: Int16(POLLIN), revents: 0),
        pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let limit = min(left, rest.first ?? left)
      _ = poll(&waiting, 2, Int32(clamping: Int64(limit / .milliseconds(1)) + 1))
      // The client leaves, or sends a request without waiting for the answer.
      guard waiting[1].revents == 0 else { return now }
      if waiting[0].revents != 0 {
        bell.silence()
        rest = Self.looks[...]
      } else {
        rest = rest.dropFirst()
      }
    }
  }

  private func watchPlace(_ bell: Bell) throws(StoreError) -> Subscription? {
    guard let place = unlockedPlace else { return nil }
    guard let path = place.path else { return try place.watchServer { bell.ring() } }
    guard let name = path.lastName else { return nil }
    return try DirectoryWatch.start(path.folder, names: [name, name + "-wal"]) { _ in bell.ring() }
  }
}
