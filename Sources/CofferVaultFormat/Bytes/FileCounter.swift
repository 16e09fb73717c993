/// The eight-byte numbers in a vault, a pin or a log row: generations, epochs, revisions, counts, places in the log and
/// times.
///
/// A file can contain any number. ``ByteReader`` rejects those above ``most`` and has no other way to read eight bytes, so no
/// sum or difference of two overflows. A writer counts with ``next(_:_:)``. A vault written every microsecond reaches the
/// limit after 146 000 years; as a time it is the year 146 million.
package enum FileCounter {
  package static let most: UInt64 = 1 << 62

  /// The number after `number`.
  ///
  /// - Throws: ``FormatError/spent(_:)`` for the last one, which counting cannot reach.
  package static func next(_ number: UInt64, _ what: String) throws(FormatError) -> UInt64 {
    guard number < most else { throw .spent(what) }
    return number + 1
  }
}

/// Numbers that need no bound: sums of any two fit in an `Int`.
package protocol ShortNumber: FixedWidthInteger {}
extension UInt8: ShortNumber {}
extension UInt16: ShortNumber {}
extension UInt32: ShortNumber {}
