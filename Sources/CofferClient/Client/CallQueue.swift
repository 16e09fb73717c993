internal import Synchronization

/// A thread of its own for a call that waits: Swift's pool has as many as the machine has cores.
enum DetachedCall {
  private final class Work {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Enough for a call of this library; most of it is never touched.
  private static let stackBytes = 512 << 10

  /// False if there can be no more threads: `body` is then never run.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let work = Unmanaged.passRetained(Work(body))
    let code = coffer_detached_thread(
      stackBytes, { work in if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() } }, work.toOpaque())
    if code != 0 { work.release() }
    return code == 0
  }
}

/// Runs asynchronous calls in their order, on a few threads that end with the last call.
final class CallQueue: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var threads = 0
  }
  private let state = Mutex(State())

  /// The agent serves one call of a vault at a time. One thread more, so that an unlock does not delay a read of another kind.
  private static let most = 2

  /// One call, whose result is the first of: its answer, the end of its task.
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

  /// - Throws: the error of `body`; ``ClientError/Kind/cancelled`` once the task is cancelled. A call that has begun goes on
  ///   without its task, and its answer is dropped.
  func run<Value: Sendable>(_ body: @escaping @Sendable () throws(ClientError) -> Value) async throws(ClientError) -> Value {
    let pending = Pending<Value>()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        pending.begin(continuation)
        guard !pending.isDone else { return }
        let isTaken = add {
          guard !pending.isDone else { return }
          do throws(ClientError) { pending.finish(.success(try body())) } catch { pending.finish(.failure(error)) }
        }
        if !isTaken { pending.finish(.failure(.system(EAGAIN, "start a thread", place: "agent.sock"))) }
      }
    } onCancel: {
      pending.finish(.failure(.cancelled))
    }
    return try result.get()
  }

  private func add(_ work: @escaping @Sendable () -> Void) -> Bool {
    let isFull = state.withLock { state in
      state.waiting.append(work)
      guard state.threads < Self.most else { return true }
      state.threads += 1
      return false
    }
    guard !isFull, !DetachedCall.start({ [self] in while let next = next() { next() } }) else { return true }
    // The other thread takes it, if there is one.
    return state.withLock { state in
      state.threads -= 1
      guard state.threads == 0 else { return true }
      state.waiting.removeAll()
      return false
    }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.threads -= 1
        return nil
      }
      return state.waiting.removeFirst()
    }
  }
}
