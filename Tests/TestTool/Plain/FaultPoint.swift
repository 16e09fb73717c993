internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import Synchronization

final class FaultPoint: Sendable {
  enum Fault: Sendable {
    case death
    case failure(Int32)
    /// A write or read stops after half of its bytes.
    case half
  }

  private let number: Int
  private let fault: Fault
  private let seen = Atomic<Int>(0)

  init(at number: Int, _ fault: Fault) {
    self.number = number
    self.fault = fault
  }

  /// Whether the store made enough calls for the fault.
  var cameToPass: Bool { seen.load(ordering: .relaxed) >= number }

  /// The real calls, with a mapped journal or not.
  static func calls(isMapped: Bool) -> SystemCalls {
    var calls = SystemCalls()
    if !isMapped { calls.fileSystem = { _ in 0x9123_683E } }  // btrfs
    return calls
  }

  private func isNow() -> Bool {
    guard seen.add(1, ordering: .relaxed).newValue == number else { return false }
    if case .death = fault { kill(getpid(), SIGKILL) }
    return true
  }

  private func failure() -> Int32? {
    guard isNow(), case .failure(let code) = fault else { return nil }
    return -code
  }

  private func count(of whole: Int) -> Int {
    switch (isNow(), fault) {
    case (true, .failure(let code)): -Int(code)
    case (true, .half): (whole + 1) / 2
    default: whole
    }
  }

  /// `calls` with the fault in place.
  func wrapping(_ calls: SystemCalls) -> SystemCalls {
    var wrapped = calls
    wrapped.open = { self.failure() ?? calls.open($0, $1, $2) }
    // Unlocking cannot fail: the kernel has nothing to refuse.
    wrapped.lock = { $1 == LOCK_UN ? calls.lock($0, $1) : self.failure() ?? calls.lock($0, $1) }
    wrapped.allocate = { self.failure() ?? calls.allocate($0, $1, $2) }
    wrapped.synchronize = { self.failure() ?? calls.synchronize($0) }
    wrapped.rename = { self.failure() ?? calls.rename($0, $1) }
    wrapped.renameAnew = { self.failure() ?? calls.renameAnew($0, $1) }
    wrapped.exchange = { self.failure() ?? calls.exchange($0, $1) }
    wrapped.unlink = { self.failure() ?? calls.unlink($0) }
    wrapped.write = { fd, bytes, offset in
      let count = self.count(of: bytes.count)
      return count < 0 ? count : calls.write(fd, UnsafeRawBufferPointer(rebasing: bytes[..<count]), offset)
    }
    wrapped.read = { fd, bytes, offset in
      let count = self.count(of: bytes.count)
      return count < 0 ? count : calls.read(fd, UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]), offset)
    }
    return wrapped
  }
}
