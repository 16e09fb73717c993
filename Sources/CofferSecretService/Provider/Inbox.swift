internal import CofferAgent
internal import CofferPlatform
internal import Synchronization

/// Events of other threads for the bus's thread.
final class Inbox: Sendable {
  enum Event: Sendable {
    /// The work of a call is done.
    case done(UInt64)
    /// The agent's vault is so now; nil where no agent runs.
    case moment(AgentMoment?)
    /// A process that unlocks has ended.
    case tried(process: Int32)
    /// Changes by others; nil if they could not be found out.
    case surveyed(Survey?, cost: Duration)
    /// A prompt that needed nobody is over.
    case prompted(String)
    case stop
  }

  /// Nil once nobody takes them any more.
  private let events = Mutex<[Event]?>([])
  /// Rings while there are events.
  let bell: Bell

  init() throws(StoreError) { bell = try Bell() }

  /// Any thread may. False where nobody takes it any more.
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

  /// Takes the remaining events, and accepts no more.
  func close() -> [Event] { events.withLock { $0.take() } ?? [] }
}

/// The result of work, on its way from one thread to another.
final class Slot<Value: Sendable>: Sendable {
  private let value = Mutex<Result<Value, Refusal>?>(nil)

  func put(_ result: Result<Value, Refusal>) { value.withLock { $0 = result } }
  func take() -> Result<Value, Refusal> { value.withLock { $0 } ?? .failure(.failed("there is no answer")) }
}
