import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct RecordTests {
  let sample: SampleVault
  init() throws { sample = try SampleVault() }

  func open(_ record: SealedRecord, in table: RecordTable = .present) throws -> (RecordMeta, [UInt8]?) {
    let open = try record.withRow(in: table) { (row) throws(FormatError) in try row.open(keys: sample.keys) }
    let meta = open.meta
    let form = open.form()
    return (meta, form?.bytes.revealed)
  }

  func authenticates(_ record: SealedRecord) throws -> Bool {
    try record.withRow { (row) throws(FormatError) in try row.authenticatedMeta(sample.keys) != nil }
  }

  @Test(arguments: [0, 1, 255, 256, 2047, 2048, 100_000, RecordLimits.largestValue])
  func `a value comes back in its exact length`(_ count: Int) throws {
    let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let record = try sample.record(value)
    let (meta, opened) = try open(record)
    #expect(opened == value)
    #expect(meta == SampleVault.meta(count))
    #expect(try authenticates(record))
    #expect(record.value?.count == Padding.padded(count, block: Padding.valueBlock(count)) + 16)
    #expect(record.meta.count % 128 == 16)
  }

  @Test func `no value is not an empty value`() throws {
    let none = try sample.record(nil)
    let empty = try sample.record([])
    #expect(none.value == nil && empty.value != nil)
    #expect(try open(none).1 == nil)
    #expect(try open(empty).1 == [])
    #expect(try authenticates(none))
  }

  @Test func `a value that was taken away, or given to a record without one, is noticed without decrypting`() throws {
    for record in [try sample.record([]), try sample.record([1])] {
      let stripped = SealedRecord(index: record.index, id: record.id, meta: record.meta, value: nil)
      #expect(try !authenticates(stripped))
      #expect(throws: FormatError.unauthentic("value of a record")) { try open(stripped).0 }
    }
    let none = try sample.record(nil)
    let given = SealedRecord(index: none.index, id: none.id, meta: none.meta, value: try sample.record([1]).value)
    #expect(try !authenticates(given))
    #expect(throws: FormatError.self) { try open(given).0 }
  }

  @Test func `the description opens without the value`() throws {
    let record = try sample.record([1, 2, 3])
    let meta = try record.withRow { (row) throws(FormatError) in
      try RecordRow(table: row.table, index: row.index, id: row.id, meta: row.meta, value: nil).openMeta(keys: sample.keys)
    }
    #expect(meta.valueCount == 3)
    #expect(meta.attributes.map(\.name) == ["env", "user"])
    #expect(meta.itemMetadata.attributes == ["env": "prod", "user": "ann"])
  }

  @Test func `refuses every flipped bit and every truncation of either box`() throws {
    let record = try sample.record([1, 2, 3])
    let value = try #require(record.value)
    for meta in flips(record.meta) + (0..<record.meta.count).map({ Array(record.meta.prefix($0)) }) {
      let changed = SealedRecord(index: record.index, id: record.id, meta: meta, value: value)
      #expect(throws: FormatError.self) { try open(changed).0 }
      #expect(isRefused(changed))
    }
    for value in flips(value) + (0..<value.count).map({ Array(value.prefix($0)) }) {
      let changed = SealedRecord(index: record.index, id: record.id, meta: record.meta, value: value)
      #expect(throws: FormatError.self) { try open(changed).0 }
      #expect(isRefused(changed))
    }
  }

  /// Whether a check without opening the value refuses it: by a wrong tag, or by an impossible length.
  private func isRefused(_ record: SealedRecord) -> Bool {
    do { return try !authenticates(record) } catch { return error is FormatError }
  }

  @Test func `opens at no other place, under no other id, in no other vault, and not with its boxes swapped`() throws {
    let record = try sample.record([1, 2, 3])
    let other = try sample.record(
      [1, 2, 3], RecordMeta(revision: 1, service: "b", account: "", created: 0, modified: 0, valueCount: 3))
    let swaps = [
      SealedRecord(index: other.index, id: record.id, meta: record.meta, value: record.value),
      SealedRecord(index: record.index, id: other.id, meta: record.meta, value: record.value),
      SealedRecord(index: record.index, id: record.id, meta: other.meta, value: record.value),
      SealedRecord(index: record.index, id: record.id, meta: record.meta, value: other.value),
      SealedRecord(index: record.index, id: record.id, meta: try #require(record.value), value: record.meta),
    ]
    for swap in swaps {
      #expect(try !authenticates(swap))
      #expect(throws: FormatError.self) { try open(swap).0 }
    }
    #expect(throws: FormatError.damaged("record", "its names belong to another place")) { try open(record, in: .old).0 }
    let foreign = try SampleVault()
    #expect(try !record.withRow { (row) throws(FormatError) in try row.authenticatedMeta(foreign.keys) != nil })
  }

  @Test func `each write has another id, and each name, field, kind and revision another place`() throws {
    let ids = try (0..<20).map { _ in try sample.record([1]).id }
    #expect(Set(ids).count == 20)
    func index(_ kind: RecordKind, _ service: String, _ account: String, _ field: String, _ revision: UInt64) -> RecordIndex {
      RecordAddress(kind: kind, service: service, account: account, field: field, revision: revision).index(sample.keys)
    }
    let places = [
      index(.present, "a", "bc", "", 0), index(.present, "ab", "c", "", 0), index(.present, "a", "", "", 0),
      index(.present, "a", "b", "c", 0), index(.present, "a", "", "bc", 0), index(.former, "a", "bc", "", 1),
      index(.former, "a", "bc", "", 2), index(.deleted, "a", "bc", "", 2), index(.former, "a", "b", "c", 2),
      // Canonically equivalent, but two names.
      index(.present, "caf\u{E9}", "", "", 0), index(.present, "cafe\u{301}", "", "", 0),
    ]
    #expect(Set(places).count == places.count)
  }

  @Test func `where a record stands follows from its description, and the present one stays where it is`() throws {
    var meta = SampleVault.meta(1, field: "pin")
    meta.revision = 8
    let later = try sample.record([1], meta)
    #expect(try later.index == sample.record([1], SampleVault.meta(1, field: "pin")).index)
    #expect(try later.index != sample.record([1]).index)
    for kind in [RecordKind.former, .deleted] {
      meta.make(kind)
      let old = try sample.record([1], meta)
      #expect(
        old.index
          == RecordAddress(
            kind: kind, service: "example.org", account: "ann", field: "pin", revision: 8
          ).index(sample.keys))
      #expect(try open(old, in: .old).0 == meta)
      #expect(throws: FormatError.damaged("record", "its names belong to another place")) { try open(old).0 }
      // A writer's mistake: the box opens in its place, but names another one.
      var other = meta
      other.revision = 9
      let astray = try [UInt8(1)].span.bytes.withUnsafeBytes { (value) throws(FormatError) in
        try SealedRecord(other, value: value, index: old.index, keys: sample.keys)
      }
      #expect(throws: FormatError.damaged("record", "its names belong to another place")) { try open(astray, in: .old).0 }
    }
  }
}

