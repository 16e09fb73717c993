internal import CofferAgent
internal import CofferPlatform
internal import Synchronization
internal import SystemPackage

/// What other threads have for the bus's thread.
final class Inbox: Sendable {
  enum Event: Sendable {
    /// The work of a call is done.
    case done(UInt64)
    /// The agent's vault is so now; nil where no agent runs.
    case moment(AgentMoment?)
    /// A process that unlocks has ended.
    case tried(process: Int32)
    /// What somebody else changed; nil where it could not be found out.
    case surveyed(Survey?, cost: Duration)
    case stop
  }

  private let events = Mutex<[Event]>([])
  /// Readable while there are events.
  let bell: Int32
  private let ringing: Int32

  init() throws(StoreError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw StoreError(errno: errno, "make a pipe", place: "pipe") }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (bell, ringing) = (ends[0], ends[1])
  }

  deinit {
    close(bell)
    close(ringing)
  }

  /// Any thread may.
  func post(_ event: Event) {
    events.withLock { $0.append(event) }
    // A full pipe is as good as one byte.
    var byte: UInt8 = 1
    _ = systemWrite(ringing, &byte, 1)
  }

  func take() -> [Event] {
    var bytes: UInt64 = 0
    while systemRead(bell, &bytes, 8) == 8 {}
    return events.withLock { events in
      defer { events = [] }
      return events
    }
  }
}

/// The result of work, on its way from one thread to another.
final class Slot<Value: Sendable>: Sendable {
  private let value = Mutex<Result<Value, Refusal>?>(nil)

  func put(_ result: Result<Value, Refusal>) { value.withLock { $0 = result } }
  func take() -> Result<Value, Refusal> { value.withLock { $0 } ?? .failure(.failed("there is no answer")) }
}
