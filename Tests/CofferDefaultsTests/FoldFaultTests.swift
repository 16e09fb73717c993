import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

/// Folds that die or fail near their end, and the next ones; and data that must be durable before it is given up.
@Suite
struct FoldFaultTests {
  @Test func `a fold whose last sync failed is not done, and synchronize() says so until it is`() throws {
    let folder = try TemporaryFolder()
    let disk = NotedDisk(folder)
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.integer(1), for: "a")
    // The first sync is of the records, the second of the empty epoch.
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

  /// A store whose last fold began an epoch at the journal's front, and failed to make it durable.
  private func atTheFront(_ folder: TemporaryFolder, _ disk: NotedDisk) throws -> DefaultsStore {
    let store = try folder.open(isShared: false, calls: disk.calls)
    let text = String(repeating: "x", count: 200_000)
    for number in 0..<6 { try store.save(.string(text + "\(number)"), for: "a") }
    try store.synchronize()
    #expect(store.engine.state.withLock { $0.start } >= JournalLayout.frontRoom)
    try store.save(.integer(1), for: "a")
    disk.failSyncs(after: 1)
    #expect(kind { try store.synchronize() } == .io(EIO))
    #expect(store.engine.state.withLock { $0.start } == 0)
    return store
  }

  @Test func `while a fold's epoch is not durable, writes wait for no disk until they reach the old records`() throws {
    let folder = try TemporaryFolder()
    let disk = NotedDisk(folder)
    let store = try atTheFront(folder, disk)
    // Another process, which knows of no failure.
    let other = try folder.open(isShared: false, calls: disk.calls)
    _ = disk.events()
    let text = String(repeating: "y", count: 200_000)
    for number in 0..<5 { try other.save(.string(text + "\(number)"), for: "b") }
    #expect(disk.events() == Array(repeating: .record, count: 5))
    #expect(
      kind { for number in 5..<8 { try other.save(.string(text + "\(number)"), for: "b") } }
        == .tooLarge(limit: JournalLayout.capacity))
    #expect(try store.load("b") != .string(text + "7"), "what was refused changed nothing")
    disk.heal()
    for number in 8..<12 { try other.save(.string(text + "\(number)"), for: "b") }
    #expect(disk.events().contains(.sync))
    #expect(try store.load("b") == .string(text + "11") && store.load("a") == .integer(1))
  }

  @Test(.tags(.process, .kill), .defaultRun)
  func `a write after a fold that died at its end waits for no disk, as its opening made the epoch durable`() throws {
    let folder = try TemporaryFolder()
    try folder.open(isShared: false).save(.string("before"), for: "a")
    let tool = try Tool("fold-and-die", folder, "journalEmptied")
    tool.finish()
    #expect(tool.wasKilled)
    let disk = NotedDisk(folder)
    let store = try folder.open(isShared: false, calls: disk.calls)
    _ = disk.events()
    try store.save(.integer(1), for: "next")
    #expect(disk.events() == [.record])
    try store.synchronize()
    // The record, and this fold's epoch.
    #expect(disk.events() == [.sync, .sync])
    try store.synchronize()
    #expect(disk.events() == [], "once is enough")
  }

  @Test func `a batch that survives a fold is durable before the epoch that needs it begins`() throws {
    let folder = try TemporaryFolder()
    let disk = NotedDisk(folder)
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.leavePending(.string("after"), for: "a")
    try store.save(.integer(1), for: "b")
    let before = try disk.word()
    _ = disk.events()
    disk.failSyncs(after: 1)
    #expect(kind { try store.synchronize() } == .io(EIO))
    #expect(try disk.word() == before, "a power loss could leave the new epoch without the batch")
    #expect(disk.events() == [.sync, .record])
    disk.heal()
    try store.synchronize()
    // Again with the sync that ends the fold, as everything counts then.
    #expect(disk.events().suffix(4) == [.record, .sync, .record, .sync])
    #expect(try disk.word().epoch == before.epoch + 1)
  }

  @Test func `a journal that is put in order makes a fold's epoch durable before it overwrites what stands behind`() throws {
    let folder = try TemporaryFolder()
    let disk = NotedDisk(folder)
    _ = try atTheFront(folder, disk)
    disk.heal()
    _ = disk.events()
    // As at each opening on a system without a boot id.
    let file = try FileHandle(forUpdating: URL(filePath: folder.file(".d.plist.coffer").string))
    try file.seek(toOffset: UInt64(JournalLayout.Field.bootHigh.rawValue))
    try file.write(contentsOf: Data(count: 16))
    try file.close()
    _ = try folder.open(isShared: false, calls: disk.calls)
    let events = disk.events()
    #expect(events.first == .sync && events.contains(.record) && events.last == .sync)
  }

  @Test func `what a journal held that was deleted is durable in the next before it is given up`() throws {
    let folder = try TemporaryFolder()
    let disk = NotedDisk(folder)
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.integer(1), for: "a")
    #expect(rename(folder.file(".d.plist.coffer").string, folder.file("moved").string) == 0)
    #expect(untilTheNextLookIsDue())
    _ = disk.events()
    try store.save(.integer(2), for: "b")
    // The new file under its first name, unrecorded, and the write itself, which waits for no disk.
    #expect(disk.events() == [.sync, .record])
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
