import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferDefaults

@Suite
struct JournalTests {
  private static let writer = Record.Writer(process: 7, instance: 1)

  private static func bytes(_ record: Record, epoch: UInt64, after before: RecordLink = RecordLink()) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: record.count)
    bytes.withUnsafeMutableBytes { _ = record.encode(into: $0, epoch: epoch, after: before, writer: writer) }
    return bytes
  }

  private static func decode(
    _ bytes: [UInt8], epoch: UInt64, after before: RecordLink = RecordLink()
  ) -> (record: Record, end: RecordLink)? {
    bytes.withUnsafeBytes { Record.decode($0, epoch: epoch, after: before) }
  }

  @Test func `every kind of value comes back from a record`() throws {
    for (name, form) in InteropTests.values {
      let bytes = Self.bytes(.write([(name, form), ("gone", nil)]), epoch: 3)
      guard case .write(let changes, _)? = Self.decode(bytes, epoch: 3)?.record else {
        Issue.record("\(name) did not come back")
        continue
      }
      #expect(changes.map(\.name) == [name, "gone"])
      #expect(changes.map(\.form) == [form, nil])
    }
  }

  @Test func `a record of another epoch or behind another record, a changed byte and a shortened record are no records`() throws {
    let bytes = Self.bytes(.write([("name", .string("some value of a certain length"))]), epoch: 3)
    #expect(Self.decode(bytes, epoch: 3)?.end.count == bytes.count)
    #expect(Self.decode(bytes, epoch: 4) == nil)
    let other = RecordLink(check: 1)
    #expect(Self.decode(bytes, epoch: 3, after: other) == nil)
    #expect(Self.decode(Self.bytes(.write([]), epoch: 3, after: other), epoch: 3, after: other) != nil)
    for index in bytes.indices.dropFirst(4) {
      var changed = bytes
      changed[index] ^= 1
      #expect(Self.decode(changed, epoch: 3) == nil)
    }
    for count in 0..<bytes.count { #expect(Self.decode(Array(bytes.prefix(count)), epoch: 3) == nil) }
    #expect(Self.decode([UInt8](repeating: 0, count: 64), epoch: 3) == nil)
  }

  @Test func `a batch comes back with its transaction and the place that decides`() throws {
    let id = TransactionID.random()
    let batch = Record.Prepared(id: id, place: "/v/vault", changes: [("a", .integer(1)), ("b", nil)])
    guard case .prepare(let found)? = Self.decode(Self.bytes(.prepare(batch), epoch: 1), epoch: 1)?.record else {
      Issue.record("no batch")
      return
    }
    #expect(found.id == id && found.place == "/v/vault" && found.changes.map(\.name) == ["a", "b"])
    if case .commit(let other)? = Self.decode(Self.bytes(.commit(id), epoch: 1), epoch: 1)?.record { #expect(other == id) }
    if case .drop(let other)? = Self.decode(Self.bytes(.drop(id), epoch: 1), epoch: 1)?.record { #expect(other == id) }
  }

  @Test func `why a value was written comes back from a record, and a cause of later versions is a write`() throws {
    for cause in [Record.Cause.write, .expiry, .migration] {
      let write = Self.decode(Self.bytes(.write([("a", nil)], cause), epoch: 1), epoch: 1)
      let batch = Record.Prepared(id: .random(), place: "/v", changes: [("a", nil)], cause: cause)
      let prepared = Self.decode(Self.bytes(.prepare(batch), epoch: 1), epoch: 1)
      #expect(write?.record.cause == cause && prepared?.record.cause == cause)
    }
    var later = Self.bytes(.write([("a", nil)]), epoch: 1)
    later[9] = 200
    let sum = later.withUnsafeBytes { Checksum.of(UnsafeRawBufferPointer(rebasing: $0[8...]), epoch: 1, after: 0) }
    withUnsafeBytes(of: sum.littleEndian) { later.replaceSubrange(4..<8, with: $0) }
    #expect(Self.decode(later, epoch: 1)?.record.cause == .write)
  }

  @Test func `the bytes of a record are what they were`() {
    let bytes = Self.bytes(.write([("k", .integer(258))]), epoch: 1)
    let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(
      // The checksum was computed independently, from its description.
      hex == "22000000" + "77cca4cd" + "0100000007000000" + "01000000" + "01000000" + "6b" + "03" + "0201000000000000")
  }

  private func damage(_ folder: TemporaryFolder, at offset: Int, _ bytes: [UInt8]) throws {
    let file = try FileHandle(forUpdating: URL(filePath: folder.file(".d.plist.coffer").string))
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: bytes)
    try file.close()
  }

  @Test func `after a power loss the records themselves tell how far the journal reaches`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false)
    for number in 0..<20 { try store.save(.integer(Int64(number)), for: "old.\(number)") }
    try store.synchronize()
    try store.save(.integer(1), for: "new")
    let word = store.engine.state.withLock { $0.seen }
    // Another boot, and a word older than the records.
    try damage(folder, at: JournalLayout.Field.bootHigh.rawValue, [UInt8](repeating: 0xAA, count: 16))
    try damage(
      folder, at: JournalLayout.Field.word.rawValue,
      withUnsafeBytes(of: JournalWord(epoch: word.epoch, end: 0).rawValue, Array.init))
    let again = try folder.open(isShared: false)
    #expect(try again.load("new") == .integer(1))
    #expect(again.engine.state.withLock { $0.seen } == word, "records of the epoch before are not taken for new ones")
    // Another boot, and a word that promises more than exists.
    try damage(folder, at: JournalLayout.Field.bootHigh.rawValue, [UInt8](repeating: 0xAA, count: 16))
    try damage(folder, at: JournalLayout.Field.word.rawValue, withUnsafeBytes(of: word.advanced(by: 5000).rawValue, Array.init))
    #expect(try folder.open(isShared: false).names().count == 21)
  }

  @Test func `a record that a power loss took does not come back with the next one`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false)
    for name in ["a", "b", "c"] { try store.save(.integer(1), for: name) }
    // Another boot, and the middle record did not reach the disk.
    let middle = JournalLayout.headerBytes + Record.write([("a", .integer(1))]).count
    try damage(folder, at: JournalLayout.Field.bootHigh.rawValue, [UInt8](repeating: 0xAA, count: 16))
    try damage(folder, at: middle, [UInt8](repeating: 0, count: Record.headerBytes))
    let after = try folder.open(isShared: false)
    #expect(try after.names() == ["a"])
    try after.save(.integer(2), for: "b")
    try damage(folder, at: JournalLayout.Field.bootHigh.rawValue, [UInt8](repeating: 0xAA, count: 16))
    #expect(try folder.open(isShared: false).contents() == ["a": .integer(1), "b": .integer(2)])
  }

  @Test func `a foreign header is damage and a newer format says so`() throws {
    let folder = try TemporaryFolder()
    try folder.open(isShared: false).save(.integer(1), for: "k")
    try damage(folder, at: JournalLayout.Field.version.rawValue, [9])
    #expect(kind { _ = try folder.open(isShared: false) } == .newerFormat(found: 9, supported: 3))
    try damage(folder, at: 0, [9])
    #expect(kind { _ = try folder.open(isShared: false) } == .damaged)
  }

  @Test func `a word that no journal ever has is damage, and not an empty domain`() throws {
    let folder = try TemporaryFolder()
    let running = try folder.open(isShared: false)
    try running.save(.integer(1), for: "k")
    try damage(folder, at: JournalLayout.Field.word.rawValue, [UInt8](repeating: 0, count: 8))
    #expect(kind { _ = try folder.open(isShared: false) } == .damaged)
    #expect(kind { _ = try running.load("k") } == .damaged)
    #expect(kind { try running.save(.integer(2), for: "k") } == .damaged)
  }

  @Test func `a new journal's name is durable before anything is promised of what it holds`() throws {
    let folder = try TemporaryFolder()
    let synchronized = Mutex<[Int32: String]>([:])
    let folders = Mutex(0)
    var calls = SystemCalls()
    let real = calls
    calls.open = { path, flags, mode in
      let fd = real.open(path, flags, mode)
      synchronized.withLock { $0[fd] = path }
      return fd
    }
    calls.synchronize = { fd in
      if synchronized.withLock({ $0[fd] }) == folder.path.string { folders.withLock { $0 += 1 } }
      return real.synchronize(fd)
    }
    _ = try folder.open(isShared: false, calls: calls)
    #expect(folders.withLock { $0 } == 1)
    _ = try folder.open(isShared: false, calls: calls)
    #expect(folders.withLock { $0 } == 1, "an old one is durable already")
  }

  @Test(arguments: [JournalLayout.Field.evenStart, .oddStart, .allocated])
  func `a number in the header that cannot be is damage or is mended, never the end of the process`(
    _ field: JournalLayout.Field
  ) throws {
    for number in [UInt64.max, UInt64(JournalLayout.mappedBytes)] {
      let folder = try TemporaryFolder()
      try folder.open(isShared: false).save(.integer(1), for: "a")
      var bytes = try folder.bytes(of: ".d.plist.coffer")
      withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(field.rawValue..<field.rawValue + 8, with: $0) }
      try bytes.write(to: URL(filePath: folder.file(".d.plist.coffer").string))
      // One of the two starts is unused.
      let refusal = kind {
        let store = try folder.open(isShared: false)
        for key in 0..<3 { try store.save(.data(Data(repeating: 7, count: 100_000)), for: "k\(key)") }
        #expect(try store.load("a") == .integer(1))
        try store.synchronize()
      }
      #expect(refusal == nil || refusal == .damaged)
      if field == .allocated { #expect(refusal == nil) }
    }
  }

  @Test func `a long journal folds by itself and stays short`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let text = String(repeating: "x", count: 40_000)
    for round in 0..<10 {
      for number in 0..<60 { try store.save(.string(text + "\(round) \(number)"), for: "k") }
      eventually { store.engine.state.withLock { $0.spentBytes } < JournalLayout.foldAt }
    }
    #expect(folder.exists("d.plist"))
    #expect(try FileStatus(at: folder.file(".d.plist.coffer"))?.size ?? 0 < 12 * JournalLayout.foldAt)
  }

  @Test func `the pause before a fold that failed is tried again grows to a minute, and no further`() {
    let pauses = Array(sequence(first: IdleFold.quiet) { IdleFold.pause(after: $0) }.prefix(12))
    #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 < $1 || $0 == 60_000_000_000 })
    #expect(pauses.last == 60_000_000_000)
  }
}
