internal import CofferMemory

/// What a record is of an item: its present content, or an older one.
enum RecordPlace: Hashable, Sendable {
  case item
  /// The `number`th older content, from 1.
  case history(_ number: UInt32)

  /// Where the record of `name` stands. Names are taken byte by byte, never normalized.
  func index(service: String, account: String, keys: borrowing Subkeys) -> RecordIndex {
    let vault = keys.vault
    return keys.withKey(.idx) { key in
      KeyedHash.block(key, .index, salt: vault) { hash in
        hash.update(kind)
        hash.update(prefixed: service)
        hash.update(prefixed: account)
        hash.update(number)
      }
    }
  }

  private var kind: UInt8 { self == .item ? 0 : 1 }

  private var number: UInt32 {
    if case .history(let number) = self { number } else { 0 }
  }
}
