internal import CCofferSQLite

/// Checks the pages of a database before SQLite trusts them.
///
/// Two parts of a page can cost SQLite disproportionate time and memory, whatever its limits. It reads a cell's whole content
/// to compare a key, and the overflow pages may form a loop, so a few hundred bytes stand for 2 GiB. It also compiles every
/// row of the schema. Source: SQLite, "Database File Format", 1.6 and 2.6.
enum PageCheck {
  private static let magic: StaticString = "SQLite format 3\0"
  private static let fileHeader = 100

  /// Accepts a page outside the trees: its first byte is the highest of a page number, 0 in every file of fewer than 2^24
  /// pages (``Limits/mostPages``).
  static func accepts(_ page: UnsafeRawBufferPointer) -> Bool {
    let isFirst = page.prefix(magic.utf8CodeUnitCount).elementsEqual(UnsafeRawBufferPointer(start: magic.utf8Start, count: 16))
    let start = isFirst ? fileHeader : 0
    switch page[start] {
    // A vault's schema has eight short rows and fits on page 1.
    case 0x05: return !isFirst
    case 0x0D: return hasShortCells(page, start, pointers: 8, payload: 0, most: isFirst ? page.count : Limits.rowBytes)
    case 0x0A: return hasShortCells(page, start, pointers: 8, payload: 0, most: Limits.rowBytes)
    case 0x02: return hasShortCells(page, start, pointers: 12, payload: 4, most: Limits.rowBytes)
    default: return true
    }
  }

  /// SQLite checks pointers beyond the page (`cell_size_check`).
  private static func hasShortCells(
    _ page: UnsafeRawBufferPointer, _ start: Int, pointers: Int, payload: Int, most: Int
  ) -> Bool {
    let first = start + pointers
    let count = min(word(page, start + 3), (page.count - first) / 2)
    for index in 0..<count {
      let cell = word(page, first + 2 * index) + payload
      guard cell < page.count else { continue }
      // Most cells have one length byte, up to 127; nearly all others have two, up to 16 383.
      if page[cell] < 0x80 { continue }
      guard length(page, cell) <= most else { return false }
    }
    return true
  }

  private static func word(_ page: UnsafeRawBufferPointer, _ offset: Int) -> Int {
    Int(page[offset]) << 8 | Int(page[offset + 1])
  }

  /// Up to nine bytes: seven bits in each, the highest first, and all eight of the ninth. Reading stops above any valid
  /// length.
  private static func length(_ page: UnsafeRawBufferPointer, _ offset: Int) -> Int {
    var number = 0
    for place in offset..<min(offset + 5, page.count) {
      number = number << 7 | Int(page[place] & 0x7F)
      if page[place] < 0x80 { return number }
    }
    return .max
  }
}

/// SQLite's methods of an open file, with an `xRead` that checks pages and does not report a failed disk as damage. The file
/// points to this value, and so to the fields after the methods.
struct CheckedMethods {
  private var methods = sqlite3_io_methods()
  private var base: UnsafePointer<sqlite3_io_methods>?
  var isUnchecked: Bool

  init(isUnchecked: Bool) { self.isUnchecked = isUnchecked }

  /// - Parameter place: memory that lasts as long as the file is open.
  static func put(
    over found: UnsafePointer<sqlite3_io_methods>?, at place: UnsafeMutablePointer<CheckedMethods>
  ) -> UnsafePointer<sqlite3_io_methods>? {
    guard let found else { return nil }
    place.pointee.base = found
    place.pointee.methods = found.pointee
    place.pointee.methods.xRead = { file, bytes, count, offset in CheckedMethods.read(file, bytes, count, offset) }
    return UnsafeRawPointer(place).assumingMemoryBound(to: sqlite3_io_methods.self)
  }

  /// Pages are read whole and one at a time; no other read has the length of a page.
  private static func read(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeMutableRawPointer?, _ count: Int32, _ offset: sqlite3_int64
  ) -> Int32 {
    guard let file, let methods = file.pointee.pMethods else { return SQLITE_IOERR }
    let checked = UnsafeRawPointer(methods).assumingMemoryBound(to: CheckedMethods.self)
    guard let base = checked.pointee.base else { return SQLITE_IOERR }
    let code = base.pointee.xRead(file, bytes, count, offset)
    // The disk failed. SQLite would report a damaged file (vdbe.c), and a user would restore a backup over a sound vault.
    if code == coffer_sqlite3_ioerr_corruptfs { return coffer_sqlite3_ioerr_read }
    guard code == SQLITE_OK, count >= 512, count & (count - 1) == 0, !checked.pointee.isUnchecked else { return code }
    return PageCheck.accepts(UnsafeRawBufferPointer(start: bytes, count: Int(count))) ? code : SQLITE_CORRUPT
  }
}
