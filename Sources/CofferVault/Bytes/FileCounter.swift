internal import CofferStorage

/// The numbers of eight bytes that a vault, a pin or a log row holds: generations, epochs, revisions, counts, places in the log
/// and times.
///
/// A file says what it likes. None of these can be above ``most``, so that no sum or difference of two of them leaves its type:
/// ``ByteReader`` hands them out checked, and has no other way to read eight bytes. A writer goes on to the next with
/// ``next(_:_:)``. A vault that is written once in a microsecond comes to the limit after 146 000 years; as a time it is in the
/// year 146 million.
enum FileCounter {
  static let most: UInt64 = 1 << 62

  /// The number after `number`.
  ///
  /// - Throws: ``FormatError/spent(_:)`` for the last one: it was not counted up to.
  static func next(_ number: UInt64, _ what: String) throws(FormatError) -> UInt64 {
    guard number < most else { throw .spent(what) }
    return number + 1
  }
}

/// Numbers that are read as they are: whatever they say, sums of two fit in an `Int`.
protocol ShortNumber: FixedWidthInteger {}
extension UInt8: ShortNumber {}
extension UInt16: ShortNumber {}
extension UInt32: ShortNumber {}
