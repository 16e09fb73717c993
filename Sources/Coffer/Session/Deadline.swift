internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// Limits the wait for asynchronous work, even if the work ignores its cancellation.
enum Deadline {
  /// The result of `body`.
  ///
  /// - Parameter cure: the caller's options at the limit.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` at the limit; a later result of `body` is dropped.
  ///   `CancellationError` if the calling task is cancelled.
  static func run<Value: Sendable>(
    within limit: Duration, key: String, cure: String, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let outcome = Outcome<Value>()
    let work = Task {
      do { outcome.settle(.success(try await body())) } catch { outcome.settle(.failure(error)) }
    }
    let alarm = Task {
      // Cancelled once the work is done. A longer sleep traps.
      do { try await Task.sleep(for: min(limit, .seconds(1 << 30))) } catch { return }
      outcome.settle(
        .failure(
          StoreError(
            .busy, "the renewal took longer than \(limit.inWords)", key: key, cure: cure)))
    }
    defer {
      work.cancel()
      alarm.cancel()
    }
    return try await withTaskCancellationHandler {
      try await outcome.value()
    } onCancel: {
      outcome.settle(.failure(CancellationError()))
    }
  }

  /// The first result, for the waiting task.
  private final class Outcome<Value: Sendable>: Sendable {
    private enum State {
      case open, waited(CheckedContinuation<Value, any Error>), settled(Result<Value, any Error>)
    }
    private let state = Mutex(State.open)

    func settle(_ result: Result<Value, any Error>) {
      let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
        switch state {
        case .open:
          state = .settled(result)
          return nil
        case .waited(let waiter):
          state = .settled(result)
          return waiter
        case .settled: return nil
        }
      }
      waiter?.resume(with: result)
    }

    func value() async throws -> Value {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Value, any Error>? in
          if case .settled(let result) = state { return result }
          state = .waited(continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    }
  }
}
