internal import Foundation
internal import Synchronization

/// Runs tests that block a thread while they wait for programs, so that others continue.
///
/// Swift's pool has a thread for each core, and expects that none of them waits. On two cores, two waiting tests would stop
/// all others, also those that measure time.
final class BlockingExecutor: TaskExecutor {
  /// Such tests mostly wait for a disk or a clock, not for a core.
  static let threads = max(8, 2 * ProcessInfo.processInfo.activeProcessorCount)
  static let shared = BlockingExecutor()

  private let jobs = Mutex<[UnownedJob]>([])
  private let waiting = DispatchSemaphore(value: 0)

  private init() {
    for _ in 0..<Self.threads {
      let thread = Thread { [self] in
        while true {
          waiting.wait()
          guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { continue }
          job.runSynchronously(on: asUnownedTaskExecutor())
        }
      }
      // As much as the threads of Swift's pool have.
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    waiting.signal()
  }
}
