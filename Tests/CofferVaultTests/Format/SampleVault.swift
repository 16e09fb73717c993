import CofferMemory
import CofferStorage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// The parts of a vault in memory: a key file's slot and a recipient's, and data sealed under their key.
final class SampleVault {
  let vault = VaultSalt.random()
  let epoch: UInt64 = 3
  let key: VaultKey
  let keys: Subkeys
  let header: VaultHeader
  let keyFile: [UInt8]

  init() throws {
    key = try VaultKey.random()
    keys = try Subkeys(of: key, vault: vault, epoch: epoch)
    keyFile = try KeyFile.generate().revealed
    let place = SlotPlace(vault: vault)
    let inputs = try SlotInputs(Credentials(keyFile: SecretBytes(keyFile)))
    let own = try NewSlot.make(.keyFile, for: inputs, cost: .testing, memory: 0, place: place)
    let peer = try SecretBytes.random(32).withUnsafeBytes { KeyAgreement.publicKey(of: $0) }
    let recipient = NewSlot.recipient(peer)
    let slots = [
      try own.sealed(key, keys.epochMark, place: place), try recipient.sealed(key, keys.epochMark, place: place),
    ].sorted { $0.id < $1.id }
    let body = try HeaderBody(
      created: 1, rotated: 2, floor: .standard, labels: slots.map { $0.id == own.id ? "mine" : "" }
    ) { index, out in
      if slots[index].id == own.id { own.writeMix(to: out) } else { recipient.writeMix(to: out) }
    }
    header = try VaultHeader(slots: slots, body: body, keys: keys, lineage: .first)
  }

  var headerDigest: Digest32 { PlainHash.digest(header.encoded()) }

  func state(generation: UInt64 = 9, replicas: Int = 3) -> VaultState {
    var state = VaultState(
      generation: generation, commit: .random(), root: .zero, counts: .none, time: 5, logSequence: 6, logHead: .zero, scrub: true)
    for _ in 0..<replicas { state.note(.random()) }
    return state
  }

  static func meta(_ valueCount: Int? = nil, field: String = "") -> RecordMeta {
    RecordMeta(
      revision: 2, id: .zero, service: "example.org", account: "ann", field: field, label: "Mail", contentType: "text/plain",
      created: 10,
      modified: 11,
      expires: 12, history: 1, valueCount: valueCount,
      attributes: [.init(name: "user", value: "ann"), .init(name: "env", value: "prod")])
  }

  func record(_ value: [UInt8]?, _ meta: RecordMeta? = nil) throws -> SealedRecord {
    let meta = meta ?? Self.meta(value?.count)
    guard let value else { return try SealedRecord(meta, value: nil, keys: keys) }
    return try value.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in
      try SealedRecord(meta, value: bytes, keys: keys)
    }
  }
}

extension RecordMeta {
  /// Makes it the description of such a content.
  mutating func make(_ kind: RecordKind) {
    switch kind {
    case .deleted: become(deletedAt: modified, Deletion(commit: .random(), until: 0))
    case .present, .former, .later: become(kind)
    }
  }
}

extension LogEntry {
  func encoded(after head: Digest32) -> [UInt8] { ByteWriter.bytes(encodedCount) { write(to: &$0, after: head) } }
}

extension EpochMark {
  static func some(_ epoch: UInt64) -> EpochMark { EpochMark(epoch: epoch, mark: .zero) }
}

/// Every single-bit change of `bytes`, or evenly spread ones.
func flips(_ bytes: [UInt8], atMost: Int = .max) -> [[UInt8]] {
  let step = max(1, bytes.count * 8 / atMost)
  return stride(from: 0, to: bytes.count * 8, by: step).map { bit in
    var copy = bytes
    copy[bit / 8] ^= 1 << (bit % 8)
    return copy
  }
}

extension OpenRecord {
  /// As a reader of items gets it.
  consuming func form() -> SecretForm? {
    let metadata = meta.itemMetadata
    guard let value = value.take() else { return nil }
    return SecretForm(value, metadata: metadata)
  }
}
