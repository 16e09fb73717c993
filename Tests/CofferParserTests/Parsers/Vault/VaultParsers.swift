import CofferMemory
import CofferPlatform
import CofferStorage

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// The parts of a vault's file and of a pin with open seals, from a holder of the key or anyone.
enum VaultParsers {
  static let all =
    [header, sealedHeader, state, record, log, pin, page, credentials] + AgentParsers.all + KeyParsers.all + KeyringParsers.all
    + SSHParsers.all + SyncParsers.all

  /// With a valid checksum.
  static let header = Parser("vault-header", longest: 2048, words: ["PVAULT\0\u{1}"]) { content in
    let row = content + PlainHash.digest(content).bytes
    let header = try VaultHeader(decoding: row)
    try promise(header.encoded() == row, "a header has another encoding")
    for slot in header.slots {
      let frame = ByteWriter.bytes(slot.encodedCount) { slot.write(to: &$0) }
      let again = try frame.lent { (bytes) throws(FormatError) in
        try FormatError.reading(bytes, of: "slot") { (reader) throws(FormatError) in try SealedSlot(from: &reader) }
      }
      try promise(again == slot, "a slot is read otherwise by itself")
    }
  }

  /// The header's sealed part: its slots' names and keys, and the earlier epochs. The first byte counts slots.
  static let sealedHeader = Parser("vault-sealed-header") { input in
    let (first, content) = input.choice
    let frames = content.isEmpty ? 0 : Int(first % 4)
    try content.lent { bytes in
      // The content must name exactly these slots.
      var ids = ByteReader(bytes, of: "seed")
      _ = try ids.take(24)
      var slots: [SealedSlot] = []
      for index in 0..<frames {
        let kind: SlotKind = index == 0 ? .recipient : .keyFile
        let id = try ids.block16(Block16<SlotRole>.self)
        _ = try ids.take(HeaderBody.mixBytes)
        _ = try ids.short(limit: 64, "label")
        slots.append(
          SealedSlot(
            frame: SlotFrame(id: id, kind: kind, cost: nil, salt: .zero, publicKey: .zero), own: nil, ephemeral: .zero,
            box: CommittedBox(bytes: [])))
      }
      var reader = ByteReader(bytes, of: "header's sealed part")
      let body = try HeaderBody(from: &reader, slots: slots)
      try promise(body.labels.count == frames, "a slot has no label")
      let start = reader.offset
      let lineage = try Lineage(from: &reader, before: 1 << 20)
      let end = reader.offset
      let next = Lineage.Next(lineage, epoch: 1 << 20, secret: nil)
      let written = ByteWriter.bytes(next.byteCount) { next.write(to: &$0) }
      try promise(written.elementsEqual(bytes[start..<end]), "a list of epochs has another encoding")
      try reader.extend(limit: HeaderBody.longestExtension)
      try reader.end()
    }
  }

  static let state = Parser("vault-state") { content in
    try content.lent { bytes in
      let state = try FormatError.reading(bytes, of: VaultState.part) { (reader) throws(FormatError) in
        try VaultState(from: &reader, generation: 1 << 16)
      }
      try same(ByteWriter.bytes(state.contentCount) { state.write(to: &$0) }, content, "a state")
    }
  }

  /// The first byte selects a later version of the vault.
  static let record = Parser("vault-record", longest: 4096) { input in
    let (first, content) = input.choice
    let meta = try content.lent { (bytes) throws(FormatError) in try RecordMeta(decoding: bytes, admitsLater: first & 1 == 1) }
    guard meta.kind != .later else { return }
    try same(ByteWriter.bytes(meta.encodedCount) { meta.write(to: &$0) }, content, "a description")
    try promise(meta.firstKept >= 1 && meta.firstKept <= meta.revision, "a record keeps contents of before its first")
    try promise(meta.limitedCount <= RecordMeta.largest, "a description is larger than any may be")
    try content.lent { (bytes) throws(BrokenPromise) in
      let parts = DescriptionParts(bytes)
      let texts = [parts.service, parts.account, parts.field, parts.label].map { String(decoding: $0, as: UTF8.self) }
      try promise(texts == [meta.service, meta.account, meta.field, meta.label], "a text lies elsewhere")
      var names: [String] = []
      _ = parts.hasAttribute { name, _ in
        names.append(String(decoding: name, as: UTF8.self))
        return false
      }
      let shown = meta.attributes.map(\.name).filter { $0 != RecordMeta.namedAttribute }
      try promise(names == shown, "an attribute lies elsewhere")
    }
  }

