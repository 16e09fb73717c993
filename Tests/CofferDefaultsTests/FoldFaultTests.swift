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

  @Test func `no record takes an old one's place before the fold's epoch is durable, whoever writes it`() throws {
    let folder = try TemporaryFolder()
    let disk = NotedDisk(folder)
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.integer(1), for: "a")
    disk.failSyncs(after: 1)
    #expect(kind { try store.synchronize() } == .io(EIO))
    // Another process, which knows of no failure.
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

  @Test(.tags(.process, .kill), .defaultRun)
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
    let store = try folder.open(isShared: false, calls: disk.calls)
    try store.save(.integer(1), for: "a")
    disk.failSyncs(after: 1)
    #expect(kind { try store.synchronize() } == .io(EIO))
    disk.heal()
    _ = disk.events()
    // As at each opening on a system without a boot id.
    let file = try FileHandle(forUpdating: URL(filePath: folder.file(".d.plist.coffer").string))
    try file.seek(toOffset: UInt64(JournalLayout.Field.bootHigh.rawValue))
    try file.write(contentsOf: Data(count: 16))
    try file.close()
    _ = try folder.open(isShared: false, calls: disk.calls)
    #expect(disk.events() == [.sync, .record, .sync])
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
