import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferDefaults

/// A disk that notes what happens to the journal, and fails where the test says so.
private final class NotedDisk: Sendable {
  enum Event: Equatable {
    /// Bytes behind the header were written.
    case record
    case sync
  }

  private struct State {
    var journals: [Int32: Bool] = [:]
    var events: [Event] = []
    /// Syncs of the journal that succeed before one fails; nil where none does.
    var syncsToFailure: Int?
    var refusesWords = false
  }

  private let state = Mutex(State())
  private let journal: String

  init(_ folder: TemporaryFolder) { journal = folder.file(".d.plist.coffer").string }

  /// The sync of the journal that comes after `count` others fails, and those after it until ``heal()``.
  func failSyncs(after count: Int) { state.withLock { $0.syncsToFailure = count } }
  func heal() { state.withLock { $0.syncsToFailure = nil } }
  func refuseWords(_ refuses: Bool) { state.withLock { $0.refusesWords = refuses } }

  /// What happened since the last time that this was asked.
  func events() -> [Event] {
    state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
  }

  var calls: SystemCalls {
    var calls = SystemCalls()
    let real = calls
    // btrfs, where stores are system calls, so that they are seen here.
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

/// Folds that die or fail near their end, and what comes after them; and what must be durable before it is given up elsewhere.
@Suite
struct FoldFaultTests {
  @Test func `a fold whose last sync failed is not done, and synchronize() says so until it is`() throws {
    let folder = try TemporaryFolder()
    let disk = NotedDisk(folder)
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.integer(1), for: "a")
    // The first sync is of the records, the second of the epoch that has none.
    disk.failSyncs(after: 1)
    #expect(kind { try store.synchronize() } == .io(EIO))
    #expect(try PropertyList.decode(folder.bytes(of: "d.plist")).values == ["a": .integer(1)])
    #expect(kind { try store.synchronize() } == .io(EIO))
    #expect(try store.load("a") == .integer(1), "readers know it all the same")
    disk.heal()
    _ = disk.events()
    try store.synchronize()
    #expect(disk.events() == [.sync])
    try store.synchronize()
    #expect(disk.events() == [], "once is enough")
  }

  @Test func `no record takes an old one's place before the fold's epoch is durable, whoever writes it`() throws {
    let folder = try TemporaryFolder()
    let disk = NotedDisk(folder)
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.integer(1), for: "a")
    disk.failSyncs(after: 1)
    #expect(kind { try store.synchronize() } == .io(EIO))
    // Another process, which heard of no failure.
    let other = try folder.open(isShared: false, calls: disk.calls)
    #expect(kind { try other.save(.integer(2), for: "a") } == .io(EIO))
    #expect(try store.load("a") == .integer(1), "nothing was changed")
    disk.heal()
    _ = disk.events()
    try other.save(.integer(2), for: "a")
    try other.save(.integer(3), for: "a")
    #expect(disk.events() == [.sync, .record, .record])
    #expect(try store.load("a") == .integer(3))
  }

  @Test(.tags(.process, .kill), .wholeRun)
  func `who writes first after a fold that died at its end makes its epoch durable before`() throws {
    let folder = try TemporaryFolder()
    try folder.open(isShared: false).save(.string("before"), for: "a")
    let tool = try Tool("fold-and-die", folder, "journalEmptied")
    tool.finish()
    #expect(tool.wasKilled)
    let disk = NotedDisk(folder)
    let store = try folder.open(isShared: false, calls: disk.calls)
    _ = disk.events()
    try store.save(.integer(1), for: "next")
    try store.save(.integer(2), for: "next")
    #expect(disk.events() == [.sync, .record, .record])
  }

  @Test func `what a journal held that lost its name is durable in the other before it is given up`() throws {
    let folder = try TemporaryFolder()
    let disk = NotedDisk(folder)
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.integer(1), for: "a")
    #expect(rename(folder.file(".d.plist.coffer").string, folder.file("moved").string) == 0)
    let due = CoarseClock.now() + CoarseClock.lookInterval
    #expect(eventually { CoarseClock.now() > due })
    _ = disk.events()
    try store.save(.integer(2), for: "b")
    // The new file, what was carried over, and the write itself, which waits for no disk.
    #expect(disk.events() == [.sync, .record, .sync, .record])
  }

  @Test func `another program's change reaches all readers, though the fold that took it up was given up before its last step`()
    throws
  {
    let folder = try TemporaryFolder()
    let disk = NotedDisk(folder)
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.integer(1), for: "ours")
    try store.synchronize()
    let reader = try folder.open(isShared: false)
    try store.save(.integer(2), for: "ours")
    #expect(try reader.load("ours") == .integer(2))
    // What follows happens before the reader looks at its files again.
    reader.engine.state.withLock { $0.nextLook = .max }
    let list = PropertyList.encode(["ours": .integer(1), "theirs": .integer(5)], as: .xml)
    try list.write(to: URL(filePath: folder.file("d.plist").string))
    disk.refuseWords(true)
    #expect(kind { try store.synchronize() } == .noSpace)
    disk.refuseWords(false)
    try store.synchronize()
    #expect(try store.load("theirs") == .integer(5))
    #expect(try reader.load("theirs") == .integer(5))
    #expect(try reader.load("ours") == .integer(2))
  }
}
