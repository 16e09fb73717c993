internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// Wakes a thread that waits in poll(2).
final class Bell: Sendable {
  let hearing: Int32
  private let ringing: Int32

  init() throws(StoreError) {
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

  /// May be called by any thread. A full pipe is as good as one byte.
  func ring() {
    var byte: UInt8 = 1
    _ = write(ringing, &byte, 1)
  }

  func silence() {
    var bytes: UInt64 = 0
    while read(hearing, &bytes, 8) == 8 {}
  }
}
