internal import Synchronization

/// A separate thread for a call that waits: Swift's pool has only one for each core.
enum DetachedCall {
  private final class Work {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Enough for a call of this library; most of it is never touched.
  private static let stackBytes = 512 << 10

  /// False if no thread can be started; then `body` never runs.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let work = Unmanaged.passRetained(Work(body))
    let code = coffer_detached_thread(
      stackBytes, { work in if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() } }, work.toOpaque())
    if code != 0 { work.release() }
    return code == 0
  }
}

/// Begins asynchronous calls in order, on at most two threads that end with the last call.
final class CallQueue: Sendable {
  /// Runs a call, or refuses it for want of a thread.
  private typealias Work = @Sendable (_ canRun: Bool) -> Void
  private struct State {
    var calls: [Work] = []
    var threads = 0
  }
  private let state = Mutex(State())

  /// The agent serves one call of a vault at a time; an unlock does not hold up a question about the agent.
  private static let most = 2

  /// One call. Its result is its answer or its task's cancellation, whichever comes first.
  private final class Pending<Value: Sendable>: Sendable {
    private let state = Mutex<(continuation: CheckedContinuation<Result<Value, ClientError>, Never>?, isDone: Bool)>((nil, false))

    var isDone: Bool { state.withLock { $0.isDone } }

    func begin(_ continuation: CheckedContinuation<Result<Value, ClientError>, Never>) {
      let isDone = state.withLock { state in
        if !state.isDone { state.continuation = continuation }
        return state.isDone
      }
      if isDone { continuation.resume(returning: .failure(.cancelled)) }
    }

    func finish(_ result: Result<Value, ClientError>) {
      let continuation = state.withLock { state in
        state.isDone = true
        defer { state.continuation = nil }
        return state.continuation
      }
      continuation?.resume(returning: result)
    }
  }

  /// - Throws: the error of `body`; ``ClientError/Kind/busy`` after 45 s behind other calls; ``ClientError/Kind/cancelled`` once
  ///   the task is cancelled. A call that has begun goes on without its task, and its answer is dropped.
  func run<Value: Sendable>(_ body: @escaping @Sendable () throws(ClientError) -> Value) async throws(ClientError) -> Value {
    let pending = Pending<Value>(), limit = ContinuousClock.now + AgentLine<SecretBuffer>.usualAnswerTime
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        pending.begin(continuation)
        add { canRun in
          guard !pending.isDone else { return }
          guard canRun else { return pending.finish(.failure(.system(EAGAIN, "start a thread", place: "agent.sock"))) }
          guard .now < limit else { return pending.finish(.failure(ClientError(.silent("agent.sock", "earlier calls wait")))) }
          do throws(ClientError) { pending.finish(.success(try body())) } catch { pending.finish(.failure(error)) }
        }
      }
    } onCancel: {
      pending.finish(.failure(.cancelled))
    }
    return try result.get()
  }

  private func add(_ work: @escaping Work) {
    let needsThread = state.withLock { state in
      state.calls.append(work)
      guard state.threads < Self.most else { return false }
      state.threads += 1
      return true
    }
    guard needsThread, !DetachedCall.start({ [self] in while let next = next() { next(true) } }) else { return }
    let refused = state.withLock { state -> [Work] in
      state.threads -= 1
      // Another thread takes them, if there is one.
      guard state.threads == 0 else { return [] }
      defer { state.calls = [] }
      return state.calls
    }
    for work in refused { work(false) }
  }

  private func next() -> Work? {
    state.withLock { state in
      guard state.calls.isEmpty else { return state.calls.removeFirst() }
      state.threads -= 1
      return nil
    }
  }
}
