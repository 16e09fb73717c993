import CCofferSQLite
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultRows

/// Small files that would cost SQLite much time and memory before any key is needed.
@Suite(.serialized) struct HostilePageTests {
  let fixture: VaultFixture
  init() throws { fixture = try VaultFixture() }

  private func file() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: fixture.vault.string)) }

  private func put(_ file: Data, bytes: Int) throws {
    try fixture.write([UInt8](file), to: fixture.vault.string)
    #expect(truncate(fixture.vault.string, off_t(bytes)) == 0)
  }

  private func root(_ table: String) throws -> Int {
    Int(try fixture.open().connection.number("SELECT rootpage FROM sqlite_schema WHERE name='\(table)'"))
  }

  /// A vault whose one record claims `claimed` bytes, over two pages that link to each other. The sparse file is just large
  /// enough for that.
  private func vaultWithACircle(of claimed: Int) throws {
    try fixture.create(records: 1).close()
    let number = try root("rec")
    var pages = try file()
    let first = pages.count / 4096 + 1
    for next in [first + 1, first] { pages.append(Data(Self.big(next) + [UInt8](repeating: 9, count: 4092))) }
    // The content bytes in the cell: "Database File Format", 1.6.
    let (least, most, usable) = (489, 1002, 4096)
    let local = least + (claimed - least) % (usable - 4)
    var record = Self.varint(claimed - 16 - 16 - 144 - 40)
    record = [0] + [44, 44] + Self.varint(12 + 2 * 144) + Self.varint(12 + 2 * (claimed - 600))
    record[0] = UInt8(record.count)
    record += [UInt8].index(0)
    record += [UInt8](repeating: 7, count: (local <= most ? local : least) - record.count)
    let cell = Self.varint(claimed) + record + Self.big(first)
    let content = 4096 - cell.count
    var page: [UInt8] = [0x0A, 0, 0, 0, 1] + Self.big(content).suffix(2) + [0] + Self.big(content).suffix(2)
    page += [UInt8](repeating: 0, count: content - page.count) + cell
    pages.replaceSubrange((number - 1) * 4096..<number * 4096, with: page)
    let count = claimed / 4096 + 16
    pages.replaceSubrange(28..<32, with: Self.big(count))
    try put(pages, bytes: count * 4096)
  }

  enum Endless: String, CaseIterable {
    case decided, header

    /// Its page kinds: "Database File Format", 1.6.
    fileprivate var kinds: (leaf: UInt8, interior: UInt8) { self == .decided ? (0x0A, 0x02) : (0x0D, 0x05) }
    /// The cell of one row, and the part of an interior cell after the page number.
    fileprivate var cells: (leaf: [UInt8], interior: [UInt8]) {
      let transaction = [4, 44, 1, 6] + [UInt8](repeating: 1, count: 16) + [2] + [UInt8](repeating: 0, count: 8)
      let entry = [UInt8(transaction.count)] + transaction
      return self == .decided ? (entry, entry) : ([7, 1] + [3, 0, 20] + [1, 2, 3, 4], [1])
    }
  }

  /// A vault in which every page of a tree links to the next one 110 times, so that eight pages read as 110^7 rows.
  private func vault(without end: Endless) throws {
    try fixture.create(records: 1).close()
    let (number, first) = (try root(end.rawValue), try file().count / 4096 + 1)
    var pages = try file()
    let depth = 7
    for page in 0..<depth {
      let next = page + 1 < depth ? Self.big(first + page + 1) + end.cells.interior : end.cells.leaf
      let cells = [[UInt8]](repeating: next, count: page + 1 < depth ? 110 : 1)
      pages.append(Data(Self.page(cells, page + 1 < depth ? end.kinds.interior : end.kinds.leaf, right: first + page + 1)))
    }
    let top = [[UInt8]](repeating: Self.big(first) + end.cells.interior, count: 110)
    pages.replaceSubrange((number - 1) * 4096..<number * 4096, with: Self.page(top, end.kinds.interior, right: first))
    pages.replaceSubrange(28..<32, with: Self.big(pages.count / 4096))
    try put(pages, bytes: pages.count)
  }

  /// A page of a tree; `right` is the last child of an interior page.
  private static func page(_ cells: [[UInt8]], _ kind: UInt8, right: Int) -> [UInt8] {
    var (content, places, end) = ([UInt8](), [UInt8](), 4096)
    for cell in cells {
      end -= cell.count
      content = cell + content
      places += big(end).suffix(2)
    }
    let head = [kind, 0, 0] + big(cells.count).suffix(2) + big(end).suffix(2) + [0] + (kind < 8 ? big(right) : []) + places
    return head + [UInt8](repeating: 0, count: end - head.count) + content
  }

  private static func big(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(number).bigEndian) { [UInt8]($0) } }

  private static func varint(_ number: Int) -> [UInt8] {
    var bytes = [UInt8(number & 0x7F)]
    var rest = number >> 7
    while rest > 0 {
      bytes.insert(UInt8(rest & 0x7F | 0x80), at: 0)
      rest >>= 7
    }
    return bytes
  }

  /// Most bytes that SQLite allocates during `body` and parallel tests.
  private func memory(_ body: () throws -> Void) rethrows -> Int64 {
    _ = sqlite3_memory_highwater(1)
    let before = sqlite3_memory_used()
    try body()
    return sqlite3_memory_highwater(0) - before
  }

  @Test func `a content that goes round in a circle is damage before it is read`() throws {
    let claimed = 256 << 20
    try vaultWithACircle(of: claimed)
    let taken = try memory {
      let vault = try fixture.open()
      expectError(.damaged) { () throws(StoreError) in _ = try vault.value(.index(0)) }
      expectError(.damaged) { () throws(StoreError) in _ = try vault.value(.index(1)) }
      expectError(.damaged) { () throws(StoreError) in _ = try vault.indices(inBucket: 0) }
    }
    #expect(taken < claimed / 2, "\(taken) bytes")
  }

  @Test func `a content that a value can have is read, and found too long where it is one`() throws {
    // Shorter than the row limit, so SQLite may follow it, but no value has a column of this length.
    try vaultWithACircle(of: 3 << 20)
    let vault = try fixture.open()
    expectError(.damaged) { () throws(StoreError) in _ = try vault.value(.index(0)) }
  }

  @Test func `a schema that does not fit on its page is damage before it is compiled`() throws {
    try fixture.create().close()
    try fixture.attack(
      "BEGIN;" + (0..<500).map { "CREATE TABLE t\($0)(x);" }.joined() + "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(fixture.openingError()?.kind == .damaged)
    #expect(fixture.openingError(.init(access: .readOnly))?.kind == .damaged)
  }

  @Test func `nor is one compiled that lies in the write-ahead log`() throws {
    try fixture.create().close()
    let vault = try fixture.open()
    // Kept open, so later writes stay in the log.
    try fixture.attack("PRAGMA wal_autocheckpoint=0; BEGIN;" + (0..<500).map { "CREATE TABLE t\($0)(x);" }.joined() + "COMMIT")
    #expect(try #require(FileManager.default.contents(atPath: fixture.side("-wal"))).count > 10_000)
    #expect(fixture.openingError()?.kind == .damaged)
    expectError(.damaged) { () throws(StoreError) in
      try vault.read { () throws(StoreError) in try vault.recheckSchema() }
    }
  }

  // In a whole run the limit includes the test's wait for a thread.
  @Test(.timeLimit(.minutes(60)), arguments: Endless.allCases)
  func `a table whose pages lead back to each other is damage after as many steps as the file has room for`(_ end: Endless) throws
  {
    try vault(without: end)
    let vault = try fixture.open()
    switch end {
    case .decided:
      expectError(.damaged) { () throws(StoreError) in try vault.read { () throws(StoreError) in try vault.outcomes.check() } }
      // Settling needs no key, and holds the lock of all writers.
      expectError(.damaged) { () throws(StoreError) in
        try vault.write { () throws(StoreError) in _ = try vault.outcomes.settle(.random(), now: 1) }
      }
      expectError(.damaged) { () throws(StoreError) in
        try vault.read { () throws(StoreError) in _ = try vault.outcomeRows.countOutcomes(2) }
      }
    case .header:
      expectError(.damaged) { () throws(StoreError) in try vault.read { () throws(StoreError) in try vault.checkNothingIsAdded() }
      }
    }
    expectError(.damaged) { () throws(StoreError) in try vault.write { () throws(StoreError) in try vault.removeWhatIsAdded() } }
    expectError(.damaged) { () throws(StoreError) in try vault.vacuum() }
    expectError(.damaged) { () throws(StoreError) in try vault.checkStorage() }
  }

  @Test func `a file of as many pages as no vault has is damage before a table is read`() throws {
    try fixture.create(records: 1).close()
    let (whole, most) = (try file(), Limits.mostPages)
    for (count, expected) in [(most, nil as StoreError.Kind?), (most + 1, .damaged)] {
      var pages = whole
      pages.replaceSubrange(28..<32, with: Self.big(count))
      // A sparse file that takes almost no disk space.
      try put(pages, bytes: count * 4096)
      #expect(fixture.openingError()?.kind == expected)
    }
  }

  @Test func `a damaged file can still be copied as it is, and be replaced by a backup`() throws {
    try fixture.create().close()
    let sound = fixture.folder.appending("sound.sqlite")
    try fixture.open().backUp(to: sound) { _, _ in }
    unlink(fixture.vault.string)
    try vaultWithACircle(of: 5 << 20)
    let damaged = try fixture.open()
    let copy = fixture.folder.appending("copy.sqlite")
    try damaged.backUp(to: copy) { _, _ in }
    #expect(try Data(contentsOf: URL(fileURLWithPath: copy.string)).count == file().count)
    expectError(.damaged) { () throws(StoreError) in _ = try damaged.value(.index(0)) }
    let source = try VaultDatabase.open(sound)
    try VaultReplacement(of: damaged, by: source).commit()
    #expect(try damaged.value(.index(0)) != nil)
  }

  @Test func `pages of every kind are told apart`() {
    func accepts(_ page: [UInt8]) -> Bool { page.withUnsafeBytes { PageCheck.accepts($0) } }
    func page(_ kind: UInt8, at start: Int = 0, cell: [UInt8], head: Int) -> [UInt8] {
      var page = [UInt8](repeating: 0, count: 512)
      page[start] = kind
      page[start + 4] = 1
      page[start + head] = 1
      page[start + head + 1] = 0x40
      page.replaceSubrange(320..<320 + cell.count, with: cell)
      return page
    }
    let first = [UInt8]("SQLite format 3\0".utf8)
    func pageOne(_ kind: UInt8, cell: [UInt8]) -> [UInt8] {
      first + page(kind, at: 100, cell: cell, head: 8).dropFirst(16)
    }
    let row = Self.varint(Limits.rowBytes)
    let longer = Self.varint(Limits.rowBytes + 1)
    for (kind, head, before) in [(0x0D, 8, 0), (0x0A, 8, 0), (0x02, 12, 4)] as [(UInt8, Int, Int)] {
      let child = [UInt8](repeating: 0, count: before)
      #expect(accepts(page(kind, cell: child + [0x7F], head: head)))
      #expect(accepts(page(kind, cell: child + row, head: head)))
      #expect(!accepts(page(kind, cell: child + longer, head: head)))
      #expect(!accepts(page(kind, cell: child + [UInt8](repeating: 0xFF, count: 9), head: head)))
    }
    #expect(accepts(page(0x05, cell: longer, head: 12)) && accepts(page(0, cell: longer, head: 8)))
    #expect(accepts(pageOne(0x0D, cell: [0x7F])) && !accepts(pageOne(0x0D, cell: row)) && !accepts(pageOne(0x05, cell: [])))
    // Pointers and counts that lead out of the page are not followed.
    var wild = [UInt8](repeating: 0xFF, count: 512)
    wild[0] = 0x0D
    #expect(accepts(wild))
  }
}
