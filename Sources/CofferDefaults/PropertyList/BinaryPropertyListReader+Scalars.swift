internal import CofferStorage
internal import FoundationEssentials

extension BinaryPropertyListReader {
  /// Up to four bytes have no sign, eight have one, and sixteen are for what is above `Int64.max`.
  func integer(_ content: UnsafeRawBufferPointer) throws(PropertyList.Failure) -> PlainForm {
    let low = content.suffix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    guard content.count == 16 else { return .integer(Int64(bitPattern: low)) }
    let high = content.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    if high == 0 { return Int64(exactly: low).map(PlainForm.integer) ?? .unsigned(low) }
    guard high == .max, low >> 63 == 1 else { throw Self.damaged }
    return .integer(Int64(bitPattern: low))
  }

  /// Of the many bit patterns that are no number there is one, as with Foundation.
  func real(_ content: UnsafeRawBufferPointer) -> Double {
    let bits = content.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    let number =
      content.count == 4 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
    return number.isNaN ? .nan : number
  }

  /// Seconds since the beginning of 2001.
  func date(_ content: UnsafeRawBufferPointer) throws(PropertyList.Failure) -> Date {
    let seconds = real(content)
    // It would be no moment, and not even equal to itself.
    guard seconds.isFinite else { throw Self.damaged }
    return Date(timeIntervalSinceReferenceDate: seconds)
  }

  /// Foundation takes bytes that are not ASCII for Latin 1.
  func ascii(_ content: UnsafeRawBufferPointer) -> String {
    guard content.contains(where: { $0 >= 0x80 }) else { return String(decoding: content, as: UTF8.self) }
    return String(decoding: content.map(UInt16.init), as: UTF16.self)
  }

  /// Half a pair of surrogates becomes U+FFFD, as it does where Foundation hands text to Swift.
  func utf16(_ content: UnsafeRawBufferPointer) -> String {
    let units = stride(from: 0, to: content.count, by: 2).map { UInt16(content[$0]) << 8 | UInt16(content[$0 + 1]) }
    return String(decoding: units, as: UTF16.self)
  }

  /// The one kind that ``PlainForm`` does not name, a reference inside of a keyed archive: kept as XML has it, `{CF$UID: n}`.
  func reference(_ content: UnsafeRawBufferPointer) throws(PropertyList.Failure) -> PlainForm {
    guard content.count <= 8, let number = Self.number(content, 0, content.count), let number = UInt32(exactly: number) else {
      throw Self.damaged
    }
    return .dictionary([PropertyList.referenceKey: .integer(Int64(number))])
  }
}
