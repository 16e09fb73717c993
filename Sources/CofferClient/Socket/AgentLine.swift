internal import Synchronization

/// A connection that is made and greeted on demand, kept between questions, and remade after it ends.
package final class AgentLine<Memory: WireMemory & ~Copyable>: Sendable {
  package typealias Failing = Memory.WireFailure
  package typealias Greeting = @Sendable (inout WireWriter<Memory>) throws(Failing) -> Void
  package let address: AgentAddress
  private let greeting: Greeting
  /// A second descriptor of the connection in use, for ``end()``.
  private struct Use {
    let isKept: Bool
    var hasEnded = false, descriptor: Int32 = -1
  }
  private let use: Mutex<Use>
  /// The connection between questions. One is enough: most programs ask one question at a time.
  private let idle = Mutex<Idle?>(nil)

  private struct Idle: ~Copyable {
    let socket: LocalSocket
    /// A forked child must not use its parent's connection.
    let process: pid_t
  }

  /// The limit for the answer to a greeting, which needs no vault.
  private static var greetingTime: Duration { .seconds(5) }
  /// The limit for an answer to begin: longer than the vault waits for another writer.
  package static var usualAnswerTime: Duration { .seconds(45) }
  package let answerTime: Duration
  private static var wholeMessage: Duration { .seconds(10) }
  /// The limit for all pages after the first: a stranger at the socket could send pages forever.
  private static var wholeAnswer: Duration { .seconds(120) }

  package init(_ address: AgentAddress, answerTime: Duration? = nil, isEndable: Bool = false, greeting: @escaping Greeting) {
    (self.address, self.greeting, self.answerTime) = (address, greeting, answerTime ?? Self.usualAnswerTime)
    use = Mutex(Use(isKept: isEndable))
  }

  /// Ends a waiting question and refuses later ones with `noAgent`. Only for a line that one thread uses.
  package func end() {
    use.withLock { use in
      use.hasEnded = true
      if use.descriptor >= 0 { shutdown(use.descriptor, Int32(SHUT_RDWR)) }
    }
  }

  /// The second descriptor may be shut down even if the first is closed and its number reused.
  private func enter(_ socket: borrowing LocalSocket) throws(TransportFailure) {
    let isOpen = use.withLock { use in
      guard !use.hasEnded else { return false }
      if use.isKept { use.descriptor = dup(socket.descriptor) }
      return true
    }
    guard isOpen else { throw .gone }
  }

  private func leave() {
    use.withLock { use in
      if use.descriptor >= 0 { close(use.descriptor) }
      use.descriptor = -1
    }
  }

  package func isAnswered() throws(Failing) -> Bool {
    guard let socket = try address.connect(Failing.self) else { return false }
    try greet(on: socket)
    give(back: socket)
    return true
  }

  /// Asks an agent to end, in the agent's protocol version.
  ///
  /// - Throws: `error` if it refuses.
  package func stop(inVersion version: UInt8, after error: Failing) throws(Failing) {
    guard let socket = try address.connect(Failing.self) else { return }
    let request = try WireWriter<Memory>(kind: AgentProtocol.Request.stop.rawValue, version: version)
    do throws(TransportFailure) {
      try request.withFrame { (frame) throws(TransportFailure) in try socket.send(frame, within: Self.wholeMessage) }
    } catch { throw silent(error) }
    let answer: WireFrame<Memory>
    do throws(Failure) { answer = try hear(on: socket, answerTime) } catch { throw said(of: error, isWrite: false) }
    let agrees = answer.body.withUnsafeBytes { $0[1] == AgentProtocol.Answer.done.rawValue }
    guard agrees else { throw error }
  }

  package enum Failure: Error {
    /// The agent answered with this error, and did nothing.
    case refused(Failing)
    /// Nothing was sent, so nothing was done.
    case unsent(TransportFailure)
    /// The connection failed after part of the question was sent: the outcome is unknown.
    case unanswered(TransportFailure)
    /// The answer is malformed.
    case garbled(Failing)
  }

  /// Asks for an answer of one frame. The arguments are those of ``exchange(_:isWrite:within:_:page:)``.
  package func ask<Result>(
    _ request: AgentProtocol.Request, isWrite: Bool = false, within time: Duration? = nil,
    _ put: (inout WireWriter<Memory>) throws(Failing) -> Void = { _ in },
    answer: (inout WireReader<Failing>) throws(Failing) -> Result
  ) throws(Failing) -> Result {
    var result: Result?
    try exchange(request, isWrite: isWrite, within: time, put) { (fields) throws(Failing) in result = try answer(&fields) }
    guard let result else { throw .malformed("there is no answer") }
    return result
  }

  /// Asks for a list, and passes each element to `element`.
  package func askForPages(
    _ request: AgentProtocol.Request, isWrite: Bool = false, within time: Duration? = nil,
    _ put: (inout WireWriter<Memory>) throws(Failing) -> Void, element: (inout WireReader<Failing>) throws(Failing) -> Void
  ) throws(Failing) {
    try exchange(request, isWrite: isWrite, within: time, put) { (fields) throws(Failing) in
      for _ in 0..<(try fields.count(ofAtLeast: 1)) { try element(&fields) }
    }
  }

  /// Sends `request` with the arguments that `put` writes, and passes each frame of the answer to `page`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` for a write that was sent, wholly or in part, but not answered.
  private func exchange(
    _ request: AgentProtocol.Request, isWrite: Bool, within time: Duration?,
    _ put: (inout WireWriter<Memory>) throws(Failing) -> Void, page: (inout WireReader<Failing>) throws(Failing) -> Void
  ) throws(Failing) {
    let time = time ?? answerTime
    var request = try WireWriter<Memory>(request: request)
    try put(&request)
    var heard = false
    func hearPage(_ fields: inout WireReader<Failing>) throws(Failing) {
      heard = true
      try page(&fields)
    }
    try request.withFrame { (frame) throws(Failing) in
      // A kept connection may have ended. A question may be repeated if it was not sent or only reads.
      if let kept = takeIdle() {
        do throws(Failure) { return try talk(on: kept, frame, isGreeted: true, time, hearPage) } catch {
          switch error {
          case .unsent: break
          case .unanswered where !isWrite && !heard: break
          default: throw said(of: error, isWrite: isWrite)
          }
        }
      }
      guard let fresh = try address.connect(Failing.self) else { throw absent }
      do throws(Failure) { try talk(on: fresh, frame, isGreeted: false, time, hearPage) } catch {
        throw said(of: error, isWrite: isWrite)
      }
    }
  }

  package func said(of failure: Failure, isWrite: Bool) -> Failing {
    switch failure {
    case .refused(let error): error
    case .unanswered(let failure) where isWrite: unknown(failure.error())
    case .garbled(let error): isWrite ? unknown(error) : error
    case .unsent(.slow), .unanswered(.slow): silent(.slow)
    case .unsent(.gone), .unanswered(.gone): absent
    // A failure on this side, such as exhausted memory, says nothing about the agent.
    case .unsent(let failure), .unanswered(let failure): failure.error()
    }
  }

  private func talk(
    on socket: consuming LocalSocket, _ frame: UnsafeRawBufferPointer, isGreeted: Bool, _ time: Duration,
    _ page: (inout WireReader<Failing>) throws(Failing) -> Void
  ) throws(Failure) {
    do throws(TransportFailure) { try enter(socket) } catch { throw .unsent(error) }
    defer { leave() }
    if !isGreeted { do throws(TransportFailure) { try sendGreeting(on: socket) } catch { throw .unsent(error) } }
    var sent = 0
    do throws(TransportFailure) { try socket.send(frame, within: Self.wholeMessage, count: &sent) } catch {
      // A refused greeting ends the connection, perhaps before the question is sent. The answer to it has the reason.
      if !isGreeted { do throws(Failure) { try hearGreeting(on: socket) } catch { if case .refused = error { throw error } } }
      throw sent == 0 ? .unsent(error) : .unanswered(error)
    }
    if !isGreeted { try hearGreeting(on: socket) }
    var isLast = false, bytes = 0
    var deadline: ContinuousClock.Instant?
    while !isLast {
      let answer = try hear(on: socket, deadline.map { min(time, $0 - .now) } ?? time)
      deadline = deadline ?? .now + Self.wholeAnswer
      bytes += answer.body.count
      guard bytes <= AgentProtocol.largestAnswer else { throw .garbled(.malformed("it has more pages than an agent sends")) }
      do throws(Failure) { isLast = try read(answer, page) != .more } catch {
        // An error is a complete answer: the connection can be reused.
        if case .refused = error { give(back: socket) }
        throw error
      }
    }
    give(back: socket)
  }

  private func read(
    _ answer: borrowing WireFrame<Memory>, _ page: (inout WireReader<Failing>) throws(Failing) -> Void
  ) throws(Failure) -> AgentProtocol.Answer {
    let (kind, refusal): (AgentProtocol.Answer, Failing?)
    do throws(Failing) {
      let answerKind = try answer.answerKind()
      refusal = try answer.arguments { (fields) throws(Failing) -> Failing? in
        guard answerKind != .failed else { return Failing(try fields.wireError()) }
        try page(&fields)
        return nil
      }
      kind = answerKind
    } catch { throw .garbled(error) }
    if let refusal { throw .refused(refusal) }
    return kind
  }

  private func greet(on socket: borrowing LocalSocket) throws(Failing) {
    do throws(TransportFailure) { try sendGreeting(on: socket) } catch { throw silent(error) }
    do throws(Failure) { try hearGreeting(on: socket) } catch {
      switch error {
      case .refused(let error), .garbled(let error): throw error
      case .unsent(let failure), .unanswered(let failure): throw silent(failure)
      }
    }
  }

  private func sendGreeting(on socket: borrowing LocalSocket) throws(TransportFailure) {
    let request: WireWriter<Memory>
    do throws(Failing) {
      var writer = try WireWriter<Memory>(request: .greet)
      try greeting(&writer)
      request = writer
    } catch { throw .unmade(error) }
    try request.withFrame { (frame) throws(TransportFailure) in try socket.send(frame, within: Self.wholeMessage) }
  }

  private func hearGreeting(on socket: borrowing LocalSocket) throws(Failure) {
    let answer = try hear(on: socket, min(Self.greetingTime, answerTime))
    // An agent of another version refuses every request.
    do throws(Failing) { _ = try answer.kind() } catch { throw .refused(error) }
    // The highest call of the agent: a call above it is refused as unsupported.
    _ = try read(answer) { (fields) throws(Failing) in _ = try fields.number(UInt8.self) }
  }

  private func hear(on socket: borrowing LocalSocket, _ time: Duration) throws(Failure) -> WireFrame<Memory> {
    let arrival: LocalSocket.Arrival<Memory>
    do throws(TransportFailure) { arrival = try socket.receive(into: Memory.self, begins: time, whole: Self.wholeMessage) } catch
    {
      switch error {
      // No agent announces so much: the peer is no agent.
      case .tooLarge: throw .garbled(Failing.malformed("it announces more than an agent sends"))
      case .tooShort: throw .garbled(error.error())
      case .gone, .slow, .system, .unmade: throw .unanswered(error)
      }
    }
    switch consume arrival {
    case .frame(let frame): return frame
    case .closed: throw .unanswered(.gone)
    case .silence: throw .unanswered(.slow)
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

  private var absent: Failing { Failing(.absent(address.text)) }

  private func silent(_ failure: TransportFailure) -> Failing {
    Failing(.silent(address.text, "\(failure.error(as: Failing.self))"))
  }

  private func unknown(_ error: Failing) -> Failing { Failing(.unknown(address.text, "\(error)")) }
}
