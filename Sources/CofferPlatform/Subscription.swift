internal import Synchronization

/// Keeps something going until it is cancelled or released.
public final class Subscription: Sendable {
  private let onCancel: Mutex<(@Sendable () -> Void)?>

  /// Runs `onCancel` once: at the first ``cancel()``, else when this is released.
  public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = Mutex(onCancel) }

  /// Ends it. A delivery that has begun on another thread goes on to its end.
  public func cancel() { onCancel.withLock { $0.take() }?() }

  deinit { cancel() }
}
