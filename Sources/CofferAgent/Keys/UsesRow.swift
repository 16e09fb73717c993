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

  private static let associated = Array("coffer.uses".utf8)
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
    var writer = try FrameWriter(answer: .done)
    try writer.put(Self.version)
    try row.bounded(Self.longestText).put(in: &writer)
    return try writer.withFrame { (frame) throws(StoreError) in
      // Without the frame's own head.
      let content = frame.part(6..<frame.count)
      let message = [UInt8](content) + [UInt8](repeating: 0, count: Self.block - 1 - (content.count - 1) % Self.block)
      let nonce = Nonce24.random(), associated = associated(in: vault, row.number)
      var out: [UInt8] = []
      out.reserveCapacity(Self.overhead + message.count)
      withUnsafeBytes(of: UInt32(Self.overhead - 4 + message.count).littleEndian) { out += $0 }
      withUnsafeBytes(of: row.number.littleEndian) { out += $0 }
      nonce.withBytes { out += $0 }
      let box = [UInt8](unsafeUninitializedCapacity: message.count + AEAD.tagBytes) { box, count in
        count = message.count + AEAD.tagBytes
        let box = UnsafeMutableRawBufferPointer(start: box.baseAddress, count: count)
        key.withUnsafeBytes { key in
          message.withUnsafeBytes { message in
            associated.withUnsafeBytes { AEAD.seal(message, key: key, nonce: nonce, ad: $0, into: box) }
          }
        }
      }
      return out + box
    }
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
    let count = Int(UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)))
    if count == 0 { return bytes.allSatisfy { $0 == 0 } ? .torn : .wrong }
    guard Self.rowBytes.contains(count + 4 - Self.overhead) else { return .wrong }
    guard count <= bytes.count - 4 else { return .torn }
    let number = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
    guard number == self.count &+ 1, let nonce = Nonce24(bytes.part(12..<36)) else { return .wrong }
    let box = bytes.part(36..<4 + count), associated = associated(in: vault, number)
    var isRight = false
    let message = [UInt8](unsafeUninitializedCapacity: box.count - AEAD.tagBytes) { out, count in
      let out = UnsafeMutableRawBufferPointer(start: out.baseAddress, count: box.count - AEAD.tagBytes)
      isRight = key.withUnsafeBytes { key in
        associated.withUnsafeBytes { AEAD.open(box, key: key, nonce: nonce, ad: $0, into: out) }
      }
      count = isRight ? out.count : 0
    }
    guard isRight else { return .wrong }
    let row = message.withUnsafeBytes { message -> UseRow? in
      var reader = FrameReader(message)
      do throws(StoreError) { return try reader.number(UInt8.self) == Self.version ? reader.read(UseRow.self) : nil } catch {
        return nil
      }
    }
    return row.map { .row($0, bytes: 4 + count) } ?? .newer
  }

  /// The place after a row.
  func after(_ row: UnsafeRawBufferPointer) -> UsesChain {
    UsesChain(count: count &+ 1, head: PlainHash.digest(head.bytes + row))
  }

  private func associated(in vault: VaultID, _ number: UInt64) -> [UInt8] {
    Self.associated + vault.bytes + withUnsafeBytes(of: number.littleEndian) { [UInt8]($0) } + head.bytes
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
  static func own(_ kind: Kind, _ detail: String = "") -> UseRow {
    UseRow(time: .now, kind: kind, item: nil, name: "", detail: detail)
  }

  /// Without differences between equal refusals.
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
