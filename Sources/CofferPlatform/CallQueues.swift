internal import Dispatch
internal import Synchronization
internal import SystemPackage

/// The threads on which asynchronous calls wait: one for each lock, at most 32.
///
/// Calls for one lock share a thread, in order of arrival: only one could go on anyway. The threads are not Dispatch workers,
/// because on Linux blocked ones take the place of Swift's pool.
@usableFromInline
package enum CallQueues {
  /// A waiting thread costs only memory, and few programs have more vaults and domains.
  package static let mostThreads = 32
  /// As large as a main thread's, because callers' closures run here. Unused pages take no memory.
  private static let stackBytes = 8 << 20
  /// A thread without work ends after this time.
  private static let rest = DispatchTimeInterval.seconds(10)

  private struct Queue {
    var calls: [(any QueuedCall)?] = []
    var first = 0
    /// Those that ended while queued, and some that a thread has passed since.
    var dead = 0
    var running: (any QueuedCall)?

    mutating func next() -> (any QueuedCall)? {
      // A queue that never ends stays small too.
      if first > 64, 2 * first > calls.count { (calls, first) = (Array(calls[first...]), 0) }
      while first < calls.count {
        defer { first += 1 }
        if let call = calls[first].take(), !call.wait.isEnded { return call }
      }
      (calls, first, dead) = ([], 0, 0)
      return nil
    }

    /// Bounds memory while the first call waits and others come and go.
    mutating func noteDead() {
      dead += 1
      guard dead > 64, 2 * dead > calls.count - first else { return }
      calls = calls[first...].filter { $0?.wait.isEnded == false }
      (first, dead) = (0, 0)
    }
  }

  private struct State {
    var queues: [String: Queue] = [:]
    /// The queues without a thread, in turn.
    var ready: [String] = []
    var threads = 0
    var resting = 0
  }

  private static let state = Mutex(State())
  private static let work = DispatchSemaphore(value: 0)

  package static var threads: Int { state.withLock { $0.threads } }
  /// For a wait without a lock.
  private static let last = Atomic<UInt64>(0)
  package static func ownName(of wait: String) -> String { "\(wait) \(last.add(1, ordering: .relaxed).newValue)" }

  /// The calls that wait behind the one that runs.
  package static func waiting(at lock: String) -> Int {
    state.withLock { state in state.queues[lock]?.calls.count { $0?.wait.isEnded == false } ?? 0 }
  }

  /// Attempts `body` in place, and runs it on a thread if it would wait.
  ///
  /// - Parameters:
  ///   - limit: the longest wait, instead of each lock's usual patience.
  ///   - owner: see ``close(_:)``.
  ///   - isRead: whether `body` changes nothing, so that a cancelled task need not wait for it.
  ///   - endsWithTask: false for a call that must be made even in a cancelled task.
  ///   - body: may run twice.
  /// - Throws: the error of `body`, and the errors of ``run(at:within:of:isRead:_:)``.
  nonisolated(nonsending) package static func call<Value: Sendable>(
    within limit: Duration?, of owner: UInt64 = 0, isRead: Bool = false, endsWithTask: Bool = true,
    _ body: @escaping @Sendable () throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    switch try Waiting.attempt(body) {
    case .done(let value): return value
    case .refused(let lock):
      return try await run(at: lock, within: limit, of: owner, isRead: isRead, endsWithTask: endsWithTask, body)
    }
  }

  /// The same for a body that also throws errors of a caller's closure.
  ///
  /// - Parameter lock: a lock that `body` always waits for; nil to attempt it in place.
  nonisolated(nonsending) package static func callClosure<Value: Sendable>(
    at lock: String? = nil, within limit: Duration?, of owner: UInt64 = 0, endsWithTask: Bool = true,
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let kept = { @Sendable () throws(StoreError) -> Result<Value, any Error> in
      do { return .success(try body()) } catch let error as StoreError { throw error } catch { return .failure(error) }
    }
    guard let lock else { return try await call(within: limit, of: owner, endsWithTask: endsWithTask, kept).get() }
    return try await run(at: lock, within: limit, of: owner, endsWithTask: endsWithTask, kept).get()
  }

  /// Runs `body` on a thread, after the calls that wait for the same lock.
  ///
  /// - Throws: the error of `body`; ``StoreError/Kind/cancelled`` if the task is cancelled during a wait;
  ///   ``StoreError/Kind/closed`` if the owner is closed then; ``StoreError/Kind/afterFork`` in a forked process, which lacks
  ///   these threads.
  @usableFromInline
  nonisolated(nonsending) package static func run<Value: Sendable>(
    at lock: String, within limit: Duration?, of owner: UInt64 = 0, isRead: Bool = false, endsWithTask: Bool = true,
    _ body: @escaping @Sendable () throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try ForkedChild.refuse("wait in asynchronous code", place: lock)
    let limit = limit.map { max($0, .zero) }
    let call = QueuedBody(lock, CallWait(within: limit), owner, isRead, body)
    // The previous call may wait longer. Not a task that sleeps: the runtime keeps it until its end.
    let alarm = limit.map { limit in
      let alarm = DispatchSource.makeTimerSource(queue: .global())
      alarm.setEventHandler {
        call.end(
          StoreError(
            .busy, "others have had the lock for \(limit.inWords)", place: lock, cure: "try again; nothing was changed"))
      }
      // Longer than any program runs; Dispatch traps for the longest durations.
      alarm.schedule(deadline: .now() + .nanoseconds(Int(min(limit, .seconds(1 << 30)) / .nanoseconds(1))))
      alarm.activate()
      return alarm
    }
    defer { alarm?.cancel() }
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        if call.begin(continuation) { add(call) }
      }
    } onCancel: {
      guard endsWithTask else { return }
      call.end(
        StoreError(
          .cancelled, "the task was cancelled while the call waited", place: lock,
          cure: "call it in another task; nothing was changed"))
    }
    return try result.get()
  }

  /// Ends the waits of `owner`'s calls with ``StoreError/Kind/closed``.
  package static func close(_ owner: UInt64) {
    // It has none of the threads, and perhaps a lock that one of them held.
    guard !coffer_is_forked_child() else { return }
    let calls = state.withLock { state in
      state.queues.values.flatMap { $0.calls[$0.first...] + [$0.running] }.compactMap(\.self).filter { $0.owner == owner }
    }
    for call in calls {
      call.end(StoreError(.closed, "the store was closed", place: call.lock, cure: "open the domain again"))
    }
  }

  private static func add(_ call: any QueuedCall) {
    let isThreadMissing = state.withLock { state in
      let isFirst = state.queues[call.lock] == nil
      state.queues[call.lock, default: Queue()].calls.append(call)
      guard isFirst else { return false }
      state.ready.append(call.lock)
      guard state.resting == 0 else {
        state.resting -= 1
        work.signal()
        return false
      }
      guard state.threads < mostThreads else { return false }
      state.threads += 1
      return true
    }
    guard isThreadMissing else { return }
    do throws(StoreError) {
      try DetachedThread.start(stackBytes: stackBytes, place: "calls") {
        while let call = next() { serve(call) }
      }
    } catch {
      fail(error)
    }
  }

  /// Leaves the calls to another thread, if there is one.
  private static func fail(_ error: StoreError) {
    let calls = state.withLock { state in
      state.threads -= 1
      guard state.threads == 0 else { return [(any QueuedCall)?]() }
      defer { (state.queues, state.ready) = ([:], []) }
      return state.queues.values.flatMap { $0.calls[$0.first...] }
    }
    for call in calls { call?.end(error) }
  }

  /// The next call; nil after a long rest.
  private static func next() -> (any QueuedCall)? {
    while true {
      let (call, rests) = state.withLock { state -> ((any QueuedCall)?, Bool) in
        while !state.ready.isEmpty {
          let lock = state.ready.removeFirst()
          if let call = state.queues[lock]?.next() {
            state.queues[lock]?.running = call
            return (call, false)
          }
          state.queues[lock] = nil
        }
        state.resting += 1
        return (nil, true)
      }
      guard rests else { return call }
      if work.wait(timeout: .now() + rest) == .success { continue }
      let ends = state.withLock { state in
        // Work came at the last moment, and was signaled.
        guard state.resting > 0 else { return false }
        state.resting -= 1
        state.threads -= 1
        return true
      }
      if ends { return nil }
      work.wait()
    }
  }

  private static func serve(_ call: any QueuedCall) {
    call.perform()
    state.withLock { state in
      state.queues[call.lock]?.running = nil
      state.ready.append(call.lock)
    }
  }

  fileprivate static func noteDead(_ lock: String) { state.withLock { $0.queues[lock]?.noteDead() } }
}

