internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// Made and greeted on demand, kept between questions, and remade after its end.
final class AgentLine: Sendable {
  let place: AgentPlace
  let greeting: Greeting
  /// A connection between two questions. One is enough: most programs ask one thing at a time.
  private let idle = Mutex<Idle?>(nil)

  private struct Idle: ~Copyable {
    let socket: LocalSocket
    /// A forked child must not use its parent's connection.
    let process: pid_t
  }

  /// The limit for a greeting, which needs no vault.
  private static let greetingTime = Duration.seconds(5)
  /// The limit for an answer to begin: longer than the vault waits for another writer.
  static let usualAnswerTime = Duration.seconds(45)
  let answerTime: Duration
  private static let wholeMessage = Duration.seconds(10)

  init(_ place: AgentPlace, _ greeting: Greeting, _ answerTime: Duration) {
    (self.place, self.greeting, self.answerTime) = (place, greeting, answerTime)
  }

  func isAnswered() throws(StoreError) -> Bool {
    guard let socket = try place.connect() else { return false }
    try greet(on: socket)
    give(back: socket)
    return true
  }

  /// Asks an agent, in its own protocol version, to end.
  ///
  /// - Throws: `error` if it does not agree.
  func stop(inVersion version: UInt8, after error: StoreError) throws(StoreError) {
    guard let socket = try place.connect() else { return }
    let request = try FrameWriter(stopInVersion: version)
    do throws(TransportFailure) {
      try request.withFrame { (frame) throws(TransportFailure) in try socket.send(frame, within: Self.wholeMessage) }
    } catch { throw silent(error) }
    let answer: Frame
    do throws(Failure) { answer = try hear(on: socket, answerTime) } catch { throw said(of: error, isWrite: false) }
    let agrees = answer.body.withUnsafeBytes { $0[1] == AgentProtocol.Answer.done.rawValue }
    guard agrees else { throw error }
  }

  enum Failure: Error {
    /// The agent answered with this error, and did nothing.
    case refused(StoreError)
    /// Nothing of the question was sent: nothing was done.
    case unsent(TransportFailure)
    /// It broke off after part of the question was sent: the outcome is unknown.
    case unanswered(TransportFailure)
    /// The answer cannot be understood.
    case garbled(StoreError)
  }

  /// Sends `request`, and passes each frame of the answer to `page`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` for a write sent wholly or in part, and not answered.
  func exchange(
    _ request: consuming FrameWriter, isWrite: Bool, _ time: Duration,
    page: (inout FrameReader) throws(StoreError) -> Void
  ) throws(StoreError) {
    try Reentrancy.check(place.socket.string)
    var heard = false
    func hearPage(_ fields: inout FrameReader) throws(StoreError) {
      heard = true
      try page(&fields)
    }
    let timing = Measure.begin(.agentCall)
    defer { timing?.end() }
    try request.withFrame { (frame) throws(StoreError) in
      // A kept connection may have ended. A question that was not sent, or only reads, may be repeated.
      if let kept = takeIdle() {
        do throws(Failure) { return try talk(on: kept, frame, isGreeted: true, time, hearPage) } catch {
          switch error {
          case .unsent: break
          case .unanswered where !isWrite && !heard: break
          default: throw said(of: error, isWrite: isWrite)
          }
        }
      }
      guard let fresh = try place.connect() else { throw absent }
      do throws(Failure) { try talk(on: fresh, frame, isGreeted: false, time, hearPage) } catch {
        throw said(of: error, isWrite: isWrite)
      }
    }
  }

  func said(of failure: Failure, isWrite: Bool) -> StoreError {
    switch failure {
    case .refused(let error): error
    case .unanswered(let failure) where isWrite: unknown(failure.error)
    case .garbled(let error): isWrite ? unknown(error) : error
    case .unsent(.slow), .unanswered(.slow): silent(.slow)
    case .unsent(.gone), .unanswered(.gone): absent
    // A failure of this end, which shows nothing about the agent: exhausted memory, or a refused system call.
    case .unsent(let failure), .unanswered(let failure): failure.error
    }
  }

