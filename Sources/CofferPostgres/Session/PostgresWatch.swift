internal import CofferPlatform
internal import CofferVault
internal import Synchronization
internal import SystemPackage

/// A connection that listens for commits to one place, remade after every loss.
///
/// It listens before it calls the body, so that nothing is missed; the body reads the rows, and finds changes made without a
/// connection. A server can withhold notices like rows: the next call finds the change.
final class PostgresWatch: Sendable {
  private let place: PostgresPlace
  private let bell: Bell
  private let hasEnded = Atomic<Bool>(false)
  /// If it throws, it is called again on the next connection.
  typealias Body = @Sendable () throws(StoreError) -> Void
  private let channel: String
  private let away: StoreError.Remedy?
  private let body: Body
  /// For a body that reads rows.
  private static let stackBytes = 512 * 1024
  /// The pause between calls of the body without a notice: a server can withhold one.
  private let interval: Duration
  /// A call is followed by an equal rest, up to this limit: endless notices must not keep anybody busy.
  private static let longestRest = Duration.seconds(1)
  /// Before reconnecting, in milliseconds.
  private static let pause: Int32 = 500

  /// Watches commits to the place's vault.
  convenience init(_ place: PostgresPlace, _ body: @escaping Body) throws(StoreError) {
    try self.init(place, channel: place.schema, away: .readMirror, body)
  }

  /// - Parameters:
  ///   - channel: the channel to listen on.
  ///   - away: the cure if the server cannot be reached.
  ///   - interval: the pause between calls of the body without a notice.
  init(
    _ place: PostgresPlace, channel: String, away: StoreError.Remedy?, lookingEvery interval: Duration = .seconds(60),
    _ body: @escaping Body
  ) throws(StoreError) {
    self.place = place
    self.channel = channel
    self.interval = interval
    self.away = away
    self.body = body
    bell = try Bell()
  }

  /// Listens until the subscription ends.
  func start() throws(StoreError) -> Subscription {
    // The first connection is made here, so that its failure is reported.
    let first = try listen()
    let held = Mutex<Held?>(Held(connection: first))
    try DetachedThread.start(stackBytes: Self.stackBytes, place: FilePath("postgresql")) { [self] in
      run(held.withLock { $0.take() })
    }
    return Subscription { [self] in
      hasEnded.store(true, ordering: .releasing)
      bell.ring()
    }
  }

  /// Passed from the thread that made it to the one that uses it.
  private struct Held: @unchecked Sendable {
    let connection: PostgresSession
  }

  private func listen() throws(StoreError) -> PostgresSession {
    let session = PostgresSession(place, patience: nil, away: away)
    let connection = try session.open()
    // A standby announces nothing: it is asked each time.
    guard !session.facts.isStandby else { return session }
    try connection.perform("LISTEN \(channel)", until: session.deadline)
    _ = try connection.answers(doing: "listen for changes", until: session.deadline)
    return session
  }

  private func run(_ first: Held?) {
    var session = first?.connection
    while !hasEnded.load(ordering: .acquiring) {
      do throws(StoreError) {
        if session == nil {
          session = try listen()
          try body()
        }
        if let connection = try session?.open(), try connection.waitForNotice(bell, for: interval) {
          let start = ContinuousClock.now
          try body()
          bell.wait(for: min(.now - start, Self.longestRest))
        }
      } catch {
        session = nil
        bell.wait(for: .milliseconds(Int64(Self.pause)))
      }
    }
  }
}
