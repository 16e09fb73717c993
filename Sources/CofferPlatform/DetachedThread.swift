package import Dispatch
package import SystemPackage

/// A thread of its own for work that blocks, as Dispatch's threads are few and a silent client would hold one of them; and for
/// work that is done later: Dispatch's timers and sources end the process where it has no descriptor free for them.
package enum DetachedThread {
  private final class Work {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Starts a thread with a stack of `stackBytes` bytes that runs `body` and ends.
  ///
  /// - Throws: `StoreError` of kind ``StoreError/Kind/io(errno:)`` or another one of the system's when there can be no more
  ///   threads; it names `place`. `body` is then never run.
  package static func start(stackBytes: Int, place: FilePath, _ body: @escaping @Sendable () -> Void) throws(StoreError) {
    let work = Unmanaged.passRetained(Work(body))
    let code = coffer_detached_thread(
      stackBytes, { work in if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() } }, work.toOpaque())
    guard code == 0 else {
      work.release()
      throw StoreError(errno: code, "start a thread", place: place)
    }
  }

  /// Runs `body` on `queue` after `pause`, in nanoseconds; never where there can be no more threads, until the next event.
  package static func start(after pause: UInt64, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    do throws(StoreError) {
      try start(stackBytes: 512 << 10, place: "timer") {
        sleep(pause)
        queue.async(execute: body)
      }
    } catch {}
  }

  /// Stops this thread for `nanoseconds`.
  package static func sleep(_ nanoseconds: UInt64) {
    var rest = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    var left = timespec()
    while nanosleep(&rest, &left) != 0, errno == EINTR { rest = left }
  }
}

/// The limits of a process that was forked without exec.
///
/// It shares its parent's epoll(7) descriptor, with which Dispatch waits, and has none of the threads of its queues: work on a
/// queue is never done, and a source made there reaches the parent as an event about memory that the parent does not have.
package enum ForkedChild {
  /// Throws ``StoreError/Kind/afterFork`` in such a process.
  package static func refuse(_ what: String, place: String) throws(StoreError) {
    guard coffer_is_forked_child() else { return }
    throw StoreError(
      .afterFork, "a process forked without exec cannot \(what)", place: place,
      cure: "start it with exec or posix_spawn, or do so in the parent")
  }
}
