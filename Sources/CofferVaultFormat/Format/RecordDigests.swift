package import CofferMemory

package enum RecordDigestRole {}
/// 16 bytes under the key of one machine, for its own memory. No part of the format.
package typealias RecordDigest = Block16<RecordDigestRole>

extension ItemID {
  package func digest(_ key: borrowing SecretBytes) -> RecordDigest {
    key.withUnsafeBytes { key in KeyedHash.block(key, .syncLine, salt: VaultSalt.zero) { $0.update(self) } }
  }
}

extension OpenRecord {
  /// Of the content: the value, its description, and the date of the value.
  package borrowing func writeDigest(_ key: borrowing SecretBytes) -> RecordDigest {
    let meta = meta
    return withBytes { value in
      key.withUnsafeBytes { key in
        KeyedHash.block(key, .syncWrite, salt: VaultSalt.zero) { hash in
          hash.update(UInt64(meta.valueCount.map { $0 + 1 } ?? 0))
          hash.update(prefixed: value)
          for text in [meta.label, meta.contentType] { hash.update(prefixed: text) }
          for attribute in meta.describingAttributes {
            hash.update(prefixed: attribute.name)
            hash.update(prefixed: attribute.value)
          }
          hash.update(meta.expires)
          hash.update(meta.written)
        }
      }
    }
  }

  private borrowing func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    switch value {
    case .some(let value): value.withUnsafeBytes(body)
    case .none: body(.noBytes)
    }
  }
}

extension RecordMeta {
  /// Of all that a write leaves: the kind, names, revision, times, history and deletion. Its first half is of the kind and the
  /// own name alone, without the number that a merge gives.
  package func formDigest(_ key: borrowing SecretBytes) -> RecordDigest {
    key.withUnsafeBytes { key in
      let state: RecordDigest = KeyedHash.block(key, .syncState, salt: VaultSalt.zero) { hash in
        hash.update(kind.rawValue)
        for text in field.isEmpty ? [service, account.withoutNumber] : [field.withoutNumber] { hash.update(prefixed: text) }
      }
      let form: RecordDigest = KeyedHash.block(key, .syncForm, salt: VaultSalt.zero) { hash in
        hash.update(kind.rawValue)
        for text in [service, account, field] { hash.update(prefixed: text) }
        for number in [revision, named, created, modified, deletion?.until ?? 0] { hash.update(number) }
        hash.update(history)
        hash.update(deletion?.commit ?? .zero)
      }
      return RecordDigest(halves: state, form)
    }
  }
}

extension SealedSlot {
  package static func digest(of id: SlotID, _ key: borrowing SecretBytes) -> RecordDigest {
    key.withUnsafeBytes { key in KeyedHash.block(key, .syncSlot, salt: VaultSalt.zero) { $0.update(id) } }
  }

  /// Of all but the box with the vault's key, which each rotation makes anew.
  package func secretDigest(_ key: borrowing SecretBytes) -> RecordDigest {
    let secret = ByteWriter.bytes(SlotFrame.count) { frame.write(to: &$0) } + (own?.bytes ?? [])
    return secret.span.bytes.withUnsafeBytes { secret in
      key.withUnsafeBytes { key in
        KeyedHash.block(key, .syncSecret, salt: VaultSalt.zero) { $0.update(prefixed: secret) }
      }
    }
  }

  package static func digest(ofLabel label: String, _ key: borrowing SecretBytes) -> RecordDigest {
    key.withUnsafeBytes { key in KeyedHash.block(key, .syncLabel, salt: VaultSalt.zero) { $0.update(prefixed: label) } }
  }

  /// Whether one secret opens both slots alike.
  package func hasSecret(of other: SealedSlot) -> Bool { frame == other.frame && own == other.own }

  /// Of two slots with one key pair, the one that costs more to guess; of equal ones the same on all machines.
  package func isStronger(than other: SealedSlot) -> Bool {
    guard frame.cost == other.frame.cost else { return other.frame.cost.isBelow(frame.cost) }
    return (own?.bytes ?? []).lexicographicallyPrecedes(other.own?.bytes ?? [])
  }
}

extension String {
  /// Without " (2)" at the end, however often, or "(2)" alone.
  fileprivate var withoutNumber: String {
    var text = self[...]
    while text.last == ")", let start = text.lastIndex(of: "(") {
      let digits = text[text.index(after: start)...].dropLast()
      guard !digits.isEmpty, digits.allSatisfy({ ("0"..."9").contains($0) }) else { break }
      let rest = text[..<start]
      guard rest.isEmpty || rest.last == " " else { break }
      text = rest.dropLast()
    }
    return String(text)
  }
}

extension Label {
  fileprivate static let syncSlot = Label("sync slot")
  fileprivate static let syncSecret = Label("sync secret")
  fileprivate static let syncLabel = Label("sync label")
  fileprivate static let syncLine = Label("sync line")
  fileprivate static let syncWrite = Label("sync write")
  fileprivate static let syncState = Label("sync state")
  fileprivate static let syncForm = Label("sync form")
}
