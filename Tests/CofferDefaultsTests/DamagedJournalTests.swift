import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

/// A journal after a file system crash, a truncated copy or a program that writes over files.
@Suite
struct DamagedJournalTests {
  /// A domain with one value in the list and ten in the journal, and no process that knows them.
  private func journalled(_ folder: TemporaryFolder) throws -> FilePath {
    let store = try folder.open(isShared: false)
    try store.save(.integer(0), for: "folded")
    try store.synchronize()
    for number in 0..<10 { try store.save(.string(String(repeating: "\(number)", count: 8_000)), for: "k\(number)") }
    return folder.file(".d.plist.coffer")
  }

  private func reader(_ folder: TemporaryFolder) throws -> DefaultsStore {
    try DefaultsStore.open(domain: "d", in: folder.path, access: .readOnly)
  }

  private func expectDamage(_ folder: TemporaryFolder, _ journal: FilePath, _ what: String) throws {
    let before = try Data(contentsOf: URL(filePath: journal.string))
    #expect(kind { _ = try folder.open(isShared: false) } == .damaged, "a writer, \(what)")
    #expect(kind { _ = try reader(folder).load("k0") } == .damaged, "a reader, \(what)")
    #expect(kind { try DefaultsDomain("d", in: folder.path).remove() } == .damaged, "a removal, \(what)")
    #expect(try Data(contentsOf: URL(filePath: journal.string)) == before, "left alone, \(what)")
    try FileManager.default.removeItem(atPath: journal.string)
    #expect(try folder.open(isShared: false).names() == ["folded"])
  }

  @Test(arguments: [0, 1, 7, 8, 100, 4_095, 4_096, 10_000, 69_631, 80_000])
  func `cut short is damaged for writers, readers and removal, whatever is left`(_ count: Int) throws {
    let folder = try TemporaryFolder()
    let journal = try journalled(folder)
    #expect(truncate(journal.string, count) == 0)
    try expectDamage(folder, journal, "\(count) bytes")
  }

  @Test(arguments: [0..<8, 0..<4_096, 128..<136, 8..<4_096])
  func `overwritten with zeros is damaged for writers, readers and removal`(_ range: Range<Int>) throws {
    let folder = try TemporaryFolder()
    let journal = try journalled(folder)
    let file = try FileHandle(forUpdating: URL(filePath: journal.string))
    try file.seek(toOffset: UInt64(range.lowerBound))
    try file.write(contentsOf: Data(count: range.count))
    try file.close()
    try expectDamage(folder, journal, "\(range)")
  }

  @Test func `a word beyond the file's end is damage as long as the kernel runs that wrote it`() throws {
    let folder = try TemporaryFolder()
    let journal = try journalled(folder)
    let file = try FileHandle(forUpdating: URL(filePath: journal.string))
    try file.seek(toOffset: UInt64(JournalLayout.Field.word.rawValue))
    try file.write(contentsOf: withUnsafeBytes(of: JournalWord(epoch: 2, end: 60 << 20).rawValue.littleEndian) { Data($0) })
    try file.close()
    try expectDamage(folder, journal, "a word beyond the end")
  }

  @Test func `a field that says nothing any Coffer wrote is damage for readers too, and no journal is removed for it`() throws {
    let folder = try TemporaryFolder()
    let journal = try journalled(folder)
    let file = try FileHandle(forUpdating: URL(filePath: journal.string))
    try file.seek(toOffset: UInt64(JournalLayout.Field.use.rawValue))
    try file.write(contentsOf: [7])
    try file.close()
    try expectDamage(folder, journal, "an unknown number")
  }

  @Test(.tags(.campaign), .wholeRun)
  func `whichever bit of the header has flipped, every acknowledged value is there or nobody gets any`() throws {
    let folder = try TemporaryFolder()
    let journal = try journalled(folder)
    let whole = try Data(contentsOf: URL(filePath: journal.string))
    let file = try FileHandle(forUpdating: URL(filePath: journal.string))
    func names(_ open: () throws -> DefaultsStore) throws -> Int? {
      do { return try open().names().count } catch {
        let kind = (error as? StoreError)?.kind
        guard kind == .damaged || kind.map({ "\($0)".hasPrefix("newerFormat") }) == true else { throw error }
        return nil
      }
    }
    var refused = 0
    // Field by field: each has eight bytes, except the bell, a single byte.
    for bit in 0..<(JournalLayout.Field.successor.rawValue + 8) * 8 {
      var bytes = whole
      bytes[bit / 8] ^= 1 << (bit % 8)
      try file.seek(toOffset: 0)
      try file.write(contentsOf: bytes.prefix(JournalLayout.headerBytes))
      let (read, written) = try (names { try reader(folder) }, names { try folder.open(isShared: false) })
      try #require(read == 11 || read == nil, "a reader, bit \(bit % 8) of byte \(bit / 8)")
      try #require(read == written, "a writer, bit \(bit % 8) of byte \(bit / 8)")
      try #require(FileStatus(at: journal)?.size == whole.count, "the file stays, bit \(bit % 8) of byte \(bit / 8)")
      if read == nil { refused += 1 }
    }
    let decisive: [JournalLayout.Field] = [.magic, .version, .use, .word, .evenStart, .evenSeed]
    #expect(refused == decisive.count * 64)
  }

