internal import CofferMemory

/// The log's chain: each row is sealed under a key made of its place and of all rows before it, and its digest leads to the next.
///
/// The nonce is random and stands before the box. Place and chain alone do not make a key that seals one plaintext: two copies of
/// a vault that go on from the same commit (a restored backup, a transaction that was rolled back and tried again) write different
/// rows at the same place, and under one key and nonce the two would give away each other's content.
enum LogBox {
  static let overhead = 24 + AEAD.tagBytes

  /// The row of `entry` at `sequence`, after rows whose chain is `head`.
  static func seal(_ entry: LogEntry, sequence: UInt64, after head: Digest32, keys: borrowing Subkeys) -> [UInt8] {
    let message = entry.encoded()
    let nonce = Nonce24.random()
    return withKey(sequence, head, keys) { key in
      ByteWriter.bytes(message.count + overhead) { out in
        nonce.withBytes { out.write($0) }
        out.fill(message.count + AEAD.tagBytes) { box in
          message.withUnsafeBytes { AEAD.seal($0, key: key, nonce: nonce, into: box) }
        }
      }
    }
  }

  static func open(
    _ row: UnsafeRawBufferPointer, sequence: UInt64, after head: Digest32, keys: borrowing Subkeys
  ) throws(FormatError) -> LogEntry {
    let part = LogEntry.part
    guard row.count >= overhead, row.count <= LogEntry.largestRow, let nonce = Nonce24(row.part(0..<24)) else {
      throw .unauthentic(part)  // No row was ever so short or so long.
    }
    let box = row.part(24..<row.count)
    return try withKey(sequence, head, keys) { (key) throws(FormatError) in
      let message = try SecretBytes(count: box.count - AEAD.tagBytes, memory: FormatError.memory) { (out) throws(FormatError) in
        guard AEAD.open(box, key: key, nonce: nonce, into: out) else { throw .unauthentic(part) }
      }
      return try message.withUnsafeBytes { (message) throws(FormatError) in try LogEntry(decoding: message) }
    }
  }

  /// The chain after `row`.
  static func head(
    after head: Digest32, sequence: UInt64, row: UnsafeRawBufferPointer, keys: borrowing Subkeys
  ) -> Digest32 {
    let vault = keys.vault
    let digest = PlainHash.digest(row)
    return keys.withKey(.log) { key in
      KeyedHash.digest(key, .logHead, salt: vault) { hash in
        hash.update(head)
        hash.update(sequence)
        hash.update(digest)
      }
    }
  }

  private static func withKey<Result: ~Copyable, Failure: Error>(
    _ sequence: UInt64, _ head: Digest32, _ keys: borrowing Subkeys,
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let vault = keys.vault
    return try withWipedScratch(32) { (out) throws(Failure) in
      keys.withKey(.log) { key in
        KeyedHash.compute(key, .log, salt: vault, into: out) { hash in
          hash.update(sequence)
          hash.update(head)
        }
      }
      return try body(UnsafeRawBufferPointer(out))
    }
  }
}
