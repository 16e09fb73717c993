import CofferMemory
import CofferPlatform
import CofferStorage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// A vault's key of one epoch in the clear, to make headers without the library.
struct EpochKey: Sendable {
  let vault: VaultSalt
  let epoch: UInt64
  let bytes: [UInt8]
  /// L of the epoch.
  let secret: [UInt8]
  let mark: EpochMark

  /// - Parameter bytes: random if nil.
  init(_ vault: VaultSalt, _ epoch: UInt64, _ bytes: [UInt8]? = nil) throws {
    self.vault = vault
    self.epoch = epoch
    self.bytes = try bytes ?? SecretBytes.random(32).revealed
    let keys = try Subkeys(of: VaultKey(opened: SecretBytes(self.bytes), part: "key"), vault: vault, epoch: epoch)
    secret = keys.withEpochSecret { [UInt8]($0) }
    mark = keys.epochMark
  }

  func key() throws(FormatError) -> VaultKey {
    do { return try VaultKey(opened: SecretBytes(bytes), part: "key") } catch { throw .damaged("key", "\(error)") }
  }

  func subkeys() throws(FormatError) -> Subkeys { try Subkeys(of: key(), vault: vault, epoch: epoch) }
  var entry: LineageEntry { LineageEntry(epoch: epoch, secret: secret) }
  func anchor(_ source: Anchor.Source = .pin) -> Anchor { Anchor(vault: vault, key: mark, source: source) }
}

/// A header's entry for an earlier epoch.
struct LineageEntry: Sendable {
  var epoch: UInt64
  var secret: [UInt8]

  static func random(_ epoch: UInt64) -> LineageEntry {
    LineageEntry(epoch: epoch, secret: (0..<32).map { _ in .random(in: 0...255) })
  }
}

/// A header written by the layout alone: numbers, orders and lists stay as given.
struct HeaderDraft {
  var vault: VaultSalt
  var epoch: UInt64
  var slots: [SealedSlot] = []
  /// W of each slot; zeros for missing ones.
  var mixes: [SlotID: [UInt8]] = [:]
  /// Of every slot.
  var label = ""
  var entries: [LineageEntry] = []
  /// n and k, if they differ from the lists' lengths.
  var slotCount: Int?
  var entryCount: Int?
  /// Bytes after the last field of the sealed part.
  var padding = 0

  func bytes(_ key: EpochKey) throws -> [UInt8] {
    var head = Array("PVAULT\0\u{1}".utf8) + Self.number(UInt32(1)) + Self.number(UInt32(1)) + vault.bytes + Self.number(epoch)
    head += Self.number(UInt16(truncatingIfNeeded: slotCount ?? slots.count))
    for slot in slots { head += slot.encoded }
    var body = Self.number(UInt64(1)) + Self.number(UInt64(2)) + Self.number(UInt32(1)) + Self.number(UInt32(8))
    for slot in slots {
      body += slot.id.bytes + (mixes[slot.id] ?? [UInt8](repeating: 0, count: 32))
      body += Self.number(UInt16(truncatingIfNeeded: label.utf8.count)) + Array(label.utf8)
    }
    body += Self.number(UInt32(entryCount ?? entries.count))
    for entry in entries { body += Self.number(entry.epoch) + entry.secret }
    body += Self.number(UInt16(0))
    body += [UInt8](repeating: 0, count: padding)
    let salt = vault
    let sealed = try key.subkeys().withKey(.hdr) { (key) in
      body.span.bytes.withUnsafeBytes { CommittedBox.seal($0, under: key, for: .head, salt: salt, context: head) }
    }
    let all = head + Self.number(UInt32(sealed.bytes.count)) + sealed.bytes
    return all + PlainHash.digest(all).bytes
  }

  private static func number<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { [UInt8]($0) }
  }
}

extension SealedSlot {
  var encoded: [UInt8] { ByteWriter.bytes(encodedCount) { write(to: &$0) } }

  func sealed(_ key: EpochKey, epoch: UInt64? = nil, mix: [UInt8]? = nil) throws -> SealedSlot {
    let place = SlotPlace(vault: key.vault)
    let vaultKey = try key.key()
    let mix = mix ?? [UInt8](repeating: 0, count: 32)
    return try mix.span.bytes.withUnsafeBytes { (mix) throws(FormatError) in
      try resealed(vaultKey, epoch: epoch ?? key.epoch, place: place, mix: mix)
    }
  }
}

extension VaultHeader {
  /// The error of ``openBody(_:proving:)``; nil if it opens.
  func refusal(_ key: EpochKey, proving anchors: [Anchor]) throws -> FormatError? {
    let keys = try key.subkeys()
    do throws(FormatError) {
      _ = try openBody(keys, proving: anchors)
      return nil
    } catch {
      return error
    }
  }
}

extension FormatError {
  var kind: StoreError.Kind { storeError().kind }
}
