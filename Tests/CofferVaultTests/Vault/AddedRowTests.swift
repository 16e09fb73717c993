import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Rows that a writer without the key can add to the file, and rows that another writer with the key may leave.
@Suite struct AddedRowTests {
  func vault() throws -> TemporaryVault {
    let place = try TemporaryVault()
    let vault = try place.create()
    for number in 0..<3 { try vault.set(form("value"), for: ItemName(service: "svc", account: "\(number)")) }
    _ = try vault.lock()
    return place
  }

  @Test(arguments: [
    "INSERT INTO header VALUES (2, x'00')", "INSERT INTO header_copy VALUES (1, x'00')", "INSERT INTO state VALUES (-5, x'00')",
    "INSERT INTO log VALUES (-1, randomblob(99))", "INSERT INTO log VALUES (4611686018427387905, randomblob(99))",
    "INSERT INTO log VALUES (0, randomblob(97))", "INSERT INTO log VALUES (9, randomblob(99))",
    "INSERT INTO old SELECT * FROM rec LIMIT 1", "INSERT INTO old VALUES (zeroblob(16), zeroblob(16), zeroblob(160), NULL)",
    "INSERT INTO digest SELECT value, zeroblob(32) FROM (SELECT 0 AS value UNION SELECT 1 UNION SELECT 2 UNION SELECT 3) WHERE value NOT IN (SELECT bucket FROM digest)",
  ]) func `a row that no vault has is named by verify, not sealed by a rotation, and removed by a repair`(sql: String) throws {
    let place = try vault()
    try place.attack(sql)
    #expect(kind { _ = try place.unlock().verify() } == .tampered)
    #expect(kind { _ = try place.unlock().rotate() } == .tampered)
    let report = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials(), rebuilding: true)
    #expect(report.items == 3)
    #expect(try place.unlock().verify().records == 3)
  }

  private func root(_ table: String, _ place: TemporaryVault) throws -> Int {
    try #require(Int(place.hex("SELECT rootpage FROM sqlite_schema WHERE name='\(table)'")))
  }

  private func overwrite(_ place: TemporaryVault, at offset: Int, _ bytes: [UInt8]) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: place.path.string))
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  @Test func `a damaged page that holds no item is found by verify, and a rotation says that old bytes stay`() throws {
    let place = try vault()
    try overwrite(place, at: (root("decided", place) - 1) * 4096, [0x55, 0xFF, 0xFF, 0xFF, 0xFF])
    let vault = try place.unlock()
    #expect(text(try vault.get(ItemName(service: "svc", account: "1"))) == "value")
    #expect(kind { _ = try vault.verify() } == .damaged)
    do throws(StoreError) {
      try vault.rotate()
      Issue.record("the rotation passed in silence")
    } catch {
      #expect(error.kind == .damaged && error.what.contains("the change was made"), "\(error)")
    }
    let status = try vault.status()
    #expect(status.epoch == 2 && status.oldBytesRemain)
    #expect(text(try vault.get(ItemName(service: "svc", account: "1"))) == "value")
    try vault.set(form("other"), for: ItemName(service: "svc", account: "1"))
  }

  @Test func `a damaged list of free pages is found by verify`() throws {
    let place = try vault()
    let vault = try place.unlock()
    let large = SecretForm(try SecretBytes.random(40_000))
    try vault.set(large, for: ItemName(service: "large"))
    try vault.set(form("small"), for: ItemName(service: "large"))
    _ = try vault.lock()
    let file = try Data(contentsOf: URL(fileURLWithPath: place.path.string))
    let first = file[32..<36].reduce(0) { $0 << 8 | Int($1) }
    try #require(first > 0, "there are free pages")
    #expect(try place.unlock().verify().records == 4)
    try overwrite(place, at: (first - 1) * 4096 + 4, [0xFF, 0xFF, 0xFF, 0xFF])
    #expect(kind { _ = try place.unlock().verify() } == .damaged)
  }

  /// Stores a record that no version of Coffer writes: `edit` changes the description.
  private func plant(
    _ name: ItemName, value: [UInt8]?, in place: TemporaryVault, _ edit: (inout RecordMeta) -> Void = { _ in }
  ) throws {
    let vault = try OpenVault.unlock(.file(place.path), with: TemporaryVault.credentials())
    var meta = RecordMeta(
      revision: 1, service: name.service, account: name.account, created: 1, modified: 1, valueCount: value?.count)
    edit(&meta)
    let planted = meta
    try vault.write { (_, change) throws(StoreError) in try vault.plant(planted, value, &change) }
    vault.view.database.close()
  }

  @Test func `attributes whose names differ in their bytes alone are kept by all that seals the item again`() throws {
    let place = try vault()
    let name = try ItemName(service: "odd")
    let both = [
      RecordMeta.Attribute(name: "cafe\u{301}", value: "2"), RecordMeta.Attribute(name: "caf\u{E9}", value: "1"),
    ]
    try plant(name, value: [1], in: place) { $0.setAttributes(both) }
    let vault = try place.unlock()
    #expect(try vault.verify().records == 4)
    #expect(try vault.get(name)?.metadata.attributes == ["cafe\u{301}": "2"])
    try vault.set(form("another value"), for: name)
    try vault.rotate()
    try vault.apply([.move(name, to: ItemName(service: "moved"))])
    let moved = try ItemName(service: "moved")
    let attributes = try vault.core.read { (vault) throws(StoreError) in try vault.items.record(moved)?.meta.describingAttributes
    }
    #expect(attributes?.map { [UInt8]($0.name.utf8) } == both.map { [UInt8]($0.name.utf8) })
  }

  @Test func `an item without a value is listed, and named as such by whoever asks for the value`() throws {
    let place = try vault()
    let name = try ItemName(service: "valueless", account: "a")
    try plant(name, value: nil, in: place)
    let vault = try place.unlock()
    #expect(try vault.list().count == 4 && vault.verify().records == 4)
    func refusal(_ body: () throws -> Void) throws -> String? {
      do { try body() } catch let error as StoreError { return "\(error.kind) \(error.key ?? "")" }
      return nil
    }
    #expect(try refusal { _ = try vault.get(name) } == "damaged valueless/a")
    #expect(try refusal { try vault.forEachItem { _, _ in } } == "damaged valueless/a")
    let export = place.folder.appending("export")
    #expect(try refusal { _ = try vault.export(to: export, with: TemporaryVault.credentials()) } == "damaged valueless/a")
    #expect(try refusal { _ = try vault.apply([.move(name, to: ItemName(service: "other"))]) } == "damaged valueless/a")
    #expect(!FileManager.default.fileExists(atPath: export.string))
    try vault.rotate()
    try vault.set(form("now it has one"), for: name)
    #expect(try vault.export(to: export, with: TemporaryVault.credentials()) == 4)
  }

  @Test func `an event that this version does not know is told as unknown, and kept by a rotation`() throws {
    let place = try vault()
    let vault = try OpenVault.unlock(.file(place.path), with: TemporaryVault.credentials())
    let known = LogEntry(.itemSet, time: 5, user: 6, process: 7, program: "other")
    var bytes = known.encoded(after: .zero)
    bytes[1] = 200
    var head = Digest32.zero
    let unknown = try bytes.span.bytes.withUnsafeBytes { try LogEntry(decoding: $0, head: &head) }
    try vault.write { (_, change) throws(StoreError) in change.events.append(unknown) }
    vault.view.database.close()
    for _ in 0..<2 {
      let opened = try place.unlock()
      #expect(try opened.verify().records == 3)
      let entry = try #require(try opened.log().first { $0.event == .unknown })
      #expect(entry.program == "other" && entry.user == 6 && entry.slot == nil)
      try opened.rotate()
    }
  }
}