@Suite struct RecordMetaTests {
  static func bytes(_ meta: RecordMeta) -> [UInt8] { ByteWriter.bytes(meta.encodedCount) { meta.write(to: &$0) } }

  static func decode(_ bytes: [UInt8]) throws -> RecordMeta {
    try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in try RecordMeta(decoding: bytes) }
  }

  @Test func `writes what it read, byte for byte, and refuses every truncation`() throws {
    let bytes = Self.bytes(SampleVault.meta(3))
    #expect(Self.bytes(try Self.decode(bytes)) == bytes)
    for count in 0..<bytes.count { #expect(throws: FormatError.self) { try Self.decode(Array(bytes.prefix(count))) } }
    #expect(throws: FormatError.self) { try Self.decode(bytes + [0]) }
  }

  @Test func `whatever single bit is changed, it is refused or has another meaning`() {
    let bytes = Self.bytes(SampleVault.meta(3))
    for flipped in flips(bytes) {
      guard let meta = try? Self.decode(flipped) else { continue }
      #expect(Self.bytes(meta) == flipped, "one encoding per value")
      #expect(meta != SampleVault.meta(3))
    }
  }

  @Test func `refuses what is beyond its limits`() {
    func text(_ count: Int) -> String { String(repeating: "x", count: count) }
    typealias Edit = (inout RecordMeta) -> Void
    let edits: [(Edit, Edit)] = [
      ({ $0.service = text(1024) }, { $0.service = text(1025) }),
      ({ $0.account = text(1024) }, { $0.account = text(1025) }),
      ({ $0.field = text(256) }, { $0.field = text(257) }),
      ({ $0.label = text(1024) }, { $0.label = text(1025) }),
      ({ $0.history = 100 }, { $0.history = 101 }),
      ({ $0.revision = 1 }, { $0.revision = 0 }),
      ({ $0.revision = FileCounter.most }, { $0.revision = FileCounter.most + 1 }),
      ({ $0.contentType = text(256) }, { $0.contentType = text(257) }),
      (
        { $0.setAttributes([.init(name: text(256), value: text(4096))]) },
        { $0.setAttributes([.init(name: text(257), value: "")]) }
      ),
      ({ $0.access = 0 }, { $0.access = 1 }),
      ({ _ in }, { $0.setAttributes([.init(name: "", value: text(4097))]) }),
      (
        { $0.setAttributes((0..<64).map { .init(name: "\($0)", value: "") }) },
        { $0.setAttributes((0..<65).map { .init(name: "\($0)", value: "") }) }
      ),
      ({ _ in }, { $0.setAttributes((0..<17).map { .init(name: "\($0)", value: text(4000)) }) }),
      ({ _ in }, { $0.setAttributes([.init(name: "a", value: "1"), .init(name: "a", value: "2")]) }),
    ]
    for (allowed, refused) in edits {
      var meta = SampleVault.meta()
      allowed(&meta)
      #expect((try? Self.decode(Self.bytes(meta))) == meta)
      refused(&meta)
      #expect(throws: FormatError.self) { try Self.decode(Self.bytes(meta)) }
    }
  }

  @Test func `attributes are in the order of their bytes, and their names are told apart by bytes alone`() throws {
    var meta = SampleVault.meta()
    meta.setAttributes([.init(name: "caf\u{E9}", value: "1"), .init(name: "cafe\u{301}", value: "2")])
    #expect(meta.attributes.map(\.value) == ["2", "1"])
    let read = try Self.decode(Self.bytes(meta))
    #expect(read == meta && read.attributes.count == 2)
    #expect(read.itemMetadata.attributes == ["cafe\u{301}": "2"], "Swift takes them for one name: callers see the first")
  }

  @Test func `a record of an unknown kind is refused`() throws {
    for (kind, isKnown) in [(UInt8(0), true), (1, true), (2, true), (3, false), (255, false)] {
      var bytes = Self.bytes(SampleVault.meta(3))
      #expect(Array(bytes.prefix(10)) == [1, 0, 2, 0, 0, 0, 0, 0, 0, 0])
      bytes[1] = kind
      if kind == 2 { bytes.insert(contentsOf: [UInt8](repeating: 1, count: 16) + [1, 0, 0, 0, 0, 0, 0, 0], at: bytes.count - 2) }
      #expect((try? Self.decode(bytes).kind.rawValue) == (isKnown ? kind : nil))
    }
  }

  @Test func `callers learn the limits before anything is sealed`() {
    let long = String(repeating: "x", count: 5000)
    for metadata in [
      ItemMetadata(label: long), ItemMetadata(contentType: long), ItemMetadata(attributes: ["a": long]),
      ItemMetadata(attributes: [long: ""]),
    ] {
      let error = #expect(throws: StoreError.self) { try RecordLimits.check(metadata) }
      guard case .tooLarge = error?.kind else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(error.map { "\($0)".contains("xxx") } == false)
    }
    #expect(throws: StoreError.self) { try RecordLimits.check(ItemMetadata(attributes: ["": "x"])) }
    #expect(throws: StoreError.self) { try RecordLimits.checkValue(RecordLimits.largestValue + 1) }
  }

  @Test func `times keep their milliseconds`() {
    for count: UInt64 in [1, 1_700_000_000_123, 4_102_444_800_999] {
      #expect(Milliseconds.count(Milliseconds.date(count)) == count)
    }
  }
}

extension SealedRecord {
  func withRow<Result: ~Copyable, Failure: Error>(
    in table: RecordTable = .present, _ body: (RecordRow) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try meta.span.bytes.withUnsafeBytes { (meta) throws(Failure) in
      guard let value else { return try body(RecordRow(table: table, index: index, id: id, meta: meta, value: nil)) }
      return try value.span.bytes.withUnsafeBytes { (value) throws(Failure) in
        try body(RecordRow(table: table, index: index, id: id, meta: meta, value: value))
      }
    }
  }
}
