internal import Synchronization

/// Slow steps, timed for a program's metrics. Without a receiver a step costs one pointer load. A read or write that neither
/// waits nor folds has no such step.
package struct Measure: Sendable {
  package enum Step: String, Sendable {
    /// A write that found the lock taken.
    case lockWait = "lock.wait"
    /// Writing the plain store's changes into its property list.
    case fold
    /// A renewal of a credential by its server, without others' waits for it.
    case renewal
    /// A question to the agent and its answer.
    case agentCall = "agent.call"
    /// A change of the vault, including the wait for its lock.
    case vaultCommit = "vault.commit"
  }

  private final class Receiver: Sendable {
    let take: @Sendable (Step, Duration) -> Void
    init(_ take: @escaping @Sendable (Step, Duration) -> Void) { self.take = take }
  }

  private static let receiver = AtomicLazyReference<Receiver>()
  private let step: Step
  private let receiver: Receiver
  private let start = ContinuousClock.now

  /// Passes each step to `take` at its end, on its thread or task, perhaps under a lock. Only the first call in a process counts.
  package static func report(to take: @escaping @Sendable (Step, Duration) -> Void) { _ = receiver.storeIfNil(Receiver(take)) }

  /// Nil without a receiver.
  package static func begin(_ step: Step) -> Measure? { receiver.load().map { Measure(step: step, receiver: $0) } }

  package func end() { receiver.take(step, ContinuousClock.now - start) }
}
