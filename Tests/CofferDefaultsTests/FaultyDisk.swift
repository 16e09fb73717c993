import CofferPlatform
import Foundation
import Synchronization

final class FaultyDisk: Sendable {
  private let fault = Atomic<Bool>(false)
  var isFaulty: Bool {
    get { fault.load(ordering: .relaxed) }
    set { fault.store(newValue, ordering: .relaxed) }
  }

  var full: SystemCalls {
    var calls = SystemCalls()
    let real = calls
    calls.allocate = { self.isFaulty ? -ENOSPC : real.allocate($0, $1, $2) }
    calls.write = { self.isFaulty ? Int(-ENOSPC) : real.write($0, $1, $2) }
    return calls
  }

  var readOnly: SystemCalls {
    var calls = SystemCalls()
    let real = calls
    calls.open = { self.isFaulty && $1 & O_ACCMODE != O_RDONLY ? -EROFS : real.open($0, $1, $2) }
    calls.openUnnamed = { self.isFaulty ? -EROFS : real.openUnnamed($0, $1) }
    return calls
  }
}
