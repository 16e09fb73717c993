import CofferTestSupport
import CofferMemory
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct LogTests {
  let sample: SampleVault
  init() throws { sample = try SampleVault() }

  func open(_ row: [UInt8], _ sequence: UInt64, _ head: Digest32) throws -> LogEntry {
    try row.span.bytes.withUnsafeBytes { (row) throws(FormatError) in
      try LogBox.open(row, sequence: sequence, after: head, keys: sample.keys)
    }
  }

  func next(_ head: Digest32, _ sequence: UInt64, _ row: [UInt8]) -> Digest32 {
    row.span.bytes.withUnsafeBytes { LogBox.head(after: head, sequence: sequence, row: $0, keys: sample.keys) }
  }

  @Test func `every event comes back, in its place of the chain only`() throws {
    var head = Digest32.zero
    for (place, event) in LogEntry.Event.allCases.enumerated() {
      let sequence = UInt64(place + 1)
      let detail = event == .trimmed ? LogEntry.Trim(first: 2, head: .zero).detail : [1, 2]
      let entry = LogEntry(event, time: 7, user: 1000, process: 42, program: "coffer", index: .random(), detail: detail)
      let row = LogBox.seal(entry, sequence: sequence, after: head, keys: sample.keys)
      #expect(try open(row, sequence, head) == entry)
      let commit = CommitID.random()
      let named = try open(
        LogBox.seal(LogEntry(entry, by: commit), sequence: sequence, after: head, keys: sample.keys), sequence, head)
      #expect(named.commit == commit && named.index == entry.index && LogEntry(named, by: .zero) == entry)
      #expect(throws: FormatError.unauthentic("log")) { try open(row, sequence + 1, head) }
      #expect(throws: FormatError.unauthentic("log")) { try open(row, sequence, PlainHash.digest(row)) }
      for changed in flips(row, atMost: 200) { #expect(throws: FormatError.self) { try open(changed, sequence, head) } }
      for count in 0..<row.count { #expect(throws: FormatError.self) { try open(Array(row.prefix(count)), sequence, head) } }
      head = next(head, sequence, row)
    }
  }

  @Test func `two rows at one place of two copies have nothing in common`() {
    let entry = LogEntry(.itemSet, time: 7, user: 1000, process: 42, program: "coffer")
    let one = LogBox.seal(entry, sequence: 1, after: .zero, keys: sample.keys)
    let two = LogBox.seal(entry, sequence: 1, after: .zero, keys: sample.keys)
    #expect(zip(one, two).count { $0 == $1 } < 16)
  }

  @Test func `long programs and details are cut, between characters`() throws {
    let entry = LogEntry(
      .itemSet, time: 0, user: 0, process: 0, program: String(repeating: "é", count: 200),
      detail: [UInt8](repeating: 1, count: 300))
    #expect(entry.program.utf8.count == 256 && entry.detail.count == 256)
    let row = LogBox.seal(entry, sequence: 1, after: .zero, keys: sample.keys)
    #expect(row.count == LogEntry.rowBytes.upperBound - 4096 && LogEntry.rowBytes == 144...4752)
    #expect(try open(row, 1, .zero) == entry)
  }

  @Test func `a trim point comes back from a detail`() throws {
    let trim = LogEntry.Trim(first: 77, head: PlainHash.digest([1]))
    #expect(try LogEntry.Trim(detail: trim.detail) == trim)
    for wrong in [trim.detail + [0], LogEntry.Trim(first: 1, head: .zero).detail, Array(trim.detail.dropLast())] {
      #expect(throws: FormatError.self) { try LogEntry.Trim(detail: wrong) }
    }
    #expect(try LogEntry.Trim(detail: LogEntry.Trim(first: 2, head: .zero).detail).first == 2)
  }
}

@Suite struct PinRecordTests {
  @Test func `comes back as it was written, and no changed byte does`() throws {
    let pin = PinRecord(
      vault: .random(), replica: .random(), key: .some(2), seen: .init(generation: 9, commit: .random()),
      own: .init(generation: 8, commit: .random()))
    let bytes = pin.encoded()
    #expect(bytes.count == 160)
    func decode(_ bytes: [UInt8]) throws -> PinRecord {
      try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in try PinRecord(decoding: bytes) }
    }
    #expect(try decode(bytes) == pin)
    for changed in flips(bytes) { #expect(throws: FormatError.self) { try decode(changed) } }
    for count in 0..<160 { #expect(throws: FormatError.self) { try decode(Array(bytes.prefix(count))) } }
    var spare = Array(bytes.prefix(144))
    spare[130] = 1
    #expect(throws: FormatError.self) { try decode(spare + PlainHash.digest(spare).bytes.prefix(16)) }
  }

  @Test func `a mirror's record has the time of its last refresh, and neither kind is taken for the other`() throws {
    var pin = PinRecord(
      vault: .random(), replica: .zero, key: .some(2), seen: .init(generation: 9, commit: .random()), own: .never,
      refreshed: 1_795_000_000_000)
    func decode(_ pin: PinRecord, isOfMirror: Bool) throws -> PinRecord {
      try pin.encoded().span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in
        try PinRecord(decoding: bytes, isOfMirror: isOfMirror)
      }
    }
    #expect(try decode(pin, isOfMirror: true) == pin && pin.encoded().count == 160)
    #expect(throws: FormatError.self) { try decode(pin, isOfMirror: false) }
    pin.refreshed = 0
    #expect(throws: FormatError.self) { try decode(pin, isOfMirror: true) }
    pin.refreshed = .max
    #expect(throws: FormatError.self) { try decode(pin, isOfMirror: true) }
  }

  @Test func `an epoch or a commit of no number is none, and only a machine that never wrote has no commit of its own`() throws {
    func refuses(_ epoch: UInt64 = 2, seen: UInt64 = 9, own: UInt64 = 0, _ commit: CommitID = .zero) throws -> Bool {
      let pin = PinRecord(
        vault: .random(), replica: .random(), key: .some(epoch), seen: .init(generation: seen, commit: .random()),
        own: .init(generation: own, commit: commit))
      do throws(FormatError) {
        let bytes = pin.encoded()
        return try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in try PinRecord(decoding: bytes) } != pin
      } catch { return true }
    }
    #expect(try !refuses() && !refuses(own: 9, .random()))
    #expect(try refuses(0) && refuses(seen: 0) && refuses(own: 0, .random()))
  }
}