  @Test func `no part of one state's bytes with the rest of another's is a state`() {
    let states: [JournalUse] = [.current, .removed, .givenUp]
    for old in states {
      for new in states where new != old {
        for bytes in 1..<8 {
          let lower: UInt64 = 1 << (8 * bytes) - 1
          for mixed in [old.field & lower | new.field & ~lower, new.field & lower | old.field & ~lower] {
            let isOne = mixed == old.field || mixed == new.field
            #expect(isOne || CheckedNumber(rawValue: mixed, in: .use) == nil, "\(old) and \(new), \(bytes) bytes")
          }
        }
      }
    }
    #expect(CheckedNumber(rawValue: 0, in: .use) == nil, "zeros say nothing")
    let other = CheckedNumber(0, in: .evenStart).rawValue
    #expect(CheckedNumber(rawValue: other, in: .oddStart) == nil, "nor does another field's number")
  }

  @Test func `a running process that knows the values makes the journal anew once the damaged one is removed`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "k")
    let journal = folder.file(".d.plist.coffer")
    try FileManager.default.removeItem(atPath: journal.string)
    try folder.write("", to: ".d.plist.coffer")
    chmod(journal.string, 0o600)
    eventually { kind { _ = try store.load("k") } == .damaged }
    #expect(kind { try store.save(.integer(2), for: "k") } == .damaged)
    try FileManager.default.removeItem(atPath: journal.string)
    Thread.sleep(forTimeInterval: 0.12)  // No event: its next look at the journal's name is due.
    #expect(try store.load("k") == .integer(1))
    #expect(try folder.open(isShared: false).load("k") == .integer(1))
  }

  @Test(.tags(.process), .defaultRun) func `a journal has its name only when it is whole, wherever its maker dies`() throws {
    let folder = try TemporaryFolder()
    var deaths = 0
    for number in 1... {
      let place = folder.file("\(number)")
      let tool = try Tool("open-and-die", folder, arguments: ["\(number)"], place: place)
      tool.finish()
      guard tool.wasKilled else { break }
      deaths += 1
      let size = try FileStatus(at: place.appending(".d.plist.coffer"))?.size
      #expect(size == nil || size == JournalLayout.headerBytes + JournalLayout.step)
      #expect(try DefaultsStore.open(domain: "d", in: place, access: .readOnly).load("k") == nil)
      let next = try DefaultsStore.open(domain: "d", in: place)
      try next.save(.integer(1), for: "k")
      #expect(try DefaultsStore.open(domain: "d", in: place, access: .readOnly).load("k") == .integer(1))
      let names = try FileManager.default.contentsOfDirectory(atPath: place.string)
      #expect(names == [".d.plist.coffer"], "nothing half made is left")
    }
    #expect(deaths > 5)
    print("deaths while a journal was made: \(deaths)")
  }

  @Test(.tags(.campaign, .process), .wholeRun) func `many processes that open a new domain at once make one journal`() throws {
    for _ in 0..<Campaign.size(short: 3, long: 200) {
      let folder = try TemporaryFolder()
      let tools = try (0..<6).map { try Tool("write", folder, "p\($0)", "3") }
      for tool in tools { #expect(tool.finish().isEmpty) }
      #expect(try folder.open().names().count == 18)
      #expect(try !folder.names().contains { $0.hasSuffix("-new") })
    }
  }

  @Test func `a journal that says that a fold took for ever is folded all the same`() throws {
    let folder = try TemporaryFolder()
    let journal = try journalled(folder)
    let file = try FileHandle(forUpdating: URL(filePath: journal.string))
    try file.seek(toOffset: UInt64(JournalLayout.Field.foldTime.rawValue))
    try file.write(contentsOf: Data(repeating: 0xFF, count: 8))
    try file.close()
    // Then fifty seconds are between two folds: ten times the longest assumed fold.
    let list = folder.file("d.plist").string
    try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: list)
    let store = try folder.open(isShared: false, foldsWhenIdle: true)
    try store.save(.string("at last"), for: "k")
    try eventually("it is folded") { try folder.bytes(of: "d.plist").firstRange(of: Data("at last".utf8)) != nil }
  }

  @Test func `a copy with holes has its blocks again before records go there`() throws {
    let folder = try TemporaryFolder()
    let journal = try journalled(folder)
    let whole = try Data(contentsOf: URL(filePath: journal.string))
    let used = whole.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    // As cp copies blocks that were never written.
    try whole.prefix(used).write(to: URL(filePath: journal.string + "-copy"))
    #expect(truncate(journal.string + "-copy", whole.count) == 0)
    #expect(chmod(journal.string + "-copy", 0o600) == 0 && rename(journal.string + "-copy", journal.string) == 0)
    let before = try #require(try FileStatus(at: journal))
    guard before.blockBytes < before.size else { try Test.skip("this file system makes no holes") }
    let store = try folder.open(isShared: false)
    try store.save(.integer(1), for: "k")
    let after = try #require(try FileStatus(at: journal))
    #expect(after.blockBytes >= after.size)
    #expect(try store.names().count == 12)
  }
}
