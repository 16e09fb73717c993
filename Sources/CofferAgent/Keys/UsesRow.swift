internal import CofferClient
internal import CofferMemory
internal import CofferPlatform
internal import CofferVault
internal import CofferVaultFormat
internal import FoundationEssentials

/// The log's own chain: each row is sealed for its place after all rows before it.
struct UsesChain: Sendable, Equatable {
  /// Rows so far, removed ones included.
  var count: UInt64 = 0
  var head = Digest32.zero

  /// Length, number, nonce and tag of a row.
  private static let overhead = 4 + 8 + 24 + AEAD.tagBytes
  /// A row's content is filled up to multiples of this, as an item's description: its length tells little of a host's name.
  private static let block = 128
  /// The seven texts of a row have at most 1 024 bytes each.
  private static let longestText = 1024
  private static let rowBytes = block...96 * block
  private static let version: UInt8 = 1

  /// The row for this place, with its number.
  func seal(_ row: UseRow, in vault: VaultID, _ key: borrowing SecretBytes) throws(StoreError) -> [UInt8] {
    var row = row.bounded(Self.longestText)
    row.number = count &+ 1
    var writer = try FrameWriter(answer: .done)
    try writer.put(Self.version, row)
    // Without the frame's own head.
    var message = try writer.withFrame { (frame) throws(StoreError) in Array(frame.dropFirst(6)) }
    message += [UInt8](repeating: 0, count: Self.block - 1 - (message.count - 1) % Self.block)
    let nonce = Nonce24.random()
    var box = [UInt8](repeating: 0, count: message.count + AEAD.tagBytes)
    box.withUnsafeMutableBytes { box in
      lend(key, in: vault) { key, place in
        message.withUnsafeBytes { AEAD.seal($0, key: key, nonce: nonce, ad: place, into: box) }
      }
    }
    let size = UInt32(Self.overhead - 4 + message.count)
    var out = size.littleEndianBytes + row.number.littleEndianBytes
    nonce.withBytes { out += $0 }
    return out + box
  }

  enum Found {
    case row(UseRow, bytes: Int)
    /// The rest that a killed writer or a power failure leaves: the beginning of a row, or zeros.
    case torn
    case wrong
    /// Its writer had the key, and this version cannot read its content.
    case newer
  }

  /// The row at the beginning of `bytes`, if it is the one for this place.
  func open(_ bytes: UnsafeRawBufferPointer, in vault: VaultID, _ key: borrowing SecretBytes) -> Found {
    guard bytes.count >= 4 else { return .torn }
    let size = Int(bytes.littleEndian(UInt32.self, at: 0))
    if size == 0 { return bytes.allSatisfy { $0 == 0 } ? .torn : .wrong }
    guard Self.rowBytes.contains(size + 4 - Self.overhead) else { return .wrong }
    guard size <= bytes.count - 4 else { return .torn }
    guard bytes.littleEndian(UInt64.self, at: 4) == count &+ 1, let nonce = Nonce24(bytes.part(12..<36)) else { return .wrong }
    let box = bytes.part(36..<4 + size)
    var message = [UInt8](repeating: 0, count: box.count - AEAD.tagBytes)
    let isRight = message.withUnsafeMutableBytes { out in
      lend(key, in: vault) { AEAD.open(box, key: $0, nonce: nonce, ad: $1, into: out) }
    }
    guard isRight else { return .wrong }
    return message.withUnsafeBytes { message in
      var reader = FrameReader(message)
      do throws(StoreError) {
        return try reader.number(UInt8.self) == Self.version ? .row(reader.read(UseRow.self), bytes: 4 + size) : .newer
      } catch { return .newer }
    }
  }

  /// The place after a row.
  func after(_ row: some Sequence<UInt8>) -> UsesChain {
    UsesChain(count: count &+ 1, head: PlainHash.digest(head.bytes + row))
  }

  /// Lends the key, and the associated data of this place's row.
  private func lend<Result>(
    _ key: borrowing SecretBytes, in vault: VaultID, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result
  ) -> Result {
    let place = Array("coffer.uses".utf8) + vault.bytes + (count &+ 1).littleEndianBytes + head.bytes
    return key.withUnsafeBytes { key in place.withUnsafeBytes { body(key, $0) } }
  }
}

extension FixedWidthInteger {
  var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { [UInt8]($0) } }
}

extension UnsafeRawBufferPointer {
  func littleEndian<Number: FixedWidthInteger & BitwiseCopyable>(_: Number.Type, at place: Int) -> Number {
    Number(littleEndian: loadUnaligned(fromByteOffset: place, as: Number.self))
  }
}

extension UseRow {
  /// The same row by `asker`, a process that `client` at the agent's socket works for.
  func by(_ asker: ProcessFacts?, client: ProcessFacts?) -> UseRow {
    var row = self
    row.client = client?.program ?? ""
    guard let asker else { return row }
    (row.user, row.process, row.start, row.program) = (asker.user, UInt32(clamping: asker.process), asker.start, asker.program)
    return row
  }

  /// A row of the log's own.
  static func own(_ kind: Kind, _ detail: String = "", count: Int = 1) -> UseRow {
    UseRow(time: .now, kind: kind, item: nil, name: "", detail: detail, count: UInt32(clamping: count))
  }

  /// Without differences between equal refusals or reads.
  var repeated: UseRow {
    var row = self
    (row.number, row.time, row.process, row.start, row.count) = (0, .distantPast, 0, 0, 0)
    return row
  }

  fileprivate func bounded(_ most: Int) -> UseRow {
    var row = self
    for text: WritableKeyPath<UseRow, String> in [\.name, \.detail, \.host, \.hostKey, \.program, \.client, \.approval] {
      while row[keyPath: text].utf8.count > most { row[keyPath: text].removeLast() }
    }
    return row
  }
}
