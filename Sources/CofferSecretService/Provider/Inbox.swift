internal import CofferAgent
internal import CofferPlatform
internal import Synchronization

/// Other threads' events for the bus's thread.
final class Inbox: Sendable {
  enum Event: Sendable {
    case done(UInt64)
    /// The state of the agent's vault; nil if no agent runs.
    case moment(AgentMoment?)
    case tried(process: Int32)
    /// Others' changes; nil if they are unknown.
    case surveyed(Survey?, cost: Duration)
    /// A prompt without a person is over.
    case prompted(String)
    case stop
  }

  /// Nil once closed.
  private let events = Mutex<[Event]?>([])
  let bell: Bell

  init() throws(StoreError) { bell = try Bell() }

  /// Any thread may call it. False once closed.
  @discardableResult func post(_ event: Event) -> Bool {
    let isTaken = events.withLock { events in
      events?.append(event)
      return events != nil
    }
    bell.ring()
    return isTaken
  }

  func take() -> [Event] {
    bell.silence()
    return events.withLock { events in
      defer { events = events.map { _ in [] } }
      return events ?? []
    }
  }

  /// The remaining events; later ones are not accepted.
  func close() -> [Event] { events.withLock { $0.take() } ?? [] }
}

/// The result of work, passed between threads.
final class Slot<Value: Sendable>: Sendable {
  private let value = Mutex<Result<Value, Refusal>?>(nil)

  func put(_ result: Result<Value, Refusal>) { value.withLock { $0 = result } }
  func take() -> Result<Value, Refusal> { value.withLock { $0 } ?? .failure(.failed("there is no answer")) }
}
