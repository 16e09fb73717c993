import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

@Suite
struct MeddlingTests {
  private static let look = 0.12

  private func folded(_ folder: TemporaryFolder) throws -> DefaultsStore {
    let store = try folder.open()
    try store.save(.integer(1), for: "folded")
    try store.synchronize()
    Thread.sleep(forTimeInterval: 0.06)  // No event: its first look at the list is over.
    try store.save(.integer(2), for: "journalled")
    return store
  }

  private static let edited = """
    <plist version="1.0"><dict><key>folded</key><integer>7</integer><key>by hand</key><true/></dict></plist>
    """

  @Test(arguments: [true, false])
  func `a list that is edited, or replaced by another file, is merged with the journal`(_ isReplaced: Bool) throws {
    let folder = try TemporaryFolder()
    let store = try folded(folder)
    let url = URL(filePath: folder.file("d.plist").string)
    try Data(Self.edited.utf8).write(to: url, options: isReplaced ? .atomic : [])
    try eventually { try store.load("folded") == .integer(7) }
    #expect(try store.load("by hand") == .bool(true))
    #expect(try store.load("journalled") == .integer(2))
    try store.synchronize()
    #expect(try PropertyList.decode(folder.bytes(of: "d.plist")).values.count == 3)
  }

  @Test func `a list that becomes unreadable is an error, and nothing is lost`() throws {
    let folder = try TemporaryFolder()
    let store = try folded(folder)
    let list = folder.file("d.plist").string
    // A folder cannot be read as a file, not even by root.
    try FileManager.default.moveItem(atPath: list, toPath: list + ".away")
    try FileManager.default.createDirectory(atPath: list, withIntermediateDirectories: false)
    eventually { kind { _ = try store.load("folded") } == .denied }
    #expect(kind { try store.synchronize() } == .denied)
    try FileManager.default.removeItem(atPath: list)
    try FileManager.default.moveItem(atPath: list + ".away", toPath: list)
    eventually { kind { _ = try store.load("folded") } == nil }
    #expect(try store.load("folded") == .integer(1))
    #expect(try store.load("journalled") == .integer(2))
    try store.save(.integer(3), for: "next")
    try store.synchronize()
    #expect(try folder.open(isShared: false).names() == ["folded", "journalled", "next"])
  }

  @Test func `a list that grows by fifty megabytes of rubbish is damaged, and left alone`() throws {
    let folder = try TemporaryFolder()
    let store = try folded(folder)
    let file = try FileHandle(forWritingTo: URL(filePath: folder.file("d.plist").string))
    try file.seekToEnd()
    try file.write(contentsOf: Data(repeating: UInt8(ascii: "<"), count: 50 << 20))
    try file.close()
    let size = try FileStatus(at: folder.file("d.plist"))?.size
    // Foundation's reader stops at the list's end tag, so later bytes may go unnoticed; reading the values is no error.
    let refusals = (0..<3).map { _ in
      Thread.sleep(forTimeInterval: Self.look)  // No event: a look that finds no fault is silent.
      return kind {
        let found = try store.load("folded")
        #expect(found == .integer(1))
      }
    }
    #expect(refusals.allSatisfy { $0 == nil || $0 == .damaged })
    if refusals.last == .damaged { #expect(try FileStatus(at: folder.file("d.plist"))?.size == size) }
  }

  @Test(arguments: [UInt8(0), 0x5A, 0xFF])
  func `a journal overwritten with rubbish is an error until it is removed, and those who knew say what is missing`(_ byte: UInt8)
    throws
  {
    let folder = try TemporaryFolder()
    let store = try folded(folder)
    let journal = folder.file(".d.plist.coffer")
    let file = try FileHandle(forUpdating: URL(filePath: journal.string))
    try file.write(contentsOf: Data(repeating: byte, count: try FileStatus(at: journal)?.size ?? 0))
    try file.close()
    #expect(kind { _ = try store.load("folded") } == .damaged)
    #expect(kind { try store.save(.integer(3), for: "k") } == .damaged)
    try FileManager.default.removeItem(atPath: journal.string)
    eventually { kind { _ = try store.load("folded") } == nil }
    #expect(try store.load("folded") == .integer(1))
    #expect(kind { try store.save(.integer(3), for: "next") } == .moved)
    try store.save(.integer(3), for: "next")
    #expect(try folder.open(isShared: false).names() == ["folded", "next"])
  }

  @Test(.tags(.root, .process), .defaultRun) func `a folder that is missing and cannot be made reads as empty`() throws {
    guard geteuid() == 0 else { try Test.skip("only root can drop to a user who may not write here") }
    let folder = try TemporaryFolder()
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path.string)
    let output = try Tool("unprivileged", folder, arguments: [], place: folder.file("missing/deeper")).finish()
    if output.contains("cannot drop") { try Test.skip("privileges cannot be dropped here") }
    #expect(output == "read nothing\nwrite readOnly\n")
    #expect(!folder.exists("missing"))
  }
}
