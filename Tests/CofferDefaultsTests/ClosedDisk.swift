import CofferPlatform
import Foundation
import Synchronization

/// A disk that the test makes read-only, and writable again.
final class ClosedDisk: Sendable {
  private let closed = Atomic<Bool>(false)
  var isClosed: Bool {
    get { closed.load(ordering: .relaxed) }
    set { closed.store(newValue, ordering: .relaxed) }
  }

  var calls: SystemCalls {
    var calls = SystemCalls()
    let real = calls
    calls.open = { self.isClosed && $1 & O_ACCMODE != O_RDONLY ? -EROFS : real.open($0, $1, $2) }
    calls.openUnnamed = { self.isClosed ? -EROFS : real.openUnnamed($0, $1) }
    return calls
  }
}
