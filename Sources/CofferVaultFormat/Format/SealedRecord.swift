internal import CofferMemory
internal import CofferStorage

package struct SealedRecord: Hashable, Sendable {
  package let index: RecordIndex
  package let id: RecordID
  package let meta: [UInt8]
  /// Nil if the record has no value; an empty value is not nil.
  package let value: [UInt8]?

  package init(index: RecordIndex, id: RecordID, meta: [UInt8], value: [UInt8]?) {
    (self.index, self.id, self.meta, self.value) = (index, id, meta, value)
  }

  package var entry: BucketEntry { BucketEntry(index: index, id: id) }
}

extension SealedRecord {
  /// `meta.valueCount` must be the value's length, nil without a value; `index` is the index of the address in `meta`, if
  /// already known.
  ///
  /// The record's id is a keyed hash of a random salt, the index and the content. Index and id determine both keys, so each key
  /// seals one plaintext and the nonce can be zero. Even a repeating random source can only repeat an id for the same content.
  /// These keys never come from a passphrase, so the boxes need no commitment.
  package init(
    _ meta: RecordMeta, value: UnsafeRawBufferPointer?, index: RecordIndex? = nil, keys: borrowing Subkeys
  ) throws(FormatError) {
    precondition(meta.valueCount == value?.count, "a record tells the length of its value")
    let index = index ?? meta.index(keys)
    let plainMeta = try Self.padded(meta)
    guard let value else {
      self = plainMeta.withUnsafeBytes { Self.sealed(index, $0, nil, keys) }
      return
    }
    let plainValue = try Self.padded(value)
    self = plainMeta.withUnsafeBytes { meta in
      plainValue.withUnsafeBytes { value in Self.sealed(index, meta, value, keys) }
    }
  }

  private static func padded(_ meta: RecordMeta) throws(FormatError) -> SecretBytes {
    let count = meta.encodedCount
    return try SecretBytes(
      count: Padding.padded(count, block: Padding.metaBlock), memory: FormatError.memory
    ) { (out) throws(FormatError) in
      ByteWriter.fill(out.part(0..<count)) { meta.write(to: &$0) }
      Padding.pad(out, count: count)
    }
  }

  private static func padded(_ value: UnsafeRawBufferPointer) throws(FormatError) -> SecretBytes {
    let whole = Padding.padded(value.count, block: Padding.valueBlock(value.count))
    return try SecretBytes(count: whole, memory: FormatError.memory) { (out) throws(FormatError) in
      out.copyMemory(from: value)
      Padding.pad(out, count: value.count)
    }
  }

  private static func sealed(
    _ index: RecordIndex, _ meta: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?, _ keys: borrowing Subkeys
  ) -> SealedRecord {
    let id: RecordID = keys.withKey(.rid) { key in
      KeyedHash.block(key, .recordID, salt: FreshSalt.random()) { hash in
        hash.update(index)
        hash.update(prefixed: meta)
        hash.update(prefixed: value ?? .noBytes)
      }
    }
    return RecordKeys.with(index, id, keys) { metaKey, valueKey in
      SealedRecord(index: index, id: id, meta: box(meta, metaKey), value: value.map { box($0, valueKey) })
    }
  }

  private static func box(_ message: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) -> [UInt8] {
    let count = message.count + AEAD.tagBytes
    return [UInt8](unsafeUninitializedCapacity: count) { out, written in
      AEAD.seal(
        message, key: key, nonce: .zero, into: UnsafeMutableRawBufferPointer(start: out.baseAddress, count: count))
      written = count
    }
  }
}

/// The two keys of a record, derived for one call.
enum RecordKeys {
  @inline(__always)
  static func with<Result: ~Copyable, Failure: Error>(
    _ index: RecordIndex, _ id: RecordID, _ keys: borrowing Subkeys,
    _ body: (_ meta: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let vault = keys.vault
    return try withWipedScratch(64) { (pair) throws(Failure) in
      keys.withKey(.rec) { key in
        KeyedHash.compute(key, .record, salt: vault, into: pair) { hash in
          hash.update(index)
          hash.update(id)
        }
      }
      let pair = UnsafeRawBufferPointer(pair)
      return try body(pair.part(0..<32), pair.part(32..<64))
    }
  }
}
