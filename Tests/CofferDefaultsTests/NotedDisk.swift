import CofferPlatform
import CofferTestSupport
import Foundation
import Synchronization
import SystemPackage

@testable import CofferDefaults

final class NotedDisk: Sendable {
  enum Event: Hashable {
    /// Bytes behind the header were written.
    case record
    case sync
  }

  private struct State {
    var journals: [Int32: Bool] = [:]
    var events: [Event] = []
    /// Syncs of the journal before the failing one; nil without a failure.
    var syncsToFailure: Int?
    var refusesWords = false
  }

  private let state = Mutex(State())
  private let journal: String

  init(_ folder: TemporaryFolder) { journal = folder.file(".d.plist.coffer").string }

  /// After `count` syncs of the journal, later ones fail until ``heal()``.
  func failSyncs(after count: Int) { state.withLock { $0.syncsToFailure = count } }
  func heal() { state.withLock { $0.syncsToFailure = nil } }
  func word() throws -> JournalWord {
    let bytes = try Data(contentsOf: URL(filePath: journal)).dropFirst(JournalLayout.Field.word.rawValue).prefix(8)
    return JournalWord(rawValue: bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
  }
  func refuseWords(_ refuses: Bool) { state.withLock { $0.refusesWords = refuses } }

  func events() -> [Event] {
    state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
  }

  var calls: SystemCalls {
    var calls = SystemCalls()
    let real = calls
    // btrfs, where stores are system calls, so that they are visible here.
    calls.fileSystem = { _ in 0x9123_683E }
    calls.open = { [self] path, flags, mode in
      let fd = real.open(path, flags, mode)
      state.withLock { $0.journals[fd] = path == journal }
      return fd
    }
    calls.openUnnamed = { [self] folder, mode in
      let fd = real.openUnnamed(folder, mode)
      state.withLock { $0.journals[fd] = false }
      return fd
    }
    calls.write = { [self] fd, bytes, offset in
      let isRefused = state.withLock { state in
        guard state.journals[fd] == true else { return false }
        if offset >= JournalLayout.headerBytes { state.events.append(.record) }
        return state.refusesWords && offset == JournalLayout.Field.word.rawValue
      }
      return isRefused ? Int(-ENOSPC) : real.write(fd, bytes, offset)
    }
    calls.synchronize = { [self] fd in
      state.withLock { state in
        guard state.journals[fd] == true else { return 0 }
        if let count = state.syncsToFailure {
          guard count > 0 else { return -EIO }
          state.syncsToFailure = count - 1
        }
        state.events.append(.sync)
        return 0
      }
    }
    return calls
  }
}
