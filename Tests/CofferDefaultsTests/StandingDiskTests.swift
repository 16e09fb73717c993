import CofferPlatform
import CofferStorage
import CofferTestSupport
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CofferDefaults

/// Folds whose disk stands still, and the calls that go on meanwhile.
@Suite(.tags(.process), .defaultRun)
struct StandingDiskTests {
  /// A disk, one of whose syncs waits until it may go on, or fails then.
  private final class Disk: Sendable {
    private let syncsLeft = Mutex<Int?>(nil)
    private let isStanding = DispatchSemaphore(value: 0), mayGoOn = DispatchSemaphore(value: 0)
    private let found = Mutex<StoreError?>(nil)
    private let result: Int32

    init(failing code: Int32 = 0) { result = -code }

    var calls: SystemCalls {
      var calls = SystemCalls()
      let real = calls
      calls.synchronize = { [self] descriptor in
        let isLast = syncsLeft.withLock { left in
          guard let count = left else { return false }
          left = count > 1 ? count - 1 : nil
          return count == 1
        }
        guard isLast else { return real.synchronize(descriptor) }
        isStanding.signal()
        mayGoOn.wait()
        return result == 0 ? real.synchronize(descriptor) : result
      }
      return calls
    }

    /// Runs `body` while the sync of this number, in a fold of `store`, stands still; returns after that fold.
    func stand(at number: Int, in store: DefaultsStore, _ body: () throws -> Void) rethrows {
      syncsLeft.withLock { $0 = number }
      let isOver = DispatchSemaphore(value: 0)
      Thread.detachNewThread { [self] in
        do throws(StoreError) { try store.synchronize() } catch { found.withLock { $0 = error } }
        isOver.signal()
      }
      isStanding.wait()
      defer {
        mayGoOn.signal()
        isOver.wait()
      }
      try body()
    }

    /// The error of that fold.
    var error: StoreError? { found.withLock { $0 } }
  }

  /// The journal, the last good copy, the new list, the folder, and the journal again.
  @Test(arguments: 1...5, [0, EIO])
  func `writes of all processes go on while a fold waits for a disk, and are kept whether it fails or not`(
    _ sync: Int, _ code: Int32
  ) throws {
    let folder = try TemporaryFolder()
    let disk = Disk(failing: code)
    let store = try folder.open(isShared: false, calls: disk.calls), other = try folder.open(isShared: false)
    try store.save(.integer(0), for: "mine")
    try store.synchronize()
    try other.save(.string("folded"), for: "theirs")
    try disk.stand(at: sync, in: store) {
      for number in 1...200 {
        try store.save(.integer(Int64(number)), for: "mine")
        try other.save(.integer(Int64(number)), for: "theirs")
        #expect(try store.load("theirs") == .integer(Int64(number)) && other.load("mine") == .integer(Int64(number)))
      }
      let fresh = try folder.open(isShared: false)
      #expect(try fresh.load("mine") == .integer(200) && fresh.load("theirs") == .integer(200))
      try fresh.save(.bool(true), for: "fresh")
    }
    #expect(disk.error?.kind == (code == 0 ? nil : .io(code)))
    try other.save(.integer(201), for: "theirs")
    for each in [store, other, try folder.open(isShared: false)] {
      #expect(try each.load("mine") == .integer(200) && each.load("theirs") == .integer(201) && each.load("fresh") == .bool(true))
    }
    try other.synchronize()
    #expect(
      try PropertyList.decode(folder.bytes(of: "d.plist")).values
        == ["mine": .integer(200), "theirs": .integer(201), "fresh": .bool(true)])
  }

  @Test func `synchronize() in one thread waits for the fold of another, and then has every value in the list`() throws {
    let folder = try TemporaryFolder()
    let disk = Disk()
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.integer(1), for: "k")
    let isOver = DispatchSemaphore(value: 0)
    try disk.stand(at: 3, in: store) {
      try store.save(.integer(2), for: "k")
      Thread.detachNewThread {
        #expect(kind { try store.synchronize() } == nil)
        isOver.signal()
      }
    }
    #expect(disk.error == nil)
    isOver.wait()
    #expect(try PropertyList.decode(folder.bytes(of: "d.plist")).values == ["k": .integer(2)])
  }

  @Test func `no fold holds the writers' lock while it waits for a disk`() throws {
    let folder = try TemporaryFolder()
    let journal = folder.file(".d.plist.coffer").string
    let state = Mutex((journals: Set<Int32>(), isLocked: false, held: 0, syncs: 0))
    var calls = SystemCalls()
    let real = calls
    calls.open = { path, flags, mode in
      let descriptor = real.open(path, flags, mode)
      state.withLock { if path == journal { $0.journals.insert(descriptor) } else { $0.journals.remove(descriptor) } }
      return descriptor
    }
    calls.lock = { descriptor, operation in
      let result = real.lock(descriptor, operation)
      state.withLock { if $0.journals.contains(descriptor), result == 0 { $0.isLocked = operation != LOCK_UN } }
      return result
    }
    calls.synchronize = { descriptor in
      state.withLock {
        $0.syncs += 1
        if $0.isLocked { $0.held += 1 }
      }
      return real.synchronize(descriptor)
    }
    let store = try folder.open(isShared: false, calls: calls)
    state.withLock { ($0.held, $0.syncs) = (0, 0) }
    for number in 0..<3 {
      try store.save(.integer(Int64(number)), for: "k")
      try store.synchronize()
    }
    try store.scrub()
    #expect(state.withLock { $0.syncs } >= 15 && state.withLock { $0.held } == 0)
  }
}
