// Shows that the thread sanitizer, as .ci/thread-sanitizer runs it, sees a race and sees a mutex.
//
// `witness guarded`: threads meet in a mutex around a counter, and there is nothing to report.
// `witness bare`: they change the counter as they like, which must be reported.
import Dispatch
import Synchronization

nonisolated(unsafe) var counter = 0
let mutex = Mutex(())

@main enum Witness {
  static func main() {
    let isGuarded = CommandLine.arguments.dropFirst().first == "guarded"
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<20_000 {
        if isGuarded { mutex.withLock { _ in counter += 1 } } else { counter += 1 }
      }
    }
    print(counter)
  }
}
