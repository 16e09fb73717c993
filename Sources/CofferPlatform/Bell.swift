internal import SystemPackage

/// Wakes a thread that waits in poll(2).
package final class Bell: Sendable {
  /// Readable after a ring.
  package let hearing: Int32
  private let ringing: Int32

  package init() throws(StoreError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw StoreError(errno: errno, "make a pipe", place: "pipe") }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (hearing, ringing) = (ends[0], ends[1])
  }

  deinit {
    close(hearing)
    close(ringing)
  }

  /// Any thread may call it. A full pipe is as good as one byte.
  package func ring() {
    var byte: UInt8 = 1
    _ = write(ringing, &byte, 1)
  }

  /// Takes back all rings.
  package func silence() {
    var bytes: UInt64 = 0
    while read(hearing, &bytes, 8) == 8 {}
  }

  /// Waits for a ring, for `limit` at most, and takes it back.
  package func wait(for limit: Duration) {
    var waiting = pollfd(fd: hearing, events: Int16(POLLIN), revents: 0)
    _ = poll(&waiting, 1, Int32(clamping: Int64(limit / .milliseconds(1)) + 1))
    silence()
  }
}
