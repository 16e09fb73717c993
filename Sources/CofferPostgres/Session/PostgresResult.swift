internal import CCofferLibraries
internal import CofferPlatform

/// The rows of an answer, held by libpq. Lent bytes live as long as this object.
///
/// A server can answer anything: each column's type and length are checked.
final class PostgresResult {
  /// Types of columns: `BYTEAOID`, `INT8OID`.
  static let bytea: UInt32 = 17, bigint: UInt32 = 20

  /// A parameter of type `bigint[]`, in binary: dimensions, whether there are NULLs, type, length and first subscript; then
  /// each number after its length. Source: PostgreSQL, `array_recv` in "arrayfuncs.c".
  static func array(of numbers: [Int64]) -> [UInt8] {
    let head = [numbers.isEmpty ? 0 : 1, 0, UInt32(bigint)] + (numbers.isEmpty ? [] : [UInt32(clamping: numbers.count), 1])
    var bytes: [UInt8] = []
    func append(_ number: some FixedWidthInteger) { withUnsafeBytes(of: number.bigEndian) { bytes += $0 } }
    for number in head { append(number) }
    for number in numbers {
      append(UInt32(8))
      append(number)
    }
    return bytes
  }

  private let library: coffer_libpq
  private let handle: OpaquePointer
  private let place: VaultPlace
  let count: Int

  init(_ handle: OpaquePointer, _ library: coffer_libpq, _ place: VaultPlace) {
    self.handle = handle
    self.library = library
    self.place = place
    count = Int(library.rows(handle))
  }

  deinit { library.clear(handle) }

  /// Checks that the columns have `types`, in binary.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered``.
  func check(_ types: [UInt32]) throws(StoreError) {
    let found = (0..<library.columns(handle)).map { library.column_format(handle, $0) == 1 ? library.column_type(handle, $0) : 0 }
    guard found == types else { throw tampered("a table of the vault has other columns than a vault has") }
  }

  func isNull(_ row: Int, _ column: Int32) -> Bool { library.is_null(handle, Int32(row), column) != 0 }

  /// The number of bytes of a column; 0 for NULL.
  func length(_ row: Int, _ column: Int32) -> Int { Int(library.length(handle, Int32(row), column)) }

  /// A `bigint`.
  func number(_ row: Int, _ column: Int32) throws(StoreError) -> Int64 {
    let bytes = try bytes(row, column)
    guard bytes.count == 8 else { throw tampered("a column holds \(bytes.count) bytes where a number belongs") }
    return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
  }

  /// A `bytea`, lent.
  func bytes(_ row: Int, _ column: Int32) throws(StoreError) -> UnsafeRawBufferPointer {
    guard !isNull(row, column) else { throw tampered("a column holds NULL where something belongs") }
    return UnsafeRawBufferPointer(
      start: library.value(handle, Int32(row), column), count: length(row, column))
  }

  /// A `bytea`, lent, with a length in `lengths`.
  func bytes(_ row: Int, _ column: Int32, _ lengths: ClosedRange<Int>) throws(StoreError) -> UnsafeRawBufferPointer {
    let bytes = try bytes(row, column)
    guard lengths.contains(bytes.count) else {
      throw StoreError(
        .damaged, "a column holds \(bytes.count) bytes where \(lengths.lowerBound) to \(lengths.upperBound) can be",
        place: place.description, cure: "run verify, then restore a backup")
    }
    return bytes
  }

  /// A text column.
  func text(_ row: Int, _ column: Int32) throws(StoreError) -> String {
    String(decoding: try bytes(row, column), as: UTF8.self)
  }

  /// The error for rows that no vault has.
  func tampered(_ what: String) -> StoreError {
    StoreError(
      .tampered, what, place: place.description,
      cure: "someone changed the vault without its key: restore a backup, and ask who can write to this database")
  }
}
