import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import CofferTestSupport
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Readers of hostile bytes get seeded mutations of valid ones. They never crash, and would write accepted bytes
/// identically, except extensions.
@Suite(.tags(.campaign), .wholeRun)
struct FuzzCampaign {
  private static let runs = Campaign.size(short: 400, long: 1_000_000)

  /// Gives `reader` mutations of `seeds`. It returns whether it accepted them, or throws its refusal.
  private func fuzz(_ title: String, _ seeds: [[UInt8]], seed: UInt64, _ reader: ([UInt8]) throws -> Bool) throws {
    for sound in seeds { #expect(try reader(sound), "\(title): a seed is sound") }
    var mutator = Mutator(seeds, seed)
    var tally = Tally()
    for run in 0..<Self.runs {
      let input = mutator.next()
      let outcome: String
      do {
        outcome = try reader(input) ? "accepted" : "ANOTHER ENCODING"
      } catch let error as FormatError {
        outcome = Self.word(error)
      } catch let error as StoreError {
        outcome = error.word
      }
      tally.add(
        title, outcome,
        allowed: ["accepted", "damaged", "tampered", "newerFormat", "wrongSecret", "unfitSecret", "tooLarge", "kdfMemory"],
        "run \(run), seed \(seed): \(Hex.text(Array(input.prefix(200))))")
    }
    tally.report("mutations of a \(title)")
  }

  private static func word(_ error: FormatError) -> String {
    switch error {
    case .damaged: "damaged"
    case .unauthentic: "tampered"
    case .newer: "newerFormat"
    case .contradicted: "CONTRADICTED"
    case .spent: "SPENT"
    case .memory: "NO MEMORY"
    }
  }

  /// Headers with a valid checksum, so that later checks are reached, then slots with a secret for one.
  @Test func `headers and slots`() throws {
    let sample = try SampleVault()
    let content = Array(sample.header.encoded().dropLast(32))
    var opened = 0
    try fuzz("header", [content], seed: 1) { content in
      let bytes = content + PlainHash.digest(content).bytes
      let header = try VaultHeader(decoding: bytes)
      guard header.encoded() == bytes else { return false }
      opened += 1
      guard content != Array(sample.header.encoded().dropLast(32)), opened % 16 == 0 else { return true }
      let slot = try SlotSearch.open(
        header, with: Credentials(keyFile: SecretBytes(sample.keyFile)), memory: 1 << 24)
      // However the slot opens, the sealed part authenticates the bytes before it.
      let keys = try Subkeys(of: slot.key, vault: header.vault, epoch: header.epoch)
      _ = try header.openBody(keys, proving: [])
      return false
    }
  }

  @Test func `sealed parts of headers`() throws {
    let sample = try SampleVault()
    let header = sample.header
    let body = try sample.keys.withKey(.hdr) { key throws(FormatError) in
      try header.body.open(under: key, for: .head, salt: header.vault, context: header.publicPart, part: "header")
    }
    try fuzz("header's sealed part", [body.revealed], seed: 2) { content in
      let box = content.span.bytes.withUnsafeBytes { content in
        sample.keys.withKey(.hdr) {
          CommittedBox.seal(content, under: $0, for: .head, salt: header.vault, context: header.publicPart)
        }
      }
      let bytes = header.publicPart + ByteWriter.bytes(4) { $0.write(UInt32(box.bytes.count)) } + box.bytes
      let decoded = try VaultHeader(decoding: bytes + PlainHash.digest(bytes).bytes)
      let read = try decoded.openBody(sample.keys, proving: [])
      let again = try decoded.withNextLineage(sample.keys, isLast: false) { (lineage) throws(FormatError) in
        try read.sealed(publicPart: header.publicPart, slots: header.slots, keys: sample.keys, lineage: lineage)
      }
      let written = try sample.keys.withKey(.hdr) { key throws(FormatError) in
        try again.open(under: key, for: .head, salt: header.vault, context: header.publicPart, part: "header")
      }
      return isSame(written.revealed, content)
    }
  }

  @Test func `states of vaults`() throws {
    let sample = try SampleVault()
    let context = ByteWriter.bytes(48) {
      $0.write(sample.epoch)
      $0.write(UInt64(9))
      $0.write(sample.headerDigest)
    }
    func open(_ row: [UInt8]) throws -> [UInt8] {
      try sample.keys.withKey(.sta) { key throws(FormatError) in
        try CommittedBox(bytes: Array(row.dropFirst(8))).open(
          under: key, for: .state, salt: sample.vault, context: context, part: "state")
      }.revealed
    }
    let seeds = try [0, 3].map {
      try open(sample.state(replicas: $0).sealed(epoch: sample.epoch, header: sample.headerDigest, keys: sample.keys))
    }
    try fuzz("state", seeds, seed: 3) { content in
      let box = content.span.bytes.withUnsafeBytes { content in
        sample.keys.withKey(.sta) { CommittedBox.seal(content, under: $0, for: .state, salt: sample.vault, context: context) }
      }
      let row = ByteWriter.bytes(8) { $0.write(UInt64(9)) } + box.bytes
      let state = try row.span.bytes.withUnsafeBytes { (row) throws(FormatError) in
        try VaultState(opening: row, epoch: sample.epoch, header: sample.headerDigest, keys: sample.keys)
      }
      return isSame(try open(state.sealed(epoch: sample.epoch, header: sample.headerDigest, keys: sample.keys)), content)
    }
  }

  @Test func `descriptions of records`() throws {
    var plain = SampleVault.meta(5)
    plain.setAttributes([])
    var former = SampleVault.meta(5, field: "pin")
    former.make(.former)
    let seeds = [SampleVault.meta(5), SampleVault.meta(nil), plain, former].map { meta in
      ByteWriter.bytes(meta.encodedCount) { meta.write(to: &$0) }
    }
    try fuzz("description of a record", seeds, seed: 4) { content in
      let meta = try content.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in try RecordMeta(decoding: bytes) }
      return isSame(ByteWriter.bytes(meta.encodedCount) { meta.write(to: &$0) }, content)
    }
  }

