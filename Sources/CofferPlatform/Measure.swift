internal import Synchronization

/// Slow steps, timed for a program's metrics. Without a receiver a step costs one load of a pointer; a read or write that
/// neither waits nor folds has no such step.
package enum Measure {
  package enum Step: String, CaseIterable, Sendable {
    /// A write that found the lock taken.
    case lockWait = "lock.wait"
    /// The plain store's changes into its property list.
    case fold
    /// A renewal of a credential, by the one who asks the server.
    case renewal
    /// A question to the agent and its answer.
    case agentCall = "agent.call"
    case vaultCommit = "vault.commit"
  }

  package typealias Receiver = @Sendable (Step, _ took: Duration, _ failed: Bool) -> Void

  private final class Box: Sendable {
    let receiver: Receiver
    init(_ receiver: @escaping Receiver) { self.receiver = receiver }
  }

  private static let box = AtomicLazyReference<Box>()

  /// Hands each step to `receiver`, on the thread or task of the step, right after it. Only the first receiver of a process counts.
  package static func report(to receiver: @escaping Receiver) { _ = box.storeIfNil(Box(receiver)) }

  /// A step that has begun.
  package struct Timing: Sendable {
    fileprivate let step: Step
    fileprivate let receiver: Receiver
    private let start = ContinuousClock.now

    package func end(failed: Bool = false) { receiver(step, ContinuousClock.now - start, failed) }
  }

  /// Nil without a receiver.
  package static func begin(_ step: Step) -> Timing? { box.load().map { Timing(step: step, receiver: $0.receiver) } }

  package static func timed<Result, Failure>(_ step: Step, _ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    guard let timing = begin(step) else { return try body() }
    do throws(Failure) {
      let result = try body()
      timing.end()
      return result
    } catch {
      timing.end(failed: true)
      throw error
    }
  }
}