private protocol QueuedCall: AnyObject, Sendable {
  var lock: String { get }
  var owner: UInt64 { get }
  var wait: CallWait { get }
  func perform()
  func end(_ error: StoreError)
}

/// A call's body. It may hold a secret, so it is released once it has run or the call has ended.
private final class QueuedBody<Value: Sendable>: QueuedCall {
  typealias Outcome = Result<Value, StoreError>
  private struct State {
    var body: (@Sendable () throws(StoreError) -> Value)?
    var continuation: UnsafeContinuation<Outcome, Never>?
    var ending: StoreError?
    var isRunning = false
  }

  let lock: String
  let owner: UInt64
  let wait: CallWait
  private let isRead: Bool
  private let state: Mutex<State>

  init(
    _ lock: String, _ wait: CallWait, _ owner: UInt64, _ isRead: Bool, _ body: @escaping @Sendable () throws(StoreError) -> Value
  ) {
    (self.lock, self.wait, self.owner, self.isRead) = (lock, wait, owner, isRead)
    state = Mutex(State(body: body))
  }

  /// False if the call has ended already.
  func begin(_ continuation: UnsafeContinuation<Outcome, Never>) -> Bool {
    let ending = state.withLock { state in
      if state.ending == nil { state.continuation = continuation }
      return state.ending
    }
    if let ending { continuation.resume(returning: .failure(ending)) }
    return ending == nil
  }

  func perform() {
    let body = state.withLock { state in
      state.isRunning = true
      return state.body.take()
    }
    guard let body else { return }
    let outcome = wait.run { Outcome { () throws(StoreError) in try body() } }
    let (continuation, ending) = state.withLock { ($0.continuation.take(), $0.ending) }
    // Any other outcome is real, because the wait was over. The body's own `.busy` says more.
    if let ending, ending.kind != .busy, case .failure(let error) = outcome, error.kind == .busy {
      continuation?.resume(returning: .failure(error.key.map(ending.about(key:)) ?? ending))
    } else {
      continuation?.resume(returning: outcome)
    }
  }

  /// Ends the call at once, or only its wait if it runs and may have changed something.
  func end(_ error: StoreError) {
    let (continuation, wasQueued) = state.withLock { state -> (UnsafeContinuation<Outcome, Never>?, Bool) in
      guard state.ending == nil else { return (nil, false) }
      state.ending = error
      wait.end()
      guard !state.isRunning || isRead else { return (nil, false) }
      state.body = nil
      return (state.continuation.take(), !state.isRunning)
    }
    continuation?.resume(returning: .failure(error))
    if wasQueued, continuation != nil { CallQueues.noteDead(lock) }
  }
}