  /// Seals over arbitrary content: some need the key, others anybody can write.
  @Test func `rows of records`() throws {
    let sample = try SampleVault()
    let record = try sample.record(Array("value".utf8))
    let row = record.index.bytes + record.id.bytes + record.meta + (record.value ?? [])
    let split = 32 + record.meta.count
    try fuzz("row of a record", [row], seed: 5) { bytes in
      guard bytes.count > split, let index = bytes.span.bytes.withUnsafeBytes({ RecordIndex($0.part(0..<16)) }),
        let id = bytes.span.bytes.withUnsafeBytes({ RecordID($0.part(16..<32)) })
      else { return true }
      return try bytes.span.bytes.withUnsafeBytes { (all) throws(FormatError) in
        let read = RecordRow(
          table: .present, index: index, id: id, meta: all.part(32..<split), value: all.part(split..<all.count))
        let authentic = try read.authenticatedMeta(sample.keys) != nil
        _ = try read.open(keys: sample.keys)
        return authentic && bytes == row
      }
    }
  }

  @Test func `entries of the log`() throws {
    let entry = LogEntry(
      .unlocked, time: 5, user: 6, process: 7, program: "coffer", index: .zero, detail: [UInt8](repeating: 1, count: 16))
    let trim = LogEntry(
      .trimmed, time: 5, user: 6, process: 7, program: "", index: .zero, detail: LogEntry.Trim(first: 9, head: .zero).detail)
    try fuzz("log entry", [entry.encoded(after: .zero), trim.encoded(after: .zero)], seed: 6) { content in
      var head = Digest32.zero
      let read = try content.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in
        try LogEntry(decoding: bytes, head: &head)
      }
      if read.event == .trimmed { _ = try LogEntry.Trim(detail: read.detail) }
      return isSame(read.encoded(after: head), content)
    }
  }

  /// Whether `content` equals the written bytes, except a later version's extension.
  private func isSame(_ written: [UInt8], _ content: [UInt8]) -> Bool {
    content.starts(with: written.dropLast(2)) && (content.count > written.count || content == written)
  }

  @Test func `pins of vaults`() throws {
    let record = PinRecord(
      vault: .random(), replica: .random(), key: .some(2), seen: .init(generation: 5, commit: .random()), own: .never)
    let content = Array(record.encoded().dropLast(16))
    try fuzz("pin", [content], seed: 7) { content in
      let bytes = content + PlainHash.digest(content).bytes.prefix(16)
      let read = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in try PinRecord(decoding: bytes) }
      return read.encoded() == bytes
    }
  }

  /// Credentials come from files and lines that people edit.
  @Test func `key files, identities, recipients and recovery codes`() throws {
    let keyFile = try KeyFile.generate().revealed
    try fuzz("key file", [keyFile, [UInt8](repeating: 7, count: 32)], seed: 8) { content in
      _ = try KeyFile(content: SecretBytes(content))
      return true
    }
    let identity = try Identity.generate()
    let recipient = try Identity.recipient(of: identity)
    try fuzz("identity", [identity.revealed], seed: 9) { content in
      _ = try Identity.recipient(of: SecretBytes(content))
      return true
    }
    try fuzz("recipient", [Array(recipient.description.utf8)], seed: 10) { content in
      _ = try Recipient(String(decoding: content, as: UTF8.self))
      return true
    }
    try fuzz("recovery code", [RecoveryCode.generate().revealed], seed: 11) { content in
      _ = try RecoveryCode.bytes(of: SecretBytes(content))
      return true
    }
  }
}

/// Mutates valid inputs: bits, bytes, numbers at their limits; parts cut, doubled, or exchanged between two.
struct Mutator {
  private let seeds: [[UInt8]]
  private var random: Random
  private static let numbers: [UInt64] = [
    0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0xFFFF, 0x1_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, UInt64(Int64.max),
    .max - 1, .max,
  ]

  init(_ seeds: [[UInt8]], _ seed: UInt64) {
    self.seeds = seeds
    random = Random(seed: seed)
  }

  mutating func next() -> [UInt8] {
    var bytes = seeds.randomElement(using: &random) ?? []
    for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&bytes) }
    return bytes
  }

  private mutating func mutate(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else { return bytes.append(UInt8.random(in: 0...255, using: &random)) }
    let place = Int.random(in: bytes.indices, using: &random)
    switch Int.random(in: 0..<9, using: &random) {
    case 0, 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 2: bytes[place] = UInt8.random(in: 0...255, using: &random)
    case 3:
      let number = Self.numbers.randomElement(using: &random) ?? 0
      let width = [1, 2, 4, 8].randomElement(using: &random) ?? 1
      for (offset, byte) in withUnsafeBytes(of: number.littleEndian, { Array($0.prefix(width)) }).enumerated()
      where place + offset < bytes.count { bytes[place + offset] = byte }
    case 4: bytes.removeLast(Int.random(in: 1...bytes.count - place, using: &random))
    case 5: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
    case 6: bytes.remove(at: place)
    case 7:
      let length = Int.random(in: 0...min(64, bytes.count - place), using: &random)
      bytes.insert(contentsOf: bytes[place..<place + length], at: Int.random(in: bytes.indices, using: &random))
    default:
      let other = seeds.randomElement(using: &random) ?? []
      guard !other.isEmpty else { return }
      let start = Int.random(in: other.indices, using: &random)
      bytes.replaceSubrange(place..., with: other[min(start, other.count)...])
    }
  }
}