  static let log = Parser("vault-log") { content in
    var head = Digest32.zero
    let entry = try content.lent { (bytes) throws(FormatError) in try LogEntry(decoding: bytes, head: &head) }
    try same(ByteWriter.bytes(entry.encodedCount) { entry.write(to: &$0, after: head) }, content, "an entry of the log")
  }

  /// With a valid checksum.
  static let pin = Parser("vault-pin", longest: 144, words: ["PVPIN1\0\0"]) { content in
    let bytes = content + PlainHash.digest(content).bytes.prefix(16)
    let record = try bytes.lent { (bytes) throws(FormatError) in try PinRecord(decoding: bytes) }
    try promise(record.encoded() == bytes, "a pin has another encoding")
  }

  /// A page of SQLite's file, as checked before SQLite reads it. Short inputs are padded with zeros.
  static let page = Parser("vault-page", longest: 4096, words: ["SQLite format 3\0"]) { input in
    let size = input.count > 512 ? 4096 : 512
    let page = input + [UInt8](repeating: 0, count: max(0, size - input.count))
    guard page.lent({ PageCheck.accepts($0) }) else { throw FormatError.damaged("page", "it is refused") }
  }

  /// Credentials from files and lines that people edit: the first byte selects the kind.
  static let credentials = Parser(
    "vault-credentials", longest: 512, words: ["PVKEY1-", "PVID1-", "PVINV1-", "PVPUB1-"]
  ) { input in
    let (first, content) = input.choice
    let text = String(decoding: content, as: UTF8.self)
    switch first {
    case UInt8(ascii: "k"):
      let file = try secret(content)
      _ = try KeyFile(content: file)
      _ = try KeyFile.isGenerated(file)
    case UInt8(ascii: "i"):
      let identity = try secret(checked(content, after: "PVID1-".utf8.count))
      try Identity.check(identity)
      let invitations = try Identity.invitations(in: identity)
      try promise(invitations.count <= Invitation.most, "an identity has more invitations than any may")
      if let last = invitations.last {
        let again = try Identity.adding(last, to: identity)
        try promise(try Identity.invitations(in: again).last == last, "an invitation that was added is not there")
      }
    case UInt8(ascii: "r"): try promise(Recipient(text).description == text, "a recipient has another spelling")
    case UInt8(ascii: "v"):
      let spelled = String(decoding: checked(content, after: "PVINV1-".utf8.count), as: UTF8.self)
      try promise(Invitation(spelled).description == spelled, "an invitation has another spelling")
    default:
      let bytes = try RecoveryCode.bytes(of: secret(content))
      let again = try RecoveryCode.bytes(of: RecoveryCode.text(of: bytes))
      try promise(again.isEqual(to: bytes), "a recovery code is read otherwise once it is written")
    }
  }

  /// Its first line with valid check digits, which no fuzzer finds.
  private static func checked(_ text: [UInt8], after prefix: Int) -> [UInt8] {
    let line = text.prefix { $0 != 0x0A }
    guard line.count > prefix + 8, (line.count - prefix) % 2 == 0 else { return text }
    let digits = Array(line.dropFirst(prefix).dropLast(8))
    let bytes = stride(from: 0, to: digits.count, by: 2).map { Hex.value(digits[$0]) << 4 | Hex.value(digits[$0 + 1]) }
    let check = Hex.text(PlainHash.digest(bytes).bytes.prefix(4))
    return Array(line.dropLast(8)) + Array(check.utf8) + text.dropFirst(line.count)
  }

  static func secret(_ bytes: [UInt8]) throws -> SecretBytes { try bytes.lent { try SecretBytes(copying: $0) } }

  /// `content` equals the written bytes, except a later version's extension.
  private static func same(_ written: [UInt8], _ content: [UInt8], _ part: String) throws(BrokenPromise) {
    let isSame = content.starts(with: written.dropLast(2)) && (content.count > written.count || content == written)
    try promise(isSame, "\(part) has another encoding")
  }
}
