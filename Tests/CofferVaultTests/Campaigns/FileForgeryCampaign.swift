import CofferTestSupport
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultRows

@Suite(.tags(.campaign), .wholeRun)
struct FileForgeryCampaign {
  /// Objects that no vault has or lacks; SQLite runs such a schema without complaint.
  @Test func `schemas with more, less or other than a vault has`() throws {
    let forge = try Forge(items: 3, versions: 1)
    let forger = try Forger(forge, every: 9)
    let tables = Schema.tables.map(\.name)
    for table in tables {
      let column =
        table == "decided"
        ? "txid" : table == "digest" ? "hash" : table == "log" ? "box" : ["rec", "old"].contains(table) ? "rid" : "bytes"
      for moment in ["BEFORE", "AFTER"] {
        for event in ["INSERT", "UPDATE", "DELETE"] {
          try forger.forge("CREATE TRIGGER extra \(moment) \(event) ON \(table) BEGIN DELETE FROM log; END", "a trigger")
        }
      }
      try forger.forge("CREATE INDEX extra ON \(table) (\(column))", "an index")
      try forger.forge("CREATE UNIQUE INDEX extra ON \(table) (\(column)) WHERE \(column) IS NOT NULL", "an index")
      try forger.forge("CREATE VIEW extra AS SELECT * FROM \(table)", "a view")
      try forger.forge(
        "ALTER TABLE \(table) RENAME TO gone; CREATE VIEW \(table) AS SELECT * FROM gone", "a view in a table's place")
      try forger.forge("CREATE TABLE extra AS SELECT * FROM \(table)", "a table")
      try forger.forge("ALTER TABLE \(table) ADD COLUMN extra BLOB", "a column")
      try forger.forge("DROP TABLE \(table)", "a table gone", as: ["damaged"])
      for other in tables where other != table {
        try forger.forge(
          """
          PRAGMA writable_schema=ON;
          UPDATE sqlite_schema SET rootpage=(SELECT rootpage FROM sqlite_schema WHERE name='\(other)') WHERE name='\(table)'
          """, "two tables on one root page", as: ["tampered", "damaged"])
        try forger.forge(
          """
          PRAGMA writable_schema=ON;
          CREATE TEMP TABLE t AS SELECT name, rootpage FROM sqlite_schema;
          UPDATE sqlite_schema SET rootpage=(SELECT rootpage FROM t WHERE t.name='\(other)') WHERE name='\(table)';
          UPDATE sqlite_schema SET rootpage=(SELECT rootpage FROM t WHERE t.name='\(table)') WHERE name='\(other)'
          """, "two tables' root pages exchanged", as: ["tampered", "damaged"])
      }
    }
    for version in [2, 3, 255, Int(Int32.max)] {
      try forger.forge("PRAGMA user_version=\(version)", "a newer version", as: ["newerFormat"])
    }
    for version in [0, -1] { try forger.forge("PRAGMA user_version=\(version)", "no version", as: ["damaged"]) }
    forger.tally.report("schemas")
  }

  /// B-trees whose scan and look-up disagree, and others that SQLite would never write.
  @Test func `trees that tell one thing to a scan and another to a look-up`() throws {
    let forge = try Forge(items: Campaign.size(short: 20, long: 250), versions: 1)
    let forger = try Forger(forge)
    let file = try #require(forge.kept.files["vault.sqlite"])
    let pages = try ["rec", "old", "digest"].flatMap { TreePage.all(of: try root($0, forge), in: file) }
    #expect(pages.contains { $0.isInterior })
    var edits: [(group: String, file: Data)] = []
    for page in pages {
      for first in 0..<page.count {
        for second in first + 1..<max(page.count, first + 1) {
          edits.append(("two cells exchanged", page.exchangingPointers(first, second, in: file)))
          if page.isInterior { edits.append(("two children exchanged", page.exchangingChildren(first, second, in: file))) }
        }
        edits.append(("a cell doubled in its neighbor's place", page.doubling(first, in: file)))
        if page.isInterior {
          edits.append(("a child exchanged with the last", page.exchangingWithLast(first, in: file)))
          for other in pages where other.number != page.number {
            edits.append(("a child that is another page", page.pointing(first, at: other.number, in: file)))
          }
        }
      }
      edits.append(("a page with one cell less", page.withCount(page.count - 1, in: file)))
      edits.append(("a page with one cell more", page.withCount(page.count + 1, in: file)))
    }
    let most = Campaign.isLong ? edits.count : 8
    // Two pages may look identical to a tree; such an edit changes nothing.
    for number in stride(from: 0, to: edits.count, by: max(1, edits.count / most)) where edits[number].file != file {
      try forger.forge(
        file: edits[number].file, edits[number].group, as: ["tampered", "damaged"], "edit \(number) of \(edits.count)")
    }
    forger.tally.report("trees")
  }

