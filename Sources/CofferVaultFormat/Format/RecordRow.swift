package import CofferMemory
package import CofferStorage

/// A record's row, lent by its reader. Columns are opened in place, without a copy.
package struct RecordRow {
  let table: RecordTable
  package let index: RecordIndex
  package let id: RecordID
  package let meta: UnsafeRawBufferPointer
  /// Nil for SQL's NULL.
  package let value: UnsafeRawBufferPointer?
  /// The vault is of a later version of the format, which may have other kinds of records.
  var admitsLater = false

  package init(
    table: RecordTable, index: RecordIndex, id: RecordID, meta: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?,
    admitsLater: Bool = false
  ) {
    (self.table, self.index, self.id, self.meta, self.value, self.admitsLater) = (table, index, id, meta, value, admitsLater)
  }

  private static let valuePart = "value of a record"
  private static let valueBeyondMeta = FormatError.damaged(RecordMeta.part, "it has a value that it does not declare")
  private static let metaBytes =
    Padding.padded(0, block: Padding.metaBlock) + AEAD.tagBytes...Padding.padded(RecordMeta.longest, block: Padding.metaBlock)
    + AEAD.tagBytes
  private static let valueBytes =
    Padding.padded(0, block: Padding.valueBlock(0)) + AEAD.tagBytes...Padding.padded(
      RecordLimits.largestValue, block: Padding.valueBlock(RecordLimits.largestValue)) + AEAD.tagBytes

  /// The description tells the value's length, so the value need not be read.
  ///
  /// - Parameter checksPlace: whether the address inside must lead back to the row's place. A box of another place does not
  ///   open, so this only detects a writer's mistake. False if the caller computed the place from an address and compares
  ///   that with the one inside.
  package func openMeta(checksPlace: Bool = true, keys: borrowing Subkeys) throws(FormatError) -> RecordMeta {
    let meta = try RecordKeys.with(index, id, keys) { (key, _) throws(FormatError) in try decodeMeta(key) }
    if checksPlace { try check(meta, keys) }
    return meta
  }

  /// Lends the description, encoded and decoded, after checking that it is readable and belongs here.
  package func withDescription<Result>(
    place: String, keys: borrowing Subkeys, _ body: (RecordMeta, UnsafeRawBufferPointer) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let plain: SecretBytes
    do throws(FormatError) {
      plain = try RecordKeys.with(index, id, keys) { (key, _) throws(FormatError) in try openedMeta(key) }
    } catch { throw error.storeError(place: place) }
    return try plain.withUnsafeBytes { (plain) throws(StoreError) in
      let meta: RecordMeta, bytes: UnsafeRawBufferPointer
      do throws(FormatError) {
        bytes = try Self.unpadded(plain)
        meta = try RecordMeta(decoding: bytes, admitsLater: admitsLater)
        try check(meta, keys)
      } catch { throw error.storeError(place: place) }
      return try body(meta, bytes)
    }
  }

  /// The description and the value, which is nil if the record has none. Checks the place like
  /// ``openMeta(checksPlace:keys:)``.
  package func open(checksPlace: Bool = true, keys: borrowing Subkeys) throws(FormatError) -> OpenRecord {
    try RecordKeys.with(index, id, keys) { (metaKey, valueKey) throws(FormatError) in
      let meta = try decodeMeta(metaKey)
      if checksPlace { try check(meta, keys) }
      guard meta.kind != .later else { return OpenRecord(meta: meta, value: nil) }
      switch (value, meta.valueCount) {
      case (nil, nil): return OpenRecord(meta: meta, value: nil)
      case (let value?, let count?): return OpenRecord(meta: meta, value: try Self.decodeValue(value, valueKey, count: count))
      case (nil, _): throw .unauthentic(Self.valuePart)  // It was taken away.
      case (_, nil): throw Self.valueBeyondMeta
      }
    }
  }

  /// The description of an intact row: both tags are valid, and the description is readable and belongs here. Nil if a tag
  /// is invalid, or the value is missing. Decrypts no value.
  ///
  /// - Throws: the errors of opening the description.
  package func authenticatedMeta(_ keys: borrowing Subkeys) throws(FormatError) -> RecordMeta? {
    try RecordKeys.with(index, id, keys) { (metaKey, valueKey) throws(FormatError) in
      let meta: RecordMeta
      do throws(FormatError) { meta = try decodeMeta(metaKey) } catch .unauthentic { return nil }
      try check(meta, keys)
      guard let value else { return meta.valueCount == nil ? meta : nil }
      try Self.checkLength(value)
      guard AEAD.authenticates(value, key: valueKey, nonce: .zero) else { return nil }
      guard meta.valueCount != nil || meta.kind == .later else { throw Self.valueBeyondMeta }
      return meta
    }
  }

  private func decodeMeta(_ key: UnsafeRawBufferPointer) throws(FormatError) -> RecordMeta {
    try openedMeta(key).withUnsafeBytes { (plain) throws(FormatError) in
      try RecordMeta(decoding: Self.unpadded(plain), admitsLater: admitsLater)
    }
  }

  private func openedMeta(_ key: UnsafeRawBufferPointer) throws(FormatError) -> SecretBytes {
    guard Self.metaBytes.contains(meta.count) else {
      throw .damaged(RecordMeta.part, "its description has \(meta.count) bytes")
    }
    return try Self.opened(meta, key, RecordMeta.part)
  }

  private static func unpadded(_ plain: UnsafeRawBufferPointer) throws(FormatError) -> UnsafeRawBufferPointer {
    plain.part(0..<(try Padding.unpadded(plain, part: RecordMeta.part) { _ in Padding.metaBlock }))
  }

  private func check(_ meta: RecordMeta, _ keys: borrowing Subkeys) throws(FormatError) {
    guard meta.kind == .later || (meta.kind.table == table && meta.index(keys) == index) else {
      throw .damaged(RecordMeta.part, "its names belong to another place")
    }
  }

  private static func checkLength(_ value: UnsafeRawBufferPointer) throws(FormatError) {
    guard valueBytes.contains(value.count) else { throw .damaged(valuePart, "it has \(value.count) bytes") }
  }

  private static func decodeValue(
    _ box: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, count: Int
  ) throws(FormatError) -> SecretBytes {
    try checkLength(box)
    var value = try opened(box, key, valuePart)
    let length = try value.withUnsafeBytes { (padded) throws(FormatError) in
      try Padding.unpadded(padded, part: valuePart, block: Padding.valueBlock)
    }
    guard length == count else {
      throw .damaged(valuePart, "it has another length than its record says")
    }
    // The decrypted bytes become the value in place: a copy without the padding would be another one to wipe.
    value.truncate(to: length)
    return value
  }

  private static func opened(
    _ box: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ part: String
  ) throws(FormatError) -> SecretBytes {
    try SecretBytes(count: box.count - AEAD.tagBytes, memory: FormatError.memory) { (out) throws(FormatError) in
      guard AEAD.open(box, key: key, nonce: .zero, into: out) else { throw .unauthentic(part) }
    }
  }
}

package struct OpenRecord: ~Copyable, Sendable {
  package let meta: RecordMeta
  /// Nil if the record has none.
  package var value: SecretBytes?
}
