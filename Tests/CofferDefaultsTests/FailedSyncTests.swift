import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferDefaults

/// A failing disk under a kernel that takes the pages of the failed sync for written.
private final class ForgetfulDisk: Sendable {
  private struct State {
    var paths: [Int32: String] = [:]
    var unwritten: Set<Int> = []
    var image: [UInt8] = []
    var failsNext = false
  }

  private static let page = 4096
  private let state: Mutex<State>
  private let journal: String

  init(_ journal: FilePath) throws {
    self.journal = journal.string
    state = Mutex(State(image: Array(try Data(contentsOf: URL(filePath: journal.string)))))
  }

  /// The journal after a power loss.
  var image: Data { state.withLock { Data($0.image) } }

  func failNext() { state.withLock { $0.failsNext = true } }

  var calls: SystemCalls {
    var calls = SystemCalls()
    let real = calls
    // btrfs, where stores are system calls, so that they are visible here.
    calls.fileSystem = { _ in 0x9123_683E }
    calls.open = { [self] path, flags, mode in
      let fd = real.open(path, flags, mode)
      state.withLock { $0.paths[fd] = path }
      return fd
    }
    calls.write = { [self] fd, bytes, offset in
      let count = real.write(fd, bytes, offset)
      guard count > 0 else { return count }
      state.withLock { state in
        if state.paths[fd] == journal { state.unwritten.formUnion(offset / Self.page...(offset + count - 1) / Self.page) }
      }
      return count
    }
    calls.synchronize = { [self] fd in
      let isJournal = state.withLock { $0.paths[fd] == journal }
      return isJournal ? write(fd, real) : real.synchronize(fd)
    }
    return calls
  }

  private func write(_ fd: Int32, _ real: SystemCalls) -> Int32 {
    state.withLock { state in
      defer { state.unwritten = [] }
      if state.failsNext {
        state.failsNext = false
        return -EIO
      }
      for page in state.unwritten {
        let start = page * Self.page
        let missing = max(0, start + Self.page - state.image.count)
        state.image += [UInt8](repeating: 0, count: missing)
        var bytes = [UInt8](repeating: 0, count: Self.page)
        let count = bytes.withUnsafeMutableBytes { real.read(fd, $0, start) }
        state.image.replaceSubrange(start..<start + max(0, count), with: bytes.prefix(max(0, count)))
      }
      return 0
    }
  }
}

@Suite
struct FailedSyncTests {
  @Test func `what it did not write is written before a later sync, of any process, promises anything`() throws {
    let folder = try TemporaryFolder()
    try folder.open(isShared: false).save(.integer(0), for: "first")
    let disk = try ForgetfulDisk(folder.file(".d.plist.coffer"))
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.string(String(repeating: "long", count: 5_000)), for: "over many pages")
    disk.failNext()
    #expect(kind { try store.synchronize() } == .io(EIO))
    // Another process, which knows of no failure: its transaction depends on a durable prepared batch.
    let other = try folder.open(isShared: false, calls: disk.calls)
    var batch = Batch<Plain>()
    batch.writes = ["a": .set(.string("prepared"))]
    var image = Data()
    try other.commit(batch, decision: Decision(place: folder.decisions.string) { (_) throws(StoreError) in image = disk.image })
    let after = try TemporaryFolder()
    image.replaceSubrange(JournalLayout.Field.bootHigh.rawValue..<32, with: [UInt8](repeating: 0xAA, count: 16))
    try image.write(to: URL(filePath: after.file(".d.plist.coffer").string))
    chmod(after.file(".d.plist.coffer").string, 0o600)
    let committed = DecisionLookup(
      outcome: { (_, _) throws(StoreError) in .committed }, settle: { (_, _) throws(StoreError) in .committed },
      forget: { (_, _) throws(StoreError) in })
    let found = try after.open(decisions: committed, isShared: false)
    #expect(try found.names() == ["a", "first", "over many pages"])
    #expect(try found.load("a") == .string("prepared"))
  }

  @Test func `what was not written and cannot be read as records any more is damage, and no later sync succeeds`() throws {
    let folder = try TemporaryFolder()
    let disk: ForgetfulDisk
    do {
      let first = try folder.open(isShared: false)
      try first.save(.integer(0), for: "first")
      disk = try ForgetfulDisk(folder.file(".d.plist.coffer"))
    }
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.string(String(repeating: "long", count: 5_000)), for: "over many pages")
    disk.failNext()
    #expect(kind { try store.synchronize() } == .io(EIO))
    // As left by a file system that drops pages it could not write.
    let file = try FileHandle(forUpdating: URL(filePath: folder.file(".d.plist.coffer").string))
    try file.seek(toOffset: 8_192)
    try file.write(contentsOf: Data(count: 4_096))
    try file.close()
    #expect(kind { try store.synchronize() } == .damaged)
  }

  @Test func `what a power loss tore does not come back after a second one, though the sync of what overwrote it failed`() throws
  {
    let folder = try TemporaryFolder()
    let journal = folder.file(".d.plist.coffer")
    do {
      let store = try folder.open(isShared: false)
      try store.save(.integer(1), for: "a")
      try store.save(Self.long("1"), for: "b")
      try store.save(.integer(1), for: "c")
    }
    // Another boot, and the middle record did not reach the disk.
    var torn = try Data(contentsOf: URL(filePath: journal.string))
    let middle = JournalLayout.headerBytes + Self.firstBytes
    torn.replaceSubrange(middle..<middle + Record.headerBytes, with: Data(count: Record.headerBytes))
    torn = Self.ofAnotherBoot(torn)
    try torn.write(to: URL(filePath: journal.string))
    let disk = try ForgetfulDisk(journal)
    disk.failNext()
    #expect(kind { _ = try folder.open(isShared: false, calls: disk.calls) } == .io(EIO))
    let store = try folder.open(isShared: false, calls: disk.calls)
    #expect(try store.names() == ["a"])
    try store.save(Self.long("2"), for: "b")
    try store.engine.holdingLock { (journal) throws(StoreError) in try journal.synchronize() }
    let after = try TemporaryFolder()
    try Self.ofAnotherBoot(disk.image).write(to: URL(filePath: after.file(".d.plist.coffer").string))
    chmod(after.file(".d.plist.coffer").string, 0o600)
    #expect(try after.open(isShared: false).contents() == ["a": .integer(1), "b": Self.long("2")])
  }

  private static let firstBytes = Record.write([("a", .integer(1))]).count

  /// A value whose record under `b` ends at a page end after the first one: later records are not written with it.
  private static func long(_ text: String) -> PlainForm {
    let count = 8_192 - firstBytes - Record.write([("b", .string(""))]).count
    return .string(String(repeating: text, count: count))
  }

  private static func ofAnotherBoot(_ journal: Data) -> Data {
    var journal = journal
    journal.replaceSubrange(JournalLayout.Field.bootHigh.rawValue..<32, with: [UInt8](repeating: 0xAA, count: 16))
    return journal
  }
}