  private func talk(
    on socket: consuming LocalSocket, _ frame: UnsafeRawBufferPointer, isGreeted: Bool, _ time: Duration,
    _ page: (inout FrameReader) throws(StoreError) -> Void
  ) throws(Failure) {
    if !isGreeted { do throws(TransportFailure) { try sendGreeting(on: socket) } catch { throw .unsent(error) } }
    var sent = 0
    do throws(TransportFailure) { try socket.send(frame, within: Self.wholeMessage, count: &sent) } catch {
      // A refused greeting ends the connection, perhaps before the question is sent. Its answer has the reason.
      if !isGreeted { do throws(Failure) { try hearGreeting(on: socket) } catch { if case .refused = error { throw error } } }
      throw sent == 0 ? .unsent(error) : .unanswered(error)
    }
    if !isGreeted { try hearGreeting(on: socket) }
    var isLast = false
    while !isLast {
      let answer = try hear(on: socket, time)
      var refusal: StoreError?
      do throws(StoreError) {
        let kind = try answer.answerKind()
        refusal = try answer.arguments { (fields) throws(StoreError) -> StoreError? in
          guard kind != .failed else { return try fields.error() }
          try page(&fields)
          return nil
        }
        isLast = kind != .more
      } catch { throw .garbled(error) }
      guard let refusal else { continue }
      // An error is a whole answer: the connection can be used again.
      give(back: socket)
      throw .refused(refusal)
    }
    give(back: socket)
  }

  private func greet(on socket: borrowing LocalSocket) throws(StoreError) {
    do throws(TransportFailure) { try sendGreeting(on: socket) } catch { throw silent(error) }
    do throws(Failure) { try hearGreeting(on: socket) } catch {
      switch error {
      case .refused(let error), .garbled(let error): throw error
      case .unsent(let failure), .unanswered(let failure): throw silent(failure)
      }
    }
  }

  private func sendGreeting(on socket: borrowing LocalSocket) throws(TransportFailure) {
    let writer: FrameWriter
    do throws(StoreError) { writer = try greetingFrame() } catch { throw .unmade(error) }
    try writer.withFrame { (frame) throws(TransportFailure) in try socket.send(frame, within: Self.wholeMessage) }
  }

  private func greetingFrame() throws(StoreError) -> FrameWriter {
    var writer = try FrameWriter(request: .greet)
    try writer.put(greeting)
    return writer
  }

  private func hearGreeting(on socket: borrowing LocalSocket) throws(Failure) {
    let answer = try hear(on: socket, min(Self.greetingTime, answerTime))
    let refusal: StoreError?
    do throws(StoreError) {
      let kind = try answer.answerKind()
      refusal = try answer.arguments { (fields) throws(StoreError) in kind == .failed ? try fields.error() : nil }
    } catch {
      // An agent of another version refuses every request.
      if case .newerFormat = error.kind { throw .refused(error) }
      throw .garbled(error)
    }
    if let refusal { throw .refused(refusal) }
  }

  private func hear(on socket: borrowing LocalSocket, _ time: Duration) throws(Failure) -> Frame {
    let arrival: LocalSocket.Arrival
    do throws(TransportFailure) { arrival = try socket.receive(begins: time, whole: Self.wholeMessage) } catch {
      switch error {
      // No agent announces so much: the peer is no agent.
      case .tooLarge: throw .garbled(FrameReader.malformed("it announces more than an agent sends"))
      case .tooShort: throw .garbled(error.error)
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

  private var absent: StoreError {
    StoreError(
      .noAgent, "no agent is running", place: place.socket.string,
      cure: "start one and unlock it, or unlock the vault in this process", remedy: .startAgent)
  }

  private func silent(_ failure: TransportFailure) -> StoreError {
    StoreError(
      .busy, "the agent does not answer", place: place.socket.string,
      cure: "end the agent and start another, or leave it out", underlying: failure.error,
      remedy: .replaceAgent)
  }

  private func unknown(_ error: StoreError) -> StoreError {
    StoreError(
      .outcomeUnknown, "the agent did not answer: the change may or may not have been made",
      place: place.socket.string, cure: "check whether it was made, then try again", underlying: error)
  }
}
