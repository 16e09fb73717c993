internal import CofferMemory
public import CofferStorage
public import CofferVault
internal import Synchronization
public import SystemPackage

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A running agent, asked for the items of one vault. Safe to share between threads; connects again where it has to.
///
/// What the agent cannot do is thrown as the vault in this process would throw it. ``/CofferStorage/StoreError/Kind/locked`` says
/// that nothing was done because the agent holds no key or is not running; ``/CofferStorage/StoreError/Kind/busy`` that it does
/// not answer.
public final class AgentClient: Sendable {
  let place: AgentPlace
  private let greeting: Greeting
  /// A connection between two questions. One is kept: most programs ask one thing at a time.
  private let idle = Mutex<Idle?>(nil)

  private struct Idle: ~Copyable {
    let socket: LocalSocket
    /// A forked child must not speak on its parent's connection.
    let process: pid_t
  }

  /// How long the agent may take to greet: it does that without the vault.
  private static let greetingTime = Duration.seconds(5)
  /// How long an answer may take to begin: longer than the vault waits for another writer.
  static let answerTime = Duration.seconds(45)
  /// The same for an unlock: one passphrase of a user is hashed at a time, and a turn may take 30 s to come.
  static let unlockTime = Duration.seconds(120)
  private static let wholeMessage = Duration.seconds(10)

  /// A client of the agent whose socket is in `folder`, for the vault at `vault`.
  ///
  /// - Parameters:
  ///   - folder: the run folder.
  ///   - vault: the vault's path, as the agent was given it.
  ///   - options: the vault that must be found, and the oldest commit that is accepted.
  public init(folder: FilePath, vault: FilePath, options: VaultOptions = VaultOptions()) {
    place = AgentPlace(folder: folder)
    greeting = Greeting(path: vault.string, vault: options.expected, leastGeneration: options.leastGeneration)
  }

  /// A client that asks the agent in `folder` about itself, whichever vault it keeps.
  public init(folder: FilePath) {
    place = AgentPlace(folder: folder)
    greeting = Greeting(path: "")
  }

  /// Whether an agent listens.
  ///
  /// - Throws: ``/CofferStorage/StoreError/Kind/denied`` when its folder or its process is another user's.
  public func isRunning() throws(StoreError) -> Bool {
    guard let socket = try place.connect() else { return false }
    try greet(on: socket)
    give(back: socket)
    return true
  }

  /// What the agent says of itself.
  public func status() throws(StoreError) -> AgentStatus {
    try ask(.status, isWrite: false) { (_) throws(StoreError) in
    } answer: { (fields) throws(StoreError) in
      try fields.status()
    }
  }

  /// Has the agent unlock the vault.
  ///
  /// - Throws: what unlocking throws; ``/CofferStorage/StoreError/Kind/busy`` after many wrong secrets.
  public func unlock(with credentials: borrowing Credentials) throws(StoreError) -> AgentStatus {
    var request = try FrameWriter(request: .unlock)
    try request.put(credentials)
    return try ask(request, isWrite: true, Self.unlockTime) { (fields) throws(StoreError) in try fields.status() }
  }

  /// Has the agent wipe its keys.
  public func lock() throws(StoreError) {
    try ask(.lock, isWrite: false) { (_) throws(StoreError) in
    } answer: { (_) throws(StoreError) in
    }
  }

  /// Has the agent wipe its keys and end.
  public func stop() throws(StoreError) {
    try ask(.stop, isWrite: false) { (_) throws(StoreError) in
    } answer: { (_) throws(StoreError) in
    }
  }

  /// Asks, and reads a single answer.
  func ask<Result>(
    _ request: AgentProtocol.Request, isWrite: Bool, _ put: (inout FrameWriter) throws(StoreError) -> Void,
    answer: (inout FrameReader) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var writer = try FrameWriter(request: request)
    try put(&writer)
    return try ask(writer, isWrite: isWrite, Self.answerTime, answer: answer)
  }

  private func ask<Result>(
    _ request: consuming FrameWriter, isWrite: Bool, _ time: Duration,
    answer: (inout FrameReader) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var result: Result?
    try exchange(request, isWrite: isWrite, time) { (fields) throws(StoreError) in result = try answer(&fields) }
    guard let result else { throw FrameReader.malformed("there is no answer") }
    return result
  }

  /// Asks, and reads an answer of several pages.
  func askForPages<Element>(
    _ request: AgentProtocol.Request, isWrite: Bool = false, _ put: (inout FrameWriter) throws(StoreError) -> Void,
    element: (inout FrameReader) throws(StoreError) -> Element
  ) throws(StoreError) -> [Element] {
    var writer = try FrameWriter(request: request)
    try put(&writer)
    var elements: [Element] = []
    try exchange(writer, isWrite: isWrite, Self.answerTime) { (fields) throws(StoreError) in
      let count = try fields.count(ofAtLeast: 1)
      for _ in 0..<count { elements.append(try element(&fields)) }
    }
    return elements
  }

