package import Dispatch
package import SystemPackage

/// A thread for work that blocks or is delayed. Dispatch has few threads, which silent clients would hold; its timers and
/// sources end a process without a free descriptor.
package enum DetachedThread {
  private final class Work {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Runs `body` on a new thread with a stack of `stackBytes` bytes.
  ///
  /// - Throws: `StoreError` of kind ``StoreError/Kind/io(errno:)`` or another one of the system's if there can be no more
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

  /// Runs `body` on `queue` after `pause` nanoseconds. Where there can be no more threads, it waits for the caller's next
  /// event.
  package static func start(after pause: UInt64, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    do throws(StoreError) {
      try start(stackBytes: 512 << 10, place: "timer") {
        sleep(pause)
        queue.async(execute: body)
      }
    } catch {}
  }

  package static func sleep(_ nanoseconds: UInt64) {
    var rest = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    var left = timespec()
    while nanosleep(&rest, &left) != 0, errno == EINTR { rest = left }
  }
}

/// A process forked without exec.
///
/// It shares its parent's epoll(7) descriptor, with which Dispatch waits, and lacks the queues' threads: queued work never
/// runs, and a source made there reaches the parent as an event about memory that the parent does not have.
package enum ForkedChild {
  /// Throws ``StoreError/Kind/afterFork`` in such a process.
  package static func refuse(_ what: String, place: String) throws(StoreError) {
    guard coffer_is_forked_child() else { return }
    throw StoreError(
      .afterFork, "a process forked without exec cannot \(what)", place: place,
      cure: "start it with exec or posix_spawn, or do so in the parent")
  }
}