  private func root(_ table: String, _ forge: Forge) throws -> Int {
    try #require(Int(forge.place.hex("SELECT rootpage FROM sqlite_schema WHERE name='\(table)'")))
  }

  @Test func `older, forked and other files in the vault's place`() throws {
    let rounds = Campaign.size(short: 3, long: 150)
    let pinned = try PinnedVault(writes: 1)
    var older: [Data] = []
    for round in 0..<rounds {
      older.append(try pinned.bytes())
      try pinned.write("round \(round)")
    }
    let newest = try pinned.bytes()
    let pins = try KeptFiles(pinned.pins)
    var tally = Tally()
    func refusal(_ bytes: Data) throws -> String {
      try pins.put(into: pinned.pins)
      try pinned.replace(with: bytes)
      return try pinned.refusal().map { "\($0)" } ?? "ACCEPTED"
    }
    for (round, bytes) in older.enumerated() {
      tally.add("an older file", try refusal(bytes), allowed: ["rolledBack"], "round \(round)")
      // Written on elsewhere until it has at least as many commits as this machine saw.
      let elsewhere = try TemporaryVault()
      try KeptFiles(["vault.sqlite": bytes]).put(into: elsewhere.folder)
      let apart = try elsewhere.unlock()
      for extra in 0..<rounds - round + (round % 3) { try apart.set(form("apart \(extra)"), for: pinned.name) }
      _ = try apart.lock()
      let fork = try Data(contentsOf: URL(fileURLWithPath: elsewhere.path.string))
      tally.add("a file written apart", try refusal(fork), allowed: ["forked"], "round \(round)")
      let other = try TemporaryVault()
      _ = try other.create().lock()
      let foreign = try Data(contentsOf: URL(fileURLWithPath: other.path.string))
      tally.add("another vault in its place", try refusal(foreign), allowed: ["replaced"], "round \(round)")
    }
    tally.add("the vault itself", try refusal(newest), allowed: ["ACCEPTED"], "the newest")
    tally.report("whole files")
  }

  /// SQLite deletes the file that a journal names at the first read. It must survive.
  @Test func `journals that name a bystander`() throws {
    let forge = try Forge(items: 2, versions: 1)
    var tally = Tally()
    for mode in ["WAL", "DELETE"] {
      let forger = try Forger(forge)
      try forge.kept.put(into: forger.place.folder)
      try forger.place.attack("PRAGMA journal_mode=\(mode)")
      for extra in 0..<Campaign.size(short: 2, long: 200) {
        let bystander = forger.place.folder.appending("bystander" + String(repeating: "x", count: extra % 200)).string
        for records in [0, 1] {
          #expect(FileManager.default.createFile(atPath: bystander, contents: Data([1])))
          let journal = forger.place.path.string + "-journal"
          let content = Data(Self.journal(naming: bystander, records: records))
          #expect(FileManager.default.createFile(atPath: journal, contents: content, attributes: [.posixPermissions: 0o600]))
          let outcome = forger.place.answer(forge.all)
          let survived = FileManager.default.fileExists(atPath: bystander)
          tally.add(
            "journal mode \(mode)", survived ? outcome : "BYSTANDER DELETED", allowed: ["tampered"], "\(extra)/\(records)")
          unlink(journal)
          unlink(bystander)
        }
      }
      tally.add("without it", forger.place.answer(forge.all), allowed: ["right answer"], mode)
    }
    tally.report("journals that name a bystander")
  }

