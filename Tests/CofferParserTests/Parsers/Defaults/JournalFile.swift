import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferDefaults

/// One journal in memory for all inputs: making and mapping a file would cost more than reading it.
final class JournalFile: Sendable {
  static let shared = JournalFile()

  private static let fields = 248
  private static let room = 8192

  private let turn = Mutex(())

  func read(_ content: [UInt8], checked: UInt8) throws {
    try turn.withLock { _ in try readAlone(content, checked) }
  }

  private func readAlone(_ content: [UInt8], _ checked: UInt8) throws {
    let journal = try Self.made.get()
    var header = Array(content.prefix(Self.fields))
    header += [UInt8](repeating: 0, count: Self.fields - header.count)
    var records = Array(content.dropFirst(Self.fields))
    try Self.repair(&header, &records, checked)
    try Self.put(header, at: 0, journal)
    try Self.put(
      records + [UInt8](repeating: 0, count: max(0, Self.room - records.count)), at: JournalLayout.headerBytes, journal)
    try Self.follow(journal)
  }

  private static func follow(_ journal: Journal) throws {
    try journal.checkFormat()
    _ = (journal.holder, try journal.memory.list, try journal.memory.isRetired())
    _ = try journal.memory.isOf(journal.file)
    let word = try journal.wholeWord()
    let start = try journal.memory.start(of: word)
    guard start <= word.end, word.end <= Self.room else { throw journal.memory.damagedHeader }
    var state = EngineState()
    var seen = start
    let seed = try journal.memory.seed(of: word.epoch)
    state.last = seed
    try journal.withRecords(start..<word.end) { (bytes) throws(StoreError) in
      while let (record, end) = Record.decode(
        UnsafeRawBufferPointer(rebasing: bytes[(seen - start)...]), epoch: word.epoch, after: state.last)
      {
        state.apply(record)
        seen += end.count
        state.last = end
      }
    }
    guard seen == word.end else { throw journal.torn }
    let weight = state.values.reduce(0) { $0 + Budget.weight(of: $1.value, under: $1.key) }
    try promise(state.weight == weight, "the weight of a domain is not that of its values")
    let survivors = state.batches.records
    var bytes = [UInt8](repeating: 0, count: survivors.reduce(0) { $0 + $1.count })
    bytes.withUnsafeMutableBytes {
      _ = Record.encode(survivors, into: $0, epoch: word.epoch, after: seed, writer: Record.Writer(process: 1, instance: 1))
    }
    let whole = bytes.lent { Record.wholeBytes($0, epoch: word.epoch, after: seed) }
    try promise(whole == bytes.count, "a fold would write a record that is none")
  }

  /// Makes checks valid that no fuzzer finds: a bit each for the word, the two starts and seeds, the use, and the records.
  private static func repair(_ header: inout [UInt8], _ records: inout [UInt8], _ checked: UInt8) throws {
    func load(_ field: JournalLayout.Field) -> UInt64 {
      header.lent { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: field.rawValue, as: UInt64.self)) }
    }
    func store(_ number: UInt64, _ field: JournalLayout.Field) {
      header.withUnsafeMutableBytes {
        $0.storeBytes(of: number.littleEndian, toByteOffset: field.rawValue, as: UInt64.self)
      }
    }
    if checked & 1 != 0 {
      store(JournalLayout.magic, .magic)
      store(JournalLayout.version, .version)
    }
    if checked & 2 != 0 {
      let word = load(.word)
      store(JournalWord(epoch: max(1, word & 0xFF), end: records.count).rawValue, .word)
    }
    if checked & 4 != 0 {
      for field in [JournalLayout.Field.evenStart, .oddStart, .evenSeed, .oddSeed, .use] {
        store(CheckedNumber(UInt32(truncatingIfNeeded: load(field) & 0xFF), in: field).rawValue, field)
      }
    }
    guard checked & 8 != 0 else { return }
    let word = JournalWord(rawValue: load(.word))
    guard word.isWhole else { return }
    var at = Int(UInt32(truncatingIfNeeded: load(JournalLayout.start(of: word.epoch))))
    var last = UInt32(truncatingIfNeeded: load(JournalLayout.seed(of: word.epoch)))
    while at + Record.headerBytes <= records.count {
      let said = Int(records[at]) | Int(records[at + 1]) << 8
      let count = min(max(Record.headerBytes, said), records.count - at)
      var record = Array(records[at..<at + count])
      last = DefaultsParsers.seal(&record, epoch: word.epoch, after: last)
      records.replaceSubrange(at..<at + count, with: record)
      at += count
    }
  }

  private static func put(_ bytes: [UInt8], at offset: Int, _ journal: Journal) throws {
    guard bytes.lent({ journal.calls.write(journal.fd, $0, offset) }) == bytes.count else {
      throw BrokenPromise("the journal in memory cannot be written")
    }
  }

  private static let made = Result<Journal, any Error> {
    let descriptor = coffer_memory_file("journal")
    guard descriptor >= 0, ftruncate(descriptor, off_t(JournalLayout.headerBytes + room)) == 0 else {
      throw BrokenPromise("no file in memory")
    }
    let path = FilePath("/proc/self/fd/\(descriptor)")
    return try Journal(descriptor, FileStatus(of: descriptor, place: path), path: path, isWritable: true, calls: SystemCalls())
  }
}
