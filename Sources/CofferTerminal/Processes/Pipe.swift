internal import CofferPlatform
internal import SystemPackage

/// A pipe whose ends no other child inherits.
package final class Pipe {
  package let reading: Int32
  package let writing: Int32
  private var isWritingOpen = true
  private var isReadingOpen = true

  package init() throws {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw StoreError(errno: errno, "make a pipe", place: "pipe") }
    reading = ends[0]
    writing = ends[1]
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  }

  package func closeWriting() {
    if isWritingOpen { close(writing) }
    isWritingOpen = false
  }

  package func closeReading() {
    if isReadingOpen { close(reading) }
    isReadingOpen = false
  }

  deinit {
    closeReading()
    closeWriting()
  }
}