  /// A journal that names `file` as its super-journal: name, length, checksum and magic at its end (file format, 3).
  static func journal(naming file: String, records: Int) -> [UInt8] {
    let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    var bytes = magic + [UInt8](repeating: 0, count: 504)
    bytes[11] = UInt8(records)
    bytes[23] = 1  // The database had one page.
    bytes[26] = 16  // Its pages have 4096 bytes, sectors 512.
    bytes[22] = 2
    if records > 0 { bytes += [UInt8](repeating: 0, count: 4 + 4096 + 4) }
    let name = [UInt8](file.utf8)
    bytes += [0x40, 0, 0, 1] + name
    bytes += withUnsafeBytes(of: UInt32(name.count).bigEndian) { [UInt8]($0) }
    let sum = name.reduce(UInt32(0)) { $0 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) }
    return bytes + withUnsafeBytes(of: sum.bigEndian) { [UInt8]($0) } + magic
  }
}

/// A B-tree page ("Database File Format", 1.6).
struct TreePage {
  let number: Int
  let isInterior: Bool
  let count: Int
  private var start: Int { (number - 1) * 4096 }
  private var pointers: Int { start + (isInterior ? 12 : 8) }

  init(_ number: Int, in file: Data) {
    self.number = number
    let kind = file[(number - 1) * 4096]
    isInterior = kind == 2 || kind == 5
    count = file.big16((number - 1) * 4096 + 3)
  }

  static func all(of root: Int, in file: Data) -> [TreePage] {
    let page = TreePage(root, in: file)
    guard page.isInterior else { return [page] }
    let children = (0..<page.count).map { file.big32(page.cell($0, in: file)) } + [file.big32(page.start + 8)]
    return [page] + children.flatMap { all(of: $0, in: file) }
  }

  private func cell(_ index: Int, in file: Data) -> Int { start + file.big16(pointers + 2 * index) }

  func exchangingPointers(_ first: Int, _ second: Int, in file: Data) -> Data {
    file.exchanging(pointers + 2 * first, pointers + 2 * second, 2)
  }

  func exchangingChildren(_ first: Int, _ second: Int, in file: Data) -> Data {
    file.exchanging(cell(first, in: file), cell(second, in: file), 4)
  }

  func exchangingWithLast(_ index: Int, in file: Data) -> Data { file.exchanging(cell(index, in: file), start + 8, 4) }

  func pointing(_ index: Int, at page: Int, in file: Data) -> Data {
    let bytes = withUnsafeBytes(of: UInt32(page).bigEndian) { Data($0) }
    let place = cell(index, in: file)
    var edited = file
    edited.replaceSubrange(place..<place + 4, with: bytes)
    return edited
  }

  func doubling(_ index: Int, in file: Data) -> Data {
    var edited = file
    let from = pointers + 2 * index
    let to = pointers + 2 * ((index + 1) % count)
    edited.replaceSubrange(to..<to + 2, with: file[from..<from + 2])
    return edited
  }

  func withCount(_ count: Int, in file: Data) -> Data {
    var edited = file
    edited.replaceSubrange(start + 3..<start + 5, with: withUnsafeBytes(of: UInt16(max(0, count)).bigEndian) { Data($0) })
    return edited
  }
}

extension Data {
  fileprivate func big16(_ offset: Int) -> Int { Int(self[offset]) << 8 | Int(self[offset + 1]) }
  fileprivate func big32(_ offset: Int) -> Int { big16(offset) << 16 | big16(offset + 2) }

  fileprivate func exchanging(_ first: Int, _ second: Int, _ length: Int) -> Data {
    var edited = self
    edited.replaceSubrange(first..<first + length, with: self[second..<second + length])
    edited.replaceSubrange(second..<second + length, with: self[first..<first + length])
    return edited
  }
}
