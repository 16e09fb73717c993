internal import CofferPlatform
internal import Dispatch
internal import Synchronization
internal import SystemPackage

/// Tells blocking work that its result is no longer awaited.
package final class Cancellation: Sendable {
  private let isSaid = Atomic<Bool>(false)
  private let bell = DispatchSemaphore(value: 0)

  /// libcurl, its TLS and the resolver keep some buffers of 16 KiB on the stack; untouched pages cost nothing.
  private static let stackBytes = 1 << 19

  package init() {}

  package var isCancelled: Bool { isSaid.load(ordering: .acquiring) }

  package func cancel() {
    isSaid.store(true, ordering: .releasing)
    bell.signal()
  }

  package func sleep(_ seconds: Double) {
    guard !isCancelled else { return }
    if bell.wait(timeout: .now() + seconds) == .success { bell.signal() }
  }

  /// Runs the blocking `body` on its own thread: those of Swift's pool and of Dispatch must not wait for a server.
  ///
  /// - Throws: errors of `body`; `CancellationError` if the task was cancelled; `StoreError` if no thread can be made.
  static func run<Value: Sendable>(_ body: @escaping @Sendable (Cancellation) throws -> Value) async throws -> Value {
    let cancellation = Cancellation()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        do {
          try DetachedThread.start(stackBytes: stackBytes, place: "login") {
            let result = Result { try body(cancellation) }
            continuation.resume(with: cancellation.isCancelled ? .failure(CancellationError()) : result)
          }
        } catch { continuation.resume(throwing: error) }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }
}