  /// Sends `request` and gives each frame of the answer to `page`.
  private func exchange(
    _ request: consuming FrameWriter, isWrite: Bool, _ time: Duration,
    page: (inout FrameReader) throws(StoreError) -> Void
  ) throws(StoreError) {
    try Reentrancy.check(place.socket.string)
    var heard = false
    func hearPage(_ fields: inout FrameReader) throws(StoreError) {
      heard = true
      try page(&fields)
    }
    try request.withFrame { (frame) throws(StoreError) in
      // A connection that was kept may have been ended meanwhile. What only reads may then be asked again.
      if let kept = takeIdle() {
        do throws(StoreError) { return try talk(on: kept, frame, isGreeted: true, time, hearPage) } catch {
          guard error.isTransport else { throw error }
          guard !isWrite, !heard else { throw unanswered(error) }
        }
      }
      guard let fresh = try place.connect() else { throw absent }
      do throws(StoreError) { try talk(on: fresh, frame, isGreeted: false, time, hearPage) } catch {
        guard error.isTransport else { throw error }
        if error.kind == .busy { throw silent(error) }
        throw isWrite ? unanswered(error) : absent
      }
    }
  }

  private func talk(
    on socket: consuming LocalSocket, _ frame: UnsafeRawBufferPointer, isGreeted: Bool, _ time: Duration,
    _ page: (inout FrameReader) throws(StoreError) -> Void
  ) throws(StoreError) {
    if !isGreeted { try sendGreeting(on: socket) }
    do throws(StoreError) { try socket.send(frame, within: Self.wholeMessage) } catch {
      // A refused greeting ends the connection, perhaps before the question is sent: what was answered says why.
      if !isGreeted { try hearGreeting(on: socket) }
      throw error
    }
    if !isGreeted { try hearGreeting(on: socket) }
    var isLast = false
    while !isLast {
      let answer = try hear(on: socket, time)
      let kind: AgentProtocol.Answer
      do throws(StoreError) {
        kind = try answer.answerKind()
        try answer.arguments { (fields) throws(StoreError) in
          guard kind != .failed else { throw try fields.error() }
          try page(&fields)
        }
      } catch {
        // An error is a whole answer: the next question may be asked on the same connection.
        if try answer.answerKind() == .failed { give(back: socket) }
        throw error
      }
      isLast = kind == .done
    }
    give(back: socket)
  }

  private func greet(on socket: borrowing LocalSocket) throws(StoreError) {
    do throws(StoreError) {
      try sendGreeting(on: socket)
      try hearGreeting(on: socket)
    } catch { throw error.isTransport ? silent(error) : error }
  }

  private func sendGreeting(on socket: borrowing LocalSocket) throws(StoreError) {
    var writer = try FrameWriter(request: .greet)
    try writer.put(greeting)
    try writer.withFrame { (frame) throws(StoreError) in try socket.send(frame, within: Self.wholeMessage) }
  }

  private func hearGreeting(on socket: borrowing LocalSocket) throws(StoreError) {
    let answer = try hear(on: socket, Self.greetingTime)
    let kind = try answer.answerKind()
    try answer.arguments { (fields) throws(StoreError) in if kind == .failed { throw try fields.error() } }
  }

  private func hear(on socket: borrowing LocalSocket, _ time: Duration) throws(StoreError) -> Frame {
    let arrival: LocalSocket.Arrival
    do throws(StoreError) { arrival = try socket.receive(begins: time, whole: Self.wholeMessage) } catch {
      // No agent announces so much: the question was not too large, who answers is no agent.
      guard case .tooLarge = error.kind else { throw error }
      throw FrameReader.malformed("it announces more than an agent ever sends")
    }
    switch consume arrival {
    case .frame(let frame): return frame
    case .closed: throw LocalSocket.gone
    case .silence: throw LocalSocket.slow
    }
  }

  private func takeIdle() -> LocalSocket? {
    let kept = idle.withLock { $0.take() }
    guard let kept, kept.process == getpid(), !kept.socket.isSpent else { return nil }
    return kept.socket
  }

  private func give(back socket: consuming LocalSocket) {
    let kept = Idle(socket: socket, process: getpid())
    var next = Optional(kept)
    idle.withLock { $0 = next.take() }
  }

  private var absent: StoreError {
    StoreError(
      .locked, "no agent is running", place: place.socket.string,
      cure: "coffer unlock starts one, or unlock the vault in this process")
  }

  private func silent(_ error: StoreError) -> StoreError {
    StoreError(
      .busy, "the agent does not answer", place: place.socket.string,
      cure: "coffer agent stop, then coffer unlock; or --no-agent", underlying: error)
  }

  private func unanswered(_ error: StoreError) -> StoreError {
    StoreError(
      .busy, "the agent went away before it answered: whether the change was made is not known", place: place.socket.string,
      cure: "look whether it was, then try again", underlying: error)
  }
}

extension StoreError {
  /// Whether the conversation failed, not what it was about.
  fileprivate var isTransport: Bool { place == LocalSocket.placeName }
}

extension Frame {
  func answerKind() throws(StoreError) -> AgentProtocol.Answer {
    try body.withUnsafeBytes { (raw) throws(StoreError) in
      try FrameReader.checkVersion(raw)
      guard let kind = AgentProtocol.Answer(rawValue: raw[1]) else { throw FrameReader.malformed("it is no known answer") }
      return kind
    }
  }
}

extension FrameWriter {
  mutating func put(_ credentials: borrowing Credentials) throws(StoreError) {
    try put(optional: credentials.passphrase)
    try put(optional: credentials.keyFile)
    try put(optional: credentials.recoveryCode)
    try put(optional: credentials.identity)
  }

  private mutating func put(optional secret: borrowing SecretBytes?) throws(StoreError) {
    switch secret {
    case .some(let secret):
      try put(true)
      try put(secret)
    case .none: try put(false)
    }
  }
}
